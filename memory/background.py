"""Everything that works behind the chat, put together: the worker, its handlers and chores, and the schedule that pokes it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any

from memory.backup import Backups
from memory.breaker import Dependency
from memory.clock import Clock
from memory.index import GROUP, Indexer
from memory.ports import Embedder
from memory.precedence import Precedence
from memory.purge import Purger
from memory.recipes import BackupPlan, JobLimits
from memory.recordings import Recordings
from memory.schedule import Schedule
from memory.store import outbox
from memory.store.database import Database
from memory.vectorise import BulkIndex, Meaning
from memory.worker import Worker

LAG, WATCH = "lag", "watch"  # chores: how far behind the work is, and whether the files of the index are still there
_INDEXING: tuple[Dependency, ...] = ("vector index", "embedder")
_PURGING: tuple[Dependency, ...] = ("vector index",)
_LAG_SECONDS, _WATCH_SECONDS = 60.0, 15.0


class Background:
    """Owns the workers and the schedule; `aside` does what waits for a language model, so that nothing else waits with it.

    The database, the index and the embedder belong to the caller.

    Further kinds of jobs: `background.worker.register(kind, handler)`. Jobs of kinds without a handler wait.
    """

    def __init__(  # noqa: PLR0913 - everything that works behind the chat, named once
        self,
        database: Database,
        *,
        vectors: BulkIndex,
        embedder: Embedder,
        clock: Clock,
        limits: JobLimits,
        random: Random,
        meaning: Meaning,
        precedence: Precedence | None = None,
    ) -> None:
        """Register the handlers of `index`, `purge`, `drift`, `reindex` and `backup`; nothing runs yet.

        `random` is seeded in a replay; `meaning` tells what of a document is embedded; `precedence`, when to give way.
        """
        self._precedence = precedence or Precedence()
        self.worker = Worker(database, clock=clock, limits=limits, random=random, give_way=self._precedence.giving_way)
        self.aside = Worker(database, clock=clock, limits=limits, random=random, breaker=self.worker.breaker)
        self.indexer = Indexer(database, vectors=vectors, embedder=embedder, clock=clock, meaning=meaning)
        self._database, self._clock = database, clock
        self.plan_backups(BackupPlan(every_hours=0))
        self.purger = Purger(
            database,
            embedder=embedder,
            clock=clock,
            unindex=self.indexer.purge,
            vacuum=vectors.vacuum,
            backups=self._clean_backups,
            recordings=Recordings(database).clean,
        )
        self._limits = limits
        self._schedule: Schedule | None = None
        self.worker.register("index", self.indexer.index, group=GROUP, needs=_INDEXING)
        self.worker.register("purge", self.purger.purge, needs=_PURGING)
        self.worker.register("drift", self.indexer.repair, needs=_INDEXING)
        self.worker.register("reindex", self.indexer.rework, group=1, needs=_INDEXING)
        self.worker.register("backup", self._back_up, group=1)
        self.worker.daily("drift")
        self.worker.chore("backup", self.order_backup)
        self.worker.chore("checkpoint", database.checkpoint)
        self.worker.chore("vacuum", self.purger.clean_if_needed)

    def plan_backups(self, plan: BackupPlan) -> None:
        """Make backups as planned, from `start` on, and keep those of its directory free of what is removed."""
        self._plan = plan
        directory = self._database.path.parent / plan.directory
        self._backups = Backups(self._database, self._clock, directory=directory, keep=plan.keep)

    async def expire_backups(self, before: datetime) -> int:
        """Remove the backups that the clock made before that moment; return how many."""
        return await self._backups.expire(before)

    async def _clean_backups(self) -> None:
        await self._backups.clean()

    async def prepare(self) -> None:
        """Recover what a crash left, and see that the index and the embedder belong together. Call once, before anything runs.

        Raises:
            ModelMismatch: the index was built by another embedder.
            StoreUnavailable: the outbox cannot be read or written.
        """
        await self.worker.recover(everything=True)
        await self.indexer.check_model()

    async def start(self, data_dir: Path) -> None:
        """Work in the background until `stop`; the schedule's file lies in `data_dir`.

        Raises:
            StoreUnavailable: that file cannot be opened.
        """
        if self._schedule is None:
            hours = self._plan.every_hours
            more = {LAG: _LAG_SECONDS, WATCH: _WATCH_SECONDS} | ({"backup": hours * 3600} if hours > 0 else {})
            self._schedule = Schedule(data_dir, self._limits, self.worker.ask, more=more)
            await self._schedule.start()
        self._precedence.begin()
        await self.worker.start()
        if self.aside.kinds:
            await self.aside.start()

    async def stop(self) -> None:
        """End both, and give back every lease; stopping twice is fine."""
        if self._schedule is not None:
            await self._schedule.stop()
            self._schedule = None
        await self.aside.stop()
        self._precedence.end()
        await self.worker.stop()
        await self.indexer.stop()

    async def order_backup(self) -> None:
        """Put a job that makes a backup into the outbox: the chore that the clock pokes."""
        now = self._clock.now()
        key = f"backup:{now.isoformat(timespec='seconds')}"
        await self._database.write(lambda c: outbox.enqueue(c, kind="backup", key=key, payload={}, now=now))

    async def _back_up(self, payloads: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002 - a job of this kind has no more to say
        await self._backups.make()
