"""The JSON form of chat events, both ways: one object a line of the chat log.

Writing is canonical: keys in one order, defaults left out, so that equal events are equal bytes. Reading is lenient where
nothing is lost: unknown keys are kept in `extra`, ids may be numbers. What cannot be an event raises `BadEvent`: it names the
field.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal

from bot.fields import MISSING, flag_of, id_of, number_of, object_of, objects_of, optional_id, optional_text, text_of, texts_of
from bot.fields import BadEvent as BadEvent
from bot.fields import Json as Json
from bot.fields import time_of as time_of
from memory import (
    BotIdentity,
    BotReply,
    Channel,
    Command,
    Deletion,
    Emote,
    Event,
    Message,
    Notice,
    Probe,
    Settle,
    StateCall,
    StreamEvent,
    Viewer,
    utc,
)

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
SCOPES: dict[str, Literal["message", "user", "chat"]] = {"message": "message", "user": "user", "chat": "chat"}


class UnknownType(BadEvent):
    """An object whose `type` this program does not know: perhaps a newer log."""


def time_to_json(at: datetime) -> str:
    """Return `at` as RFC 3339 in UTC, such as `2026-05-01T18:30:00.250000Z`."""
    return utc(at).isoformat().replace("+00:00", "Z")


def event_to_line(event: Event) -> str:
    """Return `event` as one line of canonical JSON, without the line end; it always encodes as UTF-8."""
    obj = event_to_json(event)
    try:
        line = _ENCODER.encode(obj)
    except ValueError:  # a number that JSON does not know, in what the source brought along
        line = _ENCODER.encode(_finite(obj))
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(json.loads(line), ensure_ascii=True, separators=(",", ":"))
    return line


def _finite(value: object) -> object:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def event_to_json(event: Event) -> Json:
    """Return `event` as the JSON object of the chat log; keys of `extra` stand beside the known ones, which win."""
    if isinstance(event, Probe):
        return {"type": "probe", **event.case}
    kind, write = _WRITERS[type(event)]
    obj = {"type": kind, **write(event)}
    for key, value in event.extra.items():
        obj.setdefault(key, value)
    return obj


def type_of(event: Event) -> str:
    """Return the word that `type` holds for `event`."""
    return "probe" if isinstance(event, Probe) else _WRITERS[type(event)][0]


def event_from_json(obj: object) -> Event:
    """Return the event that `obj` (a parsed line of the chat log) describes.

    Raises:
        UnknownType: `type` is none that this program knows.
        BadEvent: a field is missing or of the wrong shape; the text names it.
    """
    if not isinstance(obj, dict):
        raise BadEvent(f"a JSON object is expected, this is a {type(obj).__name__}")
    kind = obj.get("type")
    if not isinstance(kind, str):
        raise BadEvent("type: " + MISSING)
    reader = _READERS.get(kind)
    if reader is None:
        raise UnknownType(f"type: {kind[:40]!r} is not known")
    return reader(obj)


# Writing.


def _filled(**fields: Any) -> Json:  # noqa: ANN401 -- JSON values of any shape
    """Return the fields that hold something, in the order given."""
    return {key: value for key, value in fields.items() if value not in (None, False, 0, ()) and value != []}


def viewer_to_json(viewer: Viewer | Channel) -> Json:
    """Return the three names of a viewer or channel."""
    return {"id": viewer.id, "login": viewer.login, "name": viewer.name}


def _viewers(viewers: Iterable[Viewer]) -> list[Json]:
    return [viewer_to_json(viewer) for viewer in viewers]


def _bot(bot: BotIdentity) -> Json:
    return {"id": bot.id, "login": bot.login, "name": bot.name, "aliases": list(bot.aliases)}


def _write_message(event: Message) -> Json:
    obj = {"id": event.id, "at": time_to_json(event.at), "user": viewer_to_json(event.user), "text": event.text}
    return obj | _filled(
        badges=list(event.badges),
        reply_to=event.reply_to,
        is_action=event.is_action,
        bits=event.bits,
        emotes=[{"name": e.name, "start": e.start, "end": e.end} for e in event.emotes],
        mentions=_viewers(event.mentions),
        is_bot=event.is_bot,
        source_channel=event.source_channel,
    )


def _write_notice(event: Notice) -> Json:
    user = viewer_to_json(event.user) if event.user else None
    obj = {"id": event.id, "at": time_to_json(event.at), "kind": event.kind, "user": user}
    return obj | _filled(text=event.text) | ({"data": dict(event.data)} if event.data else {})


def _write_deletion(event: Deletion) -> Json:
    obj = {"at": time_to_json(event.at), "scope": event.scope}
    return obj | _filled(message_id=event.message_id, user_id=event.user_id)


def _write_stream(event: StreamEvent) -> Json:
    obj = {"event": event.event, "stream_id": event.stream_id, "at": time_to_json(event.at)}
    return obj | _filled(
        title=event.title,
        category=event.category,
        channel=viewer_to_json(event.channel) if event.channel else None,
        bot=_bot(event.bot) if event.bot else None,
    )


def _write_reply(event: BotReply) -> Json:
    return {"at": time_to_json(event.at), "text": event.text, "in_reply_to": list(event.in_reply_to)} | _filled(id=event.id)


def _write_command(event: Command) -> Json:
    obj = {"at": time_to_json(event.at), "user": viewer_to_json(event.user), "badges": list(event.badges), "text": event.text}
    return obj | _filled(id=event.id, mentions=_viewers(event.mentions))


def _write_state(event: StateCall) -> Json:
    return {"at": time_to_json(event.at), "tool": event.tool, "arguments": dict(event.arguments)}


def _write_settle(_: Settle) -> Json:
    return {}


_WRITERS: dict[type, tuple[str, Callable[[Any], Json]]] = {
    Message: ("message", _write_message),
    Notice: ("notice", _write_notice),
    Deletion: ("deletion", _write_deletion),
    StreamEvent: ("stream", _write_stream),
    BotReply: ("reply", _write_reply),
    Command: ("command", _write_command),
    StateCall: ("state", _write_state),
    Settle: ("settle", _write_settle),
}


# Reading.


def _viewer(obj: Json, where: str) -> Viewer:
    return Viewer(id=id_of(obj, "id", where), login=text_of(obj, "login", where), name=text_of(obj, "name", where))


def _user(obj: Mapping[str, Any]) -> Viewer:
    return _viewer(object_of(obj, "user"), "user.")


def _mentions(obj: Mapping[str, Any]) -> tuple[Viewer, ...]:
    return tuple(_viewer(item, where) for where, item in objects_of(obj, "mentions"))


def _rest(obj: Json, known: frozenset[str]) -> Json:
    return {key: value for key, value in obj.items() if key not in known}


def _keys(words: str) -> frozenset[str]:
    return frozenset(("type", *words.split()))


_MESSAGE = _keys("id at user text badges reply_to is_action bits emotes mentions is_bot source_channel")


def message_from_json(obj: Json) -> Message:
    """Return the message that `obj` describes (its `type` may be missing, as in the batch of a probe).

    Raises:
        BadEvent: a field is missing or of the wrong shape.
    """
    emotes = [
        Emote(name=text_of(item, "name", where), start=number_of(item, "start", where), end=number_of(item, "end", where))
        for where, item in objects_of(obj, "emotes")
    ]
    return Message(
        id=id_of(obj),
        at=time_of(obj.get("at")),
        user=_user(obj),
        text=text_of(obj, "text"),
        badges=texts_of(obj, "badges"),
        reply_to=optional_id(obj, "reply_to"),
        is_action=flag_of(obj, "is_action"),
        bits=number_of(obj, "bits", default=0),
        emotes=tuple(emotes),
        mentions=_mentions(obj),
        is_bot=flag_of(obj, "is_bot"),
        source_channel=optional_id(obj, "source_channel"),
        extra=_rest(obj, _MESSAGE),
    )


def _read_notice(obj: Json) -> Notice:
    return Notice(
        id=id_of(obj),
        at=time_of(obj.get("at")),
        kind=text_of(obj, "kind"),
        user=_user(obj) if obj.get("user") is not None else None,
        text=optional_text(obj, "text"),
        data=object_of(obj, "data") if obj.get("data") is not None else {},
        extra=_rest(obj, _keys("id at kind user text data")),
    )


def _read_deletion(obj: Json) -> Deletion:
    scope = text_of(obj, "scope")
    if scope not in SCOPES:
        raise BadEvent(f'scope: "message", "user" or "chat" is expected, not {scope[:40]!r}')
    if scope != "chat":
        id_of(obj, f"{scope}_id")  # what is deleted must be named
    return Deletion(
        at=time_of(obj.get("at")),
        scope=SCOPES[scope],
        message_id=optional_id(obj, "message_id"),
        user_id=optional_id(obj, "user_id"),
        extra=_rest(obj, _keys("at scope message_id user_id")),
    )


def _read_stream(obj: Json) -> StreamEvent:
    word = text_of(obj, "event")
    if word not in {"online", "offline"}:
        raise BadEvent(f'event: "online" or "offline" is expected, not {word[:40]!r}')
    channel = bot = None
    if obj.get("channel") is not None:
        home = _viewer(object_of(obj, "channel"), "channel.")
        channel = Channel(id=home.id, login=home.login, name=home.name)
    if obj.get("bot") is not None:
        named = _viewer(object_of(obj, "bot"), "bot.")
        bot = BotIdentity(id=named.id, login=named.login, name=named.name, aliases=texts_of(obj["bot"], "aliases", "bot."))
    return StreamEvent(
        at=time_of(obj.get("at")),
        event="online" if word == "online" else "offline",
        stream_id=id_of(obj, "stream_id"),
        title=optional_text(obj, "title"),
        category=optional_text(obj, "category"),
        channel=channel,
        bot=bot,
        extra=_rest(obj, _keys("event stream_id at title category channel bot")),
    )


def _read_reply(obj: Json) -> BotReply:
    return BotReply(
        at=time_of(obj.get("at")),
        text=text_of(obj, "text"),
        in_reply_to=texts_of(obj, "in_reply_to"),
        id=optional_id(obj, "id"),
        extra=_rest(obj, _keys("at text in_reply_to id")),
    )


def _read_command(obj: Json) -> Command:
    return Command(
        at=time_of(obj.get("at")),
        user=_user(obj),
        text=text_of(obj, "text"),
        badges=texts_of(obj, "badges"),
        id=optional_id(obj, "id"),
        mentions=_mentions(obj),
        extra=_rest(obj, _keys("at user badges text id mentions")),
    )


def _read_state(obj: Json) -> StateCall:
    return StateCall(
        at=time_of(obj.get("at")),
        tool=text_of(obj, "tool"),
        arguments=object_of(obj, "arguments"),
        extra=_rest(obj, _keys("at tool arguments")),
    )


def _read_settle(obj: Json) -> Settle:
    return Settle(extra=_rest(obj, _keys("")))


def _batched(obj: Json, where: str) -> Message:
    try:
        return message_from_json(obj)
    except BadEvent as error:
        raise BadEvent(f"{where}{error}") from None


def _read_probe(obj: Json) -> Probe:
    as_of = obj.get("as_of")
    return Probe(
        id=id_of(obj),
        at=time_of(obj.get("at")),
        category=text_of(obj, "category"),
        batch=tuple(_batched(item, where) for where, item in objects_of(obj, "batch")),
        settle=flag_of(obj, "settle", default=True),
        as_of=None if as_of is None else time_of(as_of, "as_of"),
        case=obj,
    )


_READERS: dict[str, Callable[[Json], Event]] = {
    "message": message_from_json,
    "notice": _read_notice,
    "deletion": _read_deletion,
    "stream": _read_stream,
    "reply": _read_reply,
    "command": _read_command,
    "state": _read_state,
    "settle": _read_settle,
    "probe": _read_probe,
}
