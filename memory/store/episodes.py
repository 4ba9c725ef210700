"""What happened: lines and turns, and the two memories made of the lines, one split by author and one by stream.

Everything here is derived from the rows alone, with ids made from theirs: doing it again gives the same documents.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal
from uuid import UUID, uuid5

from sqlalchemy import Connection, Row, bindparam, select, update
from sqlalchemy.dialects.sqlite import insert

from memory.events import BotReply
from memory.model import Batch, Document, HistoryLine, Stream, Turn
from memory.normalise import words
from memory.store import tombstones
from memory.store.collections import collection_name
from memory.store.document_writes import IDS, LINE, packed
from memory.store.prepared import Prepared
from memory.store.repeats import repeated
from memory.store.rows import history_of, line_of, line_values, reply_values, shown_text
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds, moment
from memory.store.tables import TurnRow, table_of

TURN = table_of(TurnRow)
_ADD_LINES = Prepared(insert(LINE).on_conflict_do_nothing(index_elements=["id"]), without=("seq",))
_OPEN_TURN = Prepared(insert(TURN).on_conflict_do_nothing(index_elements=["id"]), without=("seq",))
_CLOSED = ("reply_id", "reply_state", "reply_reason", "model", "prompt_tokens", "completion_tokens", "reply_seconds")
_CLOSE_TURN = Prepared(
    update(TURN)
    .where(TURN.c.id == bindparam("turn"), TURN.c.state == "open")
    .values(state="recorded", **{name: bindparam(f"new_{name}") for name in _CLOSED})
    .returning(TURN)
)
_TURN_BY_ID = Prepared(select(TURN).where(TURN.c.id == bindparam("turn")))
_LINES_BY_ID = Prepared(select(LINE).where(LINE.c.id.in_(IDS)))
_SHOWN_LINES = 30  # of the recent chat, as a prompt shows it where nobody set another number
_NEWEST = Prepared(
    select(LINE.c.id, LINE.c.text, LINE.c.login, LINE.c.name)
    .where(LINE.c.stream_id == bindparam("stream"), LINE.c.deleted_at.is_(None))
    .order_by(LINE.c.seq.desc())
    .limit(bindparam("most"))
)
_COLONS = str.maketrans(dict.fromkeys(":\uff1a\ufe55\ufe30\u2236\ua789", " "))  # and what looks like one
_IDS = UUID("f1b6f0d4-2f0e-4c86-9c5c-1d7d8a3a5f10")


def derived_id(kind: str, *parts: str) -> str:
    """Return the id of something derived from the parts: always the same for the same parts."""
    return str(uuid5(_IDS, "\x1f".join((kind, *map(clean, parts)))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What storing a batch did: the stream it went to, how many lines were new, and what a history shows of them."""

    stream_id: str
    new: int
    shown: tuple[HistoryLine, ...] | None  # None: some were there before, so only SQL knows what stands where


def store_lines(connection: Connection, batch: Batch, stream: Stream) -> Stored:
    """Store a batch's lines and open its turn. What was deleted before it came stays out."""
    turn_id = batch.id
    rows = [line_values(line, stream.id, turn_id) for line in batch.lines]
    tombstones.apply(connection, stream.id, rows)
    added = _ADD_LINES.run(connection, rows)
    opened = {
        "id": turn_id,
        "stream_id": batch.stream_id,  # as the batch has it, a joined temporary one too: the turn's id is made from it
        "at": milliseconds(batch.closed_at),
        "state": "open",
        "flush_reason": batch.flush_reason,
        "line_ids": [row["id"] for row in rows],
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "reply_seconds": 0.0,
    }
    _OPEN_TURN.run(connection, [opened])
    shown = None
    if added == len(rows):
        kept = (row for row in rows if row["deleted_at"] is None and not row["hidden"])
        shown = tuple(history_of(SimpleNamespace(**row)) for row in kept)
    return Stored(stream_id=stream.id, new=added, shown=shown)


def lines_by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Row[Any]]:
    """Return the rows of these lines, by id; unknown ids are missing."""
    return {row.id: row for row in _LINES_BY_ID.all(connection, {"ids": packed(ids)})}


def turn_row(connection: Connection, turn_id: str) -> Row[Any] | None:
    """Return the row of a turn, None where it was never observed."""
    return _TURN_BY_ID.first(connection, {"turn": turn_id})


def close_turn(connection: Connection, turn: Turn, turn_id: str, stream: Stream) -> Row[Any] | None:
    """Mark an open turn as recorded, with what became of its reply, which becomes a line if it was sent.

    Return the turn's row; None where no such turn is open, and nothing was changed.
    """
    said = turn.said
    reply = _reply_of(turn, turn_id)
    closed = {
        "new_reply_id": clean(reply.id) if reply and reply.id else None,
        "new_reply_state": said.state,
        "new_reply_reason": clean(said.reason),
        "new_model": clean_or_none(said.model),
        "new_prompt_tokens": said.prompt_tokens,
        "new_completion_tokens": said.completion_tokens,
        "new_reply_seconds": said.seconds,
    }
    row = _CLOSE_TURN.first(connection, {"turn": turn_id, **closed})
    if row is not None and reply is not None:
        store_reply(connection, reply, stream, turn_id, rests_on=_recalled(turn))
    return row


def _reply_of(turn: Turn, turn_id: str) -> BotReply | None:
    said = turn.said
    if said.state != "sent" or not said.text:
        return None
    id_ = said.reply_id or derived_id("reply", turn_id)
    return BotReply(at=said.at or turn.batch.closed_at, text=said.text, in_reply_to=said.in_reply_to, id=id_)


def _recalled(turn: Turn) -> tuple[str, ...]:
    """Return the messages that a reply was made from: what is forgotten takes the reply along.

    Those behind the memories that were shown, and those of the recent chat that it says again; what it answers aside.
    """
    if turn.recall is None or not turn.said.text:
        return ()
    behind = [one for item in turn.recall.block.items for one in item.provenance]
    window, batch = turn.recall.window.lines, turn.batch.lines
    shown = {line.id: line.text for line in window} | {line.id: line.text or "" for line in batch}
    people = {one for one in (*(line.author for line in window), *(line.user for line in batch)) if one is not None}
    names = [name for one in people for name in (one.login, one.name)]
    telling = turn.said.text if turn.said.telling is None else turn.said.telling
    return tuple(dict.fromkeys([*behind, *_said_again(telling, shown, turn.said.in_reply_to, names)]))


def repeated_by(connection: Connection, reply: BotReply, stream: Stream) -> tuple[str, ...]:
    """Return the ids of the newest lines of a stream that a reply says again: what it was made from is not known here."""
    rows = _NEWEST.all(connection, {"stream": stream.id, "most": _SHOWN_LINES})
    names = [name for row in rows for name in (row.login, row.name) if name]
    return _said_again(reply.text, {row.id: row.text for row in reversed(rows)}, reply.in_reply_to, names)


def _said_again(text: str, shown: Mapping[str, str], answered: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    asked = [said for id_, said in shown.items() if id_ in answered]
    others = [(id_, said) for id_, said in shown.items() if id_ not in answered]
    return repeated(text, others, known=words(" ".join([*names, *asked])))


def store_reply(
    connection: Connection, reply: BotReply, stream: Stream, turn_id: str | None = None, *, rests_on: Sequence[str] = ()
) -> str:
    """Store something the bot said; return its id: the given one, or one made of the stream, the time and the text.

    An answer to lines that are all gone by now, or made from one that is, is stored without its words: it might tell them.
    """
    reply_id = clean(reply.id) if reply.id else derived_id("reply", stream.id, str(milliseconds(reply.at)), reply.text)
    rows = [reply_values(reply, reply_id, stream, turn_id, rests_on=rests_on)]
    tombstones.apply(connection, stream.id, rows)
    answered = lines_by_id(connection, [clean(one) for one in reply.in_reply_to]).values()
    gone = [line.deleted_at for line in lines_by_id(connection, rests_on).values() if line.deleted_at is not None]
    if answered and all(line.deleted_at is not None for line in answered):
        gone += [line.deleted_at for line in answered]
    if gone:
        rows[0].update(text="", detail=None, deleted_at=max(gone))
    _ADD_LINES.run(connection, rows)
    return reply_id


def personal_documents(rows: Iterable[Row[Any]], stream: Stream, left_out: frozenset[str]) -> list[Document]:
    """Return one document a line, in its author's own memory: a viewer's own words alone.

    Left out are the bot, other bots, viewers of `left_out`, shared chat from another channel, and lines without words.
    """
    left_out |= {stream.bot.id}
    return [
        Document(
            id=derived_id("message", row.id),
            collection=collection_name("viewer", row.viewer_id),
            kind="message",
            text=row.text,
            at=moment(row.at),
            provenance=(row.id, *corrected_by(row)),
            subject=row.viewer_id,
            author=row.viewer_id,
            stream_id=stream.id,
        )
        for row in rows
        if row.kind != "reply" and row.viewer_id not in {None, *left_out} and _is_own_speech(row)
    ]


def corrected_by(row: Row[Any]) -> tuple[str, ...]:
    """Return the id of the command that corrected a line, where there was one and it has an id."""
    command = (row.detail or {}).get("corrected_by")
    return (str(command),) if command else ()


def _is_own_speech(row: Row[Any]) -> bool:
    detail = row.detail or {}
    elsewhere = detail.get("is_bot") or detail.get("source_channel")
    return row.deleted_at is None and bool(row.text.strip()) and not elsewhere


def line_documents(rows: Iterable[Row[Any]], stream: Stream) -> list[Document]:
    """Return one document a living line, `Name: text`, in the stream's memory."""
    return [_of_stream(stream, "line", row.id, [row], at=row.at) for row in rows if row.deleted_at is None]


def turn_document(turn: Row[Any], rows: Iterable[Row[Any]], stream: Stream) -> Document | None:
    """Return the one document of a whole turn, as older memories have it (docs/decisions/0018); None if all was deleted."""
    living = [row for row in rows if row.deleted_at is None and row.turn_id == turn.id]
    return _of_stream(stream, "turn", turn.id, living, at=turn.at) if living else None


def reply_document(row: Row[Any], stream: Stream) -> Document | None:
    """Return the document of a reply that belongs to no turn; None if it was deleted."""
    return _of_stream(stream, "reply", row.id, [row], at=row.at, name="reply_document") if row.deleted_at is None else None


def _of_stream(
    stream: Stream, kind: Literal["line", "turn", "reply"], of: str, rows: Sequence[Row[Any]], *, at: int, name: str = ""
) -> Document:
    """Return the document of these lines; `of` is the id it is derived from, under `name` or else its kind."""
    return Document(
        id=derived_id(name or kind, of),
        collection=collection_name("stream", stream.id),
        kind=kind,
        text="\n".join(map(spoken, rows)),
        at=moment(at),
        provenance=tuple(row.id for row in rows),
        stream_id=stream.id,
    )


def spoken(row: Row[Any]) -> str:
    """Return a line as one line of text, under the name its author had then.

    Nothing in it can begin another line, and no name can hold another speaker and their words.
    """
    words = " ".join(shown_text(row).split())
    return f"{' '.join(row.name.translate(_COLONS).split()) or '?'}: {words}" if row.name else words


def rows_of_turn(connection: Connection, turn: Row[Any]) -> list[Row[Any]]:
    """Return the rows of a turn's lines in the batch's order, its reply last."""
    ids = [*turn.line_ids, *([turn.reply_id] if turn.reply_id else [])]
    found = lines_by_id(connection, ids)
    return [found[id_] for id_ in dict.fromkeys(ids) if id_ in found]


def newest_lines(connection: Connection, limit: int) -> list[str]:
    """Return the ids of the lines stored last, oldest first."""
    newest = connection.scalars(select(LINE.c.id).order_by(LINE.c.seq.desc()).limit(limit)).all()
    return list(reversed(newest))


def recorded_turns(connection: Connection) -> set[str]:
    """Return the ids of all recorded turns: 90 bytes each."""
    return set(connection.scalars(select(TURN.c.id).where(TURN.c.state == "recorded")))


def open_batches(connection: Connection) -> list[Batch]:
    """Return the batches whose turn was never recorded, oldest first, with their lines as they are stored now."""
    turns = connection.execute(select(TURN).where(TURN.c.state == "open").order_by(TURN.c.seq)).all()
    return [
        Batch(
            stream_id=turn.stream_id,
            lines=tuple(line_of(row) for row in _in_order(connection, turn.line_ids)),
            closed_at=moment(turn.at),
            flush_reason=turn.flush_reason,
        )
        for turn in turns
    ]


def _in_order(connection: Connection, ids: Sequence[str]) -> list[Row[Any]]:
    found = lines_by_id(connection, ids)
    return [found[id_] for id_ in ids]
