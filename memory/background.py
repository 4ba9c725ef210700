"""Everything that works behind the chat, put together: the worker, its handlers and chores, and the schedule that pokes it."""

from pathlib import Path
from random import Random

from memory.clock import Clock
from memory.index import GROUP, BulkIndex, Indexer
from memory.ports import Embedder
from memory.precedence import Precedence
from memory.purge import Purger
from memory.recipes import JobLimits
from memory.schedule import Schedule
from memory.store.database import Database
from memory.worker import Worker


class Background:
    """Owns the worker and the schedule; the database, the index and the embedder belong to the caller.

    Further kinds of jobs: `background.worker.register(kind, handler)`. Jobs of kinds without a handler wait.
    """

    def __init__(
        self,
        database: Database,
        *,
        vectors: BulkIndex,
        embedder: Embedder,
        clock: Clock,
        limits: JobLimits,
        random: Random,
        precedence: Precedence | None = None,
    ) -> None:
        """Register the handlers of `index`, `purge` and `drift`; nothing runs yet. `random` is seeded in a replay."""
        self._precedence = precedence or Precedence()
        self.worker = Worker(database, clock=clock, limits=limits, random=random, give_way=self._precedence.giving_way)
        self.indexer = Indexer(database, vectors=vectors, embedder=embedder, clock=clock)
        self.purger = Purger(database, embedder=embedder, clock=clock, unindex=self.indexer.purge, vacuum=vectors.vacuum)
        self._limits = limits
        self._schedule: Schedule | None = None
        self.worker.register("index", self.indexer.index, group=GROUP)
        self.worker.register("purge", self.purger.purge)
        self.worker.register("drift", self.indexer.repair)
        self.worker.daily("drift")
        self.worker.chore("checkpoint", database.checkpoint)
        self.worker.chore("vacuum", self.purger.clean_if_needed)

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
            self._schedule = Schedule(data_dir, self._limits, self.worker.ask)
            await self._schedule.start()
        self._precedence.begin()
        await self.worker.start()

    async def stop(self) -> None:
        """End both, and give back every lease; stopping twice is fine."""
        if self._schedule is not None:
            await self._schedule.stop()
            self._schedule = None
        self._precedence.end()
        await self.worker.stop()
        await self.indexer.stop()
