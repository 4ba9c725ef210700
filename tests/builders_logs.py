"""Invented chat in every form that logs come in, and short ways to import it."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from memory import Deletion, Event, Message, Notice, StreamEvent
from replays.import_log import ImportOptions, read_foreign
from replays.log_report import LogReport

T0 = datetime(2026, 3, 1, 18, 0, tzinfo=UTC)
T0_MS = 1772388000000


class Imported:
    """The events of one imported file, by kind, with its report."""

    def __init__(self, events: list[Event], report: LogReport) -> None:
        self.events, self.report = events, report
        self.messages = [event for event in events if isinstance(event, Message)]
        self.notices = [event for event in events if isinstance(event, Notice)]
        self.deletions = [event for event in events if isinstance(event, Deletion)]
        self.streams = [event for event in events if isinstance(event, StreamEvent)]


def load(path: Path, options: ImportOptions | None = None) -> Imported:
    report = LogReport(path=path)
    return Imported(list(read_foreign(path, options, report)), report)


def load_text(folder: Path, text: str, name: str = "chat.log", options: ImportOptions | None = None) -> Imported:
    path = folder / name
    path.write_bytes(text.encode())
    return load(path, options)


def load_json(folder: Path, value: object, name: str = "chat.json", options: ImportOptions | None = None) -> Imported:
    return load_text(folder, json.dumps(value), name, options)


def load_lines(folder: Path, values: Iterable[object], name: str = "chat.jsonl") -> Imported:
    return load_text(folder, "".join(json.dumps(value) + "\n" for value in values), name)


def irc(text: str, login: str = "alba", tags: Mapping[str, str] | None = None, *, ms: int = T0_MS) -> str:
    """Return a PRIVMSG of `login` in #canale; `tags` adds to the usual ones."""
    known = {"id": f"m-{ms}", "user-id": "11", "room-id": "99", "display-name": login.title(), "tmi-sent-ts": str(ms)}
    line = ";".join(f"{key}={value}" for key, value in (known | dict(tags or {})).items())
    return f"@{line} :{login}!{login}@{login}.tmi.twitch.tv PRIVMSG #canale :{text}"


def command(name: str, rest: str = "", **tags: str) -> str:
    """Return a line that the server sent, such as CLEARCHAT."""
    merged = {"room-id": "99", "tmi-sent-ts": str(T0_MS)} | tags
    return f"@{';'.join(f'{key}={value}' for key, value in merged.items())} :tmi.twitch.tv {name} #canale{rest}"


def comment(offset: float, text: str, message: Mapping[str, object] | None = None, **changes: object) -> dict[str, Any]:
    """Return a v5 comment; `message` adds to its message, `changes` to the comment."""
    inner = {"body": text, "fragments": [{"text": text}], "is_action": False} | dict(message or {})
    return {
        "_id": f"c{offset}",
        "channel_id": "99",
        "content_id": "555",
        "content_offset_seconds": offset,
        "commenter": {"_id": "11", "name": "alba", "display_name": "Alba"},
        "message": inner,
    } | changes


def eventsub(kind: str, event: Mapping[str, Any] | list[Any], *, at: str = "2026-03-01T18:00:00.123456789Z") -> dict[str, Any]:
    """Return a whole WebSocket frame."""
    meta = {"message_id": "f1", "message_type": "notification", "message_timestamp": at}
    return {"metadata": meta, "payload": {"subscription": {"type": kind}, "event": event}}


HOME = {"broadcaster_user_id": "99", "broadcaster_user_login": "canale", "broadcaster_user_name": "Canale"}
CHATTER = {"chatter_user_id": "11", "chatter_user_login": "alba", "chatter_user_name": "Alba"}
