import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_jobs import QUICK, START, Hanging, Recorder, a_worker, enqueue, jobs, open_database, states, until
from sqlalchemy import Connection

from memory.clock import WallClock
from memory.errors import StoreUnavailable
from memory.store import outbox
from memory.store.database import Database

HOUR = timedelta(hours=1)
NOW = WallClock().now()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path)
    yield database
    await database.close()


async def test_the_live_loop_runs_a_job_soon_after_the_poke(database: Database) -> None:
    worker, handler = a_worker(database, WallClock(), limits=replace(QUICK, drain_seconds=60)), Recorder()
    worker.register("index", handler)
    await worker.start()
    await worker.start()
    await asyncio.sleep(0.1)
    await enqueue(database, [1])
    worker.poke()
    await until(lambda: handler.done == [1], 5)
    await worker.stop()
    await worker.stop()


async def test_the_live_loop_comes_back_for_a_retry_by_itself(database: Database) -> None:
    limits = replace(QUICK, backoff_base_seconds=0.3)
    worker, handler = a_worker(database, WallClock(), limits=limits), Recorder({1: TimeoutError()}, times=2)
    worker.register("index", handler)
    await enqueue(database, [1])
    await worker.start()
    await until(lambda: handler.done == [1])
    await worker.stop()
    assert (await jobs(database))[0].state == "done"


async def test_the_live_loop_leaves_future_jobs_for_their_time(database: Database) -> None:
    worker, handler = a_worker(database, WallClock()), Recorder()
    worker.register("index", handler)
    await enqueue(database, [1], run_after=NOW + timedelta(days=900))
    await enqueue(database, [2])
    await worker.start()
    await until(lambda: handler.done == [2])
    await asyncio.sleep(0.1)
    await worker.stop()
    assert handler.done == [2]


async def test_the_live_loop_outlives_a_store_that_fails(database: Database) -> None:
    worker, handler = a_worker(database, FailingClock(), limits=replace(QUICK, drain_seconds=0.01)), Recorder()
    worker.register("index", handler)
    await enqueue(database, [1])
    await worker.start()
    await until(lambda: handler.done == [1])
    await worker.stop()


class FailingClock(WallClock):
    """A clock on which some looks fail, as a store or a mistake of ours would make the step fail."""

    def __init__(self) -> None:
        self._errors: list[Exception] = [StoreUnavailable("locked; wait"), ValueError("a mistake")]

    def calm(self) -> None:
        self._errors.clear()

    def upset(self) -> None:
        self._errors.append(StoreUnavailable("locked; wait"))

    def is_calm(self) -> bool:
        return not self._errors

    def now(self):  # type: ignore[no-untyped-def]  # noqa: ANN201 - as the parent's
        if self._errors:
            raise self._errors.pop(0)
        return super().now()


async def test_stopping_lets_the_job_under_way_finish(database: Database) -> None:
    worker, handler = a_worker(database, WallClock()), Hanging()
    worker.register("index", handler)
    await enqueue(database, [1])
    await worker.start()
    await handler.began.wait()
    stopping = asyncio.create_task(worker.stop())
    await asyncio.sleep(0.05)
    handler.go_on.set()
    await stopping
    assert await states(database) == {"index:1": "done"}


async def test_stopping_gives_back_a_job_that_does_not_end(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.worker._STOP_SECONDS", 0.05)
    worker, handler = a_worker(database, WallClock()), Hanging()
    worker.register("index", handler)
    await enqueue(database, [1])
    await worker.start()
    await handler.began.wait()
    await worker.stop()
    row = (await jobs(database))[0]
    assert (row.state, row.attempts, row.crashes) == ("ready", 0, 0)


async def test_stopping_gives_up_a_chore_that_does_not_end(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.worker._STOP_SECONDS", 0.05)
    worker, begun = a_worker(database, WallClock()), asyncio.Event()

    async def hang() -> None:
        begun.set()
        await asyncio.Event().wait()

    worker.chore("hang", hang)
    await worker.start()
    worker.ask("hang")
    async with asyncio.timeout(10):
        await begun.wait()
        await worker.stop()


async def test_chores_run_when_asked_and_one_that_fails_stops_nothing(database: Database) -> None:
    worker, ran = a_worker(database, WallClock()), []

    async def breaks() -> None:
        ran.append("breaks")
        raise ValueError

    async def works() -> None:
        ran.append("works")

    worker.chore("breaks", breaks)
    worker.chore("works", works)
    await worker.start()
    await asyncio.sleep(0.1)  # the loop rests by now
    for name in ("breaks", "unheard of", "works", "drain"):
        worker.ask(name)
    await until(lambda: ran == ["breaks", "works"], 5)
    await worker.stop()


async def test_asked_to_recover_and_prune_the_loop_does(database: Database) -> None:
    worker, handler = a_worker(database, WallClock()), Recorder()
    await enqueue(database, [1])
    await enqueue(database, [2], "purge")
    lease = timedelta(seconds=1)

    def crash_and_finish(connection: Connection) -> None:
        outbox.claim(connection, groups={"index": 1}, token="gone", now=START, due=START, lease=lease)
        done = outbox.claim(connection, groups={"purge": 1}, token="here", now=START, due=START, lease=lease)
        outbox.complete(connection, done, now=START - timedelta(days=9000))

    await database.write(crash_and_finish)
    worker.register("index", handler)
    await worker.start()
    worker.ask("recover")
    worker.ask("prune")
    await until(lambda: handler.done == [1])
    await worker.stop()
    assert await states(database) == {"index:1": "done"}


async def test_a_daily_chore_adds_one_job_a_day(database: Database) -> None:
    clock, handler = WallClock(), Recorder()
    worker = a_worker(database, clock)

    async def counts(payloads: Sequence[object]) -> None:
        handler.done.append(len(payloads))

    worker.register("drift", counts)
    worker.daily("drift")
    await worker.start()
    worker.ask("drift")
    await until(lambda: handler.done == [1])
    worker.ask("drift")
    await asyncio.sleep(0.1)
    await worker.stop()
    assert handler.done == [1]
    assert list(await states(database)) == [f"drift:{clock.now().date()}"]


async def test_the_worker_stops_also_where_the_store_is_closed(database: Database) -> None:
    worker = a_worker(database, WallClock())
    await worker.start()
    await database.close()
    await worker.stop()


async def test_a_lease_that_cannot_be_extended_does_not_end_the_job(database: Database) -> None:
    clock, handler = FailingClock(), Hanging()
    clock.calm()
    worker = a_worker(database, clock, limits=replace(QUICK, lease_seconds=0.15))
    worker.register("index", handler)
    await enqueue(database, [1])
    running = asyncio.create_task(worker.run_due())
    await handler.began.wait()
    clock.upset()
    await until(clock.is_calm)
    handler.go_on.set()
    assert await running == 1
