"""Echoes: what viewers once said and a record of structured state says too. When the record changes, they are past with it.

An echo is never deleted: its valid time ends, as that of a fact which is true no more, so that it may still be found as
something of the past and can never stand in the block as current against the record.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, or_, select, update

from memory.model import StateRecord
from memory.normalise import words
from memory.store.collections import collection_name
from memory.store.decisions import Ledger
from memory.store.document_writes import DOCUMENT, IN_SIGHT
from memory.store.facts import FACT
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.viewers import NAME

ALIKE = 0.6  # part of a record's words that a memory must hold to say the same
_LETTERS = 4  # by which words are compared, from the beginning: they may be inflected
_STATEMENTS = ("message", "fact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A record as it was, and as it is now (None: it is closed)."""

    was: StateRecord
    now: StateRecord | None
    at: datetime


def end(connection: Connection, change: Change, viewers: Iterable[str], *, now: int) -> list[str]:
    """Let the older memories of these viewers that say what the record said be true until the change; return whose there were.

    What says the new record just as well stays. `now` is the moment of writing, in milliseconds.
    """
    was = _said(connection, change.was)
    is_now = _said(connection, change.now) if change.now is not None else frozenset[str]()
    if not was or was == is_now:
        return []
    touched = []
    for viewer in dict.fromkeys(map(clean, viewers)):
        meant = [id_ for id_, text in _living(connection, viewer, change.at) if _echoes(_starts(text), was, is_now)]
        if meant:
            _date(connection, meant, change.at, now=now)
            touched.append(viewer)
    return touched


def _living(connection: Connection, viewer: str, at: datetime) -> list[tuple[str, str]]:
    until = milliseconds(at)
    found = select(DOCUMENT.c.id, DOCUMENT.c.text).where(
        DOCUMENT.c.collection == collection_name("viewer", viewer),
        DOCUMENT.c.kind.in_(_STATEMENTS),
        IN_SIGHT,
        DOCUMENT.c.at <= until,
        or_(DOCUMENT.c.invalid_at.is_(None), DOCUMENT.c.invalid_at > until),
    )
    return [(row.id, row.text) for row in connection.execute(found.order_by(DOCUMENT.c.seq))]


def _date(connection: Connection, ids: Sequence[str], at: datetime, *, now: int) -> None:
    until = milliseconds(at)
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.id.in_(ids)).values(invalid_at=until))
    open_ones = select(FACT.c.id).where(FACT.c.id.in_(ids), FACT.c.invalid_at.is_(None)).order_by(FACT.c.id)
    believed = list(connection.scalars(open_ones))
    connection.execute(update(FACT).where(FACT.c.id.in_(believed)).values(invalid_at=until, expired_at=now))
    ledger = Ledger(connection, now)
    ledger.act()
    for fact_id in believed:
        ledger.note(fact_id, "end", "record", invalid_at=until)
    ledger.write()


def _said(connection: Connection, record: StateRecord) -> frozenset[str]:
    """Return what a record says, as beginnings of words; of a relation also the names of its other end."""
    other = record.fields.get("object") if record.domain == "relation" else None
    names = select(NAME.c.login, NAME.c.name).where(NAME.c.viewer_id == other)
    called = [part for row in connection.execute(names) for part in row] if isinstance(other, str) else []
    return _starts(" ".join([record.text, *called]))


def _starts(text: str) -> frozenset[str]:
    return frozenset(word[:_LETTERS] for word in words(text) if len(word) >= _LETTERS)


def _echoes(said: frozenset[str], was: frozenset[str], now: frozenset[str]) -> bool:
    alike = len(said & was) / len(was)
    return alike >= ALIKE and (not now or alike > len(said & now) / len(now))
