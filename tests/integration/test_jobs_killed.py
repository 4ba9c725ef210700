"""Killed at any instant, nothing is lost and nothing is doubled."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest

CHILD = Path(__file__).with_name("jobs_child.py")
ROOT = CHILD.parent.parent.parent
POINTS = ("after_claim", "mid_sink", "after_sink", "before_complete", "after_commit")
KILLS = int(os.environ.get("RICORDO_KILLS", "10"))  # random ones, beside one at each named point
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forks")]


@dataclass
class Lives:
    """The parent of all lives."""

    directory: Path
    process: "subprocess.Popen[str]"
    careless: bool = False

    def one(self, *, first: int, seed: int = 0, point: str = "", passes: int = 0, after: float | None = None) -> int:
        """Start a life, kill it `after` seconds where given, and return how it ended."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        life = {"first": first, "seed": seed, "point": point, "passes": passes, "careless": self.careless}
        self.process.stdin.write(json.dumps(life) + "\n")
        self.process.stdin.flush()
        child = int(self.process.stdout.readline())
        if after is not None:
            time.sleep(after)  # noqa: TID251 - no loop here
            os.kill(child, signal.SIGKILL)
        return int(self.process.stdout.readline())


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    environment = os.environ | {"JOBS_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    arguments = [sys.executable, str(CHILD)]
    with subprocess.Popen(
        arguments, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield Lives(tmp_path, process)
        process.kill()


def read(path: Path, statement: str) -> list[tuple[Any, ...]]:
    file = sqlite3.connect(path)
    try:
        return file.execute(statement).fetchall()
    finally:
        file.close()


def test_killed_at_any_instant_nothing_is_lost_and_nothing_is_doubled(lives: Lives) -> None:
    random = Random(20260301)
    shots: list[tuple[str, int, float | None]] = [(point, random.randint(1, 12), None) for point in POINTS]
    shots += [("", 0, random.uniform(0.03, 0.6)) for _ in range(KILLS)]
    random.shuffle(shots)
    for number, (point, passes, after) in enumerate(shots):
        ended = lives.one(first=1 + number * 100_000, seed=number, point=point, passes=passes, after=after)
        assert ended == -signal.SIGKILL
    assert lives.one(first=0) == 0

    memory, sink = lives.directory / "memory.db", lives.directory / "sink.db"
    acked = (lives.directory / "acked.log").read_text().split()
    turns = [row[0] for row in read(memory, "SELECT id FROM turn")]
    assert set(acked) <= set(turns)
    assert read(memory, "SELECT state, count(*) FROM memory_job GROUP BY 1") == [("done", len(turns))]
    wanted = Counter(read(memory, "SELECT collection, id FROM document"))
    stored = Counter(read(sink, "SELECT collection, id FROM vector"))
    assert stored == wanted
    assert len(wanted) >= 3 * len(turns) > 60
    assert read(memory, "SELECT count(*) FROM document WHERE indexed_model IS NULL") == [(0,)]
    assert read(memory, "PRAGMA integrity_check") == [("ok",)]
    runs = Counter((lives.directory / "runs.log").read_text().split())
    assert set(runs) == set(turns)
    assert max(runs.values()) > 1  # the shots did hit work under way


def test_the_shots_would_show_a_worker_that_marks_jobs_as_done_too_early(lives: Lives) -> None:
    lives.careless = True
    assert lives.one(first=1, point="after_claim", passes=3) == -signal.SIGKILL
    assert lives.one(first=0) == 0
    wanted = set(read(lives.directory / "memory.db", "SELECT collection, id FROM document"))
    stored = set(read(lives.directory / "sink.db", "SELECT collection, id FROM vector"))
    assert wanted - stored
