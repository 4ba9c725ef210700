"""Keeps the vector index equal to the documents in SQL: indexing, purging, rebuilding, and measuring how far the two are apart.

SQL is the truth. Every step reads it anew, in a session that is closed before the embedder or the index is waited for.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from memory.clock import Clock
from memory.errors import IndexUnavailable, ModelMismatch
from memory.ports import Embedder
from memory.store import documents, fulltext, outbox
from memory.store.database import Database
from memory.store.shards import chroma_name
from memory.vectorise import BulkIndex, Meaning, Vectoriser, whole

log = structlog.get_logger(__name__)

GROUP = 1024  # turns in one call of `index`: a few streams, so that each viewer's collection is opened once for all of them
_CHUNK = 1024  # documents between two reads of a rebuild
_WHOLE = 25  # collections built anew in one `reindex` job
_DRIFT = 200  # collections in one `drift` job: a few seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """How far one collection of the index is from SQL, in document ids."""

    collection: str
    missing: tuple[str, ...] = ()  # in SQL, not in the index
    extra: tuple[str, ...] = ()  # in the index, not in SQL
    stale: tuple[str, ...] = ()  # in both, but not marked as indexed by the present model
    broken: bool = False  # the collection cannot be read


class Indexer:
    """Handlers `index` and `purge` for the worker, and the maintenance that `ricordo reindex` and `doctor` call."""

    def __init__(
        self,
        database: Database,
        *,
        vectors: BulkIndex,
        embedder: Embedder,
        clock: Clock,
        meaning: Meaning = whole,
    ) -> None:
        """Take the store, the index and the embedder; none of them is closed here.

        `meaning` tells by kind and text what is embedded; a document without any counts as indexed.
        """
        self._database = database
        self._vectors = vectors
        self._clock = clock
        self._meaning = meaning
        self._vectoriser = Vectoriser(database, vectors=vectors, embedder=embedder, meaning=meaning)
        self._older: int | None = None  # documents up to this `seq` an earlier life may have stored without marking them
        self._tried: set[str] = set()  # documents that an attempt of this life may have stored without marking them
        self.doubted = False  # the index came without what SQL says is in it, and is being mended

    @property
    def model(self) -> str:
        """The embedder's name and dimension, as stored with each document."""
        return self._vectoriser.model

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
        fresh = {one.id for one in lacking if self._older is not None and one.seq > self._older} - changed - self._tried
        trying = {one.id for one in lacking}
        self._tried |= trying
        await self._vectoriser.store(lacking, fresh=fresh)
        self._tried -= trying

    def embed_ahead(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Begin to embed the documents of these jobs, so that `index` finds them ready. A failure is met again there."""
        self._vectoriser.embed_ahead(payloads)

    async def rebuild(self, collection: str) -> int:
        """Drop one collection, broken or drifted, and build it from SQL; return the number of its documents."""
        return await self._vectoriser.rebuild(collection)

    async def stop(self) -> None:
        """Give up what is being embedded ahead; stopping twice is fine."""
        await self._vectoriser.stop()

    async def purge(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Remove from the index what is gone from SQL: `documents` (collection -> ids), and `collections` that are empty there.

        Of `stale` documents the old vectors go, where they have no new ones yet.

        Ids that live again, and collections that hold something, are left alone.

        Raises:
            IndexUnavailable: the index failed; repeat the call.
        """
        wanted: dict[str, list[str]] = {}
        self._vectoriser.forget_ready()
        for payload in payloads:
            for collection, ids in payload.get("documents", {}).items():
                wanted.setdefault(collection, []).extend(ids)
            for collection in payload.get("collections", ()):
                wanted.setdefault(collection, [])
        async with self._database.reading() as session:
            living = {collection: await documents.living(session, collection, ids) for collection, ids in wanted.items()}
            populated = await documents.populated(session, list(wanted))
        for collection, ids in (await self._unindexed(payloads)).items():
            await self._vectors.delete(collection, ids)
        for collection, ids in wanted.items():
            if collection not in populated:
                await self._vectors.drop(collection)
            else:
                gone = [identity for identity in dict.fromkeys(ids) if identity not in living[collection]]
                await self._vectors.delete(collection, gone)

    async def _unindexed(self, payloads: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
        """Return those of the `stale` documents that were not given a new vector yet, by collection."""
        stale = [identity for payload in payloads for identity in payload.get("stale", ())]
        found: dict[str, list[str]] = {}
        if stale:
            async with self._database.reading() as session:
                for document in await documents.of_jobs(session, [{"documents": stale}]):
                    if document.model is None:
                        found.setdefault(document.collection, []).append(document.id)
        return found

    async def reindex(self, passed: Callable[[int], None] | None = None) -> int:
        """Bring every document that lacks a vector of the present model into the index; return how many there were.

        `passed` is told how many more documents were looked at and, where they had none, got their vector.

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
            await self._vectoriser.store(lacking)
            done += len(lacking)
            log.info("reindexed", documents=done)
            if passed is not None:
                passed(len(chunk))

    async def drift(self) -> list[Drift]:
        """Return the collections in which index and SQL differ, in the order of their names; an empty list means none.

        A collection of which SQL knows nothing any more is not seen: `purge` drops it when its last document goes.
        """
        async with self._database.reading() as session:
            names = await documents.collections(session)
        return await self._drifted(names)

    async def welcome(self) -> bool:
        """See whether the index is the one that SQL knows; if not, doubt it and order its repair. Return whether it is.

        Raises:
            StoreUnavailable: that cannot be found out.
        """
        async with self._database.reading() as session:
            known, indexed = await documents.index_known(session)
            self._older = await documents.newest(session)
        if known is None and (await self._vectors.names() or not indexed):
            known = self._vectors.identity  # new, or of a version that did not write it down
            await self._database.write(lambda connection: documents.store_index(connection, self._vectors.identity))
        self.doubted = known != self._vectors.identity
        if self.doubted:
            log.warning("index_lost", degraded="found by words alone until it is built anew, in the background")
            self._vectors.doubt()
            await self._order(f"heal:{self._vectors.identity}", {"heals": self._vectors.identity})
        return not self.doubted

    async def look(self) -> bool:
        """Return whether files of the index were taken away; then its repair is ordered."""
        if not await self._vectors.look():
            return False
        if await self.welcome():
            await self._order(f"look:{self._clock.now():%Y-%m-%dT%H:%M:%S}", {})
        return True

    async def scan(self) -> None:
        """Order a comparison of everything with SQL, one in ten minutes at most: something of the index was found lost."""
        await self._order(f"lost:{self._clock.now():%Y-%m-%dT%H:%M}"[:-1], {})

    async def heal(self) -> int:
        """Compare the whole index with SQL, and mend it, now; return the number of documents that were stored."""
        after, stored = "", 0
        while True:
            async with self._database.reading() as session:
                names = await documents.collections(session, after=after, limit=_DRIFT)
            stored += await self.mend(names)
            if len(names) < _DRIFT:
                await self._finish(self._vectors.identity)
                return stored
            after = names[-1]

    async def repair(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Measure and mend the drift of the next collections behind `after`: the handler of `drift` jobs.

        A job that leaves collections over adds the next one, so that chat is indexed in between. `day` keeps their keys apart.
        With `collections` only these are looked at, and with `rebuild` built anew without looking: their vectors are wrong.
        `full_text` builds that anew, `strangers` drops what SQL does not know.
        """
        for payload in payloads:
            if payload.get("full_text"):
                await self._database.write(fulltext.rebuild)
            if payload.get("strangers"):
                await self._finish(None)
            if "collections" in payload:
                await (self._rebuild if payload.get("rebuild") else self.mend)(payload["collections"])
                continue
            async with self._database.reading() as session:
                names = await documents.collections(session, after=payload.get("after", ""), limit=_DRIFT)
            await self.mend(names)
            if len(names) == _DRIFT:
                await self._order(payload["day"], {**payload, "after": names[-1]})
            else:
                await self._finish(payload.get("heals"))

    async def rework(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Do one stretch of a reindexing that was asked of the running bot, and order the next: handler of `reindex` jobs.

        Chat is indexed in between. `run` names the reindexing; `whole` builds everything anew, collection by collection.

        Raises:
            ModelUnavailable, IndexUnavailable: as `reindex`; the stretch is done again.
        """
        for payload in payloads:
            if payload.get("end"):
                continue
            stretch = self._rebuilt if payload.get("whole") else self._caught_up
            after, done = await stretch(payload.get("after"))
            run, total = payload["run"], payload.get("done", 0) + done
            log.info("reindexed", documents=total)
            if after is None:
                await self._finish(self._vectors.identity if payload.get("whole") else None)
            key = f"reindex:{run}:{'end' if after is None else after}"
            more = {**payload, "done": total, "after": after, "end": after is None}
            now = self._clock.now()
            await self._database.write(lambda c: outbox.enqueue(c, kind="reindex", key=key, payload=more, now=now))  # noqa: B023 - run before the next turn of the loop

    async def _caught_up(self, after: int | None) -> tuple[int | None, int]:
        async with self._database.reading() as session:
            chunk = await documents.page(session, after=after or 0, limit=_CHUNK)
        lacking = [document for document in chunk if document.model != self.model]
        await self._vectoriser.store(lacking)
        return (chunk[-1].seq if chunk else None), len(lacking)

    async def _rebuilt(self, after: str | None) -> tuple[str | None, int]:
        if after is None:
            await self._database.write(fulltext.rebuild)
        async with self._database.reading() as session:
            names = await documents.collections(session, after=after or "", limit=_WHOLE)
        return (names[-1] if len(names) == _WHOLE else None), await self._rebuild(names)

    async def _rebuild(self, names: Sequence[str]) -> int:
        done = 0
        for name in names:
            done += await self._vectoriser.rebuild(name)
        self._vectors.vouch(names)
        return done

    async def mend(self, names: Sequence[str]) -> int:
        """Measure and mend the drift of these collections; return the number of documents that were stored."""
        lacking: list[str] = []
        stored = 0
        for drift in await self._drifted(names):
            counted = {"missing": len(drift.missing), "extra": len(drift.extra), "stale": len(drift.stale)}
            log.warning("drift_found", collection=drift.collection, broken=drift.broken, **counted)
            if drift.broken:
                stored += await self._vectoriser.rebuild(drift.collection)
                continue
            await self._vectors.delete(drift.collection, drift.extra)
            lacking += [*drift.missing, *drift.stale]
        async with self._database.reading() as session:
            found = await documents.of_jobs(session, [{"documents": lacking}])
        await self._vectoriser.store(found)
        self._vectors.vouch(names)
        return stored + len(found)

    async def _order(self, day: str, payload: Mapping[str, Any]) -> None:
        key, now = f"drift:{day}:{payload.get('after', '')}".rstrip(":"), self._clock.now()
        asked = {"day": day, **payload}
        await self._database.write(lambda c: outbox.enqueue(c, kind="drift", key=key, payload=asked, now=now))

    async def _finish(self, heals: str | None) -> None:
        """End a comparison of everything: collections that SQL knows nothing of go, and a doubted index is trusted again."""
        async with self._database.reading() as session:
            known = {chroma_name(name) for name in await documents.collections(session)}
        for stranger in sorted(await self._vectors.names() - known):
            log.warning("stranger_dropped", collection=stranger)
            await self._vectors.drop(stranger)
        if heals == self._vectors.identity:
            await self._database.write(lambda connection: documents.store_index(connection, heals))
            self._vectors.trust()
            self.doubted = False
            log.info("index_whole_again")

    async def _drifted(self, names: Sequence[str]) -> list[Drift]:
        found = [await self._drift_of(name) for name in names]
        return [drift for drift in found if drift.missing or drift.extra or drift.stale or drift.broken]

    async def _drift_of(self, collection: str) -> Drift:
        async with self._database.reading() as session:
            wanted = {document.id: document for document in await documents.of_collection(session, collection)}
        idle = await asyncio.to_thread(lambda: {one.id for one in wanted.values() if not self._meaning(one.kind, one.text)})
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
