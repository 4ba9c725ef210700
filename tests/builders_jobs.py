"""Rows, databases and workers for the tests of background work."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from fakes.file_vectors import FileVectors
from fakes.noted_embedder import NotedEmbedder
from sqlalchemy import Connection, CursorResult, delete, insert, select, update

from memory.clock import Clock, VirtualClock
from memory.index import Indexer
from memory.model import JobRow
from memory.recipes import JobLimits
from memory.store import outbox
from memory.store.database import Database
from memory.store.stamps import milliseconds
from memory.store.tables import DocumentRow, DocumentSourceRow, LineRow, StreamRow, TurnRow, table_of
from memory.vectorise import Meaning
from memory.worker import Worker

_DOCUMENT = table_of(DocumentRow)
START = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
QUICK = replace(JobLimits(), drain_seconds=0.05, lease_seconds=30.0)


class Recorder:
    """A handler that notes each call, and raises what `errors` says for the payload it is given (`n`), once or for ever."""

    def __init__(self, errors: Mapping[int, Exception] | None = None, *, times: int | None = None) -> None:
        self.calls: list[list[int]] = []
        self.done: list[int] = []
        self._errors = dict(errors or {})
        self._times = times

    async def __call__(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        numbers = [payload["n"] for payload in payloads]
        self.calls.append(numbers)
        await asyncio.sleep(0)
        for number in numbers:
            if number in self._errors and (self._times is None or self._times > 0):
                self._times = None if self._times is None else self._times - 1
                raise self._errors[number]
        self.done += numbers

    def heal(self) -> None:
        self._errors.clear()


class Hanging:
    """A handler that waits until it is let go or cancelled."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.go_on = asyncio.Event()
        self.calls = 0

    async def __call__(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        self.calls += 1
        self.began.set()
        await self.go_on.wait()


def a_worker(
    database: Database, clock: Clock | None = None, *, limits: JobLimits = QUICK, handler_seconds: float = 600.0
) -> Worker:
    clock = clock or VirtualClock(START)
    return Worker(database, clock=clock, limits=limits, random=Random(7), handler_seconds=handler_seconds)


async def enqueue(
    database: Database, numbers: Sequence[int], kind: str = "index", *, at: datetime = START, run_after: datetime | None = None
) -> None:
    def add(connection: Connection) -> None:
        for n in numbers:
            outbox.enqueue(connection, kind=kind, key=f"{kind}:{n}", payload={"n": n}, now=at, run_after=run_after)

    await database.write(add)


async def jobs(database: Database) -> list[JobRow]:
    return await database.write(outbox.listed)


async def states(database: Database) -> dict[str, str]:
    return {job.key: job.state for job in await jobs(database)}


async def until(met: Callable[[], bool], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not met():  # noqa: ASYNC110 - the condition may be anything, also a row
            await asyncio.sleep(0.005)


def add_stream(connection: Connection, stream_id: str = "s1") -> None:
    row = {"id": stream_id, "channel": {"id": "c"}, "bot": {"id": "b"}, "started_at": 0, "temporary": False}
    connection.execute(insert(table_of(StreamRow)).values(**row))


def add_turn(connection: Connection, number: int, *, viewers: Sequence[str] = ("a", "b"), reply: bool = False) -> list[str]:
    """Write a turn of one message a viewer with its documents and its index job; return the documents' ids."""
    turn, at = f"t{number}", milliseconds(START + timedelta(seconds=number))
    lines = [f"{turn}-m{n}" for n in range(len(viewers))]
    whole = []
    ids = []
    for identity, viewer in zip(lines, viewers, strict=True):
        seq = add_line(connection, identity, viewer=viewer, turn=turn, at=at)
        whole.append(seq)
        ids.append(
            add_document(connection, f"viewer-{viewer}", identity, lines=[seq], text=f"words of {identity}", kind="message")
        )
    ids.append(add_document(connection, "stream-s1", turn, lines=whole, text=f"whole of {turn}", kind="turn"))
    if reply:
        seq = add_line(connection, f"{turn}-r", viewer=None, turn=turn, at=at, kind="reply")
        ids.append(add_document(connection, "stream-s1", f"{turn}-r", lines=[seq], text=f"reply of {turn}", kind="reply"))
    row = {"id": turn, "stream_id": "s1", "at": at, "state": "recorded", "line_ids": lines}
    answer = {"reply_id": f"{turn}-r" if reply else None, "flush_reason": "", "reply_seconds": 0.0}
    connection.execute(insert(table_of(TurnRow)).values(**row, **answer, prompt_tokens=0, completion_tokens=0))
    outbox.enqueue(connection, kind="index", key=f"index:{turn}", payload={"turn": turn}, now=START)
    return ids


def add_line(connection: Connection, identity: str, *, viewer: str | None, turn: str, at: int, kind: str = "message") -> int:
    row = {"id": identity, "stream_id": "s1", "kind": kind, "viewer_id": viewer, "at": at, "text": "x", "turn_id": turn}
    done = connection.execute(insert(table_of(LineRow)).values(**row, hidden=False))
    return _seq(done)


def _seq(done: CursorResult[Any]) -> int:
    key = done.inserted_primary_key
    assert key is not None
    return int(key[0])


def add_document(connection: Connection, collection: str, about: str, *, lines: Sequence[int], text: str, kind: str) -> str:
    identity = str(uuid5(NAMESPACE_URL, f"{kind}:{about}"))
    row = {"id": identity, "collection": collection, "kind": kind, "text": text, "stems": text, "provenance": [about], "at": 0}
    done = connection.execute(insert(table_of(DocumentRow)).values(**row, superseded=False))
    seq = _seq(done)
    for line in lines:
        connection.execute(insert(table_of(DocumentSourceRow)).values(line_seq=line, document_seq=seq))
    return identity


def erase(connection: Connection, ids: Sequence[str]) -> None:
    table = table_of(DocumentRow)
    seqs = list(connection.scalars(select(table.c.seq).where(table.c.id.in_(ids))))
    source = table_of(DocumentSourceRow)
    connection.execute(delete(source).where(source.c.document_seq.in_(seqs)))
    connection.execute(delete(table).where(table.c.seq.in_(seqs)))


async def open_database(directory: Path) -> Database:
    database = await Database.open(directory / "memory.db")
    await database.write(add_stream)
    return database


def whole(_: str, text: str) -> tuple[str, ...]:
    return (text,)


def an_indexer(
    database: Database, vectors: FileVectors, embedder: NotedEmbedder | None = None, *, meaning: Meaning = whole
) -> Indexer:
    return Indexer(database, vectors=vectors, embedder=embedder or NotedEmbedder(), clock=VirtualClock(START), meaning=meaning)


async def turns(database: Database, numbers: Sequence[int], *, reply: bool = False) -> list[str]:
    def add(connection: Connection) -> list[str]:
        return [identity for number in numbers for identity in add_turn(connection, number, reply=reply)]

    return await database.write(add)


async def marks(database: Database) -> list[str | None]:
    return await database.write(lambda c: list(c.scalars(select(_DOCUMENT.c.indexed_model).order_by(_DOCUMENT.c.seq))))


async def change(database: Database, identity: str, **values: object) -> None:
    await database.write(lambda c: c.execute(update(_DOCUMENT).where(_DOCUMENT.c.id == identity).values(**values)).rowcount)
