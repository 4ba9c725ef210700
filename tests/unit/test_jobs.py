from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from builders_jobs import START, Recorder, a_worker, enqueue, open_database

from memory.clock import VirtualClock
from memory.errors import InvalidRow
from memory.jobs import Jobs
from memory.store.database import Database


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path)
    yield database
    await database.close()


async def test_a_dead_job_is_listed_with_its_reason_and_lives_again(database: Database) -> None:
    jobs, worker = Jobs(database, VirtualClock(START)), a_worker(database)
    handler = Recorder({1: InvalidRow("turn 1 names no stream; report this")})
    worker.register("index", handler)
    await enqueue(database, [1, 2])
    await worker.run_due()
    dead = await jobs.listed(state="dead", kind="index")
    assert [(job.key, job.last_error) for job in dead] == [("index:1", "InvalidRow: turn 1 names no stream; report this")]
    handler.heal()
    assert await jobs.retry(ids=[dead[0].id]) == 1
    assert await worker.run_due() == 1
    assert await jobs.counts() == {"ready": 0, "leased": 0, "done": 2, "dead": 0}


async def test_a_buried_job_does_not_run(database: Database) -> None:
    jobs, worker, handler = Jobs(database, VirtualClock(START)), a_worker(database), Recorder()
    worker.register("index", handler)
    await enqueue(database, [1, 2])
    assert await jobs.bury([(await jobs.listed(limit=1))[0].id]) == 1
    await worker.run_due()
    assert handler.done == [2]


async def test_the_lag_grows_with_the_clock_until_the_work_is_done(database: Database) -> None:
    clock = VirtualClock(START)
    jobs, worker = Jobs(database, clock), a_worker(database, clock)
    worker.register("index", Recorder())
    await enqueue(database, [1])
    clock.advance(timedelta(minutes=6))
    assert await jobs.lag() == (1, 360.0)
    assert await jobs.lag(["purge"]) == (0, 0.0)
    await worker.run_due()
    assert await jobs.lag() == (0, 0.0)


async def test_an_unknown_state_is_refused_with_the_known_ones(database: Database) -> None:
    with pytest.raises(ValueError, match="ready, leased, done, dead"):
        await Jobs(database, VirtualClock(START)).listed(state="finished")
