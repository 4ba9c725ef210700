"""The vector index on Chroma, in this process or in one of its own; what speaks to Chroma itself is `chroma_client`.

Chroma holds ids and vectors, never text, and is never asked to embed: its own model stays unloaded, its telemetry off.
Measured traps and the reasons for folders, limits and retries: docs/decisions/0005-vector-index-in-small-folders.md.
"""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Self

import numpy as np
import structlog

from memory.errors import ModelMismatch
from memory.ports import Vectors
from memory.recipes import IndexRun
from memory.store.calls import Calls
from memory.store.folder_client import Write
from memory.store.folders import FolderLimits
from memory.store.heap import overwrite_freed
from memory.store.index_opening import Opening
from memory.store.index_process import IndexProcess
from memory.store.sharded import ShardedCollections
from memory.store.vector_cache import VectorCache
from memory.store.vector_writes import Writing, checked, merged

_CHUNK = 10  # an upsert holds the interpreter for its whole length: 5 ms
_BULK_CHUNK = 64  # 10-15 ms; in a process of its own only a search may wait for it
_CLIENT = "memory.store.chroma_client"  # imported when an index is opened: it takes a second (docs/decisions/0012)
_CLOSE_SECONDS = 30.0
_ENOUGH_SECONDS = 2.0  # for calls into a process of its own, which can be ended
log = structlog.get_logger(__name__)


class ChromaIndex:
    """`memory.ports.VectorIndex` over many Chroma folders. Belongs to one event loop and to one process."""

    def __init__(self, store: ShardedCollections | IndexProcess, *, cache: VectorCache, read_threads: int) -> None:
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
        run: IndexRun = IndexRun(),  # noqa: B008  the same
    ) -> Self:
        """Open the index below `<data_dir>/chroma`. Collections of up to `exact_rows` vectors are scored exactly, from memory.

        `run` says whether Chroma has a process of its own; where not, `give_way` is called in the writing thread between two
        native calls, each of which holds the interpreter: it may wait.

        Raises:
            IndexUnavailable: the directory cannot be written, another process still works in it, or ours cannot be started.
        """
        opening = Opening(root=(data_dir / "chroma").absolute(), limits=limits, exact_rows=exact_rows)

        def build() -> ShardedCollections | IndexProcess:
            if run.own_process:
                return IndexProcess.open(opening, hang_seconds=run.hang_seconds)
            overwrite_freed()  # before any vector is held that may have to be forgotten
            opener = import_module(_CLIENT).ChromaClient
            return ShardedCollections(opening.root, opener, limits=limits, exact_rows=exact_rows, give_way=give_way)

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

    @property
    def identity(self) -> str:
        """The name of this index: another one where its files were lost and made anew."""
        return self._store.identity

    def doubt(self) -> None:
        """Take every collection for lost until `vouch` or `trust`."""
        self._store.doubt()

    def vouch(self, collections: Sequence[str]) -> None:
        """These collections hold what they should."""
        self._store.vouch(collections)

    def trust(self) -> None:
        """All collections hold what they should."""
        self._store.trust()

    async def names(self) -> set[str]:
        """Return what all collections are called in the folders."""
        return await self._reads.run(self._store.names)

    async def look(self) -> bool:
        """Return whether files of the index were taken away under it; what is left of it is opened anew."""
        return await self._writes.run(self._store.look)

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors under their ids, in calls that never hold the loop for long.

        Raises:
            InvalidRow: an id or a vector cannot be stored.
            ModelMismatch: the collection holds vectors of another length.
            CollectionLost: drop the collection and store all of it.
            IndexUnavailable: nothing may be assumed about what was stored; repeat the call.
        """
        apart = isinstance(self._store, IndexProcess)
        await self._upsert([checked(collection, ids, vectors)], _BULK_CHUNK if apart else _CHUNK)

    async def upsert_many(self, writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        """Store into many collections, folder by folder and in larger calls: for the indexer's batches.

        Raises:
            The same as `upsert`, for any of them; after `CollectionLost` the other collections are stored.
        """
        await self._upsert(merged([checked(*write) for write in writes]), _BULK_CHUNK)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids, from memory at once; missing ones are fine. `vacuum` erases their bytes.

        Raises:
            IndexUnavailable: they may still be there; repeat the call.
        """
        if not ids:
            return
        self._cache.delete(collection, ids)
        with Writing(self._cache, [collection]) as done:
            await self._writes.run(partial(self._store.delete, collection, list(ids)), late=done.end)
            done.mark()
            self._cache.end_delete(collection, ids)

    async def drop(self, collection: str) -> None:
        """Remove a whole collection; a missing one is fine. `vacuum` erases its bytes.

        Raises:
            IndexUnavailable: it may still be there; repeat the call.
        """
        self._cache.drop(collection)
        with Writing(self._cache, [collection]) as done:
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
        apart = isinstance(self._store, IndexProcess)
        wait = _ENOUGH_SECONDS if apart else _CLOSE_SECONDS
        ended = await self._writes.close(wait)
        ended = await self._reads.close(wait if ended else 0.0) and ended
        self._cache.clear()
        if not ended:
            log.error("index_left_open", reason="a call into Chroma does not end", killed=apart)
            if isinstance(self._store, IndexProcess):
                await asyncio.to_thread(self._store.abandon)
            return
        await asyncio.to_thread(self._store.close)

    async def _upsert(self, writes: Sequence[Write], chunk: int) -> None:
        writes = [write for write in writes if len(write.ids)]
        if not writes:
            return
        with Writing(self._cache, [write.collection for write in writes]) as done:
            fresh = await self._writes.run(partial(self._store.upsert, writes, chunk), late=done.end)
            done.mark()
            for write in writes:
                self._cache.end_upsert(write.collection, write.ids, write.vectors, fresh=write.collection in fresh)


def _same_length(collection: str, dimension: int, query: Vectors) -> None:
    if query.shape[1] != dimension:
        msg = f"{collection!r} holds vectors of length {dimension}, not {query.shape[1]}; run `ricordo reindex`."
        raise ModelMismatch(msg)
