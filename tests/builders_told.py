"""Messages told to an open memory, and what came of them: facts, messages, items."""

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from builders_memory import ALICE, asked
from builders_recall import a_batch, a_message, a_stream

from memory import Document, Item, Memory, Message, Said, Turn, Viewer
from memory.store.database import Database
from memory.store.reader import Reader


def line(id_: str, text: str, *, after: float = -7000, user: Viewer = ALICE, reply_to: str | None = None) -> Message:
    return replace(a_message(id_, text, user=user, after=after), reply_to=reply_to)


async def past(memory: Memory, *lines: Message, held: Sequence[str] = ()) -> None:
    """Tell lines in an earlier stream, one a turn, and begin the present one."""
    await memory.begin_stream(a_stream("s0", after=-9000))
    for one in lines:
        batch = a_batch(one, stream_id="s0")
        await memory.observe(batch)
        await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent"), held_viewers=tuple(held)))
    await memory.run_jobs()
    await memory.begin_stream(a_stream("s1"))


async def facts(memory: Memory, viewer_id: str = "101") -> list[Document]:
    return [one for one in await memory.documents_of(viewer_id) if one.kind == "fact"]


async def said_of(memory: Memory, viewer_id: str = "101") -> dict[str, Document]:
    return {source: one for one in await memory.documents_of(viewer_id) if one.kind == "message" for source in one.provenance}


async def current(directory: Path, viewer_id: str = "101", **as_of: object) -> list[str]:
    """What the store holds as true, read beside the open memory."""
    database = await Database.open(directory / "memory.db")
    try:
        found = await Reader(database).facts(viewer_id, **as_of)  # type: ignore[arg-type] # one optional moment
        return [one.text.split("\n")[0] for one in found]
    finally:
        await database.close()


def everything_in(directory: Path) -> str:
    connection = sqlite3.connect(directory / "memory.db")
    try:
        return "\n".join(connection.iterdump())
    finally:
        connection.close()


async def items(memory: Memory, text: str, user: Viewer = ALICE) -> list[Item]:
    return list((await memory.recall(asked(text, user=user))).block.items)
