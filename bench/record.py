"""`observe` and `record` of batches of 20 lines, against the same rows put into bare tables by sqlite3."""

import asyncio
import json
import shutil
import sqlite3
import time
from pathlib import Path

from bench.figures import Figure, percentiles
from memory import (
    Batch,
    BotIdentity,
    Channel,
    MemorySettings,
    Message,
    Said,
    Stream,
    Turn,
    UseEmbedder,
    VirtualClock,
    open_memory,
)
from replays.log import read_log

_LINES = 20
_CHANNEL = Channel(id="9000", login="banco", name="Banco")
_BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo")
_BARE = """
CREATE TABLE line (id TEXT PRIMARY KEY, at TEXT, author TEXT, text TEXT);
CREATE TABLE turn (id TEXT PRIMARY KEY, lines TEXT);
CREATE TABLE document (id TEXT PRIMARY KEY, text TEXT);
CREATE TABLE job (key TEXT PRIMARY KEY);
"""


def batches(log: Path, most: int) -> list[Batch]:
    """Return up to `most` batches of 20 lines of a log, as one stream."""
    messages: list[Message] = []
    for logged in read_log(log):
        if isinstance(logged.event, Message):
            messages.append(logged.event)
        if len(messages) == most * _LINES:
            break
    starts = range(0, len(messages) - _LINES + 1, _LINES)
    parts = [tuple(messages[start : start + _LINES]) for start in starts]
    return [Batch(stream_id="s", lines=part, closed_at=part[-1].at, flush_reason="size") for part in parts]


def measure(log: Path, out: Path, *, most: int) -> list[Figure]:
    """Return the figures over `most` batches of `log`."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found = batches(log, most)
    bare = _bare(found, out / "bare.db")
    ours = asyncio.run(_ours(found, out / "record"))
    figures = percentiles("record", f"observe + record, {_LINES} lines", ours, p99="<= 15")
    baseline = percentiles("record", "sqlite3", bare)
    return [
        Figure(
            bench=figure.bench,
            name=figure.name,
            value=figure.value,
            unit=figure.unit,
            goal=figure.goal,
            baseline=other.value,
            against="sqlite3, bare tables",
        )
        for figure, other in zip(figures, baseline, strict=True)
    ]


async def _ours(found: list[Batch], directory: Path) -> list[float]:
    embedder, spent = UseEmbedder(), []
    clock = VirtualClock(found[0].closed_at)
    async with await open_memory(
        MemorySettings(data_dir=directory), channel=_CHANNEL, embedder=embedder, clock=clock
    ) as memory:
        await memory.begin_stream(Stream(id="s", channel=_CHANNEL, bot=_BOT, started_at=found[0].closed_at))
        for batch in found:
            clock.move_to(batch.closed_at)
            began = time.perf_counter()
            await memory.observe(batch)
            await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
            spent.append(time.perf_counter() - began)
    await embedder.close()
    return spent


def _bare(found: list[Batch], path: Path) -> list[float]:
    path.unlink(missing_ok=True)
    database, spent = sqlite3.connect(path), []
    database.executescript(f"PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; {_BARE}")
    for batch in found:
        began = time.perf_counter()
        _put(database, batch)
        spent.append(time.perf_counter() - began)
    database.close()
    return spent


def _put(database: sqlite3.Connection, batch: Batch) -> None:
    """Store the rows of a batch in two transactions, as `observe` and `record` do."""
    with database:
        rows = [(line.id, line.at.isoformat(), line.user.id if line.user else None, line.text) for line in batch.lines]
        database.executemany("INSERT OR IGNORE INTO line VALUES (?, ?, ?, ?)", rows)
        lines = json.dumps([line.id for line in batch.lines])
        database.execute("INSERT OR IGNORE INTO turn VALUES (?, ?)", (batch.id, lines))
    with database:
        texts = [(f"d{line.id}", line.text) for line in batch.lines]
        texts.append((batch.id, "\n".join(line.text or "" for line in batch.lines)))
        database.executemany("INSERT OR IGNORE INTO document VALUES (?, ?)", texts)
        database.executemany("INSERT OR IGNORE INTO job VALUES (?)", [(f"{kind}:{batch.id}",) for kind in ("index", "rest")])
