"""chat-downloader: a JSON array (also one cut off) or JSON Lines; of 2020 with flat `author_*` keys, today with `author`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memory import Deletion, Emote, Message, Notice, Viewer
from replays.importers.intake import BadLine, Intake, moment, whole
from replays.importers.irc import without_action
from replays.importers.jsonparts import lines_or_one

ChatEvent = Message | Notice | Deletion
Json = Mapping[str, Any]
NOTICES = {
    "subscription": "sub", "resubscription": "resub", "extend_subscription": "sub", "prime_paid_upgrade": "sub",
    "gift_paid_upgrade": "sub", "anonymous_gift_paid_upgrade": "sub",
    "subscription_gift": "gift", "mystery_subscription_gift": "gift", "anonymous_subscription_gift": "gift",
    "anonymous_mystery_subscription_gift": "gift", "standard_pay_forward": "gift",
    "community_pay_forward": "gift", "prime_community_gift_received": "gift", "reward_gift": "gift",
    "raid": "raid", "unraid": "unraid", "ritual": "ritual", "bits_badge_tier": "bits_badge_tier",
    "announcement": "announcement",
}  # fmt: skip
IGNORED = {
    "host", "unhost", "host_target", "room_state", "user_state", "global_user_state", "notice", "reconnect", "whisper", "ping",
    "enable_slow_mode", "disable_slow_mode",
}  # fmt: skip


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield the items of the file."""
    intake.stream.split_at_gaps = True
    if intake.channel:
        intake.home(None, intake.channel)
    for number, item in lines_or_one(intake):
        try:
            yield from _item(intake, item)
        except BadLine as error:
            intake.report.skip(number, str(error))


def _item(intake: Intake, item: object) -> Iterator[ChatEvent]:
    if not isinstance(item, dict):
        raise BadLine(f"not an item: an object is expected, this is a {type(item).__name__}")
    kind = str(item.get("message_type") or "text_message")
    at = intake.at_or_last(_time(intake, item))
    if kind == "ban_user":
        yield _ban(intake, item, at)
    elif kind == "delete_message":
        if not item.get("target_message_id"):
            raise BadLine(f"{kind}: target_message_id is missing")
        yield Deletion(at=at, scope="message", message_id=str(item["target_message_id"]))
    elif kind == "clear_chat":
        yield Deletion(at=at, scope="chat")
    elif kind in NOTICES:
        yield _notice(intake, item, at, NOTICES[kind])
    elif kind in IGNORED or not isinstance(item.get("message"), str):
        intake.report.ignored[kind] += 1
    else:
        yield _message(intake, item, at, kind)


def _time(intake: Intake, item: Json) -> datetime | None:
    """Return when it was written. In the flat recordings of 2020 `timestamp` is the birth of the author's account."""
    flat_recording = "author_name" in item and "time_in_seconds" in item
    seconds = item.get("time_in_seconds")
    if not flat_recording and item.get("timestamp") is not None:
        return moment(item["timestamp"])
    return intake.from_start(float(seconds)) if isinstance(seconds, int | float) else None


def _author(intake: Intake, item: Json) -> tuple[Viewer | None, tuple[str, ...]]:
    author = item.get("author")
    if isinstance(author, dict):
        found = intake.viewer(_id(author.get("id")), author.get("name"), author.get("display_name"))
        return (found if found.login else None), _badges(author.get("badges"), "name")
    name, shown = item.get("author_name"), item.get("author_display_name")
    badges = _badges(item.get("badge_info") or item.get("author_badges"), "badge")
    if not (name or shown):
        return None, badges
    user_id = item.get("author_id") or (item.get("id") if "time_in_seconds" in item else None)
    return intake.viewer(_id(user_id), name, shown), badges


def _id(value: object) -> str | None:
    return str(value) if value not in (None, "") else None


def _badges(badges: object, key: str) -> tuple[str, ...]:
    if not isinstance(badges, list):
        return ()
    names = (str(badge.get(key) or badge.get("name") or "") for badge in badges if isinstance(badge, dict))
    return tuple(name for name in names if name)


def _message(intake: Intake, item: Json, at: datetime, kind: str) -> Message:
    user, badges = _author(intake, item)
    text, is_action = without_action(item["message"])
    given = item.get("message_id")
    message_id = intake.id_for(given, at, user.login if user else "", text)
    extra: dict[str, Any] = {}
    if kind not in {"text_message", "privmsg"}:
        extra["message_type"] = kind
        if user is None and "privmsg".startswith(kind):
            intake.report.warn("type_cut_short")
    answered = item.get("in_reply_to")
    return Message(
        id=message_id,
        at=at,
        user=user or intake.unknown(message_id),
        text=text.removesuffix("\x01"),
        badges=badges,
        reply_to=_id(answered.get("message_id")) if isinstance(answered, dict) else None,
        is_action=is_action,
        bits=whole(item.get("bits")),
        emotes=_emotes(intake, item.get("emotes"), text),
        extra=extra,
    )


def _emotes(intake: Intake, emotes: object, text: str) -> tuple[Emote, ...]:
    found = []
    for emote in emotes if isinstance(emotes, list) else ():
        locations = emote.get("locations") if isinstance(emote, dict) else None
        for span in locations.split(",") if isinstance(locations, str) else locations or ():
            start, _, end = str(span).partition("-")
            first, last = (whole(start), whole(end)) if start.isdecimal() and end.isdecimal() else (1, 0)
            if first <= last < len(text):
                found.append(Emote(name=text[first : last + 1], start=first, end=last))
            else:
                intake.report.warn("bad_emote")
    return tuple(sorted(found, key=lambda emote: emote.start))


def _ban(intake: Intake, item: Json, at: datetime) -> Deletion:
    login = item.get("banned_user") or item.get("target_author_name")
    target = intake.viewer(_id(item.get("target_author_id")), str(login) if login else None, None)
    if target.id == "login:":
        raise BadLine(f"{item['message_type']}: nobody is named")
    extra: dict[str, Any] = {"login": target.login}
    if item.get("ban_duration"):
        extra["duration"] = whole(item["ban_duration"])
    return Deletion(at=at, scope="user", user_id=target.id, extra=extra)


def _notice(intake: Intake, item: Json, at: datetime, kind: str) -> Notice:
    user, _ = _author(intake, item)
    anonymous = str(item.get("message_type", "")).startswith("anonymous")
    text = item.get("message") if isinstance(item.get("message"), str) else None
    known = {"message", "message_id", "author", "emotes", "timestamp", "time_text", "badge_info"}
    data = {key: value for key, value in item.items() if key not in known and isinstance(value, str | int | float)}
    return Notice(
        id=intake.id_for(item.get("message_id"), at, user.login if user else "", text or kind),
        at=at,
        kind=kind,
        user=None if anonymous else user,
        text=text or None,
        data=data,
    )
