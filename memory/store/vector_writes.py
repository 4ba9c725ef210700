"""Writes to the vector index: refused before Chroma would choke on them, put together, and told to the cache."""

import asyncio
from collections.abc import Sequence
from typing import Self

import numpy as np

from memory.errors import InvalidRow, ModelMismatch
from memory.ports import Vectors
from memory.store.folder_client import Write
from memory.store.vector_cache import VectorCache


class Writing:
    """A write in hand: the cache takes it over where it is known to have succeeded, and forgets the collection where not."""

    def __init__(self, cache: VectorCache, collections: Sequence[str]) -> None:
        self._cache, self._collections, self._known = cache, collections, False
        for collection in collections:
            cache.begin_write(collection)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """End the write, but for a cancelled one: its thread goes on."""
        if kind is None or not issubclass(kind, asyncio.CancelledError):
            self.end()

    def mark(self) -> None:
        """The write succeeded, and the cache is told."""
        self._known = True

    def end(self) -> None:
        """The write is over; also called by a thread's late end, when nobody waits any more."""
        if not self._known:
            self._known = True
            for collection in self._collections:
                self._cache.end_unknown(collection)


def checked(collection: str, ids: Sequence[str], vectors: Vectors) -> Write:
    """Refuse what Chroma would choke on; of equal ids the last wins."""
    rows = np.ascontiguousarray(vectors, dtype=np.float32)
    if rows.ndim != 2 or len(rows) != len(ids) or (len(ids) and not rows.shape[1]):  # noqa: PLR2004  a matrix
        msg = f"{len(ids)} ids need as many rows of vectors, not an array of shape {rows.shape}; this is a programming error."
        raise InvalidRow(msg)
    if not np.isfinite(rows).all():
        msg = f"A vector for {collection!r} is not finite; embed its text again or leave it out."
        raise InvalidRow(msg)
    if bad := [document_id for document_id in ids if not _storable(document_id)]:
        msg = f"The id {bad[0][:60]!r} is empty or holds NUL or half a surrogate pair; leave this document out."
        raise InvalidRow(msg)
    last = {document_id: row for row, document_id in enumerate(ids)}
    return Write(collection=collection, ids=list(last), vectors=rows[list(last.values())])


def _storable(document_id: str) -> bool:
    return bool(document_id) and "\0" not in document_id and not any("\ud800" <= letter <= "\udfff" for letter in document_id)


def merged(writes: Sequence[Write]) -> list[Write]:
    """Put the writes of each collection together."""
    groups: dict[str, list[Write]] = {}
    for write in writes:
        if len(write.ids):
            groups.setdefault(write.collection, []).append(write)
    return [_joined(name, group) if len(group) > 1 else group[0] for name, group in groups.items()]


def _joined(collection: str, group: Sequence[Write]) -> Write:
    ids = [document_id for write in group for document_id in write.ids]
    if len({write.vectors.shape[1] for write in group}) > 1:
        msg = f"Vectors of different lengths for {collection!r}; run `ricordo reindex` after changing the embedding model."
        raise ModelMismatch(msg)
    return checked(collection, ids, np.concatenate([write.vectors for write in group]))
