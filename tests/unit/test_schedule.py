import asyncio
import pickle
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders_jobs import until

from memory import schedule
from memory.errors import StoreUnavailable
from memory.recipes import JobLimits
from memory.schedule import Schedule

FAST = replace(JobLimits(), drain_seconds=0.1, recover_seconds=0.15, checkpoint_seconds=3600)
SLOW = replace(JobLimits(), drain_seconds=3600, recover_seconds=3600, checkpoint_seconds=3600)


def rows(directory: Path) -> dict[str, float]:
    with sqlite3.connect(directory / "scheduler.db") as file:
        found = dict(file.execute("SELECT id, next_run_time FROM apscheduler_jobs"))
    file.close()
    return found


def at_least(ticks: "Counter[str]", name: str, count: int) -> Callable[[], bool]:
    return lambda: ticks[name] >= count


async def test_ticks_come_by_the_clock_until_it_stops(tmp_path: Path) -> None:
    ticks: Counter[str] = Counter()
    plan = Schedule(tmp_path, FAST, lambda name: ticks.update([name]))
    await plan.start()
    await plan.start()
    await until(lambda: ticks["drain"] >= 3 and ticks["recover"] >= 2)
    await plan.stop()
    await plan.stop()
    seen = ticks.copy()
    await asyncio.sleep(0.4)
    assert ticks == seen
    assert set(rows(tmp_path)) == {"drain", "recover", "checkpoint", "retain", "fade", "prune", "drift", "vacuum"}


async def test_ticks_keep_their_next_time_over_restarts(tmp_path: Path) -> None:
    for _ in range(2):
        plan = Schedule(tmp_path, SLOW, lambda _: None)
        await plan.start()
        await plan.stop()
        times = rows(tmp_path)
        await asyncio.sleep(0.05)
    plan = Schedule(tmp_path, SLOW, lambda _: None)
    await plan.start()
    await plan.stop()
    assert rows(tmp_path) == times


async def test_a_changed_period_moves_that_tick_alone(tmp_path: Path) -> None:
    before = Schedule(tmp_path, SLOW, lambda _: None)
    await before.start()
    await before.stop()
    old = rows(tmp_path)
    after = Schedule(tmp_path, replace(SLOW, checkpoint_seconds=7200), lambda _: None)
    await after.start()
    await after.stop()
    new = rows(tmp_path)
    assert new.pop("checkpoint") > old.pop("checkpoint") + 3000
    assert new == old


async def test_a_missed_nightly_tick_runs_once_at_the_next_start(tmp_path: Path) -> None:
    ticks: Counter[str] = Counter()
    first = Schedule(tmp_path, SLOW, lambda _: None)
    await first.start()
    scheduler = first._scheduler
    scheduler.pause()
    job = scheduler.get_job("prune")
    job.modify(next_run_time=job.next_run_time.replace(year=2020))
    await first.stop()
    second = Schedule(tmp_path, SLOW, lambda name: ticks.update([name]))
    await second.start()
    await until(at_least(ticks, "prune", 1))
    await asyncio.sleep(0.1)
    await second.stop()
    assert ticks == {"prune": 1}


async def test_ticks_go_on_after_the_store_was_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule, "_RETRY_SECONDS", 0.2)
    ticks: Counter[str] = Counter()
    plan = Schedule(tmp_path, FAST, lambda name: ticks.update([name]))
    await plan.start()
    await until(at_least(ticks, "drain", 2))
    other = sqlite3.connect(tmp_path / "scheduler.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    await asyncio.sleep(0.8)
    locked = ticks["drain"]
    other.execute("ROLLBACK")
    other.close()
    await until(at_least(ticks, "drain", locked + 3))
    await plan.stop()


async def test_a_stored_job_of_an_older_version_is_removed_not_run(tmp_path: Path) -> None:
    ticks: Counter[str] = Counter()
    first = Schedule(tmp_path, SLOW, lambda _: None)
    await first.start()
    first._scheduler.add_job(schedule.tick, "interval", seconds=0.05, args=("gone",), id="gone")
    await first.stop()
    second = Schedule(tmp_path, FAST, lambda name: ticks.update([name]))
    await second.start()
    await until(at_least(ticks, "drain", 2))
    await second.stop()
    assert "gone" not in ticks
    assert "gone" not in rows(tmp_path)


async def test_a_row_that_cannot_be_read_is_replaced(tmp_path: Path) -> None:
    first = Schedule(tmp_path, SLOW, lambda _: None)
    await first.start()
    await first.stop()
    with sqlite3.connect(tmp_path / "scheduler.db") as file:
        file.execute("UPDATE apscheduler_jobs SET job_state = ? WHERE id = 'drift'", (pickle.dumps("junk"),))
    file.close()
    second = Schedule(tmp_path, SLOW, lambda _: None)
    await second.start()
    await second.stop()
    assert "drift" in rows(tmp_path)


async def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "scheduler.db").mkdir()
    with pytest.raises(StoreUnavailable, match=r"scheduler\.db"):
        await Schedule(tmp_path, SLOW, lambda _: None).start()


async def test_a_file_that_is_locked_at_start_is_named_and_left_closed(tmp_path: Path) -> None:
    first = Schedule(tmp_path, SLOW, lambda _: None)
    await first.start()
    await first.stop()
    other = sqlite3.connect(tmp_path / "scheduler.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnavailable, match="no other program"):
        await Schedule(tmp_path, FAST, lambda _: None).start()
    other.close()


SCRIPT = """
import asyncio, pathlib, sys
from memory.recipes import JobLimits
from memory.schedule import Schedule

async def main():
    plan = Schedule(pathlib.Path(sys.argv[1]), JobLimits(), lambda _: None)
    await plan.start()
    await asyncio.sleep(0.05)
    if sys.argv[2] == "stop":
        await plan.stop()

asyncio.run(main())
"""


@pytest.mark.parametrize("ending", ["stop", "leave"])
def test_the_program_exits_without_a_hanging_thread(tmp_path: Path, ending: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(tmp_path), ending], timeout=60, check=False, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")
