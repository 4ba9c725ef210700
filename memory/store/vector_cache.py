"""Small collections whole in memory, scored exactly; bounded by bytes, the least recently used go first. No I/O.

Not for several threads: the event loop owns it.
"""

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import NDArray

from memory.ports import Vectors

_ID_BYTES = 160  # an id, its slot in the list and its entry in the index, roughly
_DIGITS = 6  # cosines are rounded: equal ones stay equal whatever order their rows are added up in


class CachedCollection:
    """The ids and vectors of one collection. Rows grow by doubling."""

    def __init__(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Copy `ids` and their (n, dimension) vectors."""
        self._ids = list(ids)
        self._rows = {document_id: row for row, document_id in enumerate(self._ids)}
        self._vectors = np.array(vectors, dtype=np.float32)

    def __len__(self) -> int:
        """Return how many vectors it holds."""
        return len(self._ids)

    def __reduce__(self) -> tuple[type[Self], tuple[list[str], Vectors]]:
        """Travel between processes without the room to grow."""
        return type(self), (self._ids, self._vectors[: len(self._ids)])

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return int(self._vectors.shape[1])

    @property
    def bytes(self) -> int:
        """Memory it takes."""
        return self._vectors.nbytes + _ID_BYTES * len(self._ids)

    @property
    def ids(self) -> set[str]:
        """Every id."""
        return set(self._ids)

    def upsert(self, ids: Sequence[str], vectors: Vectors) -> None:
        """Replace or add."""
        fresh = [document_id for document_id in ids if document_id not in self._rows]
        self._reserve(len(self._ids) + len(fresh))
        for document_id in fresh:
            self._rows[document_id] = len(self._ids)
            self._ids.append(document_id)
        self._vectors[[self._rows[document_id] for document_id in ids]] = vectors

    def delete(self, ids: Sequence[str]) -> None:
        """Remove; missing ones are fine. The last row fills the gap."""
        for document_id in ids:
            row = self._rows.pop(document_id, None)
            if row is None:
                continue
            moved = self._ids.pop()
            if moved != document_id:
                self._ids[row], self._rows[moved] = moved, row
                self._vectors[row] = self._vectors[len(self._ids)]
            self._vectors[len(self._ids)] = 0.0

    def search(self, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine to the nearest row of `vector`), best first, equal ones by id."""
        count = len(self._ids)
        if count == 0 or limit <= 0:
            return []
        scores = np.round((self._vectors[:count] @ np.atleast_2d(vector).T).max(axis=1), _DIGITS)
        if count > limit:
            floor = np.partition(scores, count - limit)[count - limit]
            rows: NDArray[np.intp] = np.flatnonzero(scores >= floor)
        else:
            rows = np.arange(count)
        found = sorted((-float(scores[row]), self._ids[row]) for row in rows)[:limit]
        return [(document_id, -negative) for negative, document_id in found]

    def _reserve(self, count: int) -> None:
        if count <= len(self._vectors):
            return
        grown = np.zeros((max(count, 2 * len(self._vectors)), self.dimension), dtype=np.float32)
        grown[: len(self._ids)] = self._vectors[: len(self._ids)]
        self._vectors = grown


class VectorCache:
    """Collections by name. A load that a write overtook is not kept: what it read may be older than what is stored."""

    def __init__(self, *, max_bytes: int, max_rows: int) -> None:
        """Hold up to `max_bytes` in all, and no collection of more than `max_rows` vectors."""
        self._max_bytes, self._max_rows = max_bytes, max_rows
        self._entries: OrderedDict[str, CachedCollection] = OrderedDict()
        self._writing: Counter[str] = Counter()
        self._loads: dict[str, object] = {}
        self._bytes = 0

    @property
    def bytes(self) -> int:
        """Memory taken."""
        return self._bytes

    def __len__(self) -> int:
        """Return how many collections are held."""
        return len(self._entries)

    def get(self, name: str) -> CachedCollection | None:
        """Return a collection and count it as used, None where it is not held."""
        entry = self._entries.get(name)
        if entry is not None:
            self._entries.move_to_end(name)
        return entry

    def begin_load(self, name: str) -> object:
        """Return what `end_load` wants back."""
        token = object()
        self._loads[name] = token
        return token

    def end_load(self, name: str, token: object, entry: CachedCollection | None) -> None:
        """Hold a loaded collection; not one that was written since, is too large, or could not be loaded (None)."""
        if self._loads.get(name) is not token:
            return
        del self._loads[name]
        if entry is not None and not self._writing[name]:
            self._hold(name, entry)

    def begin_write(self, name: str) -> None:
        """Announce a write: loads that began before it will not be kept; what is held stays readable until it ends."""
        self._writing[name] += 1
        self._loads.pop(name, None)

    def end_upsert(self, name: str, ids: Sequence[str], vectors: Vectors, *, fresh: bool) -> None:
        """Take over what was stored; `fresh`: the collection was empty before."""
        self._finish(name)
        entry = self._entries.get(name)
        if entry is None or entry.dimension != vectors.shape[1]:
            self._remove(name)
            if fresh:
                self._hold(name, CachedCollection(ids, vectors))
            return
        before = entry.bytes
        entry.upsert(ids, vectors)
        self._bytes += entry.bytes - before
        if len(entry) > self._max_rows:
            self._remove(name)
        self._shrink()

    def end_delete(self, name: str, ids: Sequence[str]) -> None:
        """Take over a deletion."""
        self._finish(name)
        self.delete(name, ids)

    def end_unknown(self, name: str) -> None:
        """End a write whose outcome is not known: the collection must be loaded again."""
        self._finish(name)
        self._remove(name)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove ids from what is held, before they are gone from the disk."""
        entry = self._entries.get(name)
        if entry is not None:
            self._bytes -= entry.bytes
            entry.delete(ids)
            self._bytes += entry.bytes

    def drop(self, name: str) -> None:
        """Hold a collection no longer."""
        self._loads.pop(name, None)
        self._remove(name)

    def clear(self) -> None:
        """Hold nothing."""
        self._entries.clear()
        self._loads.clear()
        self._bytes = 0

    def _hold(self, name: str, entry: CachedCollection) -> None:
        self._remove(name)
        if len(entry) <= self._max_rows:
            self._entries[name] = entry
            self._bytes += entry.bytes
            self._shrink()

    def _finish(self, name: str) -> None:
        self._loads.pop(name, None)
        self._writing[name] -= 1
        if not self._writing[name]:
            del self._writing[name]

    def _remove(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._bytes -= entry.bytes

    def _shrink(self) -> None:
        while self._bytes > self._max_bytes and self._entries:
            _, entry = self._entries.popitem(last=False)
            self._bytes -= entry.bytes
