"""The job worker: takes jobs from the outbox and brings each to its end, live in the background or on call in a replay.

This is one of the three places where any exception is caught: whatever a handler raises becomes the fate of its jobs.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from random import Random
from uuid import uuid4

import structlog
from sqlalchemy import Connection

from memory.breaker import Backoff, Breaker, Dependency, Fault, dependency, fault, told
from memory.clock import Clock
from memory.errors import BotMemoryError
from memory.model import Job
from memory.ports import JobHandler
from memory.recipes import JobLimits
from memory.store import outages, outbox
from memory.store.database import Database

log = structlog.get_logger(__name__)

Chore = Callable[[], Awaitable[object]]

_UNKNOWN_ATTEMPTS = 10  # an error nobody foresaw is given up earlier than an outage
_LONGEST_PAUSE_SECONDS = 10.0  # the loop looks again by itself, whatever became of the pokes
_SHORTEST_PAUSE_SECONDS = 0.05
_SET_BACK = timedelta(seconds=2)  # less is no matter
_STOP_SECONDS = 1.0  # a handler under way may finish; then it is cancelled and its jobs are given back
_LIVE_GROUP = 32  # a second or two of work, however much waits: the bot can stop, and the lease outlives it


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    handler: JobHandler
    group: int  # first attempts taken together


class Worker:
    """Runs jobs one group at a time, in the order in which they fell due; the same outbox always runs in the same order."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock,
        limits: JobLimits,
        random: Random,
        handler_seconds: float = 600.0,
        give_way: Callable[[], Awaitable[None]] | None = None,
        breaker: Breaker | None = None,
    ) -> None:
        """Draw retry delays from `random` (seeded in a replay); a handler that takes over `handler_seconds` has failed.

        `give_way` is awaited before each group in the background: it may wait while the chat is served. `breaker`: that of
        another worker on the same outbox, which gives back every lease at its end; what one finds out of order, both leave
        alone.
        """
        self._database = database
        self._clock = clock
        self._limits = limits
        self._handler_seconds = handler_seconds
        self._give_way = give_way
        self._backoff = Backoff(limits.backoff_base_seconds, limits.backoff_cap_seconds, random)
        self.breaker = breaker or Breaker(limits.backoff_base_seconds)
        self._lease = timedelta(seconds=limits.lease_seconds)
        self._work: dict[str, _Work] = {}
        self._chores: dict[str, Chore] = {"drain": self._drain, "recover": self._recover_expired, "prune": self._prune}
        self._asked: dict[str, None] = {}
        self._wake = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._live: asyncio.Task[None] | None = None
        self._running: asyncio.Task[None] | None = None
        self._stopping = False
        self._alone = breaker is None
        self._last_look: datetime | None = None

    def register(self, kind: str, handler: JobHandler, *, group: int | None = None, needs: Collection[Dependency] = ()) -> None:
        """Let `handler` do the jobs of `kind`, up to `group` first attempts in one call (the batch of the limits where None).

        While one of `needs` does not answer, no job of the kind is claimed. Jobs of a kind without a handler wait.
        """
        self._work[kind] = _Work(handler=handler, group=group or self._limits.batch)
        self.breaker.needs(kind, needs)

    def around(self, kinds: Collection[str], wrapped: Callable[[JobHandler], JobHandler]) -> None:
        """Put something around the handlers of these kinds."""
        for kind in kinds:
            self._work[kind] = replace(self._work[kind], handler=wrapped(self._work[kind].handler))

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that have a handler."""
        return frozenset(self._work)

    def chore(self, name: str, work: Chore) -> None:
        """Add a chore that `ask(name)` runs in the live loop."""
        self._chores[name] = work

    def daily(self, kind: str) -> None:
        """Add a chore that puts one job of `kind` a day into the outbox, however often asked; its payload is the `day`."""

        async def add() -> None:
            now = self._clock.now()
            day = now.date().isoformat()
            key, payload = f"{kind}:{day}", {"day": day}
            await self._database.write(lambda c: outbox.enqueue(c, kind=kind, key=key, payload=payload, now=now))

        self.chore(kind, add)

    def ask(self, name: str) -> None:
        """Have the live loop run a chore soon: `drain`, `recover`, `prune`, or an added one. Unknown names are logged."""
        if name not in self._chores:
            log.warning("chore_unknown", name=name)
            return
        self._asked[name] = None
        self._wake.set()

    def poke(self) -> None:
        """Tell the live loop that a job was committed."""
        self._wake.set()

    async def recover(self, *, everything: bool = False) -> int:
        """Free leases that ran out, or all of them (at start, before anything runs); return how many."""
        now, limits = self._clock.now(), self._limits
        suspicion = outbox.Suspicion(
            max_crashes=limits.max_crashes,
            first_delay=timedelta(seconds=limits.backoff_base_seconds),
            longest_delay=timedelta(seconds=limits.backoff_cap_seconds),
        )

        def free(connection: Connection) -> int:
            if everything:
                outages.forget(connection)
            return outbox.recover(connection, now=now, suspicion=suspicion, everything=everything)

        freed = await self._database.write(free)
        if freed:
            log.warning("leases_recovered", jobs=freed)
        return freed

    async def run_due(self, limit: int | None = None, *, kinds: Collection[str] | None = None) -> int:
        """Run jobs of `kinds` (all) to their end, in order, until none is left (or `limit` are done); return how many ran.

        Runs every job that never failed, even one meant for later: settling means that nothing waits. A job that failed
        waits for its moment by the clock, which in a replay is the virtual one, so it runs at most once a call.

        Raises:
            StoreUnavailable: the outbox cannot be read or written.
        """
        due, ran = self._clock.now(), 0
        while limit is None or ran < limit:
            done = await self._group(due=due, early=True, most=None if limit is None else limit - ran, kinds=kinds)
            if not done:
                break
            ran += done
        return ran

    async def start(self) -> None:
        """Begin to work in the background; starting twice is fine."""
        if self._live is None:
            self._stopping = False
            self._live = asyncio.create_task(self._loop(), name="memory-worker")

    async def stop(self) -> None:
        """Let what is under way finish within a second, give back every lease, and end; stopping twice is fine."""
        self._stopping = True
        self._wake.set()
        if self._live is not None:
            await asyncio.wait({self._live}, timeout=_STOP_SECONDS)
            (self._running or self._live).cancel()  # a handler, or whatever else goes on: a chore, a claim
            await asyncio.wait({self._live})
            self._live = None
        if not self._alone:
            return
        now = self._clock.now()
        try:
            await self._database.write(lambda connection: outbox.release(connection, None, now=now))
        except BotMemoryError as error:
            log.warning("leases_not_released", error=told(error))  # the next start recovers them

    async def _loop(self) -> None:
        while not self._stopping:
            self._wake.clear()
            try:
                pause = await self._round()
            except Exception as error:  # noqa: BLE001 - the loop outlives every mistake; the jobs are safe in the outbox
                log.warning("worker_round_failed", error=told(error))  # no traceback: it may print locals, chat among them
                pause = self._limits.drain_seconds
            await self._rest(pause)

    async def _round(self) -> float:
        """Do what was asked and one group of jobs; return the seconds until there may be more."""
        await self._do_chores()
        await self._look_at_clock()
        if self._give_way is not None:
            await self._give_way()
        if await self._group(due=self._clock.now(), early=False, most=_LIVE_GROUP):
            return 0.0
        now = self._clock.now()
        kinds = tuple(self._open(now))
        due = await self._database.write(lambda connection: outbox.next_due(connection, kinds))
        holds = (self.breaker.held_until(kind, now) for kind in self._work)
        moments = [moment for moment in (due, *holds) if moment is not None]
        seconds = min(((moment - now).total_seconds() for moment in moments), default=_LONGEST_PAUSE_SECONDS)
        return min(max(seconds, _SHORTEST_PAUSE_SECONDS), _LONGEST_PAUSE_SECONDS)

    async def _look_at_clock(self) -> None:
        """Where the clock was set back, have what waits by the old one run now."""
        now, last = self._clock.now(), self._last_look
        self._last_look = now
        if last is not None and last - now > _SET_BACK:
            moved = await self._database.write(lambda connection: outbox.rewind(connection, now=now))
            log.warning("clock_was_set_back", seconds=round((last - now).total_seconds()), jobs=moved)

    async def _rest(self, seconds: float) -> None:
        if seconds <= 0 or self._stopping:
            await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return

    async def _do_chores(self) -> None:
        asked, self._asked = self._asked, {}
        for name in asked:
            try:
                await self._chores[name]()
            except Exception as error:  # noqa: BLE001 - a chore comes again by the clock
                log.warning("chore_failed", name=name, error=told(error))

    async def _drain(self) -> None:
        """Do nothing: being awake is the point."""

    async def _recover_expired(self) -> None:
        await self.recover()

    async def _prune(self) -> None:
        now = self._clock.now()
        done = now - timedelta(days=self._limits.keep_done_days)
        dead = now - timedelta(days=self._limits.keep_dead_days)
        gone = await self._database.write(lambda connection: outbox.prune(connection, done_before=done, dead_before=dead))
        log.info("jobs_pruned", jobs=gone)

    def _open(self, now: datetime, most: int | None = None, kinds: Collection[str] | None = None) -> dict[str, int]:
        """Return the kinds, of `kinds` or all, that may be claimed now, with the largest group of each."""
        work = {kind: work for kind, work in self._work.items() if kinds is None or kind in kinds}
        free = {kind: one.group for kind, one in work.items() if self.breaker.held_until(kind, now) is None}
        return free if most is None else {kind: min(group, most) for kind, group in free.items()}

    async def _group(self, *, due: datetime, early: bool, most: int | None = None, kinds: Collection[str] | None = None) -> int:
        """Claim one group and bring it to its end; return its size."""
        async with self._one_at_a_time:
            now = self._clock.now()
            groups, token, lease = self._open(now, most, kinds), uuid4().hex, self._lease

            def claim(connection: Connection) -> list[Job]:
                return outbox.claim(connection, groups=groups, token=token, now=now, due=due, lease=lease, early=early)

            jobs = await self._database.write(claim) if groups else []
            if jobs:
                await self._bring_to_end(jobs)
            return len(jobs)

    async def _bring_to_end(self, jobs: Sequence[Job]) -> None:
        """Run jobs together; where one of them is at fault, halve the group until it stands alone."""
        kind = jobs[0].kind
        error = await self._attempt(self._work[kind].handler, jobs)
        if error is None:
            await self._complete(jobs, over=self.breaker.succeeded(kind))
        elif isinstance(error, asyncio.CancelledError) and self._stopping:
            now = self._clock.now()
            await self._database.write(lambda connection: outbox.release(connection, jobs, now=now))
        elif fault(error) == "temporary" or len(jobs) == 1:
            await self._fail(jobs, error)
        else:
            log.info("jobs_split", kind=kind, jobs=len(jobs), error=told(error))
            await self._bring_to_end(jobs[: len(jobs) // 2])
            await self._bring_to_end(jobs[len(jobs) // 2 :])

    async def _attempt(self, handler: JobHandler, jobs: Sequence[Job]) -> BaseException | None:
        """Return what the handler raised, None where it succeeded; its leases are kept up meanwhile."""
        work = asyncio.create_task(self._limited(handler, jobs), name=f"job-{jobs[0].kind}")
        keeper = asyncio.create_task(self._keep(jobs), name="job-lease")
        self._running = work
        try:
            await asyncio.wait({work})
        finally:
            self._running = None
            work.cancel()
            keeper.cancel()
            await asyncio.wait({work, keeper})
        return asyncio.CancelledError() if work.cancelled() else work.exception()

    async def _limited(self, handler: JobHandler, jobs: Sequence[Job]) -> None:
        async with asyncio.timeout(self._handler_seconds):
            await handler([job.payload for job in jobs])

    async def _keep(self, jobs: Sequence[Job]) -> None:
        """Lengthen the leases of `jobs` until cancelled."""
        while True:
            await asyncio.sleep(self._limits.lease_seconds / 3)
            try:
                now, lease = self._clock.now(), self._lease
                await self._database.write(lambda connection: outbox.extend(connection, jobs, now=now, lease=lease))  # noqa: B023 - run before the next turn of the loop
            except BotMemoryError as error:
                log.warning("lease_not_extended", jobs=len(jobs), error=told(error))

    async def _complete(self, jobs: Sequence[Job], *, over: Sequence[str] = ()) -> None:
        now = self._clock.now()

        def store(connection: Connection) -> int:
            if over:
                outages.over(connection, *over)
            return outbox.complete(connection, jobs, now=now)

        held = await self._database.write(store)
        for what in over:
            log.info("outage_over", what=what, kind=jobs[0].kind)
        log.debug("jobs_done", kind=jobs[0].kind, jobs=held)
        if held < len(jobs):
            log.warning("lease_lost", kind=jobs[0].kind, jobs=len(jobs) - held)

    async def _fail(self, jobs: Sequence[Job], error: BaseException) -> None:
        now, kind, what, why = self._clock.now(), jobs[0].kind, fault(error), told(error)
        outage = self.breaker.failed(kind, now, what=dependency(error), why=why) if what == "temporary" else None
        fates = [(job, self._retry_at(job, what, now)) for job in jobs]

        def store(connection: Connection) -> None:
            if outage is not None:
                outages.note(connection, outage)
            for job, retry_at in fates:
                outbox.fail(connection, job, now=now, retry_at=retry_at, error=why, error_kind=what)

        await self._database.write(store)
        if outage is not None:
            log.warning("outage_noticed", what=outage.what, kinds=outage.kinds, until=outage.until.isoformat(), error=why)
        dead = [job.key for job, retry_at in fates if retry_at is None]
        if dead:
            log.error("jobs_died", kind=kind, keys=dead, fault=what, error=why)
        if len(dead) < len(jobs):
            log.warning("jobs_failed", kind=kind, jobs=len(jobs) - len(dead), first=jobs[0].key, fault=what, error=why)

    def _retry_at(self, job: Job, what: Fault, now: datetime) -> datetime | None:
        """Return when the job is to be tried again, None where it is dead."""
        most = {"permanent": 1, "unknown": min(_UNKNOWN_ATTEMPTS, self._limits.max_attempts)}.get(
            what, self._limits.max_attempts
        )
        attempts = job.attempts + 1
        return None if attempts >= most else now + self._backoff.after(attempts)
