"""Present facts and claims by page, taken out of sight where they are faint, and those that stood behind an answer counted."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, Select, func, select, update

from memory.store.document_writes import DOCUMENT, IDS, IN_SIGHT, LINE, SOURCE, chunks, packed
from memory.store.facts import FACT
from memory.store.scrub import clean
from memory.store.stamps import milliseconds

_PRESENT = (
    select(DOCUMENT.c.seq, DOCUMENT.c.id, DOCUMENT.c.collection, DOCUMENT.c.at, FACT.c.salience, FACT.c.used_at)
    .join(FACT, FACT.c.id == DOCUMENT.c.id)
    .where(FACT.c.expired_at.is_(None), FACT.c.faded_at.is_(None), IN_SIGHT)
    .order_by(DOCUMENT.c.seq)
)
_BEHIND = (
    select(DOCUMENT.c.id)
    .join(SOURCE, SOURCE.c.document_seq == DOCUMENT.c.seq)
    .join(LINE, LINE.c.seq == SOURCE.c.line_seq)
    .where(LINE.c.id.in_(IDS), DOCUMENT.c.kind.in_(("fact", "claim")))
)


def page(connection: Connection, *, after: int, limit: int) -> list[Row[Any]]:
    """Return the next present facts and claims behind key `after`, in the order of writing."""
    found: Select[Any] = _PRESENT.where(DOCUMENT.c.seq > after).limit(limit)
    return [*connection.execute(found).all()]


def hide(connection: Connection, rows: Iterable[Row[Any]], now: datetime) -> dict[str, list[str]]:
    """Take facts out of sight; return their ids by collection, for the index to follow."""
    hidden: dict[str, list[str]] = {}
    for row in rows:
        hidden.setdefault(row.collection, []).append(row.id)
    for piece in chunks([one for ids in hidden.values() for one in ids]):
        connection.execute(update(FACT).where(FACT.c.id.in_(piece)).values(faded_at=milliseconds(now)))
        out_of_sight = {"superseded": True, "indexed_model": None}
        connection.execute(update(DOCUMENT).where(DOCUMENT.c.id.in_(piece)).values(**out_of_sight))
    return hidden


def note_use(connection: Connection, sources: Iterable[str], at: datetime) -> None:
    """Count the facts and claims that rest on these lines as used in an answer."""
    used = {"uses": FACT.c.uses + 1, "used_at": func.max(func.coalesce(FACT.c.used_at, 0), milliseconds(at))}
    connection.execute(update(FACT).where(FACT.c.id.in_(_BEHIND)).values(**used), {"ids": packed(map(clean, sources))})
