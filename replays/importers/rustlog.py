"""rustlog and justlog JSON: `{messages: [{text, displayName, timestamp, id, tags, username, raw, type}]}` or one a line."""

from collections.abc import Iterator
from typing import Any

from replays.importers.intake import Intake, moment
from replays.importers.irc import ChatEvent, events_of, events_of_line
from replays.importers.ircline import IrcLine
from replays.importers.jsonparts import elements, objects_of_lines

COMMANDS = {1: "PRIVMSG", 2: "CLEARCHAT", 4: "USERNOTICE", 13: "CLEARMSG"}


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield the messages of a whole answer."""
    intake.stream.split_at_gaps = True
    for number, obj in elements(intake, "messages.item"):
        yield from _message(intake, number, obj)


def line_events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield messages that stand one a line."""
    intake.stream.split_at_gaps = True
    for number, obj in objects_of_lines(intake):
        yield from _message(intake, number, obj)


def _message(intake: Intake, number: int, obj: Any) -> Iterator[ChatEvent]:  # noqa: ANN401 -- JSON of any shape
    if not isinstance(obj, dict):
        intake.report.skip(number, "not a message: an object is expected")
    elif isinstance(obj.get("raw"), str):
        yield from events_of_line(intake, number, obj["raw"])
    else:
        yield from events_of(intake, number, _as_line(obj))


def _as_line(obj: dict[str, Any]) -> IrcLine:
    """Return the message as the IRC line it was made of, so that both are read by the same rules."""
    given = obj.get("tags")
    tags = {str(key): str(value) for key, value in given.items()} if isinstance(given, dict) else {}
    at = moment(obj.get("timestamp"))
    if at is not None:
        tags.setdefault("tmi-sent-ts", str(int(at.timestamp() * 1000)))
    tags.setdefault("id", str(obj.get("id") or ""))
    tags.setdefault("display-name", str(obj.get("displayName") or ""))
    login = str(obj.get("username") or obj.get("displayName") or "").lower()
    command = COMMANDS.get(obj.get("type", 1), "PRIVMSG")
    text = str(obj.get("text") or "")
    if command == "CLEARCHAT":
        text = login or text.partition(" ")[0]
    channel = f"#{obj.get('channel') or ''}"
    return IrcLine(tags=tags, source=f"{login}!{login}@{login}", command=command, params=(channel, text))
