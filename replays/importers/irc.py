"""Raw IRC with Twitch's tags, a line a message, as justlog, rustlog and their kind store it (newline or NUL between)."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from memory import Deletion, Emote, Message, Notice, Viewer
from replays.importers.intake import BadLine, Intake, moment, whole
from replays.importers.ircline import IrcLine, nick_of, parse
from replays.importers.notices import KINDS

ChatEvent = Message | Notice | Deletion
COMMANDS = {
    "PRIVMSG", "USERNOTICE", "CLEARCHAT", "CLEARMSG", "NOTICE", "ROOMSTATE", "USERSTATE", "GLOBALUSERSTATE", "HOSTTARGET",
    "WHISPER", "JOIN", "PART", "PING", "PONG", "RECONNECT", "CAP",
}  # fmt: skip
_NUMERIC = re.compile(r"\d{3}")
_RANGES = re.compile(r"\d+-\d+(?:,\d+-\d+)*")
NO_TEXT, NO_AUTHOR, NO_TARGET = "PRIVMSG without a text", "PRIVMSG without an author", "CLEARMSG without target-msg-id"
ANONYMOUS = "ananonymousgifter"  # the account behind anonymous gifts
_ACTION = "\x01ACTION "
# Tags kept beside the known keys, under the names of the log format; flags only where they are set.
_KEPT = {
    "msg-id": "msg_id", "custom-reward-id": "custom_reward_id", "source-id": "source_id", "badge-info": "badge_info",
    "pinned-chat-paid-amount": "paid_amount", "pinned-chat-paid-currency": "paid_currency",
    "pinned-chat-paid-exponent": "paid_exponent", "pinned-chat-paid-level": "paid_level",
    "reply-thread-parent-msg-id": "thread_id", "source-badges": "source_badges",
}  # fmt: skip
_FLAGS = {"first-msg": "first_msg", "returning-chatter": "returning_chatter"}


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield the chat of the file; commands that are no chat are counted."""
    intake.stream.split_at_gaps = True
    head = intake.file.head
    for number, line in intake.file.lines(split_at_nul="\0" in head):
        if line:
            yield from events_of_line(intake, number, line)


def events_of_line(intake: Intake, number: int, line: str) -> Iterator[ChatEvent]:
    """Yield what one raw line means; a line that is no IRC is reported."""
    parsed = parse(line)
    if parsed is None or not is_command(parsed.command):
        intake.report.skip(number, "not IRC: no known command")
        return
    yield from events_of(intake, number, parsed)


def is_command(word: str) -> bool:
    """Return whether `word` is a command that Twitch sends."""
    return word in COMMANDS or _NUMERIC.fullmatch(word) is not None


def events_of(intake: Intake, number: int, line: IrcLine) -> Iterator[ChatEvent]:
    """Yield what a parsed line means."""
    read = _READERS.get(line.command)
    if read is None:
        intake.report.ignored[line.command] += 1
        return
    channel = line.params[0].lstrip("#").lower() if line.params else ""
    if intake.channel and channel != intake.channel:
        intake.report.ignored["other channel"] += 1
        return
    intake.home(line.tags.get("room-id"), channel)
    try:
        yield from read(intake, line)
    except BadLine as error:
        intake.report.skip(number, str(error))


def _time(intake: Intake, tags: Mapping[str, str]) -> datetime:
    raw = tags.get("tmi-sent-ts") or tags.get("rm-received-ts") or tags.get("sent-ts")
    return intake.at_or_last(moment(raw) if raw else None)


def _author(intake: Intake, line: IrcLine) -> Viewer:
    login = nick_of(line.source) or line.tags.get("login") or ""
    name = line.tags.get("display-name", "") or login
    return intake.viewer(line.tags.get("user-id"), login, name)


def _privmsg(intake: Intake, line: IrcLine) -> Iterator[ChatEvent]:
    tags = line.tags
    if len(line.params) < 2:  # noqa: PLR2004 -- channel and text
        raise BadLine(NO_TEXT)
    user = _author(intake, line)
    if not user.login:
        raise BadLine(NO_AUTHOR)
    at = _time(intake, tags)
    text, is_action = without_action(line.params[1])
    message = Message(
        id=intake.id_for(tags.get("id"), at, user.login, text),
        at=at,
        user=user,
        text=text,
        badges=badges_of(tags.get("badges", "")),
        reply_to=tags.get("reply-parent-msg-id") or None,
        is_action=is_action,
        bits=whole(tags.get("bits")),
        emotes=_emotes(intake, tags["emotes"], text) if tags.get("emotes") else (),
        mentions=_answered(intake, tags) if "reply-parent-user-id" in tags else (),
        source_channel=_foreign(tags),
        extra=_extra(intake, line),
    )
    yield message
    if tags.get("rm-deleted") == "1":
        yield Deletion(at=at, scope="message", message_id=message.id, user_id=user.id)


def without_action(text: str) -> tuple[str, bool]:
    """Return the words of a `/me` and True, or the text as it is and False."""
    if text.startswith(_ACTION):
        return text.removeprefix(_ACTION).removesuffix("\x01"), True
    return text, False


def badges_of(raw: str) -> tuple[str, ...]:
    """Return the names in `moderator/1,subscriber/12`."""
    return tuple(name for badge in raw.split(",") if (name := badge.partition("/")[0])) if raw else ()


def _emotes(intake: Intake, raw: str, text: str) -> tuple[Emote, ...]:
    found, broken = [], False
    for group in filter(None, raw.split("/")):
        name, _, ranges = group.rpartition(":")
        if not name or not _RANGES.fullmatch(ranges):
            broken = True
            continue
        for span in ranges.split(","):
            start, _, end = span.partition("-")
            first, last = whole(start), whole(end)
            if first <= last < len(text):
                found.append(Emote(name=text[first : last + 1], start=first, end=last))
            else:
                intake.report.warn("bad_emote")
    if broken:
        intake.report.warn("bad_emote")
    return tuple(sorted(found, key=lambda emote: emote.start))


def _answered(intake: Intake, tags: Mapping[str, str]) -> tuple[Viewer, ...]:
    login, name = tags.get("reply-parent-user-login"), tags.get("reply-parent-display-name")
    return (intake.viewer(tags["reply-parent-user-id"], login, name),) if login or name else ()


def _foreign(tags: Mapping[str, str]) -> str | None:
    origin = tags.get("source-room-id")
    return origin if origin and origin != tags.get("room-id") else None


def _extra(intake: Intake, line: IrcLine) -> dict[str, Any]:
    tags = line.tags
    extra: dict[str, Any] = {name: tags[tag] for tag, name in _KEPT.items() if tags.get(tag)}
    extra |= {name: True for tag, name in _FLAGS.items() if tags.get(tag) == "1"}
    channel = line.params[0].lstrip("#").lower()
    home = intake.stream.channel
    if home and home.login != channel:
        extra["channel"] = channel
        intake.report.warn("other_channel")
    return extra


def _clearchat(intake: Intake, line: IrcLine) -> Iterator[ChatEvent]:
    tags, at = line.tags, _time(intake, line.tags)
    if len(line.params) < 2 or not line.params[1]:  # noqa: PLR2004 -- channel and, for a ban or time-out, whom
        yield Deletion(at=at, scope="chat")
        return
    login = line.params[1].lower()
    extra: dict[str, Any] = {"login": login}
    if tags.get("ban-duration"):
        extra["duration"] = whole(tags["ban-duration"])
    yield Deletion(at=at, scope="user", user_id=intake.viewer(tags.get("target-user-id"), login, None).id, extra=extra)


def _clearmsg(intake: Intake, line: IrcLine) -> Iterator[ChatEvent]:
    target = line.tags.get("target-msg-id")
    if not target:
        raise BadLine(NO_TARGET)
    extra = {"login": line.tags["login"]} if line.tags.get("login") else {}
    yield Deletion(at=_time(intake, line.tags), scope="message", message_id=target, extra=extra)


def _usernotice(intake: Intake, line: IrcLine) -> Iterator[ChatEvent]:
    tags, at = line.tags, _time(intake, line.tags)
    word = tags.get("msg-id", "")
    shared = word == "sharedchatnotice" and tags.get("source-msg-id")
    kind = KINDS.get(shared or word, word or "notice")
    user = None if word.startswith("anon") or tags.get("login") == ANONYMOUS else _author(intake, line)
    text = line.params[1] if len(line.params) > 1 and line.params[1] else None
    data = {key.removeprefix("msg-param-"): value for key, value in tags.items() if key.startswith("msg-param-")}
    system = {"msg_id": word, "system_msg": tags.get("system-msg", ""), "source_channel": _foreign(tags)}
    yield Notice(
        id=intake.id_for(tags.get("id"), at, user.login if user else "", text or system["system_msg"] or ""),
        at=at,
        kind=kind,
        user=user if user and user.login else None,
        text=text,
        data={key: value for key, value in system.items() if value} | data,
        extra={"badges": list(badges_of(tags["badges"]))} if tags.get("badges") else {},
    )


_READERS: dict[str, Callable[[Intake, IrcLine], Iterator[ChatEvent]]] = {
    "PRIVMSG": _privmsg,
    "CLEARCHAT": _clearchat,
    "CLEARMSG": _clearmsg,
    "USERNOTICE": _usernotice,
}
