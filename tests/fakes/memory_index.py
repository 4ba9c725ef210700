"""A vector index in a dictionary: the same contract as Chroma, none of its cost."""

from collections.abc import Sequence

import numpy as np

from memory.errors import IndexUnavailable, InvalidRow
from memory.ports import Vectors


class MemoryIndex:
    """`memory.ports.VectorIndex`. `broken` names collections that fail as a broken one does."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, Vectors]] = {}
        self.broken: set[str] = set()

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        self._check(collection)
        rows = np.asarray(vectors, dtype=np.float32)
        if len(rows) != len(ids) or not np.isfinite(rows).all():
            msg = "ids and finite rows must be as many; leave the document out"
            raise InvalidRow(msg)
        if any(not name or "\0" in name or name.encode("utf-8", "replace").decode() != name for name in ids):
            msg = "an id cannot be stored; leave the document out"
            raise InvalidRow(msg)
        if ids:
            self.collections.setdefault(collection, {}).update(zip(ids, rows.copy(), strict=True))

    async def upsert_many(self, writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        for collection, ids, vectors in writes:
            await self.upsert(collection, ids, vectors)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._check(collection)
        for document_id in ids:
            self.collections.get(collection, {}).pop(document_id, None)

    async def drop(self, collection: str) -> None:
        self.broken.discard(collection)
        self.collections.pop(collection, None)

    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        self._check(collection)
        query = np.atleast_2d(np.asarray(vector, dtype=np.float32))
        rows = self.collections.get(collection, {}).items()
        hits = [(document_id, round(float((query @ row).max()), 6)) for document_id, row in rows]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[: max(limit, 0)]

    async def ids(self, collection: str) -> set[str]:
        self._check(collection)
        return set(self.collections.get(collection, {}))

    async def vacuum(self) -> int:
        return 0

    async def close(self) -> None:
        return

    def _check(self, collection: str) -> None:
        if collection in self.broken:
            msg = f"{collection} is broken; build it anew"
            raise IndexUnavailable(msg)
