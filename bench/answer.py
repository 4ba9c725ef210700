"""From the start of the process to the first answer from a memory: the parent measures, the child recalls."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Figure
from bot.app import CHANNEL_FILE, open_channel_memory
from config.settings import Settings
from memory import Batch, Channel, Message, Recall, Viewer, WallClock
from replays.hurry import loading

_TIMES = 3
_AS_THE_PROGRAM = """
import gc, sys
gc.disable()  # as replays/entry.py does
from bench.answer import main
main(sys.argv[1])
"""


def measure(directory: Path) -> list[Figure]:
    """Return the best and the worst of three starts over `directory`, the memory of a replay."""
    ours = [_spent([sys.executable, "-c", _AS_THE_PROGRAM, str(directory)]) for _ in range(_TIMES)]
    bare = min(_spent([sys.executable, "-c", "import chromadb, sqlmodel, numpy"]) for _ in range(_TIMES))
    return [
        Figure(
            bench="answer",
            name=f"process start to first answer, {label}",
            value=value,
            unit="s",
            goal="<= 3" if label == "best" else "",
            baseline=bare,
            against="importing the libraries",
        )
        for label, value in (("best", min(ours)), ("worst", max(ours)))
    ]


def _spent(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - our own interpreter
    return time.perf_counter() - began


def _newest(directory: Path) -> tuple[str, str, str, str]:
    """Return stream, viewer, login and name of the newest line."""
    with sqlite3.connect(directory / "memory.db") as database:
        return database.execute(  # type: ignore[no-any-return]  # four strings, by the statement
            "SELECT stream_id, viewer_id, login, name FROM line WHERE viewer_id IS NOT NULL ORDER BY seq DESC LIMIT 1"
        ).fetchone()


async def _answer(directory: Path) -> Recall:
    names = json.loads((directory / CHANNEL_FILE).read_text(encoding="utf-8"))
    stream, viewer, login, name = _newest(directory)
    clock = WallClock()
    question = Message(
        id="bench", at=clock.now(), user=Viewer(id=viewer, login=login, name=name), text="@Ricordo cosa ricordi di me?"
    )
    batch = Batch(stream_id=stream, lines=(question,), closed_at=clock.now(), flush_reason="addressed")
    async with open_channel_memory(Settings(), directory, channel=Channel(**names), clock=clock) as memory:
        return await memory.recall(batch)


def main(directory: str) -> None:
    """Print the block of the first answer; what has been imported is loaded by now."""
    with loading():
        pass
    print(asyncio.run(_answer(Path(directory))).block.text)
