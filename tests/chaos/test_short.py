"""The short version of the kills, for every run of the tests: a few instants and steps, and a full disk."""

import asyncio
import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders_chaos import ALL_REPLAY_STEPS, KILLED, LIVE_STEPS, Lives, indexed, lives, meant, rows, written

MESSAGES = 70
SHOTS = (
    {"step": "<memory.store.database:Database._transact", "passes": 6},
    {"step": ">bot.speak:Speaker.say"},
    {"step": ">memory.store.chroma_client:ChromaClient.upsert"},
    {"after": 0.4},
    {"step": "<memory.worker:Worker._complete"},
)
pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def parent() -> Iterator[Lives]:
    with lives() as started:
        yield started


def test_an_evening_killed_again_and_again_loses_and_doubles_nothing(parent: Lives, tmp_path: Path) -> None:
    for shot in SHOTS:
        assert parent.one(tmp_path, messages=MESSAGES, **shot) == KILLED
    assert parent.one(tmp_path, messages=MESSAGES) == 0
    whole(tmp_path)


def test_a_bot_told_to_end_on_a_full_disk_stores_every_line_once_there_is_room(parent: Lives, tmp_path: Path) -> None:
    assert parent.one(tmp_path, messages=MESSAGES, full=(0.1, 1.0, 0)) == 0
    assert written(tmp_path / "full.txt") == ["full", "room"]
    whole(tmp_path)


def whole(out: Path) -> None:
    chat = [f"m{number}" for number in range(MESSAGES)]
    assert [row[0] for row in rows(out, "SELECT id FROM line WHERE id LIKE 'm%' ORDER BY seq")] == chat
    assert rows(out, "SELECT DISTINCT state FROM turn") == [("recorded",)]
    assert rows(out, "SELECT DISTINCT state FROM memory_job") == [("done",)]
    personal = "SELECT provenance FROM document WHERE collection LIKE 'viewer-%' AND kind = 'message'"
    assert len(set(rows(out, personal))) == len(rows(out, personal)) > MESSAGES / 2
    assert asyncio.run(indexed(out)) == meant(out)
    assert any(meant(out).values())
    assert rows(out, "SELECT count(*) FROM document WHERE indexed_model IS NULL") == [(0,)]
    assert set(Counter(written(out / "said.txt")).values()) <= {1}
    assert rows(out, "PRAGMA integrity_check") == [("ok",)]


@pytest.mark.parametrize("step", sorted({*ALL_REPLAY_STEPS, *LIVE_STEPS}))
def test_every_named_step_is_one_of_the_product(step: str) -> None:
    module, _, path = step[1:].partition(":")
    found: Any = importlib.import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    assert callable(found)
