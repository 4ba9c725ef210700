"""The time side of background work: APScheduler with its own file, whose jobs only poke.

A tick asks the worker for a chore and carries nothing, so that losing one, or running it twice, is harmless. The table lives in
`scheduler.db`, apart from the memory: its store is synchronous and would wait for a lock in the very loop that holds it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog
from apscheduler.jobstores.base import JobLookupError
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.schedulers.base import STATE_STOPPED, BaseScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.exc import SQLAlchemyError

from memory.errors import StoreUnavailable
from memory.recipes import JobLimits

log = structlog.get_logger(__name__)

Ask = Callable[[str], None]

_FILE = "scheduler.db"
_LOCK_SECONDS = 0.25  # the longest the loop may stand still for a locked file
_RETRY_SECONDS = 2

_listening: list[Ask] = []


async def tick(name: str) -> None:
    """Poke whoever listens: what every stored job calls, by this module-level name, which must stay."""
    for ask in tuple(_listening):
        ask(name)


class _SafeScheduler(AsyncIOScheduler):  # type: ignore[misc]  # APScheduler 3 ships no types
    """A scheduler whose timer survives a locked or broken job store; the original stops for good."""

    def _process_jobs(self) -> float | None:
        if self.state == STATE_STOPPED:
            return None
        try:
            wait: float | None = super()._process_jobs()
        except (SQLAlchemyError, JobLookupError, OSError) as error:
            log.warning("job_store_failed", error=type(error).__name__)
            return float(_RETRY_SECONDS)
        return wait

    def close(self) -> None:
        """Stop at once; the original's `shutdown` only promises to."""
        BaseScheduler.shutdown(self, wait=False)
        self._stop_timer()


class Schedule:
    """Recurring pokes by the clock: drain, recover, checkpoint, nightly retain, fade, prune, drift and vacuum, and backups."""

    def __init__(self, data_dir: Path, limits: JobLimits, ask: Ask, *, more: Mapping[str, float] | None = None) -> None:
        """Call `ask` with the name of each chore when its time has come; `more` are further ones, with their seconds."""
        self._more = dict(more or {})
        self._path = data_dir / _FILE
        self._limits = limits
        self._ask = ask
        self._scheduler: Any = None

    async def start(self) -> None:
        """Begin ticking in the running loop; starting twice is fine.

        Raises:
            StoreUnavailable: the scheduler's file cannot be opened.
        """
        if self._scheduler is not None:
            return
        store = SQLAlchemyJobStore(engine=_engine(self._path))
        scheduler = _SafeScheduler(
            jobstores={"default": store},
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
            timezone="UTC",
            jobstore_retry_interval=_RETRY_SECONDS,
        )
        try:
            scheduler.start(paused=True)
            self._arrange(scheduler)
        except (SQLAlchemyError, OSError) as error:
            if scheduler.state == STATE_STOPPED:
                store.shutdown()
            else:
                scheduler.close()
            raise StoreUnavailable(
                f"cannot open {self._path}; see that it is writable and that no other program holds it"
            ) from error
        self._scheduler = scheduler
        _listening.append(self._ask)
        scheduler.resume()

    async def stop(self) -> None:
        """Stop ticking and close the file; stopping twice is fine."""
        if self._scheduler is None:
            return
        _listening.remove(self._ask)
        self._scheduler.close()
        self._scheduler = None

    def _arrange(self, scheduler: _SafeScheduler) -> None:
        """Make the stored jobs those of the plan; what is unchanged keeps its next time, so a daily one survives restarts."""
        plan = self._plan()
        stored = {job.id: job for job in scheduler.get_jobs()}
        for name in stored.keys() - plan.keys():
            scheduler.remove_job(name)
        for name, trigger in plan.items():
            job = stored.get(name)
            if job is None:
                scheduler.add_job(tick, trigger, args=(name,), id=name)
            elif str(job.trigger) != str(trigger):
                scheduler.reschedule_job(name, trigger=trigger)

    def _plan(self) -> dict[str, IntervalTrigger | CronTrigger]:
        def every(seconds: float) -> IntervalTrigger:
            return IntervalTrigger(seconds=seconds, timezone="UTC")

        return {
            "drain": every(self._limits.drain_seconds),
            "recover": every(self._limits.recover_seconds),
            "checkpoint": every(self._limits.checkpoint_seconds),
            "retain": CronTrigger(hour=3, minute=30, timezone="UTC"),
            "fade": CronTrigger(hour=4, minute=0, timezone="UTC"),
            "prune": CronTrigger(hour=4, minute=15, timezone="UTC"),
            "drift": CronTrigger(hour=4, minute=30, timezone="UTC"),
            "vacuum": CronTrigger(hour=4, minute=45, timezone="UTC"),
        } | {name: every(seconds) for name, seconds in self._more.items()}


def _engine(path: Path) -> Engine:
    engine = create_engine(URL.create("sqlite", database=str(path)), connect_args={"timeout": _LOCK_SECONDS})

    @event.listens_for(engine, "connect")
    def _pragmas(connection: Any, _: object) -> None:  # noqa: ANN401 - a DBAPI connection
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    return engine
