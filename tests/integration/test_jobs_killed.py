"""Killed at any instant, nothing is lost and nothing is doubled."""

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from builders_lives import KILLED, Parent, parent, rows

CHILD = Path(__file__).with_name("jobs_child.py")
POINTS = ("after_claim", "mid_sink", "after_sink", "before_complete", "after_commit")
KILLS = int(os.environ.get("RICORDO_KILLS", "10"))  # random ones, beside one at each named point
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not hasattr(os, "fork"), reason="lives are forks")]


@dataclass
class Lives:
    """The parent of all lives."""

    directory: Path
    parent: Parent
    careless: bool = False

    def one(self, *, first: int, seed: int = 0, point: str = "", passes: int = 0, after: float | None = None) -> int:
        """Start a life, kill it `after` seconds where given, and return how it ended."""
        life = {"first": first, "seed": seed, "point": point, "passes": passes, "careless": self.careless}
        return self.parent.one(life, after=after)


@pytest.fixture
def lives(tmp_path: Path) -> Iterator[Lives]:
    with parent(CHILD, os.environ | {"JOBS_DIR": str(tmp_path)}, stderr=subprocess.DEVNULL) as started:
        yield Lives(tmp_path, started)


def test_killed_at_any_instant_nothing_is_lost_and_nothing_is_doubled(lives: Lives) -> None:
    random = Random(20260301)
    shots: list[tuple[str, int, float | None]] = [(point, random.randint(1, 12), None) for point in POINTS]
    shots += [("", 0, random.uniform(0.03, 0.6)) for _ in range(KILLS)]
    random.shuffle(shots)
    for number, (point, passes, after) in enumerate(shots):
        ended = lives.one(first=1 + number * 100_000, seed=number, point=point, passes=passes, after=after)
        assert ended == KILLED
    assert lives.one(first=0) == 0

    memory, sink = lives.directory / "memory.db", lives.directory / "sink.db"
    acked = (lives.directory / "acked.log").read_text().split()
    turns = [row[0] for row in rows(memory, "SELECT id FROM turn")]
    assert set(acked) <= set(turns)
    assert rows(memory, "SELECT state, count(*) FROM memory_job GROUP BY 1") == [("done", len(turns))]
    wanted = Counter(rows(memory, "SELECT collection, id FROM document"))
    stored = Counter(rows(sink, "SELECT collection, id FROM vector"))
    assert stored == wanted
    assert len(wanted) >= 3 * len(turns) > 60
    assert rows(memory, "SELECT count(*) FROM document WHERE indexed_model IS NULL") == [(0,)]
    assert rows(memory, "PRAGMA integrity_check") == [("ok",)]
    runs = Counter((lives.directory / "runs.log").read_text().split())
    assert set(runs) == set(turns)
    assert max(runs.values()) > 1  # the shots did hit work under way


def test_the_shots_would_show_a_worker_that_marks_jobs_as_done_too_early(lives: Lives) -> None:
    lives.careless = True
    assert lives.one(first=1, point="after_claim", passes=3) == KILLED
    assert lives.one(first=0) == 0
    wanted = set(rows(lives.directory / "memory.db", "SELECT collection, id FROM document"))
    stored = set(rows(lives.directory / "sink.db", "SELECT collection, id FROM vector"))
    assert wanted - stored
