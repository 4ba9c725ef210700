"""What Twitch puts around a viewer's words, taken off again. Pure."""

import re
from collections.abc import Sequence

from memory import Emote

_ACTION = re.compile(r"^\x01ACTION ?(.*?)\x01?$", re.DOTALL)
_MENTION = re.compile(r"^@(\S+)\s+")
BADGES = {
    "broadcaster": "broadcaster",
    "moderator": "moderator",
    "lead_moderator": "moderator",
    "vip": "vip",
    "subscriber": "subscriber",
    "founder": "subscriber",
}
NOTICE_KINDS = {
    "sub_gift": "gift",
    "community_sub_gift": "gift",
    "gift_paid_upgrade": "gift",
    "pay_it_forward": "gift",
    "prime_paid_upgrade": "sub",
}


def without_action(text: str) -> tuple[str, bool]:
    """Return the words of a `/me` line and True, or the text as it is and False."""
    found = _ACTION.match(text)
    return (found.group(1), True) if found else (text, False)


def without_parent(text: str, names: Sequence[str | None]) -> str:
    """Return a reply's text without the `@Parent ` that Twitch puts in front of it."""
    found = _MENTION.match(text)
    known = {name.casefold() for name in names if name}
    return text[found.end() :] if found and found.group(1).casefold() in known else text


def badges_of(set_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the roles behind badges: a founder subscribes, a lead moderator moderates; ornaments are left out."""
    return tuple(dict.fromkeys(BADGES[set_id] for set_id in set_ids if set_id in BADGES))


def emotes_of(fragments: Sequence[tuple[str, bool]], text: str) -> tuple[Emote, ...]:
    """Return the emotes of `text` with code-point offsets, from (text, is an emote) fragments of the whole line.

    `text` may lack the beginning of the line, where a reply's address was taken off.
    """
    whole = "".join(piece for piece, _ in fragments)
    position = -(len(whole) - len(text)) if whole.endswith(text) else 0
    found = []
    for piece, is_emote in fragments:
        if is_emote and position >= 0:
            found.append(Emote(name=piece, start=position, end=position + len(piece) - 1))
        position += len(piece)
    return tuple(found)
