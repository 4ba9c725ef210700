"""Forgetting: when an order returns, and what it costs to take a viewer of 10,000 messages out of every file.

Processor time stands beside the clock's: on a busy machine it alone says what the work is.
"""

import asyncio
import hashlib
import shutil
import time
from collections.abc import Awaitable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from bench.figures import Figure, percentiles
from memory import (
    Batch,
    BotIdentity,
    Channel,
    ForgetRequest,
    Memory,
    MemorySettings,
    Message,
    Said,
    Stream,
    Turn,
    Vectors,
    Viewer,
    VirtualClock,
    open_memory,
)

_CHANNEL = Channel(id="9000", login="banco", name="Banco")
_BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo")
_START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
_CHATTY = Viewer(id="1", login="chatty", name="Chatty")
_OTHERS = tuple(str(number) for number in range(2, 22))  # who write the other half
_BATCH = 20  # lines, half of them the chatty viewer's
_ORDERS = 60  # small orders, timed one by one
_DIMENSION = 512
_TICK = 0.005
_LOOK = 0.1  # seconds between two looks whether the files are clean
_SUBJECTS = ("la partita", "il boss", "quel finale", "la pizza", "la mia gatta Birba", "il mio lavoro a Torino")


class _CheapEmbedder:
    """Vectors that cost nothing: what is measured is the erasing."""

    name = "cheap"
    dimension = _DIMENSION

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a vector a text, the same for the same text."""
        rows = np.stack([np.random.default_rng(_seed(text)).standard_normal(_DIMENSION, dtype=np.float32) for text in texts])
        unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return unit

    async def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question."""
        return await self.embed([text])

    async def close(self) -> None:
        """Nothing is held."""


def _seed(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])


def measure(out: Path, *, messages: int) -> list[Figure]:
    """Return the figures of small orders, and of forgetting a viewer who wrote `messages` messages."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    seed(out, messages)
    return asyncio.run(_measured(out, messages))


def seed(out: Path, messages: int) -> None:
    """Make a memory in `out`, indexed and consolidated, half of which one viewer wrote."""
    asyncio.run(_seeded(out, messages))


async def _seeded(out: Path, messages: int) -> None:
    clock = VirtualClock(_START)
    async with await _opened(out, clock) as memory:
        streams = [f"s{number}" for number in range(5)]
        each = messages // (_BATCH // 2) // len(streams)
        for place, stream_id in enumerate(streams):
            began = _START + timedelta(days=place)
            clock.move_to(began)
            await memory.begin_stream(Stream(id=stream_id, channel=_CHANNEL, bot=_BOT, started_at=began))
            for number in range(each):
                batch = _batch(stream_id, number, began + timedelta(seconds=30 * number))
                clock.move_to(batch.closed_at)
                await memory.observe(batch)
                asked = Said(state="sent", text=f"eccomi {number}", at=batch.closed_at, in_reply_to=(batch.lines[0].id,))
                await memory.record(Turn(batch=batch, recall=None, said=asked if number % 5 == 0 else Said(state="silent")))
            await memory.end_stream(stream_id, clock.now())
            await memory.run_jobs()


def _batch(stream_id: str, number: int, at: datetime) -> Batch:
    lines = []
    for place in range(_BATCH):
        other = _OTHERS[(number * _BATCH + place) // 2 % len(_OTHERS)]
        user = _CHATTY if place % 2 == 0 else Viewer(id=other, login=f"viewer{other}", name=f"Viewer{other}")
        text = f"{_SUBJECTS[(number + place) % len(_SUBJECTS)]} mi piace {number * _BATCH + place} volte, in {stream_id}"
        lines.append(Message(id=f"{stream_id}-{number}-{place}", at=at, user=user, text=text))
    return Batch(stream_id=stream_id, lines=tuple(lines), closed_at=at, flush_reason="quiet")


async def _opened(out: Path, clock: VirtualClock) -> Memory:
    settings = MemorySettings(data_dir=out, languages=("it", "en"))
    return await open_memory(settings, channel=_CHANNEL, embedder=_CheapEmbedder(), clock=clock)


async def _measured(out: Path, messages: int) -> list[Figure]:
    clock = VirtualClock(_START + timedelta(days=9))
    async with await _opened(out, clock) as memory:
        await memory.begin_stream(Stream(id="now", channel=_CHANNEL, bot=_BOT, started_at=clock.now()))
        took = [await _timed(memory.forget(order)) for order in _orders(clock.now())]
        await memory.run_jobs()
        whole = ForgetRequest(scope="viewer", at=clock.now(), viewer_id=_CHATTY.id)
        forgetting = await _timed(memory.forget(whole))
        ended = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(_watched(memory, clock.now(), ended))
            cleaning = group.create_task(_timed(_cleaned(memory)))
            purging = await _timed(memory.run_jobs())
            ended.set()
        stall, answers = watching.result()
        cleaned = cleaning.result()
    small = f"order to forget (a message, words, a viewer of {messages // len(_OTHERS)})"
    big = f"viewer of {messages:,} messages"
    return [
        *percentiles("forget", small, [clock_ for clock_, _ in took], p95="<= 50"),
        *percentiles("forget", f"{small}, processor time", [spent for _, spent in took]),
        _figure(f"{big}: the order returns", forgetting[0] * 1000, "ms"),
        _figure(f"{big}: the order, processor time", forgetting[1] * 1000, "ms"),
        _figure(f"{big}: purged from every file", cleaned[0], "s"),
        _figure(f"{big}: purged, processor time", cleaned[1], "s", "<= 5"),
        _figure(f"{big}: what others said in its turns has vectors again", purging[0], "s"),
        _figure(f"{big}: the same, processor time", purging[1], "s"),
        _figure(f"{big}: longest standstill of the loop meanwhile", stall * 1000, "ms"),
        *percentiles("forget", f"{big}: answers meanwhile", answers),
    ]


def _figure(name: str, value: float, unit: str, goal: str = "") -> Figure:
    return Figure(bench="forget", name=name, value=value, unit=unit, goal=goal)


def _orders(at: datetime) -> Iterator[ForgetRequest]:
    for number in range(_ORDERS):
        match number % 6:
            case 0:
                yield ForgetRequest(scope="viewer", at=at, viewer_id=_OTHERS[number // 6])
            case 1 | 2:
                yield ForgetRequest(scope="words", at=at, viewer_id=_OTHERS[number % 8 + 12], words=f"{number} volte")
            case _:
                yield ForgetRequest(scope="item", at=at, id=f"s0-{number}-1")


async def _timed(work: Awaitable[object]) -> tuple[float, float]:
    """Return the seconds by the clock and of the processor."""
    began, spent = time.perf_counter(), time.process_time()
    await work
    return time.perf_counter() - began, time.process_time() - spent


async def _cleaned(memory: Memory) -> None:
    """Wait until no order to purge is left, the cleaning of the files among them."""
    while await _to_purge(memory):  # noqa: ASYNC110 - the memory tells nobody that a job ended
        await asyncio.sleep(_LOOK)


async def _to_purge(memory: Memory) -> bool:
    return any([await memory.jobs(state=state, kind="purge", limit=1) for state in ("ready", "leased")])


async def _watched(memory: Memory, at: datetime, ended: asyncio.Event) -> tuple[float, list[float]]:
    """Ask again and again; return the longest standstill of the loop, and how long the answers took."""
    longest, answers = 0.0, []
    user = Viewer(id=_OTHERS[-1], login="viewer21", name="Viewer21")
    line = Message(id="q", at=at, user=user, text="@Ricordo come si chiama la mia gatta?")
    batch = Batch(stream_id="now", lines=(line,), closed_at=at, flush_reason="addressed")
    while not ended.is_set():
        for _ in range(40):
            before = time.perf_counter()
            await asyncio.sleep(_TICK)
            longest = max(longest, time.perf_counter() - before - _TICK)
        answers.append((await _timed(memory.recall(batch)))[0])
    return longest, answers
