"""What the bot stands on fails, through the front door: nothing is lost, nothing is given up, and answers come in time."""

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import chromadb
import pytest
from builders_live import Bench, at, message, online
from builders_memory import BOB, asked, opened, shown, tell
from builders_recall import CHANNEL, NOON, a_batch, a_message, a_stream
from fakes.faulty_chroma import FaultyClient, Mode, Weather
from fakes.hash_embedder import HashEmbedder
from fakes.responder import FakeResponder

from bot.responder import ResponderFailed
from memory import Deadlines, Memory, MemorySettings, Recipe, StoreUnavailable, VirtualClock, open_memory

QUICK = Recipe(deadlines=Deadlines(source_seconds=0.3, retrieve_seconds=0.4, recall_seconds=0.5))
CAT = asked("come si chiama il mio gatto?")


@pytest.fixture
def weather(monkeypatch: pytest.MonkeyPatch) -> Iterator[Weather]:
    real: Any = chromadb.PersistentClient
    weather = Weather()
    monkeypatch.setattr(FaultyClient, "weather", weather)
    monkeypatch.setattr(chromadb, "PersistentClient", lambda **named: FaultyClient(real(**named)))
    yield weather
    weather.go.set()


@asynccontextmanager
async def an_open_memory(directory: Path) -> AsyncIterator[tuple[Memory, VirtualClock]]:
    now = VirtualClock(NOON)
    settings = MemorySettings(data_dir=directory, recipe=QUICK)
    async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=now) as memory:
        yield memory, now


async def an_earlier_stream(memory: Memory) -> None:
    await memory.begin_stream(a_stream("s0", after=-7200))
    cats = a_message("m1", "il mio gatto si chiama Birba", after=-7000)
    await tell(memory, a_batch(cats, a_message("m2", "il mio cane si chiama Argo", user=BOB, after=-6999), stream_id="s0"))
    await memory.end_stream("s0", NOON - timedelta(seconds=6000))


@pytest.mark.parametrize("mode", ["raises", "garbage"])
async def test_what_chroma_refuses_to_store_is_stored_when_it_is_well_again(
    tmp_path: Path, weather: Weather, mode: Mode
) -> None:
    async with an_open_memory(tmp_path) as (memory, now):
        await an_earlier_stream(memory)
        weather.mode = mode
        await memory.run_jobs()
        assert weather.struck
        assert (await memory.health()).jobs["dead"] == 0
        assert [job.error_kind for job in await memory.jobs(state="ready", kind="index") if job.attempts] != []
        weather.mode = "well"
        for _ in range(3):
            now.advance(timedelta(minutes=30))
            await memory.run_jobs()
        assert {job.state for job in await memory.jobs()} == {"done"}
    async with an_open_memory(tmp_path) as (memory, _):
        await memory.begin_stream(a_stream("s1"))
        recall = await memory.recall(CAT)
        assert any("Birba" in text for text in shown(recall))


@pytest.mark.parametrize("mode", ["raises", "hangs", "garbage"])
async def test_an_answer_does_not_wait_for_chroma_and_never_shows_what_it_made_up(
    tmp_path: Path, weather: Weather, mode: Mode
) -> None:
    async with an_open_memory(tmp_path) as (memory, _):
        await an_earlier_stream(memory)
        await memory.run_jobs()
    async with an_open_memory(tmp_path) as (memory, _):
        await memory.begin_stream(a_stream("s1"))
        weather.mode = mode
        recall = await memory.recall(CAT)
        weather.mode = "well"
        weather.go.set()
        assert weather.struck
        assert any("Birba" in text for text in shown(recall))  # by its words
        assert not any("Argo" in text for text in shown(recall))


async def test_an_hour_without_an_embedder_costs_no_job_and_no_document(tmp_path: Path) -> None:
    embedder, now = HashEmbedder(dimension=32), VirtualClock(NOON)
    settings = MemorySettings(data_dir=tmp_path)
    async with await open_memory(settings, channel=CHANNEL, embedder=embedder, clock=now) as memory:
        await memory.begin_stream(a_stream("s1"))
        embedder.fail = True
        for minute in range(60):
            now.advance(timedelta(minutes=1))
            await tell(memory, a_batch(a_message(f"m{minute}", f"parlo del gatto {minute}", after=minute * 60)))
            await memory.run_jobs()
        health = await memory.health()
        assert (health.jobs["dead"], health.documents) == (0, 120)
        assert health.lag_seconds >= 3540
        embedder.fail = False
        for _ in range(12):
            now.advance(timedelta(minutes=5))
            await memory.run_jobs()
        assert {job.state for job in await memory.jobs(limit=1000)} == {"done"}
        assert len(embedder.calls) >= 60


class SilentResponder(FakeResponder):
    """A model that is away."""

    async def reply(self, *args: object) -> None:  # type: ignore[override]  # it never gives an answer
        message = "unreachable"
        raise ResponderFailed(message)


async def test_an_hour_without_a_model_stores_every_line_and_says_nothing(tmp_path: Path) -> None:
    bench = Bench(responder=SilentResponder())
    await bench.loop.feed(online())
    for minute in range(60):
        bench.virtual.move_to(at(minute * 60))
        await bench.loop.feed(message(f"ricordino ci sei? {minute}", seconds=minute * 60))
        await bench.loop.tick(at(minute * 60 + 30))
    await bench.loop.finish()
    assert bench.heard == []
    assert len(bench.memory.lines) == len(bench.memory.turns) == 60
    assert set(bench.said) == {("silent", "responder_unreachable")}


async def test_a_database_that_a_stranger_locks_takes_every_line_afterwards_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.store.database._BUSY_MS", 20)
    async with opened(tmp_path) as memory:
        bench = Bench(memory=memory)  # type: ignore[arg-type]  # the real one in the place of its fake
        await bench.loop.feed(online())
        stranger = sqlite3.connect(tmp_path / "memory.db", isolation_level=None)
        stranger.execute("BEGIN IMMEDIATE")
        for number in range(50):
            await bench.loop.feed(message(f"riga {number}", seconds=number))
        assert bench.loop.counts["store_unavailable"] >= 1
        with pytest.raises(StoreUnavailable, match="locked"):
            await memory.observe(a_batch(a_message("x", "x"), stream_id="s1"))
        stranger.execute("ROLLBACK")
        await bench.loop.finish()
        texts = [row[0] for row in stranger.execute("SELECT text FROM line ORDER BY seq")]
        stranger.close()
        assert texts == [f"riga {number}" for number in range(50)]
