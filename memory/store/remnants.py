"""What is left of documents that rested on erased lines too: made again from the other lines, many at once."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, or_, select, update

from memory.model import Document
from memory.store.document_writes import DOCUMENT, IDS, packed, put
from memory.store.episodes import TURN, lines_by_id, turn_document
from memory.store.facts import FACT
from memory.store.prepared import Prepared
from memory.store.streams import stream_for

Left = tuple[Any, Sequence[str]]  # the row of a document, and what is left of its provenance
_TURNS = Prepared(select(TURN).where(TURN.c.id.in_(IDS)))
_PAST = Prepared(
    select(FACT.c.id).where(
        FACT.c.id.in_(IDS), or_(FACT.c.expired_at.is_not(None), FACT.c.superseded_by.is_not(None), FACT.c.faded_at.is_not(None))
    )
)
_NARROW = (
    update(DOCUMENT)
    .where(DOCUMENT.c.seq == bindparam("at_seq"))
    .values(provenance=bindparam("left"), superseded=bindparam("past"), indexed_model=None)
)


def make_again(connection: Connection, kept: Sequence[Left], known: Mapping[str, Any]) -> list[str]:
    """Make documents again from what is left of their lines; return the ids of those that must be indexed again.

    `known` are the rows of their lines, by id.
    """
    turns = _turns(connection, kept, known)
    lines = dict(known)
    wanted = [one for turn in turns.values() for one in _lines_of(turn) if one not in lines]
    lines |= lines_by_id(connection, list(dict.fromkeys(wanted)))
    streams = {stream_id: stream_for(connection, stream_id) for stream_id in {turn.stream_id for turn in turns.values()}}
    whole: list[Document] = []
    others: list[Left] = []
    for document, left in kept:
        turn = turns.get(document.id)
        if turn is None:
            others.append((document, left))
            continue
        rows = [lines[one] for one in dict.fromkeys(_lines_of(turn)) if one in lines]
        again = turn_document(turn, rows, streams[turn.stream_id])
        whole += [again] if again else []
    return put(connection, whole) + _narrowed(connection, others)


def _turns(connection: Connection, kept: Sequence[Left], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the rows of the turns that documents are made of, by the documents' ids."""
    named: dict[str, str] = {}
    for document, left in kept:
        if document.kind == "turn":
            turn_id = next(known[one].turn_id for one in left if one in known)
            named |= {document.id: turn_id} if turn_id else {}
    found = {row.id: row for row in _TURNS.all(connection, {"ids": packed(dict.fromkeys(named.values()))})}
    return {document_id: found[turn_id] for document_id, turn_id in named.items() if turn_id in found}


def _lines_of(turn: Any) -> list[str]:  # noqa: ANN401 - a row of any statement
    return [*turn.line_ids, *([turn.reply_id] if turn.reply_id else [])]


def _narrowed(connection: Connection, others: Sequence[Left]) -> list[str]:
    """Let documents that keep their words rest on what is left; those of the past stay out of sight."""
    if not others:
        return []
    past = {row.id for row in _PAST.all(connection, {"ids": packed([document.id for document, _ in others])})}
    # The document of a fact that ended says itself until when it was true; of one that was taken back, nothing is shown.
    hidden = {document.id for document, _ in others if document.invalid_at is None and document.id in past}
    rows = [{"at_seq": document.seq, "left": list(left), "past": document.id in hidden} for document, left in others]
    connection.execute(_NARROW, rows)
    return [document.id for document, _ in others if document.id not in hidden]
