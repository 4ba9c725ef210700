"""A store in a temporary directory, and the chat that goes into it."""

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from memory.clock import VirtualClock
from memory.events import BotIdentity, Channel, Line, Message, Notice, StateCall, Viewer
from memory.model import Batch, Document, Said, Stream, Turn
from memory.record import Recorder
from memory.state_change import StateChanger
from memory.state_orders import StateOrder, StateReceipt
from memory.store import episodes
from memory.store.database import Database
from memory.store.document_writes import put
from memory.store.reader import Reader
from memory.store.stamps import milliseconds
from memory.store.streams import stream_for
from memory.store.viewers import ViewerBook

START = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
BOT = BotIdentity(id="900", login="ricordo", name="Ricordo", aliases=("ric",))
CHANNEL = Channel(id="1", login="casa", name="Casa")
ALICE = Viewer(id="1001", login="alice", name="Alice")
BOB = Viewer(id="1002", login="bob", name="Bob")


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def stream(id_: str = "s1", **changes: Any) -> Stream:  # noqa: ANN401 - any field
    return replace(Stream(id=id_, channel=CHANNEL, bot=BOT, started_at=START), **changes)


def message(
    id_: str,
    text: str = "ciao",
    user: Viewer = ALICE,
    *,
    second: float = 1,
    **changes: Any,  # noqa: ANN401 - any field
) -> Message:
    return replace(Message(id=id_, at=at(second), user=user, text=text), **changes)


def notice(
    id_: str,
    kind: str = "resub",
    user: Viewer | None = ALICE,
    text: str | None = None,
    **changes: Any,  # noqa: ANN401 - any field
) -> Notice:
    return replace(Notice(id=id_, at=at(1), kind=kind, user=user, text=text), **changes)


def batch(*lines: Line, stream_id: str = "s1", second: float = 5) -> Batch:
    return Batch(stream_id=stream_id, lines=lines, closed_at=at(second))


SILENT = Said(state="silent", reason="nothing to say")


def said(text: str, *in_reply_to: str) -> Said:
    return Said(state="sent", text=text, in_reply_to=in_reply_to, at=at(6), model="m", prompt_tokens=3)


def turn(*lines: Line, said: Said = SILENT, held: tuple[str, ...] = (), stream_id: str = "s1") -> Turn:
    return Turn(batch=batch(*lines, stream_id=stream_id), recall=None, said=said, held_viewers=held)


def put_older_turn(connection: Connection, *line_ids: str) -> Document:
    """Store the document of a whole turn beside those of its lines, as memories had it before decision 18."""
    rows = episodes.lines_by_id(connection, line_ids)
    row = episodes.turn_row(connection, rows[line_ids[0]].turn_id)
    assert row is not None
    lines = episodes.rows_of_turn(connection, row)
    document = episodes.turn_document(row, lines, stream_for(connection, row.stream_id))
    assert document is not None
    put(connection, [document])
    return document


def enqueue(
    connection: Connection, *, kind: str, key: str, payload: Mapping[str, Any], now: datetime, again: bool = False
) -> None:
    """Add the row alone: what the outbox does with it is not the matter here."""
    statement = (
        "INSERT INTO memory_job (key, kind, payload, run_after, created_at, updated_at) "
        "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
    )
    moment = milliseconds(now)
    connection.exec_driver_sql(statement, (key, kind, json.dumps(payload), moment, moment, moment))


@dataclass(frozen=True, slots=True, kw_only=True)
class Store:
    database: Database
    recorder: Recorder
    reader: Reader
    states: StateChanger

    async def observe_and_record(self, *lines: Line, **changes: Any) -> Turn:  # noqa: ANN401 - as `turn` takes them
        whole = turn(*lines, **changes)
        await self.recorder.observe(whole.batch)
        await self.recorder.record(whole)
        return whole

    async def apply_state(self, call: StateCall) -> StateReceipt:
        return await self.states.change(StateOrder(call=call))

    async def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in await self.database.write(lambda c: c.exec_driver_sql(sql, values).all())]

    async def jobs(self, kind: str) -> list[dict[str, Any]]:
        found = await self.rows("SELECT payload FROM memory_job WHERE kind = ? ORDER BY id", kind)
        return [json.loads(payload) for (payload,) in found]

    async def personal(self, viewer: Viewer = ALICE) -> list[Document]:
        return await self.reader.newest(f"viewer-{viewer.id}", 100)

    async def episodic(self, stream_id: str = "s1") -> list[Document]:
        return await self.reader.newest(f"stream-{stream_id}", 100)


@asynccontextmanager
async def opened(directory: Path, *, begin: bool = True, ignored: frozenset[str] = frozenset()) -> AsyncIterator[Store]:
    database = await Database.open(directory / "memory.db")
    book = ViewerBook()
    clock = VirtualClock(START)
    store = Store(
        database=database,
        recorder=Recorder(database, enqueue=enqueue, clock=clock, book=book, ignored=ignored),
        reader=Reader(database, book),
        states=StateChanger(database, clock),
    )
    try:
        if begin:
            await store.recorder.begin_stream(stream())
        yield store
    finally:
        await database.close()
