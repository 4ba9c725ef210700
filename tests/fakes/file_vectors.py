"""A vector index in one SQLite file (or in memory), exact, durable after each call: stands in for Chroma, survives a kill."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from memory.errors import CollectionLost, IndexUnavailable, InvalidRow
from memory.ports import Vectors


class FileVectors:
    """Implements `VectorIndex`. `faults` holds errors to raise by the next calls; `moment` is told each step of a write."""

    def __init__(self, path: Path | str = ":memory:") -> None:
        self._file = sqlite3.connect(path, isolation_level=None, timeout=5)
        self._file.execute("PRAGMA journal_mode=WAL")
        self._file.execute("CREATE TABLE IF NOT EXISTS vector (collection, id, v BLOB, PRIMARY KEY (collection, id))")
        self.faults: list[Exception] = []
        self.broken: set[str] = set()
        self.vouched: set[str] | None = None
        self.upserts: list[tuple[str, int]] = []
        self.dropped: list[str] = []
        self.deleted: list[str] = []
        self.moment: Callable[[str], None] = lambda _: None

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        self._fault(collection)
        _check(ids, vectors)
        rows = [(collection, identity, vector.tobytes()) for identity, vector in zip(ids, vectors, strict=True)]
        for number, row in enumerate(rows):
            self._file.execute("INSERT INTO vector VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET v = excluded.v", row)
            if number == 0:
                self.moment("mid_sink")
        self.upserts.append((collection, len(ids)))
        self.moment("after_sink")

    async def upsert_many(self, writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        lost = tuple(write[0] for write in writes if write[0] in self.broken)
        for write in writes:
            if write[0] not in self.broken:
                await self.upsert(*write)
        if lost:
            message = f"collections {lost} are lost; drop and rebuild them"
            raise CollectionLost(message, lost)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._fault(collection)
        self.deleted.append(collection)
        self._file.executemany("DELETE FROM vector WHERE collection = ? AND id = ?", [(collection, each) for each in ids])

    async def drop(self, collection: str) -> None:
        self._fault(None)
        self.broken.discard(collection)
        self.dropped.append(collection)
        self._file.execute("DELETE FROM vector WHERE collection = ?", (collection,))

    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        self._fault(collection)
        rows = self._file.execute("SELECT id, v FROM vector WHERE collection = ?", (collection,)).fetchall()
        query = np.atleast_2d(vector)
        scored = [(identity, round(float((query @ np.frombuffer(blob, np.float32)).max()), 6)) for identity, blob in rows]
        return sorted(scored, key=lambda hit: (-hit[1], hit[0]))[: max(limit, 0)]

    async def ids(self, collection: str) -> set[str]:
        self._fault(collection)
        return {row[0] for row in self._file.execute("SELECT id FROM vector WHERE collection = ?", (collection,))}

    @property
    def identity(self) -> str:
        return "file"

    def doubt(self) -> None:
        self.vouched = set()

    def vouch(self, collections: Sequence[str]) -> None:
        if self.vouched is not None:
            self.vouched.update(collections)

    def trust(self) -> None:
        self.vouched = None

    async def names(self) -> set[str]:
        return {row[0] for row in self._file.execute("SELECT DISTINCT collection FROM vector")}

    async def look(self) -> bool:
        return False

    async def vacuum(self) -> int:
        return 0

    async def close(self) -> None:
        self._file.close()

    def everything(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for collection, identity in self._file.execute("SELECT collection, id FROM vector"):
            found.setdefault(collection, set()).add(identity)
        return found

    def _fault(self, collection: str | None) -> None:
        if self.faults:
            raise self.faults.pop(0)
        if collection in self.broken:
            message = f"collection {collection} is broken; rebuild it from SQL"
            raise IndexUnavailable(message)


def _check(ids: Sequence[str], vectors: Vectors) -> None:
    storable = all(each and "\0" not in each and each.encode("utf-8", "replace").decode() == each for each in ids)
    if len(ids) != len(vectors) or not storable or not np.isfinite(vectors).all():
        message = "as many storable ids as finite rows are needed; leave the document out"
        raise InvalidRow(message)
