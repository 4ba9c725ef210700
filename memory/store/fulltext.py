"""Full text within one collection: FTS5 finds, and BM25 is computed here over what it found.

The collection is a term of the query, so the scope holds inside the index. SQLite's own `bm25()` is not used: for each term it
walks the postings of the whole file, everybody else's lines included, to count documents (12 ms a query on 300,000 documents
where this takes 2), and so lets other people's words change the score of mine. Frequencies are those of the collection.
BM25: Robertson and Zaragoza, 2009, with k1 = 1.2, b = 0.75 and the idf that never turns negative.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, literal, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.store.document_writes import DOCUMENT
from memory.store.stems import word_stems

_WORDS = 40  # different words of one query that are searched
_POSTINGS = 200  # newest documents a stem: rare words find all of theirs
_LARGEST = 10_000  # a collection is counted up to here
_NEWEST = (
    "SELECT rowid FROM (SELECT rowid FROM document_fts WHERE document_fts MATCH :match_{} ORDER BY rowid DESC LIMIT :postings)"
)
_FOUND = "SELECT id, stems, seq FROM document WHERE superseded = 0 AND seq IN ({})"
_K1, _B = 1.2, 0.75


async def search(session: AsyncSession, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
    """Return up to `limit` (document id, score) of one collection, best first; whatever the query holds, it is words only."""
    words = list(dict.fromkeys(word_stems(query)))[:_WORDS]
    if not words or limit <= 0:
        return []
    wanted = [_match(collection, stem) for stem in dict.fromkeys(stem for word in words for stem in word)]
    statement = text(_FOUND.format(" UNION ".join(_NEWEST.format(number) for number in range(len(wanted)))))
    values = {f"match_{number}": match for number, match in enumerate(wanted)}
    found = await session.execute(statement, {**values, "postings": _POSTINGS})
    rows = found.all()
    if not rows:
        return []
    counted = select(literal(1)).where(DOCUMENT.c.collection == collection).limit(_LARGEST).subquery()
    size = (await session.execute(select(func.count()).select_from(counted))).scalar_one()
    return _ranked(rows, words, size)[:limit]


def _match(collection: str, stem: str) -> str:
    scope = collection.replace('"', '""')
    return f'collection:"{scope}" AND stems:"{stem}"'


def _ranked(rows: Sequence[Any], words: Sequence[tuple[str, ...]], size: int) -> list[tuple[str, float]]:
    counts = [Counter(row.stems.split()) for row in rows]
    lengths = [max(1, count.total()) for count in counts]
    mean = sum(lengths) / len(lengths)
    scores = [0.0] * len(rows)
    for word in words:
        frequencies = [max(count[stem] for stem in word) for count in counts]
        holders = sum(1 for frequency in frequencies if frequency)
        rarity = math.log(1 + (max(size, holders) - holders + 0.5) / (holders + 0.5))
        for number, frequency in enumerate(frequencies):
            if frequency:
                damped = frequency + _K1 * (1 - _B + _B * lengths[number] / mean)
                scores[number] += rarity * frequency * (_K1 + 1) / damped
    # Equal scores: the newer first, so that the same rows always give the same list.
    order = sorted(range(len(rows)), key=lambda number: (-scores[number], -rows[number].seq))
    return [(rows[number].id, scores[number]) for number in order]


def optimise(connection: Connection) -> None:
    """Merge the index into one piece: after an erasure this takes the erased words out of the file. Slow; not in a hurry."""
    connection.exec_driver_sql("INSERT INTO document_fts(document_fts) VALUES ('optimize')")


def rebuild(connection: Connection) -> None:
    """Make the index anew from the documents."""
    connection.exec_driver_sql("INSERT INTO document_fts(document_fts) VALUES ('rebuild')")


def check(connection: Connection) -> None:
    """Compare the index with the documents; raise SQLAlchemy's DatabaseError where they differ."""
    connection.exec_driver_sql("INSERT INTO document_fts(document_fts, rank) VALUES ('integrity-check', 1)")
