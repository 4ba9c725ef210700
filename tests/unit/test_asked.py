"""Waiting for work that was asked of a running bot."""

from pathlib import Path

import pytest

from bot.cli.asked import waited_for
from bot.cli.shell import CommandFailed
from memory import WallClock, job_desk
from memory.store.database import Database
from memory.store.instance_lock import InstanceLock


async def test_nobody_waits_for_ever_where_nothing_takes_the_work_up(tmp_path: Path) -> None:
    await (await Database.open(tmp_path / "memory.db")).close()
    lock = InstanceLock.take(tmp_path)
    try:
        async with job_desk(tmp_path, WallClock()) as jobs:
            await jobs.order("reindex", "reindex:1", {"run": "1"})
            with pytest.raises(CommandFailed, match="does not take it up; it stays asked"):
                await waited_for(jobs, "reindex:1", tmp_path, ended=lambda _: False, told=lambda _: "", patience=0.0)
            assert [row.state for row in await jobs.keyed("reindex:1")] == ["ready"]
    finally:
        lock.release()
