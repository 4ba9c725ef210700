"""Between an order to forget and its purge: what is hidden stands in a table of its own, where nothing is left afterwards."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from builders_forget import an_older_turn, forgetting
from builders_memory import BOB, a_past_stream, opened, tell
from builders_recall import a_batch, a_message

from memory import Memory

ALL_OF_ALICE = forgetting("viewer", viewer_id="101")
WORDS_OF_BOB = forgetting("words", viewer_id="202", words="ma dai")
COUNT = "SELECT count(*) FROM hidden_document"


async def rows(directory: Path, statement: str) -> list[tuple[Any, ...]]:
    return await asyncio.to_thread(_rows, directory / "memory.db", statement)


def _rows(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


async def three_turns(memory: Memory) -> None:
    """A past stream of Alice and Bob, and a turn of both in this one; both turns with a document that rests on both viewers."""
    await a_past_stream(memory)
    both = a_batch(a_message("m3", "e il cane si chiama Zorro", after=1), a_message("m4", "ma dai", user=BOB, after=2))
    await tell(memory, both)
    await an_older_turn(memory, "m1", "m2")
    await an_older_turn(memory, "m3", "m4")
    await memory.run_jobs()


async def test_what_is_hidden_is_counted_by_nobody_and_is_gone_or_back_after_the_purge(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await three_turns(memory)
        before = (await memory.health()).documents
        receipt = await memory.forget(ALL_OF_ALICE)
        assert (await memory.health()).documents == before - receipt.documents
        assert await rows(tmp_path, COUNT) == [(receipt.documents,)]
        await memory.run_jobs()
        assert await rows(tmp_path, COUNT) == [(0,)]
        shared = "SELECT count(*) FROM document WHERE kind = 'turn' AND text LIKE '%Nerone%' AND indexed_model IS NOT NULL"
        assert await rows(tmp_path, shared) == [(1,)]


async def test_two_orders_about_one_turn_leave_nothing_hidden_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await three_turns(memory)
        await memory.forget(ALL_OF_ALICE)
        assert (await memory.forget(WORDS_OF_BOB)).lines == 1
        await memory.run_jobs()
        assert await rows(tmp_path, COUNT) == [(0,)]
        assert await rows(tmp_path, "SELECT count(*) FROM document WHERE text LIKE '%Zorro%' OR text LIKE '%ma dai%'") == [(0,)]


async def test_the_files_are_clean_before_what_is_left_is_indexed_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await three_turns(memory)
        await memory.forget(ALL_OF_ALICE)
        await memory.run_jobs()
        kinds = "SELECT kind FROM memory_job WHERE key GLOB 'purge:clean:*' OR key GLOB 'index:purged:*' ORDER BY run_after, id"
        assert await rows(tmp_path, kinds) == [("purge",), ("index",)]
