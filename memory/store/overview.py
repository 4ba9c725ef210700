"""What people ask of the whole memory: sums, dates, words in everybody's memory, and whether the file is sound."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, select, text, update

from memory.model import Document
from memory.store import fulltext
from memory.store.document_writes import DOCUMENT, IN_SIGHT, LINE
from memory.store.meta import counts
from memory.store.rows import document_of
from memory.store.stamps import moment
from memory.store.stems import word_stems
from memory.store.tombstones import TOMBSTONE

_WORDS = 40  # different words of one question that are searched
_NEWEST = 2000  # documents looked at: those written last
_D = DOCUMENT.c
_FOUND = text("SELECT rowid FROM document_fts WHERE document_fts MATCH :query ORDER BY rowid DESC LIMIT :limit")
_SOUND = "ok"


def documents_by_kind(connection: Connection) -> dict[str, int]:
    """Return how many living documents there are of each kind."""
    counted = select(_D.kind, func.count().label("documents")).where(IN_SIGHT).group_by(_D.kind)
    return {row.kind: row.documents for row in connection.execute(counted.order_by(_D.kind))}


def unindexed(connection: Connection) -> int:
    """Return how many living documents the vector index does not hold yet."""
    waiting = select(func.count()).select_from(DOCUMENT).where(IN_SIGHT, _D.indexed_model.is_(None))
    return connection.scalar(waiting) or 0


def span(connection: Connection) -> tuple[datetime | None, datetime | None]:
    """Return when the first and the last line were written, None where there is none."""
    first, last = connection.execute(select(func.min(LINE.c.at), func.max(LINE.c.at))).one()
    return (moment(first), moment(last)) if first is not None else (None, None)


def tombstones(connection: Connection) -> int:
    """Return how many removals are remembered."""
    return connection.scalar(select(func.count()).select_from(TOMBSTONE)) or 0


def sums(connection: Connection) -> dict[str, int]:
    """Return how many viewers, streams, messages, turns and documents there are."""
    return counts(connection)


def with_words(connection: Connection, query: str, *, kinds: Sequence[str], limit: int) -> list[tuple[Document, int]]:
    """Return up to `limit` documents of anybody with the number of the query's words in them: most words first, then newest.

    Among the newest that hold any of the words; whatever the query holds, it is words only.
    """
    words = list(dict.fromkeys(word_stems(query)))[:_WORDS]
    if not words:
        return []
    asked = " OR ".join(f'stems:"{stem}"' for stem in dict.fromkeys(stem for word in words for stem in word))
    rows = [row.rowid for row in connection.execute(_FOUND, {"query": asked, "limit": _NEWEST})]
    found: list[Row[Any]] = []
    for start in range(0, len(rows), 500):
        living = select(DOCUMENT).where(_D.seq.in_(rows[start : start + 500]), _D.kind.in_(kinds), IN_SIGHT)
        found += connection.execute(living).all()
    held = [(row, sum(1 for word in words if set(word) & set(row.stems.split()))) for row in found]
    best = sorted(held, key=lambda hit: (-hit[1], -hit[0].seq))[:limit]
    return [(document_of(row), number) for row, number in best]


def faults(connection: Connection) -> list[str]:
    """Return what SQLite finds wrong with the file, nothing where it is sound."""
    said = [str(row[0]) for row in connection.exec_driver_sql("PRAGMA quick_check(5)")]
    return [line for line in said if line != _SOUND]


def doubt_index(connection: Connection) -> None:
    """Mark every document as not indexed, and build the full text anew."""
    connection.execute(update(DOCUMENT).values(indexed_model=None))
    fulltext.rebuild(connection)
