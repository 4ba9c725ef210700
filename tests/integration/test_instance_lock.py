"""One process a data directory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory.errors import DirectoryInUse, StoreUnavailable
from memory.store.instance_lock import InstanceLock

ROOT = Path(__file__).parents[2]
HOLD = (
    "import pathlib, sys\nfrom memory.store.instance_lock import InstanceLock\n"
    "InstanceLock.take(pathlib.Path(sys.argv[1]))\nprint('held', flush=True)\nsys.stdin.read()\n"
)


def test_a_second_process_is_refused_with_the_first_ones_number(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(DirectoryInUse, match=f"in use by process {holder.pid}: stop it"):
            InstanceLock.take(tmp_path)
        holder.kill()
    InstanceLock.take(tmp_path).release()


def test_two_memories_in_one_process_are_refused_too(tmp_path: Path) -> None:
    lock = InstanceLock.take(tmp_path)
    with pytest.raises(DirectoryInUse, match=f"process {os.getpid()}"):
        InstanceLock.take(tmp_path)
    lock.release()
    lock.release()
    InstanceLock.take(tmp_path).release()


def test_the_directory_is_made_where_missing(tmp_path: Path) -> None:
    InstanceLock.take(tmp_path / "a" / "b").release()
    assert (tmp_path / "a" / "b" / "lock").exists()


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(StoreUnavailable, match="choose another data directory"):
        InstanceLock.take(tmp_path)
