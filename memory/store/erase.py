"""Erasing lines, with everything that rests on them alone, in one transaction.

What rests on other lines too is made again without the erased ones. What must leave the vector index is returned as ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, delete, or_, select, update

from memory.store import facts, records, tombstones
from memory.store.document_writes import DOCUMENT, LINE, SOURCE, chunks, put, remove
from memory.store.episodes import lines_by_id, rows_of_turn, turn_document, turn_row
from memory.store.streams import stream_for


@dataclass(slots=True, kw_only=True)
class Erasure:
    """What went. `removed` and `rewritten` hold document ids, for the jobs that bring the vector index after."""

    lines: int = 0
    removed: dict[str, list[str]] = field(default_factory=dict)  # collection -> ids
    rewritten: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # lines whose fact had the words of an erased one: to be consolidated again


def erase_lines(connection: Connection, ids: Sequence[str], at: int) -> Erasure:
    """Erase lines, known or still to come, and what was derived from them alone; tombstones keep them out.

    The bot's replies to nothing but erased lines go too. A fact that an erased one had superseded is true again.
    """
    tombstones.bury(connection, "line", ids, at)
    records.drop_made_of(connection, ids)
    rows = [row for row in lines_by_id(connection, list(dict.fromkeys(ids))).values() if row.deleted_at is None]
    replies = _replies_to(connection, {row.id for row in rows}, rows)
    for piece in chunks([row.seq for row in (*rows, *replies)]):
        connection.execute(update(LINE).where(LINE.c.seq.in_(piece)).values(deleted_at=at))
    erasure = Erasure(lines=len(rows))
    _purge(connection, [*rows, *replies], erasure, {"text": ""})
    return erasure


def purge_lines(connection: Connection, seqs: Sequence[int], *, nameless: bool = False) -> Erasure:
    """Take the words of lines that were marked as deleted out of every table, with what rested on them alone.

    `nameless` takes out who wrote them, too. Lines that are not marked are left alone.
    """
    blank: dict[str, Any] = {"text": "", "reply_to": None}
    if nameless:
        blank |= {"viewer_id": None, "login": None, "name": None}
    rows: list[Row[Any]] = []
    for piece in chunks(seqs):
        rows += connection.execute(select(LINE).where(LINE.c.seq.in_(piece), LINE.c.deleted_at.is_not(None))).all()
    erasure = Erasure(lines=len(rows))
    _purge(connection, rows, erasure, blank)
    return erasure


def _purge(connection: Connection, rows: Sequence[Row[Any]], erasure: Erasure, blank: dict[str, Any]) -> None:
    for row in rows:
        kept = {"kind": row.detail["kind"]} if row.kind == "notice" and row.detail else None
        connection.execute(update(LINE).where(LINE.c.seq == row.seq).values(**blank, detail=kept))
    gone: list[str] = []
    for document in resting_on(connection, [row.seq for row in rows]):
        left = _living(connection, document.provenance)
        if left and document.kind in {"fact", "claim"} and document.provenance[0] not in left:
            gone.append(document.id)  # its words are those of the message that goes
            erasure.unread += left
        elif left:
            erasure.rewritten += _without(connection, document, left)
        else:
            gone.append(document.id)
    for piece in chunks([row.seq for row in rows]):
        connection.execute(delete(SOURCE).where(SOURCE.c.line_seq.in_(piece)))
    removed, restored = remove_documents(connection, gone)
    erasure.removed = removed
    erasure.rewritten += restored


def remove_documents(connection: Connection, ids: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Delete documents; return what went, by collection, and the ids of the facts that are true again without them."""
    restored = facts.restore(connection, ids)
    return remove(connection, ids), restored


def _living(connection: Connection, provenance: Sequence[str]) -> list[str]:
    """Return what is left of a provenance, nothing where no line of it lives: a command alone holds nothing up."""
    known = lines_by_id(connection, provenance)
    left = [one for one in provenance if one not in known or known[one].deleted_at is None]
    return left if any(one in known for one in left) else []


def _replies_to(connection: Connection, erased: set[str], rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Find the bot's replies that answer erased lines and nothing else; they come after what they answer."""
    found = []
    for stream_id in sorted({row.stream_id for row in rows}):
        first = min(row.seq for row in rows if row.stream_id == stream_id)
        later = select(LINE).where(
            LINE.c.stream_id == stream_id, LINE.c.seq > first, LINE.c.kind == "reply", LINE.c.deleted_at.is_(None)
        )
        found += [
            row for row in connection.execute(later).all() if row.id not in erased and _answered(connection, row) <= erased
        ]
    return found


def _answered(connection: Connection, reply: Row[Any]) -> set[str]:
    """Return what a reply answers: the lines that it names, or else those of its turn, or else itself."""
    named = set((reply.detail or {}).get("in_reply_to", ()))
    turn = turn_row(connection, reply.turn_id) if reply.turn_id and not named else None
    return named or set(turn.line_ids if turn else ()) or {reply.id}


def resting_on(connection: Connection, seqs: Sequence[int]) -> list[Row[Any]]:
    """Return the documents that rest on any of these lines, in the order of writing."""
    found: dict[int, Row[Any]] = {}
    for piece in chunks(seqs):
        resting = select(SOURCE.c.document_seq).where(SOURCE.c.line_seq.in_(piece))
        found |= {row.seq: row for row in connection.execute(select(DOCUMENT).where(DOCUMENT.c.seq.in_(resting))).all()}
    return [found[seq] for seq in sorted(found)]


def _without(connection: Connection, document: Row[Any], left: Sequence[str]) -> list[str]:
    """Make a document again from the lines that are left; return its id if it must be indexed again."""
    if document.kind == "turn":
        row = next(iter(lines_by_id(connection, left).values()))
        turn = turn_row(connection, row.turn_id) if row.turn_id else None
        if turn is not None:
            again = turn_document(turn, rows_of_turn(connection, turn), stream_for(connection, turn.stream_id))
            return put(connection, [again]) if again else []
    past = select(facts.FACT.c.id).where(
        facts.FACT.c.id == document.id,
        or_(facts.FACT.c.expired_at.is_not(None), facts.FACT.c.superseded_by.is_not(None), facts.FACT.c.faded_at.is_not(None)),
    )
    told = document.invalid_at is not None  # its document says itself until when it was true; of one taken back, nothing
    shown = {"superseded": not told and connection.scalar(past) is not None, "indexed_model": None}
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.seq == document.seq).values(provenance=list(left), **shown))
    return [document.id] if not shown["superseded"] else []
