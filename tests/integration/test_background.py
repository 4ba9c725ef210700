"""From a recorded turn to the real index and back out of it, through the outbox."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from builders_jobs import START, whole
from fakes.noted_embedder import NotedEmbedder
from structlog.testing import capture_logs

from memory.background import Background
from memory.clock import Clock, VirtualClock, WallClock
from memory.errors import ModelMismatch
from memory.events import BotIdentity, Channel, Deletion, Message, Viewer
from memory.jobs import Jobs
from memory.model import Batch, Said, Stream, Turn
from memory.recipes import JobLimits
from memory.record import Recorder
from memory.schedule import tick
from memory.store import outbox
from memory.store.chroma import ChromaIndex
from memory.store.database import Database
from memory.store.viewers import ViewerBook

LIMITS = replace(JobLimits(), drain_seconds=0.1, recover_seconds=0.2, checkpoint_seconds=0.2)


@dataclass
class House:
    """A memory's parts, open in one directory."""

    directory: Path
    database: Database
    vectors: ChromaIndex
    background: Background
    recorder: Recorder
    jobs: Jobs

    @classmethod
    async def open(cls, directory: Path, clock: Clock, embedder: NotedEmbedder) -> "House":
        database = await Database.open(directory / "memory.db")
        vectors = await ChromaIndex.open(directory)
        background = Background(
            database, vectors=vectors, embedder=embedder, clock=clock, limits=LIMITS, random=Random(1), meaning=whole
        )
        recorder = Recorder(database, enqueue=outbox.enqueue, clock=clock, book=ViewerBook())
        return cls(directory, database, vectors, background, recorder, Jobs(database, clock))

    async def close(self) -> None:
        await self.background.stop()
        await self.vectors.close()
        await self.database.close()

    async def found(self, collection: str, text: str) -> float:
        hits = await self.vectors.search(collection, await NotedEmbedder().embed_query(text), 1)
        return round(hits[0][1], 3) if hits else 0.0


def a_batch(number: int) -> Batch:
    at = START + timedelta(seconds=number)
    viewers = [Viewer(id=who, login=f"u{who}", name=f"U{who}") for who in ("1", "2")]
    lines = tuple(Message(id=f"m{number}-{v.id}", at=at, user=v, text=f"line {number} of {v.id}") for v in viewers)
    return Batch(stream_id="s1", lines=lines, closed_at=at)


async def a_turn(house: House, number: int) -> None:
    batch = a_batch(number)
    await house.recorder.observe(batch)
    await house.recorder.record(Turn(batch=batch, recall=None, said=Said(state="silent")))


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    house = await House.open(tmp_path, VirtualClock(START), NotedEmbedder())
    await house.background.prepare()
    bot = BotIdentity(id="b", login="bot", name="Bot")
    stream = Stream(id="s1", channel=Channel(id="c", login="c", name="C"), bot=bot, started_at=START)
    await house.recorder.begin_stream(stream)
    yield house
    await house.close()


async def settled(house: House) -> dict[str, str]:
    return {job.key.split(":")[0]: job.state for job in await house.jobs.listed() if job.kind != "consolidate"}


async def test_a_recorded_turn_is_found_by_its_author_and_in_its_stream(house: House) -> None:
    await a_turn(house, 1)
    assert await house.background.worker.run_due() >= 1
    assert await house.found("viewer-1", "line 1 of 1") == 1.0
    assert await house.found("viewer-2", "line 1 of 1") < 1.0
    assert await house.found("stream-s1", "U1: line 1 of 1") == 1.0
    assert await house.found("stream-s1", "U2: line 1 of 2") == 1.0
    assert len(await house.vectors.ids("stream-s1")) == 2
    assert await settled(house) == {"index": "done"}
    assert await house.background.indexer.drift() == []


async def test_a_deleted_message_leaves_the_index(house: House) -> None:
    await a_turn(house, 1)
    await a_turn(house, 2)
    await house.background.worker.run_due()
    await house.recorder.delete("s1", Deletion(at=START, scope="message", message_id="m1-1"))
    await house.background.worker.run_due()
    assert await house.found("viewer-1", "line 1 of 1") < 1.0
    assert await house.found("viewer-1", "line 2 of 1") == 1.0
    assert await settled(house) == {"index": "done", "purge": "done"}
    assert await house.background.indexer.drift() == []


async def test_a_banned_viewer_s_collection_goes_whole(house: House) -> None:
    await a_turn(house, 1)
    await house.background.worker.run_due()
    await house.recorder.delete("s1", Deletion(at=START + timedelta(hours=1), scope="user", user_id="1"))
    await house.background.worker.run_due()
    assert await house.vectors.ids("viewer-1") == set()
    assert await house.background.indexer.drift() == []


async def test_live_a_turn_is_indexed_in_the_background_until_it_stops(tmp_path: Path, house: House) -> None:
    clock, embedder = WallClock(), NotedEmbedder()
    live = Background(
        house.database, vectors=house.vectors, embedder=embedder, clock=clock, limits=LIMITS, random=Random(1), meaning=whole
    )
    await live.start(tmp_path)
    await live.start(tmp_path)
    await a_turn(house, 1)
    async with asyncio.timeout(10):
        while await settled(house) != {"index": "done"}:  # noqa: ASYNC110 - the outbox gives no event
            await asyncio.sleep(0.02)
    await live.stop()
    await live.stop()
    await a_turn(house, 2)
    await asyncio.sleep(0.3)
    assert (await house.jobs.counts())["done"] == 1
    assert (tmp_path / "scheduler.db").exists()


async def test_every_tick_of_the_schedule_finds_its_chore(tmp_path: Path, house: House) -> None:
    await a_turn(house, 1)
    await house.recorder.delete("s1", Deletion(at=START, scope="message", message_id="m1-1"))
    await house.background.worker.run_due()
    with capture_logs() as logs:
        await house.background.start(tmp_path)
        for name in ("drain", "recover", "checkpoint", "prune", "drift", "vacuum"):
            await tick(name)
        async with asyncio.timeout(10):
            while [job.state for job in await house.jobs.listed(kind="drift")] != ["done"]:  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.02)
        await house.background.stop()
    assert not [entry for entry in logs if entry["event"] in {"chore_unknown", "chore_failed"}]
    assert {"jobs_pruned", "index_cleaned"} <= {entry["event"] for entry in logs}


async def test_another_embedder_is_refused_at_the_next_opening_until_reindexed(house: House) -> None:
    await a_turn(house, 1)
    await house.background.worker.run_due()
    await house.close()
    other = await House.open(house.directory, VirtualClock(START), NotedEmbedder("hash/2", 16))
    try:
        with pytest.raises(ModelMismatch, match="ricordo reindex"):
            await other.background.prepare()
        assert await other.background.indexer.reindex() == 4
        await other.background.prepare()
        assert len(await other.vectors.search("viewer-1", await NotedEmbedder("hash/2", 16).embed_query("line 1 of 1"), 5)) == 1
    finally:
        await other.close()
