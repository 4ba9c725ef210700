"""Chat text made safe to quote: one line, between « and », with nothing that ends the quote or passes for a role."""

import re
import unicodedata

from bot.plain import visible

CUT = "…"
_ANGLES = {ord("<"): "‹", ord(">"): "›", ord("«"): "‹", ord("»"): "›"}  # noqa: RUF001 - what looks alike and means nothing
_NAME_MARKS = re.compile(r"[<>«»‹›()\[\]{}:\"“”|→\uff1a\ufe55\ufe30\u2236\ua789\uff3b\uff3d]")  # noqa: RUF001 - names end at these in the prompt
_ROLES = "system|assistant|user|tool_call|bos|eos|im_start|im_end|start_of_turn|end_of_turn"
_MARKERS = re.compile(rf"<\s*/?\s*(?:\||s>|<?\s*SYS|{_ROLES})", re.IGNORECASE)
_INSTRUCT = re.compile(r"\[\s*(/?)\s*INST\s*\]", re.IGNORECASE)


def quoted(text: str, limit: int) -> str:
    """Return `text` as a quote of at most `limit` characters on one line, which nothing inside it can leave."""
    return f"«{_short(_folded(text[: 4 * limit]), limit)}»"


def named(name: str, limit: int = 40) -> str:
    """Return a display name without what has a meaning in the prompt; `?` where nothing is left."""
    return _short(" ".join(_NAME_MARKS.sub(" ", _folded(name[: 4 * limit])).split()), limit) or "?"


def defused(block: str, tags: tuple[str, ...]) -> str:
    """Return a text of several lines as it is, but for role markers of chat templates and `tags`, which it must not close."""
    own = re.compile(rf"<\s*/?\s*(?:{'|'.join(map(re.escape, tags))})", re.IGNORECASE)
    safe = "".join(_plain_angle(character) for character in block.encode("utf-8", "replace").decode() if character != "\x00")
    for pattern in (own, _MARKERS):
        safe = pattern.sub(lambda match: match[0].translate(_ANGLES), safe)
    return _INSTRUCT.sub(r"(\1INST)", safe)


def _folded(text: str) -> str:
    shown = "".join(_plain_angle(character) for character in visible(text))
    return _INSTRUCT.sub(r"(\1INST)", shown.translate(_ANGLES))


def _plain_angle(character: str) -> str:
    """Return `<` or `>` for the look-alikes that some tokenizers fold into them."""
    folded = unicodedata.normalize("NFKC", character) if character > "\x7f" else character
    return folded if folded in {"<", ">"} else character


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1].rstrip() + CUT
