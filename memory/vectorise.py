"""Documents to vectors in the index: embedded, some of them ahead of time, stored and marked; lost collections built anew."""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any, Protocol, TypeVar

import numpy as np
import structlog

from memory.errors import BotMemoryError, CollectionLost
from memory.ports import Embedder, VectorIndex, Vectors
from memory.store import documents
from memory.store.database import Database
from memory.store.documents import Indexable

log = structlog.get_logger(__name__)

T = TypeVar("T")
_Key = tuple[str, str]  # kind and text: what a vector, or that there is none, depends on
Meaning = Callable[[str, str], tuple[str, ...]]  # of kind and text: the parts to embed, none where it needs no vector

_TINY = 1e-12
_EMBED = 512  # documents embedded and stored together: bounds the memory of a rebuild
_READY = 8192  # vectors embedded ahead that are kept until they are stored: 16 MB, more than `GROUP` turns leave


class BulkIndex(VectorIndex, Protocol):
    """A vector index that takes the collections of many viewers in one call, and knows itself again.

    One whose files were lost comes back with another `identity`. In doubt, a search in a collection that nobody vouched for
    raises CollectionLost: an index that lacks what SQL says is in it must not pass for one that found nothing.
    """

    @property
    def identity(self) -> str:
        """The name of this index, made with its files."""
        ...

    def doubt(self) -> None:
        """Take every collection for lost until `vouch` or `trust`."""
        ...

    def vouch(self, collections: Sequence[str]) -> None:
        """These collections hold what they should."""
        ...

    def trust(self) -> None:
        """All collections hold what they should."""
        ...

    async def names(self) -> set[str]:
        """Return the names of all collections, as they may be dropped."""
        ...

    async def look(self) -> bool:
        """Return whether files were taken away under it; what is left is opened anew."""
        ...

    async def upsert_many(self, writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        """Store (collection, ids, vectors) of many collections.

        Raises:
            CollectionLost: these must be dropped and stored whole; the others are stored.
            IndexUnavailable: nothing may be assumed about what was stored; repeat the call.
        """
        ...

    async def vacuum(self) -> int:
        """Erase the bytes of what was deleted; return how many folders were cleaned.

        Raises:
            IndexUnavailable: a folder could not be cleaned; the next call tries again.
        """
        ...


def whole(_: str, text: str) -> tuple[str, ...]:
    """Return the text as its only part."""
    return (text,)


class Vectoriser:
    """Brings documents into the index. No session is open while the embedder or the index is waited for."""

    def __init__(self, database: Database, *, vectors: BulkIndex, embedder: Embedder, meaning: Meaning) -> None:
        """Take the store, the index and the embedder; none of them is closed here.

        `meaning` tells by kind and text what is embedded; a document without any counts as indexed.
        """
        self._database = database
        self._vectors = vectors
        self._embedder = embedder
        self._meaning = meaning
        self._ready: dict[_Key, Vectors | None] = {}  # None: needs no vector; taken out when they are stored
        self._ahead: asyncio.Task[None] | None = None

    @property
    def model(self) -> str:
        """The embedder's name and dimension, as stored with each document."""
        return f"{self._embedder.name} ({self._embedder.dimension})"

    def embed_ahead(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Begin to embed the documents of these jobs, so that `index` finds them ready. A failure is met again there."""
        self._ahead = asyncio.create_task(self._prepare(payloads, self._ahead), name="embed-ahead")

    async def stop(self) -> None:
        """Give up what is being embedded ahead; stopping twice is fine."""
        ahead, self._ahead = self._ahead, None
        self._ready.clear()
        if ahead is not None:
            await ended(ahead)

    async def _prepare(self, payloads: Sequence[Mapping[str, Any]], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        if len(self._ready) >= _READY:
            return
        try:
            async with self._database.reading() as session:
                found = await documents.of_jobs(session, payloads)
            self._ready.update(await self._vectors_of([document for document in found if _key(document) not in self._ready]))
        except BotMemoryError as error:
            log.info("not_embedded_ahead", error=type(error).__name__)

    async def _vectors_of(self, wanted: Sequence[Indexable]) -> dict[_Key, Vectors | None]:
        return await embedded(map(_key, wanted), self._embedder, self._meaning)

    def forget_ready(self) -> None:
        """Keep no vector of a text that may be erased."""
        self._ready.clear()

    async def rebuild(self, collection: str) -> int:
        """Drop one collection, broken or drifted, and build it from SQL; return the number of its documents."""
        async with self._database.reading() as session:
            found = await documents.of_collection(session, collection)
        await self._database.write(lambda connection: documents.mark(connection, found, None))
        await self._vectors.drop(collection)
        await self.store(found, mend=False, fresh={document.id for document in found})
        return len(found)

    async def store(self, wanted: Sequence[Indexable], *, mend: bool = True, fresh: Collection[str] = frozenset()) -> None:
        """Embed, store and mark documents, collection by collection; the next chunk is embedded while one is stored.

        Of `fresh` ones, by id, nothing can be in the index yet.
        """
        parts = list(_chunks(sorted(wanted, key=lambda document: (document.collection, document.seq)), _EMBED))
        ahead: asyncio.Task[list[Vectors | None]] | None = None
        try:
            for chunk, following in zip_longest(parts, parts[1:]):
                vectors = await (ahead or self._embed(chunk))
                ahead = asyncio.create_task(self._embed(following), name="embed-ahead") if following else None
                await self._put(chunk, vectors, mend=mend)
                await self._take_back(
                    document for document, row in zip(chunk, vectors, strict=True) if row is None and document.id not in fresh
                )
                await self._mark(chunk)
        finally:
            if ahead is not None:
                await ended(ahead)

    async def _put(self, chunk: Sequence[Indexable], vectors: Sequence[Vectors | None], *, mend: bool) -> None:
        """Store vectors by collection; collections found lost are rebuilt on the way."""
        rows: dict[str, list[tuple[str, Vectors]]] = {}
        for document, vector in zip(chunk, vectors, strict=True):
            if vector is not None:
                rows.setdefault(document.collection, []).append((document.id, vector))
        writes = [(name, [id_ for id_, _ in part], np.stack([row for _, row in part])) for name, part in rows.items()]
        try:
            await self._vectors.upsert_many(writes)
        except CollectionLost as lost:
            if not mend:
                raise
            for collection in lost.collections:
                log.warning("collection_rebuilt", collection=collection, documents=await self.rebuild(collection))

    async def _embed(self, chunk: Sequence[Indexable]) -> list[Vectors | None]:
        """Return a vector a document, None where it needs none; equal texts are embedded once."""
        if self._ahead is not None:
            await asyncio.wait({self._ahead})
        ready = {key: self._ready.pop(key) for key in set(map(_key, chunk)) if key in self._ready}
        ready |= await self._vectors_of([document for document in chunk if _key(document) not in ready])
        return [ready[_key(document)] for document in chunk]

    async def _take_back(self, unwanted: Iterable[Indexable]) -> None:
        """Remove what may be in the index and does not belong there."""
        gone: dict[str, list[str]] = {}
        for document in unwanted:
            gone.setdefault(document.collection, []).append(document.id)
        for collection, ids in gone.items():
            await self._vectors.delete(collection, ids)

    async def _mark(self, stored: Sequence[Indexable]) -> None:
        """Mark what was stored; what was erased from SQL meanwhile leaves the index again at once."""
        alive = await self._database.write(lambda connection: documents.mark(connection, stored, self.model))
        await self._take_back(document for document in stored if document.id not in alive)


async def embedded(wanted: Iterable[_Key], embedder: Embedder, meaning: Meaning) -> dict[_Key, Vectors | None]:
    """Return the vector of each different kind and text, None where it needs none; equal parts are embedded once.

    Raises:
        ModelUnavailable: the embedder failed.
    """
    keys = dict.fromkeys(wanted)
    parts = await asyncio.to_thread(lambda: {key: meaning(*key) for key in keys})
    texts = list(dict.fromkeys(part for found in parts.values() for part in found))
    rows = dict(zip(texts, await embedder.embed(texts), strict=True)) if texts else {}
    return {key: _mean([rows[part] for part in found]) if found else None for key, found in parts.items()}


async def ended(task: asyncio.Task[Any]) -> None:
    """See a task off that nobody needs any more, whatever it ends with."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()


def _key(document: Indexable) -> _Key:
    return document.kind, document.text


def _mean(rows: Sequence[Vectors]) -> Vectors:
    """Return the direction in the middle of unit vectors: the vector of a text that is said in parts."""
    if len(rows) == 1:
        return rows[0]
    summed: Vectors = np.sum(rows, axis=0)
    return summed / max(float(np.linalg.norm(summed)), _TINY)


def _chunks(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (values[start : start + size] for start in range(0, len(values), size))
