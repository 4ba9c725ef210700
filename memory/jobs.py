"""The jobs as people see them: list, try again, bury, and how far behind the work is."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection

from memory.breaker import Outage
from memory.clock import Clock
from memory.model import JobRow
from memory.store import outages, outbox
from memory.store.database import Database

T = TypeVar("T")


class Jobs:
    """What `ricordo jobs`, `doctor` and `health` ask of the outbox. Every method raises StoreUnavailable where it fails."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Look into the outbox of `database`."""
        self._database = database
        self._clock = clock

    async def listed(self, *, state: str | None = None, kind: str | None = None, limit: int = 100) -> list[JobRow]:
        """Return jobs of one state and kind where named: under way, failing, dead, waiting, then finished ones, newest first.

        Raises:
            ValueError: there is no such state; says which there are.
        """
        if state is not None and state not in outbox.STATES:
            raise ValueError(f"no job state {state!r}: choose one of {', '.join(outbox.STATES)}")
        return await self._read(lambda connection: outbox.listed(connection, state=state, kind=kind, limit=limit))

    async def counts(self) -> dict[str, int]:
        """Return how many jobs are in each state."""
        return await self._read(outbox.counts)

    async def waiting(self, kind: str) -> int:
        """Return how many jobs of this kind wait to be run."""
        return await self._read(lambda connection: outbox.waiting(connection, kind))

    async def lag(self, kinds: Sequence[str] | None = None) -> tuple[int, float]:
        """Return how many jobs wait, of `kinds` alone where named, and the seconds the oldest does, 0.0 for none."""
        now = self._clock.now()
        return await self._read(lambda connection: outbox.lag(connection, now=now, kinds=kinds))

    async def outages(self) -> list[Outage]:
        """Return what jobs wait for, since it does not answer: as the worker saw it last; oldest first."""
        return await self._read(outages.listed)

    async def order(self, kind: str, key: str, payload: Mapping[str, Any]) -> None:
        """Add a job, for the bot or for who runs the jobs next; a known key changes nothing."""
        now = self._clock.now()
        await self._database.write(lambda c: outbox.enqueue(c, kind=kind, key=key, payload=payload, now=now))

    async def keyed(self, prefix: str) -> list[JobRow]:
        """Return the jobs whose key begins so, in the order in which they were made."""
        return await self._read(lambda connection: outbox.keyed(connection, prefix))

    async def retry(self, *, ids: Sequence[int] = (), kind: str | None = None) -> int:
        """Make dead or waiting jobs of `ids`, and all dead ones of `kind`, due now with a clean record; return how many."""
        now = self._clock.now()
        return await self._database.write(lambda connection: outbox.retry(connection, now=now, ids=ids, kind=kind))

    async def bury(self, ids: Sequence[int]) -> int:
        """Make unfinished jobs dead by hand; return how many."""
        now = self._clock.now()
        return await self._database.write(lambda connection: outbox.bury(connection, ids, now=now))

    async def _read(self, fn: Callable[[Connection], T]) -> T:
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: fn(reading.connection()))
