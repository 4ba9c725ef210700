"""A replay killed at any instant and started again ends as if it had never been."""

import asyncio
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from builders_chaos import indexed, rows

from bench.chat import write_chat
from memory.rules import load_rules
from memory.worthiness import Meaning

ROOT = Path(__file__).parent.parent.parent
PROGRAM = (sys.executable, "-c", "from replays.cli import main; main()")
PATIENT = {  # a slow machine must not change what is recalled
    "RICORDO_RETRIEVAL__SOURCE_SECONDS": "30",
    "RICORDO_RETRIEVAL__RETRIEVE_SECONDS": "40",
    "RICORDO_RETRIEVAL__RECALL_SECONDS": "50",
}
KILLS = int(os.environ.get("RICORDO_KILLS", "3"))
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def started(log: Path, out: Path) -> "subprocess.Popen[bytes]":
    arguments = [*PROGRAM, "replay", str(log), "--out", str(out)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}  # no settings of ours
    plain |= PATIENT
    return subprocess.Popen(arguments, cwd=ROOT, env=plain, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def turns_in(out: Path) -> int:
    file = out / "turns.jsonl"
    return file.read_bytes().count(b"\n") if file.exists() else 0


def kill_after(log: Path, out: Path, turns: int, delay: float) -> None:
    with started(log, out) as process:
        while process.poll() is None and turns_in(out) < turns:
            time.sleep(0.02)  # noqa: TID251 - no loop here
        time.sleep(delay)  # noqa: TID251 - the same
        process.kill()


def finish(log: Path, out: Path) -> None:
    with started(log, out) as process:
        assert process.wait() == 0


def told(out: Path) -> list[dict[str, Any]]:
    turns = [json.loads(line) for line in (out / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in turn.items() if key != "latency_ms"} for turn in turns]


def without_scores(turns: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[float]]:
    """The turns, and apart from them their scores: a model gives the same text another last digit in another batch."""
    scores: list[float] = []
    for turn in turns:
        scores += [entry.pop("score") for entry in (*turn.get("items", ()), *turn.get("left_out", ()))]
    return turns, scores


SAME = (
    "SELECT collection, id, text, superseded, indexed_model FROM document ORDER BY 1, 2",
    "SELECT id, stream_id, text, hidden, deleted_at, turn_id FROM line ORDER BY id",
    "SELECT key, kind, state FROM memory_job ORDER BY key",
    "SELECT id, text, status, created_at, updated_at FROM state_record ORDER BY id",
    "SELECT id, started_at, ended_at FROM stream ORDER BY id",
)


def test_a_replay_killed_again_and_again_ends_like_an_unbroken_one(tmp_path: Path) -> None:
    log = write_chat(tmp_path / "chat.jsonl", 700, streams=3, seed=5)
    whole, broken, random = tmp_path / "whole", tmp_path / "broken", Random(11)
    finish(log, whole)
    turns = turns_in(whole)
    for point in sorted(random.sample(range(turns), KILLS)):
        kill_after(log, broken, point, random.uniform(0, 0.05))
    finish(log, broken)
    for statement in SAME:
        assert rows(broken, statement) == rows(whole, statement)
    (resumed, its_scores), (unbroken, scores) = without_scores(told(broken)), without_scores(told(whole))
    pairs = list(zip(resumed, unbroken, strict=True))
    assert [(n, key, a[key], b[key]) for n, (a, b) in enumerate(pairs) for key in b if a.get(key) != b[key]] == []
    assert its_scores == pytest.approx(scores, abs=1e-5)
    vectors = asyncio.run(indexed(broken))
    assert vectors == asyncio.run(indexed(whole))
    meaning = Meaning(load_rules(("it", "en")))
    assert sum(map(len, vectors.values())) == sum(bool(meaning(*row)) for row in rows(whole, "SELECT kind, text FROM document"))
    assert rows(broken, "SELECT count(*) FROM memory_job WHERE state = 'dead'") == [(0,)]
