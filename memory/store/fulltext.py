"""Full text within one collection: FTS5 finds, and BM25 is computed here over what it found.

The collection is a term of the query, so the scope holds inside the index. SQLite's own `bm25()` is not used: for each term it
walks the postings of the whole file, everybody else's lines included, to count documents (12 ms a query on 300,000 documents
where this takes 2), and so lets other people's words change the score of mine. Frequencies are those of the collection.
BM25: Robertson and Zaragoza, 2009, with k1 = 1.2, b = 0.75 and the idf that never turns negative.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, text

from memory.store.document_writes import IDS, IN_SIGHT_SQL, packed
from memory.store.prepared import Prepared
from memory.store.stems import word_stems

_WORDS = 40  # different words of one query that are searched
READ_WHOLE = 200  # a collection up to this size is read whole, which is faster than a query a stem
_LARGEST = 10_000  # a collection is counted up to here
_POSTINGS = 120  # newest documents a stem: rare words find all of theirs
_SCORED = 100  # documents whose words are read for the final score: those with the rarest words
_ROW = ("id", "seq", "stems")
_COUNT = Prepared(
    text("SELECT count(*) FROM (SELECT 1 FROM document WHERE collection = :collection LIMIT :largest)"), names=("size",)
)
_FIRST = Prepared(
    text(f"SELECT id, seq, stems FROM document WHERE {IN_SIGHT_SQL} AND collection = :collection LIMIT :limit"),  # noqa: S608 - our own words
    names=_ROW,
)
_SOME = Prepared(
    text(f"SELECT id, seq, stems FROM document WHERE {IN_SIGHT_SQL} AND seq IN ({IDS.text})"),  # noqa: S608 - the same
    names=_ROW,
)
_HOLDERS = Prepared(  # `asked` holds each stem's query
    text("""
SELECT asked.key, (
  SELECT json_group_array(rowid)
  FROM (SELECT rowid FROM document_fts WHERE document_fts MATCH asked.value ORDER BY rowid DESC LIMIT :most))
FROM json_each(:asked) AS asked"""),
    names=("stem", "seqs"),
)
_K1, _B = 1.2, 0.75
Words = Sequence[tuple[str, ...]]  # a query: the stems of each word


def search(
    connection: Connection, collection: str, query: str, limit: int, *, read_whole: int = READ_WHOLE
) -> list[tuple[str, float]]:
    """Return up to `limit` (document id, score) of one collection, best first; whatever the query holds, it is words only.

    Collections of up to `read_whole` documents are read without the index, with the same result.
    """
    words = list(dict.fromkeys(word_stems(query)))[:_WORDS]
    if not words or limit <= 0:
        return []
    rows = _FIRST.all(connection, {"collection": collection, "limit": read_whole + 1})
    if len(rows) <= read_whole:
        frequencies = _frequencies(rows, words)
        rarities = _rarities([sum(1 for found in counts if found) for counts in frequencies], len(rows))
    else:
        postings = _postings(connection, collection, words)
        size = _COUNT.all(connection, {"collection": collection, "largest": _LARGEST})[0].size
        rarities = _rarities([len(found) for found in postings], size)
        chosen = _most_promising(postings, rarities, max(_SCORED, limit))
        rows = _SOME.all(connection, {"ids": packed(chosen)})
        frequencies = _frequencies(rows, words)
    return _ranked(rows, frequencies, rarities)[:limit]


def _postings(connection: Connection, collection: str, words: Words) -> list[set[int]]:
    """Return the keys of the newest documents that hold each word."""
    scope = collection.replace('"', '""')
    stems = dict.fromkeys(stem for word in words for stem in word)
    asked = json.dumps({stem: f'collection:"{scope}" AND stems:"{stem}"' for stem in stems})
    rows = _HOLDERS.all(connection, {"asked": asked, "most": _POSTINGS})
    found = {row.stem: json.loads(row.seqs) for row in rows}
    return [set().union(*(found[stem] for stem in word)) for word in words]


def _rarities(holders: Sequence[int], size: int) -> list[float]:
    """Return the idf of words that so many documents of a collection hold."""
    return [math.log(1 + (max(size, held) - held + 0.5) / (held + 0.5)) for held in holders]


def _most_promising(postings: Sequence[set[int]], rarities: Sequence[float], limit: int) -> list[int]:
    promise: dict[int, float] = {}
    for found, rarity in zip(postings, rarities, strict=True):
        for seq in found:
            promise[seq] = promise.get(seq, 0.0) + rarity
    return sorted(promise, key=lambda seq: (-promise[seq], -seq))[:limit]


def _frequencies(rows: Sequence[Any], words: Words) -> list[list[int]]:
    """Return how often each word stands in each document, by word."""
    wanted = {stem for word in words for stem in word}
    said = [list(filter(wanted.__contains__, row.stems.split())) for row in rows]  # most rows hold none of the words
    return [[max(map(found.count, word)) if found else 0 for found in said] for word in words]


def _ranked(rows: Sequence[Any], frequencies: Sequence[list[int]], rarities: Sequence[float]) -> list[tuple[str, float]]:
    lengths = [row.stems.count(" ") + 1 for row in rows]
    mean = sum(lengths) / max(1, len(lengths))
    scores = [0.0] * len(rows)
    for counts, rarity in zip(frequencies, rarities, strict=True):
        for number, frequency in enumerate(counts):
            if frequency:
                damped = frequency + _K1 * (1 - _B + _B * lengths[number] / mean)
                scores[number] += rarity * frequency * (_K1 + 1) / damped
    # Equal scores: the newer first, so that the same rows always give the same list.
    order = sorted((number for number in range(len(rows)) if scores[number]), key=lambda n: (-scores[n], -rows[n].seq))
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
