"""The vector index on Chroma, in this process: the one place that imports chromadb.

Chroma holds ids and vectors, never text, and is never asked to embed: its own model stays unloaded, its telemetry off.
Measured traps and the reasons for folders, limits and retries: docs/decisions/0005-vector-index-in-small-folders.md.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self, cast

import chromadb
import numpy as np
import structlog
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError, NotFoundError

from memory.errors import BotMemoryError, IndexUnavailable, InvalidRow, ModelMismatch
from memory.ports import Vectors
from memory.store.calls import Calls
from memory.store.folders import FolderLimits
from memory.store.sharded import ShardedCollections, Write
from memory.store.vector_cache import VectorCache

_PAGE = 2000  # rows a call when a collection is read whole
_COPY_ROWS = 100
_CHUNK = 10  # an upsert holds the interpreter for its whole length: 5 ms
_BULK_CHUNK = 64  # 10-15 ms
_CLOSE_SECONDS = 30.0
log = structlog.get_logger(__name__)
logging.getLogger("chromadb").setLevel(logging.WARNING)


class ChromaClient:
    """One folder of the index, open. Every failure comes as an `IndexUnavailable` or `ModelMismatch`."""

    def __init__(self, path: Path) -> None:
        """Open the folder, creating it where it is missing."""
        self._path = path
        self._collections: dict[str, Collection] = {}
        with self._translated():
            settings = Settings(anonymized_telemetry=False, allow_reset=False)
            self._client = cast("Client", chromadb.PersistentClient(path=str(path), settings=settings))

    def rows(self, name: str) -> int | None:
        """Return how many vectors a collection has, None where there is no such collection."""
        with self._translated():
            try:
                return self._collection(name).count()
            except NotFoundError:
                self._collections.pop(name, None)
                return None

    def has(self, name: str) -> bool:
        """Return whether there is such a collection."""
        with self._translated():
            try:
                self._collection(name)
            except NotFoundError:
                return False
        return True

    def ids(self, name: str) -> set[str]:
        """Return all ids of a collection."""
        found: set[str] = set()
        with self._translated():
            while page := self._collection(name).get(include=[], limit=_PAGE, offset=len(found))["ids"]:
                found.update(page)
        return found

    def load(self, name: str) -> tuple[list[str], Vectors]:
        """Return all ids and vectors of a collection."""
        ids: list[str] = []
        parts: list[Vectors] = []
        with self._translated():
            while True:
                page = self._collection(name).get(include=["embeddings"], limit=_PAGE, offset=len(ids))
                if not page["ids"]:
                    break
                ids.extend(page["ids"])
                parts.append(np.asarray(page["embeddings"], dtype=np.float32))
                if len(page["ids"]) < _PAGE:
                    break
        return ids, np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)

    def query(self, name: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine to the nearest row of `vector`), best first, equal ones by id."""
        with self._translated():
            found = self._collection(name).query(query_embeddings=vector, n_results=limit, include=["distances"])
        best: dict[str, float] = {}
        for ids, distances in zip(found["ids"], found["distances"] or [], strict=True):
            for document_id, far in zip(ids, distances, strict=True):
                best[document_id] = max(best.get(document_id, -1.0), round(1.0 - float(far), 6))
        return sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def create(self, name: str) -> None:
        """Make an empty collection, in place of any that is there."""
        with self._translated():
            self.drop(name)
            self._collections[name] = self._client.create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store in one call."""
        with self._translated():
            self._collection(name).upsert(ids=list(ids), embeddings=vectors)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove ids."""
        with self._translated():
            self._collection(name).delete(ids=list(ids))

    def drop(self, name: str) -> None:
        """Remove a collection; a missing one is fine."""
        self._collections.pop(name, None)
        with self._translated():
            try:
                self._client.delete_collection(name)
            except NotFoundError:
                return

    def rewrite(self, name: str) -> None:
        """Copy a collection into a new one of the same name; killed in between, the old or a missing one is found."""
        ids, vectors = self.load(name)
        copy = f"copy-of-{name}"
        self.create(copy)
        for start in range(0, len(ids), _COPY_ROWS):
            self.upsert(copy, ids[start : start + _COPY_ROWS], vectors[start : start + _COPY_ROWS])
        self.drop(name)
        with self._translated():
            self._collections.pop(copy).modify(name=name)

    def close(self) -> None:
        """Release memory and file handles."""
        self._collections.clear()
        with self._translated():
            self._client.close()

    def _collection(self, name: str) -> Collection:
        if name not in self._collections:
            self._collections[name] = self._client.get_collection(name, embedding_function=None)
        return self._collections[name]

    def _translated(self) -> "_Translated":
        return _Translated(self._path)


class _Translated:
    """Turns what comes out of Chroma, panics of its native half included, into the memory's own errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, BotMemoryError):
            return
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            return
        if isinstance(error, ChromaError) and "dimension" in str(error).lower():
            msg = f"The index in {self._path} was built by another embedding model ({error}); run `ricordo reindex`."
            raise ModelMismatch(msg) from error
        msg = (
            f"Chroma failed in {self._path}: {error}. Repeat the call; if it goes on, `ricordo reindex` builds the index anew."
        )
        raise IndexUnavailable(msg) from error


class ChromaIndex:
    """`memory.ports.VectorIndex` over many Chroma folders. Belongs to one event loop and to one process."""

    def __init__(self, store: ShardedCollections, *, cache: VectorCache, read_threads: int) -> None:
        """Serve `store`; `ChromaIndex.open` builds it all."""
        self._store, self._cache = store, cache
        self._reads = Calls("read", threads=read_threads, waiting=64)
        self._writes = Calls("write", threads=1, waiting=1024, patient=True)
        self._closed = False

    @classmethod
    async def open(
        cls,
        data_dir: Path,
        *,
        limits: FolderLimits = FolderLimits(),  # noqa: B008  a frozen value
        cache_bytes: int = 128 * 2**20,
        exact_rows: int = 2000,
        read_threads: int = 3,
        give_way: Callable[[], None] | None = None,
    ) -> Self:
        """Open the index below `<data_dir>/chroma`. Collections of up to `exact_rows` vectors are scored exactly, from memory.

        `give_way` is called in the writing thread between two native calls, each of which holds the interpreter: it may wait.

        Raises:
            IndexUnavailable: the directory cannot be written.
        """
        build = partial(
            ShardedCollections, data_dir / "chroma", ChromaClient, limits=limits, exact_rows=exact_rows, give_way=give_way
        )
        store = await asyncio.to_thread(build)
        return cls(store, cache=VectorCache(max_bytes=cache_bytes, max_rows=exact_rows), read_threads=read_threads)

    @property
    def abandoned(self) -> int:
        """Calls that nobody waited for to the end, since the start."""
        return self._reads.abandoned + self._writes.abandoned

    @property
    def touched(self) -> int:
        """Collections open inside Chroma, each at 2.6 MiB and four file handles."""
        return self._store.touched

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under their ids, 10 rows a Chroma call, so that the loop is never held for long.

        Raises:
            InvalidRow: an id or a vector cannot be stored.
            ModelMismatch: the collection holds vectors of another length.
            CollectionLost: drop the collection and store all of it.
            IndexUnavailable: nothing may be assumed about what was stored; repeat the call.
        """
        await self._upsert([_checked(collection, ids, vectors)], _CHUNK)

    async def upsert_many(self, writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        """Store into many collections, folder by folder and in larger calls: for the indexer's batches.

        Raises:
            The same as `upsert`, for any of them; after `CollectionLost` the other collections are stored.
        """
        await self._upsert(_merged([_checked(*write) for write in writes]), _BULK_CHUNK)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids, from memory at once; missing ones are fine. `vacuum` erases their bytes.

        Raises:
            IndexUnavailable: they may still be there; repeat the call.
        """
        if not ids:
            return
        self._cache.delete(collection, ids)
        with _Writing(self._cache, [collection]) as done:
            await self._writes.run(partial(self._store.delete, collection, list(ids)), late=done.end)
            done.mark()
            self._cache.end_delete(collection, ids)

    async def drop(self, collection: str) -> None:
        """Remove a whole collection; a missing one is fine. `vacuum` erases its bytes.

        Raises:
            IndexUnavailable: it may still be there; repeat the call.
        """
        self._cache.drop(collection)
        with _Writing(self._cache, [collection]) as done:
            await self._writes.run(partial(self._store.drop, collection), late=done.end)

    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine to the nearest row of `vector`), best first; a missing collection gives none.

        Raises:
            ModelMismatch: the collection holds vectors of another length.
            CollectionLost: it was stored once and cannot be read any more.
            IndexUnavailable: Chroma failed twice, or too many calls are waiting.
        """
        query = np.ascontiguousarray(np.atleast_2d(vector), dtype=np.float32)
        if limit <= 0:
            return []
        if (entry := self._cache.get(collection)) is not None:
            _same_length(collection, entry.dimension, query)
            return entry.search(query, limit)
        token, found = self._cache.begin_load(collection), None
        try:
            found = await self._reads.run(partial(self._store.search, collection, query, limit))
        finally:
            self._cache.end_load(collection, token, found.entry if found is not None else None)
        return found.hits

    async def ids(self, collection: str) -> set[str]:
        """Return every id of a collection (for drift; not on the hot path).

        Raises:
            CollectionLost, IndexUnavailable: as `search`.
        """
        return await self._reads.run(partial(self._store.ids, collection))

    async def vacuum(self) -> int:
        """Erase the bytes of what was deleted and dropped; return how many folders were cleaned, about 0.1 s each.

        Raises:
            IndexUnavailable: a folder could not be cleaned; the next call tries again.
        """
        cleaned = await self._writes.run(self._store.vacuum)
        log.info("index_cleaned", folders=cleaned)
        return cleaned

    async def close(self) -> None:
        """Close every folder, after the calls that still run; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        ended = [await self._writes.close(_CLOSE_SECONDS), await self._reads.close(_CLOSE_SECONDS)]
        self._cache.clear()
        if not all(ended):
            log.error("index_left_open", reason="a call into Chroma does not end")
            return
        await asyncio.to_thread(self._store.close)

    async def _upsert(self, writes: Sequence[Write], chunk: int) -> None:
        writes = [write for write in writes if len(write.ids)]
        if not writes:
            return
        with _Writing(self._cache, [write.collection for write in writes]) as done:
            fresh = await self._writes.run(partial(self._store.upsert, writes, chunk), late=done.end)
            done.mark()
            for write in writes:
                self._cache.end_upsert(write.collection, write.ids, write.vectors, fresh=write.collection in fresh)


class _Writing:
    """A write in hand: the cache takes it over where it is known to have succeeded, and forgets the collection where not."""

    def __init__(self, cache: VectorCache, collections: Sequence[str]) -> None:
        self._cache, self._collections, self._known = cache, collections, False
        for collection in collections:
            cache.begin_write(collection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
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


def _checked(collection: str, ids: Sequence[str], vectors: Vectors) -> Write:
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


def _merged(writes: Sequence[Write]) -> list[Write]:
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
    return _checked(collection, ids, np.concatenate([write.vectors for write in group]))


def _same_length(collection: str, dimension: int, query: Vectors) -> None:
    if query.shape[1] != dimension:
        msg = f"{collection!r} holds vectors of length {dimension}, not {query.shape[1]}; run `ricordo reindex`."
        raise ModelMismatch(msg)
