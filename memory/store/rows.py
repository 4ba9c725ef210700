"""Rows to values and back, at the store's edge."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, Literal, cast

from sqlalchemy import Row

from memory.events import BotIdentity, BotReply, Channel, Emote, Line, Message, Notice, Viewer
from memory.model import Document, HistoryLine, StateRecord, Stream
from memory.statements import slot_of
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds, moment

Values = dict[str, Any]
_NOTICE_VALUES = 4
_NOTICE_CHARACTERS = 40


def viewer_values(viewer: Viewer) -> Values:
    """Return a viewer as JSON."""
    return {"id": clean(viewer.id), "login": clean(viewer.login), "name": clean(viewer.name)}


def viewer_of(values: Mapping[str, Any]) -> Viewer:
    """Return a viewer from its JSON."""
    return Viewer(id=values["id"], login=values["login"], name=values["name"])


def line_values(line: Line, stream_id: str, turn_id: str) -> Values:
    """Return the row of a message or notice; JSON detail only where there is any."""
    is_message = isinstance(line, Message)
    detail = _message_detail(line) if isinstance(line, Message) else _notice_detail(line)
    return {
        "id": clean(line.id),
        "stream_id": stream_id,
        "kind": "message" if is_message else "notice",
        "viewer_id": clean(line.user.id) if line.user else None,
        "login": clean(line.user.login) if line.user else None,
        "name": clean(line.user.name) if line.user else None,
        "at": milliseconds(line.at),
        "text": clean(line.text or ""),
        "reply_to": clean_or_none(line.reply_to) if isinstance(line, Message) else None,
        "detail": detail or None,
        "turn_id": turn_id,
        "hidden": False,
        "deleted_at": None,
    }


def reply_values(
    reply: BotReply, reply_id: str, stream: Stream, turn_id: str | None, *, rests_on: Sequence[str] = ()
) -> Values:
    """Return the row of something the bot said; `rests_on` are the messages behind the memories that it was made from."""
    answered = [clean(one) for one in reply.in_reply_to]
    detail = {"in_reply_to": answered, "rests_on": [clean(one) for one in rests_on], "extra": dict(reply.extra)}
    return {
        "id": reply_id,
        "stream_id": stream.id,
        "kind": "reply",
        "viewer_id": stream.bot.id,
        "login": stream.bot.login,
        "name": stream.bot.name,
        "at": milliseconds(reply.at),
        "text": clean(reply.text),
        "reply_to": answered[0] if answered else None,
        "detail": _given(detail) or None,
        "turn_id": turn_id,
        "hidden": False,
        "deleted_at": None,
    }


def _given(values: Values) -> Values:
    return {key: value for key, value in values.items() if value}


def _message_detail(message: Message) -> Values:
    return _given(
        {
            "badges": list(message.badges),
            "bits": message.bits,
            "is_action": message.is_action,
            "is_bot": message.is_bot,
            "source_channel": message.source_channel,
            "emotes": [[emote.name, emote.start, emote.end] for emote in message.emotes],
            "mentions": [viewer_values(viewer) for viewer in message.mentions],
            "extra": dict(message.extra),
        }
    )


def _notice_detail(notice: Notice) -> Values:
    return {"kind": notice.kind} | _given({"data": dict(notice.data), "extra": dict(notice.extra)})


def line_of(row: Row[Any]) -> Line:
    """Return the message or notice of a row, as it was observed."""
    detail = row.detail or {}
    user = Viewer(id=row.viewer_id, login=row.login, name=row.name) if row.viewer_id is not None else None
    if row.kind == "notice" or user is None:
        return Notice(
            id=row.id,
            at=moment(row.at),
            kind=detail.get("kind", ""),
            user=user,
            text=row.text or None,
            data=detail.get("data", {}),
            extra=detail.get("extra", {}),
        )
    return Message(
        id=row.id,
        at=moment(row.at),
        user=user,
        text=row.text,
        badges=tuple(detail.get("badges", ())),
        reply_to=row.reply_to,
        is_action=detail.get("is_action", False),
        bits=detail.get("bits", 0),
        emotes=tuple(Emote(name=name, start=start, end=end) for name, start, end in detail.get("emotes", ())),
        mentions=tuple(viewer_of(values) for values in detail.get("mentions", ())),
        is_bot=detail.get("is_bot", False),
        source_channel=detail.get("source_channel"),
        extra=detail.get("extra", {}),
    )


def shown_text(row: Row[Any] | SimpleNamespace) -> str:
    """Return a line as it reads in a history: a notice is named, with its figures, before the viewer's own words."""
    if row.kind != "notice":
        return str(row.text)
    detail = row.detail or {}
    data = sorted((key, value) for key, value in detail.get("data", {}).items() if isinstance(value, str | int | float))
    named = [f"{key}={value}"[:_NOTICE_CHARACTERS] for key, value in data[:_NOTICE_VALUES]]
    return " ".join(filter(None, [f"[{' '.join([detail.get('kind', 'notice'), *named])}]", row.text]))


def history_of(row: Row[Any] | SimpleNamespace) -> HistoryLine:
    """Return a line of the history, from its row or from the values of one."""
    return HistoryLine(
        id=row.id,
        at=moment(row.at),
        kind=row.kind,
        author=Viewer(id=row.viewer_id, login=row.login, name=row.name) if row.viewer_id is not None else None,
        text=shown_text(row),
        reply_to=row.reply_to,
    )


def stream_values(stream: Stream) -> Values:
    """Return a stream as its row."""
    channel, bot = stream.channel, stream.bot
    return {
        "id": clean(stream.id),
        "channel": {"id": clean(channel.id), "login": clean(channel.login), "name": clean(channel.name)},
        "bot": {
            "id": clean(bot.id),
            "login": clean(bot.login),
            "name": clean(bot.name),
            "aliases": [clean(alias) for alias in bot.aliases],
        },
        "started_at": milliseconds(stream.started_at),
        "ended_at": milliseconds(stream.ended_at),
        "title": clean_or_none(stream.title),
        "category": clean_or_none(stream.category),
        "temporary": stream.temporary,
    }


def stream_of(row: Row[Any]) -> Stream:
    """Return the stream of a row."""
    return Stream(
        id=row.id,
        channel=Channel(**row.channel),
        bot=BotIdentity(**{**row.bot, "aliases": tuple(row.bot["aliases"])}),
        started_at=moment(row.started_at),
        ended_at=moment(row.ended_at),
        title=row.title,
        category=row.category,
        temporary=row.temporary,
    )


def document_of(row: Row[Any], **known: int | None) -> Document:
    """Return the document of a row; `invalid_at`, where given, is the end that is known of it."""
    return Document(
        id=row.id,
        collection=row.collection,
        kind=row.kind,
        text=row.text,
        at=moment(row.at),
        provenance=tuple(row.provenance),
        subject=row.subject,
        author=row.author,
        stream_id=row.stream_id,
        valid_at=moment(row.valid_at),
        invalid_at=moment(known.get("invalid_at", row.invalid_at)),
        about=slot_of(getattr(row, "predicate", None) or ""),
    )


def state_of(row: Row[Any]) -> StateRecord:
    """Return the structured-state record of a row."""
    return StateRecord(
        id=row.id,
        domain=cast("Literal['request', 'note', 'relation', 'joke', 'channel']", row.domain),
        text=row.text,
        viewers=tuple(row.viewers),
        fields=row.fields,
        status=row.status,
        created_at=moment(row.created_at),
        updated_at=moment(row.updated_at),
        expires_at=moment(row.expires_at),
    )
