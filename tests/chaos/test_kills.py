"""Killed at any instant and at every named step, the bot loses nothing and doubles nothing. Long: `make chaos`."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from builders_chaos import ALL_REPLAY_STEPS, KILLED, LIVE_STEPS, PURGE_STEPS, Lives, indexed, lives, meant, rows, written

from bench.chat import write_chat

KILLS = int(os.environ.get("RICORDO_KILLS", "120"))  # at random instants, of each way of living
MESSAGES, LOG_MESSAGES = 240, 500
ROUND = 12  # kills between two comparisons with the unbroken run
STEPS = 6  # the same, at named steps
pytestmark = [pytest.mark.chaos, pytest.mark.timeout(3600)]
SAME = (
    "SELECT collection, id, text, superseded, indexed_model FROM document ORDER BY 1, 2",
    "SELECT id, stream_id, text, hidden, deleted_at, turn_id FROM line ORDER BY id",
    "SELECT id, stream_id, state, line_ids, reply_id, reply_state FROM turn ORDER BY id",
    # Named by what is read at once, and by what was read late.
    "SELECT key, kind, state FROM memory_job WHERE key NOT LIKE 'index:facts:%' AND key NOT LIKE 'purge:facts:%' ORDER BY key",
    "SELECT id, text, status, created_at, updated_at FROM state_record ORDER BY id",
    "SELECT id, started_at, ended_at FROM stream ORDER BY id",
)
PERSONAL = "SELECT collection, id, text FROM document WHERE collection LIKE 'viewer-%' ORDER BY 1, 2"


@pytest.fixture(scope="module")
def parent() -> Iterator[Lives]:
    with lives() as started:
        yield started


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chat(tmp_path_factory.mktemp("log") / "chat.jsonl", LOG_MESSAGES, streams=2, seed=5)


@pytest.fixture(scope="module")
def whole_replay(parent: Lives, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole-replay")
    assert parent.one(out, log=log) == 0
    return out


@pytest.fixture(scope="module")
def whole_evening(parent: Lives, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole-evening")
    assert parent.one(out, messages=MESSAGES) == 0
    return out


def told(out: Path) -> list[dict[str, Any]]:
    turns = [json.loads(line) for line in (out / "turns.jsonl").read_text(encoding="utf-8").splitlines()]
    return [{key: value for key, value in turn.items() if key != "latency_ms"} for turn in turns]


def check_replay(out: Path, whole: Path) -> None:
    for statement in SAME:
        assert rows(out, statement) == rows(whole, statement)
    assert told(out) == told(whole)
    check_index(out)


def check_index(out: Path) -> None:
    assert asyncio.run(indexed(out)) == meant(out)
    assert rows(out, "SELECT count(*) FROM document WHERE indexed_model IS NULL") == [(0,)]
    assert rows(out, "SELECT DISTINCT state FROM memory_job") == [("done",)]
    assert rows(out, "PRAGMA integrity_check") == [("ok",)]


def check_evening(out: Path, whole: Path) -> None:
    """Compare all but how the lines fell into turns, which the moments decide."""
    chat = [f"m{number}" for number in range(MESSAGES)]
    assert [
        row[0] for row in rows(out, "SELECT id FROM line WHERE viewer_id IS NOT NULL AND id LIKE 'm%' ORDER BY seq")
    ] == chat
    assert set(written(out / "confirmed.txt")) <= set(chat)
    assert rows(out, PERSONAL) == rows(whole, PERSONAL)
    assert rows(out, "SELECT DISTINCT state FROM turn") == [("recorded",)]
    lines_of = Counter(row[0] for row in rows(out, "SELECT turn_id FROM line WHERE id LIKE 'm%'"))
    turns = {row[0] for row in rows(out, "SELECT id FROM turn")}
    assert lines_of.keys() <= turns
    keys = {row[0] for row in rows(out, "SELECT key FROM memory_job")}
    assert {f"{kind}:{turn}" for kind in ("index", "consolidate") for turn in turns} <= keys
    said = Counter(written(out / "said.txt"))
    assert set(said.values()) <= {1}  # never twice, whatever was cut off
    kept = Counter(row[0].rpartition("-")[2] for row in rows(out, "SELECT id FROM line WHERE id LIKE 'post-%'"))
    assert set(kept) <= set(said)
    assert set(kept.values()) <= {1}
    check_index(out)


def check_answered(out: Path) -> None:
    """See that every question was answered until the bot was told to end; how far it was by then, the machine decides."""
    asked = "SELECT turn.reply_state FROM line JOIN turn ON turn.id = line.turn_id WHERE line.text LIKE '@ricordo cosa%'"
    answered = [row[0] == "sent" for row in rows(out, f"{asked} ORDER BY line.seq")]
    assert answered[0]
    assert answered == sorted(answered, reverse=True)


def test_an_unbroken_evening_is_what_the_others_are_compared_with(whole_evening: Path) -> None:
    check_evening(whole_evening, whole_evening)
    check_answered(whole_evening)


def test_an_evening_goes_on_by_itself_once_a_full_disk_has_room(parent: Lives, whole_evening: Path, tmp_path: Path) -> None:
    assert parent.one(tmp_path, messages=MESSAGES, full=(0.2, 3.0, 8.0)) == 0
    assert written(tmp_path / "full.txt") == ["full", "room"]
    check_evening(tmp_path, whole_evening)
    check_answered(tmp_path)  # told to end, it would have answered nobody


def test_a_replay_killed_at_random_instants_ends_like_an_unbroken_one(
    parent: Lives, log: Path, whole_replay: Path, tmp_path: Path
) -> None:
    random, kills, number = Random(20261130), 0, 0
    while kills < KILLS:
        out, number = tmp_path / f"replay-{number}", number + 1
        shots = [random.uniform(0.02, 1.2) for _ in range(ROUND)]
        ends = Counter(parent.one(out, log=log, after=after) for after in shots)
        assert ends.keys() <= {KILLED, 0}
        kills += ends[KILLED]
        assert parent.one(out, log=log) == 0
        check_replay(out, whole_replay)
    print(f"replay: {kills} kills in {number} rounds, 0 lost, 0 doubled")  # noqa: T201 - the figure of the run


def test_an_evening_killed_at_random_instants_loses_and_doubles_nothing(
    parent: Lives, whole_evening: Path, tmp_path: Path
) -> None:
    random, kills, number = Random(20261201), 0, 0
    while kills < KILLS:
        out, number = tmp_path / f"evening-{number}", number + 1
        shots = [random.uniform(0.02, 1.2) for _ in range(ROUND)]
        ends = Counter(parent.one(out, messages=MESSAGES, after=after) for after in shots)
        assert ends.keys() <= {KILLED, 0}
        kills += ends[KILLED]
        assert parent.one(out, messages=MESSAGES) == 0
        check_evening(out, whole_evening)
    print(f"live: {kills} kills in {number} rounds, 0 lost, 0 doubled")  # noqa: T201 - the figure of the run


@pytest.mark.parametrize("start", range(0, len(ALL_REPLAY_STEPS), STEPS))
def test_a_replay_killed_at_every_named_step_ends_like_an_unbroken_one(
    parent: Lives, log: Path, whole_replay: Path, tmp_path: Path, *, start: int
) -> None:
    random = Random(20261202 + start)
    for step in ALL_REPLAY_STEPS[start : start + STEPS]:
        often = start and step not in PURGE_STEPS  # few of those, and they run together
        ended = parent.one(tmp_path, log=log, step=step, passes=random.choice((1, 1, 2, 3)) if often else 1)
        assert ended == KILLED, f"{step} was never reached"
    assert parent.one(tmp_path, log=log) == 0
    check_replay(tmp_path, whole_replay)


@pytest.mark.parametrize("start", range(0, len(LIVE_STEPS), STEPS))
def test_an_evening_killed_at_every_named_step_loses_and_doubles_nothing(
    parent: Lives, whole_evening: Path, tmp_path: Path, start: int
) -> None:
    for step in LIVE_STEPS[start : start + STEPS]:
        assert parent.one(tmp_path, messages=MESSAGES, step=step) == KILLED, f"{step} was never reached"
    assert parent.one(tmp_path, messages=MESSAGES) == 0
    check_evening(tmp_path, whole_evening)
