"""A start over 100,000 pending jobs: when it answers, and how long the loop stands still while they are worked off."""

import asyncio
import json
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import timedelta
from pathlib import Path

from bench.figures import Figure
from bot.app import open_channel_memory, remember_channel
from bot.cli.logs import set_up_logs
from config.sections import Log
from config.settings import Settings
from memory import Batch, BotIdentity, Channel, Message, Said, Stream, Turn, Viewer, WallClock

_CHANNEL = Channel(id="9000", login="banco", name="Banco")
_BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo")
_VIEWERS = 500
_TICK = 0.01
_QUESTIONS = 20
# Turns of a message each, with their documents and their jobs, written at once: through the front door it takes minutes.
_TURNS = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :turns)
INSERT INTO line (seq, id, stream_id, kind, viewer_id, login, name, at, text, turn_id, hidden)
SELECT :seq + i, 'pending-' || i, 's', 'message', 'v' || (i % :viewers), 'v' || (i % :viewers), 'V' || (i % :viewers), :at + i,
  'oggi parlo del numero ' || i || ' e di niente altro', 'turn-' || i, 0 FROM n;
INSERT INTO turn (seq, id, stream_id, at, state, flush_reason, line_ids, prompt_tokens, completion_tokens, reply_seconds)
SELECT seq, turn_id, 's', at, 'recorded', 'quiet', json_array(id), 0, 0, 0.0 FROM line WHERE seq > :seq;
INSERT INTO document (seq, id, collection, kind, subject, author, stream_id, text, stems, provenance, at, superseded)
SELECT :documents + seq - :seq, 'document-' || seq, 'viewer-' || viewer_id, 'message', viewer_id, viewer_id, 's', text, text,
  json_array(id), at, 0 FROM line WHERE seq > :seq;
INSERT INTO document_source (line_seq, document_seq) SELECT seq, :documents + seq - :seq FROM line WHERE seq > :seq;
INSERT INTO memory_job (key, kind, run_after, payload, created_at, updated_at)
SELECT kind || ':' || turn.id, kind, at, json_object('turn', turn.id), at, at FROM turn
CROSS JOIN (SELECT 'index' AS kind UNION ALL SELECT 'consolidate') WHERE turn.seq > :seq;
"""


def measure(out: Path, *, jobs: int, seconds: float) -> list[Figure]:
    """Return the figures of a start over `jobs` pending jobs, watched for `seconds`."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    asyncio.run(_seed(out / "memory"))
    _fill(out / "memory" / "memory.db", jobs // 2)
    command = [sys.executable, "-m", "bench.restart", str(out / "memory"), str(seconds)]
    told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)  # noqa: S603 - ours
    wanted = (
        ("answering after the memory is opened", "answered", "s", "<= 2"),
        ("the processor's share of that", "answered_cpu", "s", "<= 2"),
        ("longest standstill of the loop", "stall_ms", "ms", ""),
        ("99.9 % of the loop's turns within", "p999_ms", "ms", ""),
        ("slowest answer meanwhile", "slowest_ms", "ms", ""),
        ("jobs done a second", "rate", "jobs/s", ""),
    )
    name = f"{jobs:,} pending jobs"
    return [
        Figure(bench="restart", name=f"{name}: {what}", value=told[key], unit=unit, goal=goal)
        for what, key, unit, goal in wanted
    ]


async def _seed(directory: Path) -> None:
    clock = WallClock()
    async with open_channel_memory(Settings(), directory, channel=_CHANNEL, clock=clock) as memory:
        await memory.begin_stream(Stream(id="s", channel=_CHANNEL, bot=_BOT, started_at=clock.now() - timedelta(hours=2)))
        for number in range(_VIEWERS):
            batch = _batch(f"seed-{number}", f"la mia gatta si chiama Birba{number}", number, clock)
            await memory.observe(batch)
            await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
        await memory.run_jobs()
    remember_channel(directory, _CHANNEL)


def _batch(id_: str, text: str, number: int, clock: WallClock) -> Batch:
    user = Viewer(id=f"v{number}", login=f"v{number}", name=f"V{number}")
    line = Message(id=id_, at=clock.now(), user=user, text=text)
    return Batch(stream_id="s", lines=(line,), closed_at=clock.now(), flush_reason="addressed")


def _fill(database: Path, turns: int) -> None:
    with closing(sqlite3.connect(database)) as connection:
        last = connection.execute("SELECT max(seq) FROM line").fetchone()[0]
        documents = connection.execute("SELECT max(seq) FROM document").fetchone()[0]
        at = int(time.time() * 1000) - 3_600_000
        values = {"turns": turns, "viewers": _VIEWERS, "seq": last, "documents": documents, "at": at}
        for statement in _TURNS.split(";\n"):
            if statement.strip():
                connection.execute(statement, values)
        connection.commit()


async def _watched(directory: Path, seconds: float) -> dict[str, float]:
    """Open, begin to work, ask at once and then again and again, and look at the loop all the time."""
    clock, gaps, took = WallClock(), [], []
    ended = asyncio.Event()

    async def watch() -> None:
        while not ended.is_set():
            before = time.perf_counter()
            await asyncio.sleep(_TICK)
            gaps.append((time.perf_counter() - before - _TICK) * 1000)

    opening, opening_cpu = time.perf_counter(), time.process_time()
    async with (
        open_channel_memory(Settings(), directory, channel=_CHANNEL, clock=clock) as memory,
        asyncio.TaskGroup() as group,
    ):
        group.create_task(watch())
        await memory.start_worker()
        before = (await memory.health()).jobs["ready"]
        began = time.perf_counter()
        for number in range(_QUESTIONS):
            asked = time.perf_counter()
            await memory.recall(_batch(f"q{number}", "@Ricordo come si chiama la mia gatta?", number, clock))
            took.append((time.perf_counter() - asked) * 1000)
            if number == 0:
                answered, answered_cpu = time.perf_counter() - opening, time.process_time() - opening_cpu
            await asyncio.sleep(max(0.0, seconds / _QUESTIONS - took[-1] / 1000))
        after = (await memory.health()).jobs["ready"]
        rate = (before - after) / (time.perf_counter() - began)
        ended.set()
    gaps.sort()
    return {
        "answered": answered,
        "answered_cpu": answered_cpu,
        "stall_ms": gaps[-1],
        "p999_ms": gaps[int(len(gaps) * 0.999) - 1],
        "slowest_ms": max(took),
        "rate": rate,
    }


if __name__ == "__main__":
    set_up_logs(Log(), default="warning")
    print(json.dumps(asyncio.run(_watched(Path(sys.argv[1]), float(sys.argv[2])))))
