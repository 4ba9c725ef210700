"""Which format a chat log is in, told from its content; names and endings of files are not looked at."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import ijson

from memory import Event
from replays.errors import NotAChat
from replays.importers import (
    chat_downloader,
    chatterino,
    dated_text,
    eventsub,
    irc,
    irc_cases,
    native,
    recent_messages,
    rechat,
    rustlog,
    tcd,
)
from replays.importers.intake import Intake
from replays.importers.ircline import parse
from replays.logfile import LogFile

FORMATS: dict[str, Callable[[Intake], Iterator[Event]]] = {
    "native": native.events,
    "twitchdownloader": rechat.events,
    "twitchdownloader-text": dated_text.events,
    "chat-downloader": chat_downloader.events,
    "irc": irc.events,
    "justlog-text": dated_text.events,
    "recent-messages": recent_messages.events,
    "rustlog": rustlog.events,
    "rustlog-lines": rustlog.line_events,
    "tcd": tcd.events,
    "rechat": rechat.events,
    "rechat-comment": rechat.single_events,
    "chatterino": chatterino.events,
    "eventsub": eventsub.events,
    "irc-cases": irc_cases.events,
}
NATIVE_TYPES = {"stream", "message", "notice", "deletion", "reply", "command", "state", "settle", "probe"}
_JSON = re.compile(r"\{|\[\s*[{\]]")
LOOKED_AT = 60  # lines of a text that decide
_OFFSET = re.compile(r"\[\d:\d\d:\d\d(?:\.\d+)?\] [^<\s]")
_PADDED = re.compile(r"\[\d\d:\d\d:\d\d\.\d+\] [^<\s]")


@dataclass(slots=True)
class _Shape:
    """What the beginning of a JSON file shows: keys of the first object, keys and kind of the elements of its lists."""

    keys: set[str] = field(default_factory=set)
    inner: dict[str, set[str]] = field(default_factory=dict)  # keys of the objects under a key
    texts: set[str] = field(default_factory=set)  # keys of lists of texts
    type: Any = None
    objects: int = 0


def detect(file: LogFile) -> str:
    """Return the name of the format of `file`, a key of `FORMATS`.

    Raises:
        NotAChat: no known format; the text says what was seen.
    """
    head = file.head.lstrip("\ufeff \t\r\n")
    is_json = _JSON.match(head) is not None
    found = _fitting(_shape(head)) if is_json else _text_format(head)
    found = found or _fitting_line(head)
    if found:
        return found
    if is_json:
        seen = ", ".join(sorted(_shape(head).keys)[:8]) or "none"
        raise NotAChat(f"{file.path.name} is JSON, but of no chat log format this program knows (keys: {seen}); {_KNOWN}")
    raise NotAChat(f"{file.path.name} is text, but of no chat log format this program knows; {_KNOWN}")


def _fitting_line(head: str) -> str | None:
    """Return the format of the first line that is a JSON object of a known one: a broken first line does not hide a log."""
    for line in head.split("\n")[:LOOKED_AT]:
        if line.startswith("{"):
            found = _fitting(_shape(line))
            if found:
                return found
    return None


def _shape(head: str) -> _Shape:
    shape = _Shape()
    listed = head.startswith("[")
    try:
        for prefix, event, value in ijson.parse(head.encode(), multiple_values=True, use_float=True):
            path = prefix.split(".") if prefix else []
            if listed:
                path = path[1:]
            if event == "end_map" and not path and (not listed or prefix == "item"):
                shape.objects += 1
                break
            _note(shape, path, event, value)
    except (ijson.JSONError, ValueError, RecursionError):
        pass  # the head is cut somewhere: what was seen counts
    return shape


def _note(shape: _Shape, path: list[str], event: str, value: object) -> None:
    if event == "map_key":
        if not path:
            shape.keys.add(str(value))
        else:
            shape.inner.setdefault(path[0], set()).add(str(value))
    elif event == "string" and path == ["type"]:
        shape.type = value
    elif event == "string" and path[1:] == ["item"]:
        shape.texts.add(path[0])


def _fitting(shape: _Shape) -> str | None:
    return next((name for name, fits in _RULES if fits(shape)), None)


def _native(shape: _Shape) -> bool:
    return shape.type in NATIVE_TYPES or (isinstance(shape.type, str) and "at" in shape.keys)


_DOWNLOADER = ({"author"}, {"message_id"}, {"message_type"}, {"author_name"}, {"time_in_seconds"}, {"author_display_name"})
_RULES: tuple[tuple[str, Callable[[_Shape], bool]], ...] = (
    ("twitchdownloader", lambda s: bool({"FileInfo", "streamer", "embeddedData"} & s.keys) and "comments" in s.keys),
    ("rechat", lambda s: "comments" in s.keys),
    ("twitchdownloader", lambda s: {"FileInfo", "streamer"} <= s.keys),  # a description too long for the head
    ("rechat-comment", lambda s: {"message", "content_offset_seconds"} <= s.keys),
    ("recent-messages", lambda s: "messages" in s.texts),
    ("rustlog", lambda s: "messages" in s.keys and bool({"raw", "text", "tags"} & s.inner.get("messages", set()))),
    ("recent-messages", lambda s: "messages" in s.keys),
    ("irc-cases", lambda s: "line" in s.keys and bool({"case", "source", "atoms"} & s.keys)),
    ("eventsub", lambda s: {"metadata", "payload"} <= s.keys or bool({"subscription", "broadcaster_user_id"} & s.keys)),
    ("eventsub", lambda s: bool({"from_broadcaster_user_id", "email_verified"} & s.keys)),
    ("rustlog-lines", lambda s: {"text", "username"} <= s.keys or {"raw", "timestamp"} <= s.keys or {"text", "tags"} <= s.keys),
    ("chat-downloader", lambda s: bool({"message", "action_type"} & s.keys) and any(keys <= s.keys for keys in _DOWNLOADER)),
    ("native", _native),
)
_KNOWN = "`ricordo import --help` lists the formats"


def _is_irc(line: str) -> bool:
    parsed = parse(line)
    return parsed is not None and parsed.command in irc.COMMANDS and (line.startswith(("@", ":")) or bool(parsed.params))


def _is_chatterino(line: str) -> bool:
    if _OFFSET.match(line) or _PADDED.match(line):
        return False
    return chatterino.HEADER.match(line) is not None or chatterino.CLOCK.fullmatch(line) is not None


_TEXTS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("irc", _is_irc),
    ("tcd", lambda line: tcd.LINE.fullmatch(line) is not None),
    ("justlog-text", lambda line: (found := dated_text.DATED.fullmatch(line)) is not None and found["said"].startswith("#")),
    ("twitchdownloader-text", lambda line: dated_text.DATED.fullmatch(line) is not None or _OFFSET.match(line) is not None),
    ("twitchdownloader-text", lambda line: _PADDED.match(line) is not None),
    ("chatterino", _is_chatterino),
)


def _text_format(head: str) -> str | None:
    """Return the format that most of the first lines are in; a stray title or a broken line does not hide it."""
    lines = [line.rstrip("\r") for line in head.replace("\0", "\n").split("\n") if line.strip()]
    lines = lines[:LOOKED_AT]
    scores = {name: 0 for name, _ in reversed(_TEXTS)}
    for line in lines:
        first = next((name for name, fits in _TEXTS if fits(line[:2000])), None)
        if first:
            scores[first] += 1
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] * 5 >= len(lines) else None
