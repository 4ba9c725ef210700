"""Full text within one collection: FTS5 finds, and BM25 is computed here over what it found.

The collection is a term of the query, so the scope holds inside the index. SQLite's own `bm25()` is not used: for each term it
walks the postings of the whole file, everybody else's lines included, to count documents (12 ms a query on 300,000 documents
where this takes 2), and so lets other people's words change the score of mine. Frequencies are those of the collection.
BM25: Robertson and Zaragoza, 2009, with k1 = 1.2, b = 0.75 and the idf that never turns negative.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.store.document_writes import DOCUMENT, IDS, packed
from memory.store.stems import word_stems

_WORDS = 40  # different words of one query that are searched
_POSTINGS = 200  # newest documents a stem: rare words find all of theirs
_SCORED = 100  # documents whose text is read for the final score, those with the rarest words
_LARGEST = 10_000  # a collection is counted up to here
_NEWEST = (
    "SELECT {0} AS stem, rowid AS seq FROM "
    "(SELECT rowid FROM document_fts WHERE document_fts MATCH :match_{0} ORDER BY rowid DESC LIMIT :postings)"
)
_COUNT = text("SELECT count(*) FROM (SELECT 1 FROM document WHERE collection = :collection LIMIT :largest)")
_TEXTS = select(DOCUMENT.c.id, DOCUMENT.c.seq, DOCUMENT.c.stems).where(
    DOCUMENT.c.seq.in_(IDS), DOCUMENT.c.superseded.is_(False)
)
_K1, _B = 1.2, 0.75


@dataclass(slots=True)
class _Word:
    """A word of the query: its stems, and the documents found by any of them."""

    stems: tuple[str, ...]
    found: set[int]

    def rarity(self, size: int) -> float:
        """Return the idf in a collection of that size."""
        holders = len(self.found)
        return math.log(1 + (max(size, holders) - holders + 0.5) / (holders + 0.5))


async def search(session: AsyncSession, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
    """Return up to `limit` (document id, score) of one collection, best first; whatever the query holds, it is words only."""
    words = [_Word(found, set()) for found in dict.fromkeys(word_stems(query))][:_WORDS]
    if not words or limit <= 0:
        return []
    await _find(session, collection, words)
    candidates = set().union(*(word.found for word in words))
    if not candidates:
        return []
    size = (await session.execute(_COUNT, {"collection": collection, "largest": _LARGEST})).scalar_one()
    rarity = {id(word): word.rarity(size) for word in words}
    promise = {seq: sum(rarity[id(word)] for word in words if seq in word.found) for seq in candidates}
    chosen = sorted(candidates, key=lambda seq: (-promise[seq], -seq))[: max(_SCORED, limit)]
    rows = (await session.execute(_TEXTS, {"ids": packed(chosen)})).all()
    return _ranked(rows, [(word, rarity[id(word)]) for word in words])[:limit]


async def _find(session: AsyncSession, collection: str, words: Sequence[_Word]) -> None:
    scope = collection.replace('"', '""')
    stems = list(dict.fromkeys(stem for word in words for stem in word.stems))
    matches = {f"match_{number}": f'collection:"{scope}" AND stems:"{stem}"' for number, stem in enumerate(stems)}
    statement = " UNION ALL ".join(_NEWEST.format(number) for number in range(len(stems)))
    found: dict[str, set[int]] = {stem: set() for stem in stems}
    for number, seq in (await session.execute(text(statement), {**matches, "postings": _POSTINGS})).all():
        found[stems[number]].add(seq)
    for word in words:
        word.found.update(*(found[stem] for stem in word.stems))


def _ranked(rows: Sequence[Any], words: Sequence[tuple[_Word, float]]) -> list[tuple[str, float]]:
    counts = [Counter(row.stems.split()) for row in rows]
    lengths = [max(1, count.total()) for count in counts]
    mean = sum(lengths) / max(1, len(lengths))
    scores = [0.0] * len(rows)
    for word, rarity in words:
        for number, count in enumerate(counts):
            frequency = max(count[stem] for stem in word.stems)
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
