"""The memory's own housekeeping: background jobs, rebuilding, lost collections, and how it all is."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog

from memory.background import LAG, WATCH, Background
from memory.breaker import Dependency, Outage
from memory.caches import RecallCaches
from memory.clock import Clock
from memory.errors import BotMemoryError
from memory.jobs import Jobs
from memory.model import Health, JobRow
from memory.ports import Embedder, JobHandler
from memory.recipes import MemorySettings
from memory.store import meta
from memory.store.database import Database
from memory.trace import Abandoned, Trace
from memory.vectorise import ended
from memory.wording import counted

_MEND = "mend"
_INDEXING = frozenset({"index"})
_READING: tuple[Dependency, ...] = ("language model",)
_WARM_SECONDS = 5.0
_LAGGING_SECONDS, _LONG_LAG_SECONDS = 10.0, 600.0  # of the oldest waiting job: told in the log, and told as a warning
log = structlog.get_logger(__name__)


class Upkeep:
    """Runs what runs behind the chat, and answers for it."""

    def __init__(
        self,
        background: Background,
        database: Database,
        *,
        settings: MemorySettings,
        clock: Clock,
        caches: RecallCaches,
        embedder: Embedder,
        abandoned: Abandoned,
    ) -> None:
        self._background = background
        self._database = database
        self._settings = settings
        self._clock = clock
        self._caches = caches
        self._embedder = embedder
        self._abandoned = abandoned
        self._jobs = Jobs(database, clock)
        self._lost: dict[str, None] = {}
        self._scan = False  # what was lost beside them is still to be looked for
        self._warm = False
        self._indexing: asyncio.Task[int] | None = None
        worker = background.worker
        worker.around(("index", "purge", "drift", "reindex"), self._then_forget)
        worker.chore(_MEND, self._mend)
        worker.chore(LAG, self._tell_lag)
        worker.chore(WATCH, self._watch)

    def work(self, kind: str, handler: JobHandler, *, group: int) -> None:
        """Let `handler` do the jobs of `kind`, up to `group` at a time; what recall found before is looked up anew after it."""
        self._background.worker.register(kind, self._then_forget(handler), group=group)

    def work_aside(self, kind: str, handler: JobHandler, *, group: int) -> None:
        """Let `handler`, which asks a language model, do the jobs of `kind` beside all others, which do not wait for it."""
        self._background.aside.register(kind, self._then_forget(handler), group=group, needs=_READING)

    @property
    def _kinds(self) -> tuple[str, ...]:
        """The kinds that are worked on in this version; jobs of other kinds wait for theirs."""
        return tuple(sorted(self._background.worker.kinds | self._background.aside.kinds))

    async def prepare(self, *, any_model: bool) -> None:
        """Recover what a crash left; refuse an index of another model unless it is to be rebuilt now.

        Raises:
            ModelMismatch: the index was built by another embedder.
        """
        await self._background.worker.recover(everything=True)
        if not any_model:
            await self._background.indexer.check_model()
        await self._background.indexer.welcome()

    async def warm(self, *also: Callable[[], Awaitable[None]]) -> None:
        """Have the model loaded, and what else needs it made, before the first question, which would else come too early.

        A failure is logged, not raised: the first question tries again.
        """
        if self._warm:
            return
        self._warm = True
        trace = Trace(self._clock, total_seconds=_WARM_SECONDS, abandoned=self._abandoned)
        await trace.run("warm", self._embedder.embed(["."]), within=_WARM_SECONDS, otherwise=None)
        for make in also:
            await trace.run("warm", make(), within=_WARM_SECONDS, otherwise=None)

    def lost(self, collections: Sequence[str]) -> None:
        """Have these collections built anew from SQL, soon, and what was lost with them found."""
        self._lost.update(dict.fromkeys(collections))
        self._background.worker.ask(_MEND)
        self._scan = True

    def poke(self) -> None:
        """Tell the background that there is work."""
        self._background.worker.poke()

    async def run_jobs(self, limit: int | None = None) -> int:
        """Mend what is lost and run every due job, or `limit` of them; return how many jobs ran."""
        done = await self.indexed()
        await self._watch()
        await self._mend()
        return done + await self._background.worker.run_due(limit) + await self._run_aside(limit)

    async def _run_aside(self, limit: int | None) -> int:
        """Run what is done aside, and what follows from it, where nothing bounds the number of jobs."""
        if limit is not None or not self._background.aside.kinds:
            return 0
        done = await self._background.aside.run_due()
        return done + (await self._background.worker.run_due() if done else 0)

    async def begin_jobs(self) -> int:
        """Run what is due as `run_jobs` does, but only begin to index: beside whatever is done next. Return how many ran.

        Which jobs are indexed is settled here; what is recorded from now on waits for the next call.
        """
        done, worker = await self.indexed(), self._background.worker
        await self._mend()
        done += await worker.run_due(kinds=worker.kinds - _INDEXING)
        if self._background.aside.kinds:
            done += await self._background.aside.run_due()
        found = await self._jobs.waiting("index")
        self._indexing = asyncio.create_task(worker.run_due(found, kinds=_INDEXING), name="index-beside")
        return done

    async def index_now(self) -> int:
        """Index all that was recorded, and nothing else; return how many jobs ran."""
        done = await self.indexed()
        return done + await self._background.worker.run_due(kinds=_INDEXING)

    async def indexed(self) -> int:
        """Wait for the indexing that was begun; return how many jobs it ran."""
        indexing, self._indexing = self._indexing, None
        return 0 if indexing is None else await indexing

    def embed_ahead(self, turn_ids: Sequence[str]) -> None:
        """Begin to embed what these recorded turns left, beside whatever else is done until the jobs run."""
        self._background.indexer.embed_ahead([{"turn": turn_id} for turn_id in turn_ids])

    async def order_backup(self) -> None:
        """Have a backup made, as the clock does."""
        await self._background.order_backup()

    async def start(self) -> None:
        """Work in the background until `stop`."""
        await self._background.start(self._settings.data_dir)

    async def stop(self) -> None:
        """End the background work and give back its leases."""
        indexing, self._indexing = self._indexing, None
        if indexing is not None:
            await ended(indexing)
        await self._background.stop()

    async def reindex(self, passed: Callable[[int], None] | None = None) -> int:
        """Bring the whole index up to date with the present model; return the number of documents that were embedded.

        `passed` is told how many more documents were gone through.
        """
        indexer = self._background.indexer
        try:
            return await indexer.reindex(passed) + (await indexer.heal() if indexer.doubted else 0)
        finally:
            self._caches.index_changed()

    async def jobs(self, *, state: str | None, kind: str | None, limit: int) -> list[JobRow]:
        """Return background jobs: under way, failing, dead, waiting, then finished."""
        return await self._jobs.listed(state=state, kind=kind, limit=limit)

    async def health(self) -> Health:
        """Return counts, lag and problems."""
        async with self._database.reading() as session:
            counts = await session.run_sync(lambda reading: meta.counts(reading.connection()))
        jobs = await self._jobs.counts()
        waiting, seconds = await self._jobs.lag(self._kinds)
        return Health(
            **counts,
            jobs=jobs,
            lag_jobs=waiting,
            lag_seconds=seconds,
            embedder=self._embedder.name,
            dimension=self._embedder.dimension,
            problems=(*self._problems(jobs), *map(_told, await self._jobs.outages())),
        )

    async def _tell_lag(self) -> None:
        """Say in the log how far behind the work is, where it is."""
        waiting, seconds = await self._jobs.lag(self._kinds)
        if seconds >= _LAGGING_SECONDS:
            tell = log.warning if seconds >= _LONG_LAG_SECONDS else log.info
            tell("jobs_lagging", jobs=waiting, seconds=round(seconds))

    def _problems(self, jobs: Mapping[str, int]) -> tuple[str, ...]:
        found = []
        if dead := jobs.get("dead", 0):
            found.append(counted("{dead:job|jobs} gave up: see `ricordo jobs --state dead`, then retry or bury", dead=dead))
        if self._background.indexer.doubted:
            found.append("the vector index was lost and is being built anew: until then much is found by words alone")
        if self._lost:
            found.append(counted("{lost:collection|collections} of the index lost, to be built anew", lost=len(self._lost)))
        if hanging := len(self._abandoned):
            found.append(f"{hanging} calls that were cut off for lateness still hang: look at the disk and the embedder")
        return tuple(found)

    async def _mend(self) -> None:
        for collection in list(self._lost):
            try:
                documents = await self._background.indexer.mend([collection])
            except BotMemoryError as error:
                log.warning("collection_not_rebuilt", collection=collection, error=str(error))
                return
            self._lost.pop(collection, None)
            self._caches.changed(collection)
            log.warning("collection_rebuilt", collection=collection, documents=documents)
        if self._scan and not self._background.indexer.doubted:
            await self._background.indexer.scan()
        self._scan = False

    async def _watch(self) -> None:
        """See whether the files of the index are still there."""
        if await self._background.indexer.look():
            self._caches.index_changed()

    def _then_forget(self, handler: JobHandler) -> JobHandler:
        async def handle(payloads: Sequence[Mapping[str, Any]]) -> None:
            try:
                await handler(payloads)
            finally:
                self._caches.index_changed()

        return handle


def _told(outage: Outage) -> str:
    since, again = (moment.strftime("%H:%M") for moment in (outage.since, outage.until))
    return f"{outage.what} out of order since {since}: {', '.join(outage.kinds)} wait, tried again at {again} ({outage.why})"
