"""Keeps the vector index equal to the documents in SQL: indexing, purging, rebuilding, and measuring how far the two are apart.

SQL is the truth. Every step reads it anew, in a session that is closed before the embedder or the index is waited for.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Protocol, TypeVar

import numpy as np
import structlog

from memory.clock import Clock
from memory.errors import BotMemoryError, CollectionLost, IndexUnavailable, ModelMismatch
from memory.ports import Embedder, VectorIndex, Vectors
from memory.store import documents, outbox
from memory.store.database import Database
from memory.store.documents import Indexable

log = structlog.get_logger(__name__)

T = TypeVar("T")
_Key = tuple[str, str]  # kind and text: what a vector, or that there is none, depends on
Meaning = Callable[[str, str], tuple[str, ...]]  # of kind and text: the parts to embed, none where it needs no vector

GROUP = 1024  # turns in one call of `index`: a few streams, so that each viewer's collection is opened once for all of them
_EMBED = 512  # documents embedded and stored together: bounds the memory of a rebuild
_CHUNK = 1024  # documents between two reads of a rebuild
_DRIFT = 200  # collections in one `drift` job: a few seconds
_TINY = 1e-12
_READY = 8192  # vectors embedded ahead that are kept until they are stored: 16 MB, more than `GROUP` turns leave


class BulkIndex(VectorIndex, Protocol):
    """A vector index that takes the collections of many viewers in one call."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far one collection of the index is from SQL, in document ids."""

    collection: str
    missing: tuple[str, ...] = ()  # in SQL, not in the index
    extra: tuple[str, ...] = ()  # in the index, not in SQL
    stale: tuple[str, ...] = ()  # in both, but not marked as indexed by the present model
    broken: bool = False  # the collection cannot be read


def _whole(_: str, text: str) -> tuple[str, ...]:
    return (text,)


class Indexer:
    """Handlers `index` and `purge` for the worker, and the maintenance that `ricordo reindex` and `doctor` call."""

    def __init__(
        self,
        database: Database,
        *,
        vectors: BulkIndex,
        embedder: Embedder,
        clock: Clock,
        meaning: Meaning = _whole,
    ) -> None:
        """Take the store, the index and the embedder; none of them is closed here.

        `meaning` tells by kind and text what is embedded; a document without any counts as indexed.
        """
        self._database = database
        self._vectors = vectors
        self._embedder = embedder
        self._clock = clock
        self._meaning = meaning
        self._ready: dict[_Key, Vectors | None] = {}  # None: needs no vector; taken out when they are stored
        self._ahead: asyncio.Task[None] | None = None

    @property
    def model(self) -> str:
        """The embedder's name and dimension, as stored with each document."""
        return f"{self._embedder.name} ({self._embedder.dimension})"

    async def check_model(self) -> None:
        """Note the embedder where nothing was indexed yet; refuse to go on with another one.

        Raises:
            ModelMismatch: the index was built by another embedder.
        """
        async with self._database.reading() as session:
            stored = await documents.embedder(session)
        if stored is None:
            await self._database.write(lambda connection: documents.store_embedder(connection, self.model))
        elif stored != self.model:
            raise ModelMismatch(
                f"the index was built by {stored}, the configuration names {self.model}: run `ricordo reindex` to rebuild it "
                f"with the new model, or set the model back to {stored}"
            )

    async def index(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Embed and store the documents of turns (`turn`), replies (`reply`) or ids (`documents`), indexed ones aside.

        Raises:
            ModelUnavailable: the embedder failed; nothing of the last chunk was marked.
            IndexUnavailable: the index failed; the same.
        """
        async with self._database.reading() as session:
            found = await documents.of_jobs(session, payloads)
        changed = {identity for payload in payloads for identity in payload.get("documents", ())}
        lacking = [document for document in found if document.model != self.model]
        await self._store(lacking, fresh={document.id for document in lacking} - changed)

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
        """Return a vector for each different document, None where it needs none; equal parts are embedded once."""
        keys = dict.fromkeys(map(_key, wanted))
        parts = await asyncio.to_thread(lambda: {key: self._meaning(*key) for key in keys})
        texts = list(dict.fromkeys(part for found in parts.values() for part in found))
        rows = dict(zip(texts, await self._embedder.embed(texts), strict=True)) if texts else {}
        return {key: _mean([rows[part] for part in found]) if found else None for key, found in parts.items()}

    async def purge(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Remove from the index what is gone from SQL: `documents` (collection -> ids), and `collections` that are empty there.

        Ids that live again, and collections that hold something, are left alone.

        Raises:
            IndexUnavailable: the index failed; repeat the call.
        """
        wanted: dict[str, list[str]] = {}
        self._ready.clear()  # what was erased must not live on here
        for payload in payloads:
            for collection, ids in payload.get("documents", {}).items():
                wanted.setdefault(collection, []).extend(ids)
            for collection in payload.get("collections", ()):
                wanted.setdefault(collection, [])
        async with self._database.reading() as session:
            living = {collection: await documents.living(session, collection, ids) for collection, ids in wanted.items()}
            populated = await documents.populated(session, list(wanted))
        for collection, ids in wanted.items():
            if collection not in populated:
                await self._vectors.drop(collection)
            else:
                gone = [identity for identity in dict.fromkeys(ids) if identity not in living[collection]]
                await self._vectors.delete(collection, gone)

    async def reindex(self) -> int:
        """Bring every document that lacks a vector of the present model into the index; return how many there were.

        Goes on where it was interrupted, and may run while chat goes on. A change of model drops each collection once before,
        since vectors of two models must never meet.

        Raises:
            ModelUnavailable: the embedder failed; call again to go on.
            IndexUnavailable: the index failed; the same.
        """
        await self._change_model()
        after, done = 0, 0
        while True:
            async with self._database.reading() as session:
                chunk = await documents.page(session, after=after, limit=_CHUNK)
            if not chunk:
                return done
            after = chunk[-1].seq
            lacking = [document for document in chunk if document.model != self.model]
            await self._store(lacking)
            done += len(lacking)
            log.info("reindexed", documents=done)

    async def rebuild(self, collection: str) -> int:
        """Drop one collection, broken or drifted, and build it from SQL; return the number of its documents."""
        async with self._database.reading() as session:
            found = await documents.of_collection(session, collection)
        await self._database.write(lambda connection: documents.mark(connection, found, None))
        await self._vectors.drop(collection)
        await self._store(found, mend=False, fresh={document.id for document in found})
        return len(found)

    async def drift(self) -> list[Drift]:
        """Return the collections in which index and SQL differ, in the order of their names; an empty list means none.

        A collection of which SQL knows nothing any more is not seen: `purge` drops it when its last document goes.
        """
        async with self._database.reading() as session:
            names = await documents.collections(session)
        return await self._drifted(names)

    async def repair(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Measure and mend the drift of the next collections behind `after`: the handler of `drift` jobs.

        A job that leaves collections over adds the next one, so that chat is indexed in between. `day` keeps their keys apart.
        """
        for payload in payloads:
            async with self._database.reading() as session:
                names = await documents.collections(session, after=payload.get("after", ""), limit=_DRIFT)
            for drift in await self._drifted(names):
                await self._mend(drift)
            if len(names) == _DRIFT:
                await self._go_on(payload["day"], names[-1])

    async def _go_on(self, day: str, after: str) -> None:
        key, payload, now = f"drift:{day}:{after}", {"day": day, "after": after}, self._clock.now()
        await self._database.write(lambda c: outbox.enqueue(c, kind="drift", key=key, payload=payload, now=now))

    async def _drifted(self, names: Sequence[str]) -> list[Drift]:
        found = [await self._drift_of(name) for name in names]
        return [drift for drift in found if drift.missing or drift.extra or drift.stale or drift.broken]

    async def _mend(self, drift: Drift) -> None:
        counted = {"missing": len(drift.missing), "extra": len(drift.extra), "stale": len(drift.stale)}
        log.warning("drift_found", collection=drift.collection, broken=drift.broken, **counted)
        if drift.broken:
            await self.rebuild(drift.collection)
            return
        await self._vectors.delete(drift.collection, drift.extra)
        async with self._database.reading() as session:
            lacking = await documents.of_jobs(session, [{"documents": [*drift.missing, *drift.stale]}])
        await self._store(lacking)

    async def _drift_of(self, collection: str) -> Drift:
        async with self._database.reading() as session:
            wanted = {document.id: document for document in await documents.of_collection(session, collection)}
        idle = await asyncio.to_thread(lambda: {one.id for one in wanted.values() if not self._meaning(*_key(one))})
        try:
            stored = await self._vectors.ids(collection)
        except IndexUnavailable:
            return Drift(collection=collection, broken=True)
        async with self._database.reading() as session:
            unknown = stored - wanted.keys()
            gone = unknown - await documents.living(session, collection, sorted(unknown))  # written since
        return Drift(
            collection=collection,
            missing=tuple(identity for identity in wanted if identity not in stored and identity not in idle),
            extra=tuple(sorted(gone)),
            stale=tuple(
                identity for identity, document in wanted.items() if identity in stored and document.model != self.model
            ),
        )

    async def _change_model(self) -> None:
        async with self._database.reading() as session:
            stored = await documents.embedder(session)
            names = await documents.collections(session)
        if stored is not None and stored != self.model:
            for name in names:
                await self._vectors.drop(name)
        await self._database.write(lambda connection: documents.store_embedder(connection, self.model))

    async def _store(self, wanted: Sequence[Indexable], *, mend: bool = True, fresh: Collection[str] = frozenset()) -> None:
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
