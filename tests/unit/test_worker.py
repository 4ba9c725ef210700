import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_jobs import QUICK, START, Hanging, Recorder, a_worker, enqueue, jobs, open_database, states
from sqlalchemy import Connection

from memory.clock import VirtualClock, WallClock
from memory.errors import IndexUnavailable, InvalidRow
from memory.store import outbox
from memory.store.database import Database

HOUR = timedelta(hours=1)
NOW = WallClock().now()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path)
    yield database
    await database.close()


async def test_due_jobs_run_to_their_end_in_order_and_only_once(database: Database) -> None:
    worker, handler = a_worker(database), Recorder()
    worker.register("index", handler, group=2)
    await enqueue(database, [1, 2, 3])
    assert await worker.run_due() == 3
    assert await worker.run_due() == 0
    assert handler.calls == [[1, 2], [3]]
    assert set((await states(database)).values()) == {"done"}


async def test_two_runs_of_the_same_outbox_take_the_same_order(tmp_path: Path) -> None:
    orders = []
    for run in ("one", "two"):
        database = await open_database(tmp_path / run)
        clock, order = VirtualClock(START), Recorder({2: IndexUnavailable("down"), 5: ValueError()}, times=4)
        worker = a_worker(database, clock)
        worker.register("index", order, group=3)
        worker.register("purge", order)
        await enqueue(database, [1, 2, 3, 4])
        await enqueue(database, [5, 6], "purge", at=START - HOUR)
        for _ in range(6):
            await worker.run_due()
            clock.advance(timedelta(minutes=5))
        orders.append(order.calls)
        assert sorted(order.done) == [1, 2, 3, 4, 5, 6]
        await database.close()
    assert orders[0] == orders[1]
    assert orders[0][0] == [5, 6]


async def test_a_limit_is_kept(database: Database) -> None:
    worker, handler = a_worker(database), Recorder()
    worker.register("index", handler)
    await enqueue(database, [1, 2, 3, 4, 5])
    assert await worker.run_due(3) == 3
    assert handler.calls == [[1, 2, 3]]


async def test_a_job_that_a_handler_adds_runs_in_the_same_call(database: Database) -> None:
    worker, second = a_worker(database), Recorder()

    async def adds(payloads: object) -> None:
        await enqueue(database, [9], "purge")

    worker.register("index", adds)
    worker.register("purge", second)
    await enqueue(database, [1])
    assert await worker.run_due() == 2
    assert second.done == [9]


async def test_settling_runs_jobs_meant_for_later_that_were_never_tried(database: Database) -> None:
    worker, handler = a_worker(database), Recorder()
    worker.register("index", handler)
    await enqueue(database, [1], run_after=START + HOUR)
    assert await worker.run_due() == 1
    assert handler.done == [1]


async def test_a_temporary_error_fails_the_whole_group_and_waits_by_the_clock(database: Database) -> None:
    clock = VirtualClock(START)
    worker, handler = a_worker(database, clock), Recorder({2: IndexUnavailable("shard 1 is down; wait")})
    worker.register("index", handler)
    await enqueue(database, [1, 2, 3])
    assert await worker.run_due() == 3
    assert await worker.run_due() == 0
    rows = await jobs(database)
    assert [(row.state, row.attempts, row.error_kind) for row in rows] == [("ready", 1, "temporary")] * 3
    assert {row.last_error for row in rows} == {"IndexUnavailable: shard 1 is down; wait"}
    assert all(START < row.run_after <= START + timedelta(seconds=5) for row in rows)
    assert len({row.run_after for row in rows}) == 3
    handler.heal()
    clock.advance(timedelta(seconds=5))
    assert await worker.run_due() == 3
    assert len(handler.calls) == 4
    assert sorted(map(len, handler.calls)) == [1, 1, 1, 3]


async def test_an_invalid_job_dies_at_once_and_alone(database: Database) -> None:
    worker, handler = a_worker(database), Recorder({4: InvalidRow("turn 4 names no stream; report this")})
    worker.register("index", handler)
    await enqueue(database, [1, 2, 3, 4, 5, 6, 7])
    await worker.run_due()
    assert handler.done == [1, 2, 3, 5, 6, 7]
    dead = [row for row in await jobs(database) if row.state == "dead"]
    assert [(row.key, row.attempts, row.error_kind) for row in dead] == [("index:4", 1, "permanent")]


async def test_an_unforeseen_error_is_given_up_after_ten_attempts(database: Database) -> None:
    clock = VirtualClock(START)
    worker, handler = a_worker(database, clock), Recorder({1: ValueError("said 'my secret'")})
    worker.register("index", handler)
    await enqueue(database, [1, 2])
    for _ in range(15):
        await worker.run_due()
        clock.advance(HOUR)
    rows = {row.key: row for row in await jobs(database)}
    assert (rows["index:1"].state, rows["index:1"].attempts, rows["index:1"].error_kind) == ("dead", 10, "unknown")
    assert "secret" not in str(rows["index:1"].last_error)
    assert rows["index:2"].state == "done"


async def test_an_outage_is_given_up_after_all_attempts(database: Database) -> None:
    clock = VirtualClock(START)
    worker, handler = a_worker(database, clock, limits=replace(QUICK, max_attempts=4)), Recorder({1: TimeoutError()})
    worker.register("index", handler)
    await enqueue(database, [1])
    for _ in range(8):
        await worker.run_due()
        clock.advance(HOUR)
    assert len(handler.calls) == 4
    assert [row.state for row in await jobs(database)] == ["dead"]


async def test_three_errors_in_a_row_hold_the_kind_but_not_others(database: Database) -> None:
    clock = VirtualClock(START)
    worker = a_worker(database, clock)
    down, other = Recorder(dict.fromkeys(range(10), IndexUnavailable("down"))), Recorder()
    worker.register("index", down, group=1)
    worker.register("purge", other)
    await enqueue(database, range(8))
    await enqueue(database, [20], "purge", at=START + timedelta(seconds=1))
    await worker.run_due()
    assert down.calls == [[0], [1], [2]]
    assert other.done == [20]
    down.heal()
    assert await worker.run_due() == 0
    clock.advance(timedelta(seconds=6))
    await worker.run_due()
    assert sorted(down.done) == list(range(8))


async def test_a_handler_that_hangs_is_cut_off_and_tried_again(database: Database) -> None:
    worker, handler = a_worker(database, handler_seconds=0.05), Hanging()
    worker.register("index", handler)
    await enqueue(database, [1])
    assert await worker.run_due() == 1
    row = (await jobs(database))[0]
    assert (row.state, row.error_kind, row.attempts) == ("ready", "temporary", 1)
    assert str(row.last_error).startswith("TimeoutError")


async def test_a_handler_that_is_cancelled_from_inside_is_tried_again(database: Database) -> None:
    async def cancelled(payloads: object) -> None:
        raise asyncio.CancelledError

    worker = a_worker(database)
    worker.register("index", cancelled)
    await enqueue(database, [1])
    assert await worker.run_due() == 1
    assert (await jobs(database))[0].error_kind == "temporary"


async def test_the_lease_of_a_long_job_is_kept_up(database: Database) -> None:
    clock, handler = WallClock(), Hanging()
    worker = a_worker(database, clock, limits=replace(QUICK, lease_seconds=0.3))
    worker.register("index", handler)
    await enqueue(database, [1])
    running = asyncio.create_task(worker.run_due())
    await handler.began.wait()
    await asyncio.sleep(0.7)
    assert await worker.recover() == 0
    handler.go_on.set()
    assert await running == 1
    assert await states(database) == {"index:1": "done"}


async def test_an_attempt_whose_lease_was_lost_does_not_finish_the_job(database: Database) -> None:
    worker, handler = a_worker(database), Hanging()
    worker.register("index", handler)
    await enqueue(database, [1])
    running = asyncio.create_task(worker.run_due())
    await handler.began.wait()
    assert await worker.recover(everything=True) == 1
    handler.go_on.set()
    assert await running == 2  # the stale attempt, then the one that counts
    assert handler.calls == 2
    row = (await jobs(database))[0]
    assert (row.state, row.crashes) == ("done", 1)


async def test_leases_left_by_a_crash_are_recovered_at_start(tmp_path: Path) -> None:
    crashed = await open_database(tmp_path)
    await enqueue(crashed, [1])
    lease = timedelta(seconds=60)

    def claim(connection: Connection) -> None:
        outbox.claim(connection, groups={"index": 1}, token="gone", now=START, due=START, lease=lease)

    await crashed.write(claim)
    await crashed.close()
    database = await Database.open(tmp_path / "memory.db")
    worker, handler = a_worker(database), Recorder()
    worker.register("index", handler)
    assert await worker.run_due() == 0
    assert await worker.recover(everything=True) == 1
    assert await worker.run_due() == 1
    await database.close()


async def test_a_cancelled_run_gives_its_leases_back_when_the_worker_stops(database: Database) -> None:
    worker, handler = a_worker(database), Hanging()
    worker.register("index", handler)
    await enqueue(database, [1])
    running = asyncio.create_task(worker.run_due())
    await handler.began.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await worker.stop()
    row = (await jobs(database))[0]
    assert (row.state, row.attempts) == ("ready", 0)


async def test_settling_some_kinds_leaves_the_others_waiting(database: Database) -> None:
    worker, index, purge = a_worker(database), Recorder(), Recorder()
    worker.register("index", index)
    worker.register("purge", purge)
    await enqueue(database, [1, 2])
    await enqueue(database, [9], "purge")
    assert worker.kinds == {"index", "purge"}
    assert await worker.run_due(kinds={"purge"}) == 1
    assert (index.done, purge.done) == ([], [9])
    assert await worker.run_due(1, kinds={"index"}) == 1
    assert index.done == [1]
