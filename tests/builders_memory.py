"""Builders for tests through the memory's front door: an open memory, a past stream in it, questions to the bot."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from builders_recall import BOT_VIEWER, CHANNEL, NOON, a_batch, a_clock, a_message, a_stream, a_viewer
from fakes.hash_embedder import HashEmbedder

from memory import Batch, Deadlines, Embedder, Memory, MemorySettings, Recall, Recipe, Said, Turn, Viewer, open_memory

ALICE, BOB = a_viewer(), a_viewer("202", "Bob")
# What is recalled is tested, not how fast on a machine that runs other tests; tests of deadlines bring their own.
UNHURRIED = Recipe(deadlines=Deadlines(source_seconds=20, retrieve_seconds=30, recall_seconds=40))


@asynccontextmanager
async def opened(directory: Path, embedder: Embedder | None = None, recipe: Recipe | None = None) -> AsyncIterator[Memory]:
    settings = MemorySettings(data_dir=directory, recipe=recipe or UNHURRIED)
    async with await open_memory(
        settings, channel=CHANNEL, embedder=embedder or HashEmbedder(dimension=32), clock=a_clock()
    ) as memory:
        yield memory


async def tell(memory: Memory, *batches: Batch, said: Said | None = None) -> None:
    for batch in batches:
        await memory.observe(batch)
        await memory.record(Turn(batch=batch, recall=None, said=said or Said(state="silent")))


async def a_past_stream(memory: Memory) -> None:
    await memory.begin_stream(a_stream("s0", after=-7200))
    await tell(
        memory,
        a_batch(
            a_message("m1", "il mio gatto si chiama Birba", after=-7000),
            a_message("m2", "il mio gatto si chiama Nerone", user=BOB, after=-6999),
            stream_id="s0",
        ),
    )
    await memory.end_stream("s0", NOON - timedelta(seconds=6000))
    await memory.run_jobs()
    await memory.begin_stream(a_stream("s1"))


def asked(text: str, *, user: Viewer = ALICE, id_: str = "q") -> Batch:
    return a_batch(a_message(id_, f"@ricordo {text}", user=user, after=10, mentions=(BOT_VIEWER,)))


def shown(recall: Recall) -> list[str]:
    return [item.text for item in recall.block.items]
