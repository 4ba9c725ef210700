"""How fast the vector index takes a replay's documents, and how fast it answers: `python -m bench.vector_index [SECONDS]`.

It runs in a process of its own, as the program has it, or in this one (`--here` behind the seconds). While it writes, somebody
asks it 50 times a second, and a probe looks how long the event loop stands still.

The shape is that of a channel's chat: few viewers write most, about 90 different ones in 500 lines, and each document goes to a
stream as well. Vectors are random: this measures the index, not what it finds.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np

from bench.footprint import Footprint
from bench.lag import Lag
from bot.cli.logs import set_up_logs
from config.sections import Log
from memory.ports import Vectors
from memory.recipes import IndexRun
from memory.store.chroma import ChromaIndex

DIMENSION, GROUP, STREAM_LINES, VIEWERS = 512, 500, 2400, 3500
_ASK_SECONDS = 0.02


def _unit(count: int) -> Vectors:
    rows = np.random.default_rng(0).standard_normal((count, DIMENSION)).astype(np.float32)
    scaled: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


def _group(first: int, authors: Sequence[int], vectors: Vectors) -> list[tuple[str, list[str], Vectors]]:
    rows: dict[str, list[int]] = {}
    for line in range(first, first + GROUP):
        rows.setdefault(f"viewer-{authors[line]}", []).append(line)
        rows.setdefault(f"stream-{line // STREAM_LINES}", []).append(line)
    return [
        (name, [f"m:{line:08d}" for line in lines], vectors[np.array(lines) % len(vectors)]) for name, lines in rows.items()
    ]


def _percentiles(seconds: Sequence[float]) -> str:
    p50, p95, p99 = np.percentile(np.array(seconds) * 1000, [50, 95, 99])
    return f"p50 {p50:.2f}  p95 {p95:.2f}  p99 {p99:.2f} ms"


async def _ask(index: ChromaIndex, authors: Sequence[int], query: Vectors, spent: list[float]) -> None:
    for number in count():
        await asyncio.sleep(_ASK_SECONDS)
        began = time.perf_counter()
        await index.search(f"viewer-{authors[number * 13 % 500]}", query, 4)
        spent.append(time.perf_counter() - began)


async def _write(index: ChromaIndex, authors: Sequence[int], vectors: Vectors, seconds: float) -> int:
    began, first = time.perf_counter(), 0
    while time.perf_counter() - began < seconds and first + GROUP <= len(authors):
        await index.upsert_many(_group(first, authors, vectors))
        first += GROUP
    spent = time.perf_counter() - began
    print(f"written     {2 * first} documents, {2 * first / spent:.0f}/s, {index.touched} collections open in Chroma")
    return first


async def _search(index: ChromaIndex, names: Sequence[str], query: Vectors, label: str) -> None:
    for state in ("cold", "warm"):
        spent = []
        for name in names:
            began = time.perf_counter()
            await index.search(name, query, 4)
            spent.append(time.perf_counter() - began)
        print(f"{label:<7} {state} {_percentiles(spent)}  ({len(names)} collections)")


async def main(seconds: float, run: IndexRun) -> None:
    """Write for `seconds`, then open the index again and search."""
    vectors = _unit(4096)
    authors = [int(author) % VIEWERS for author in np.random.default_rng(1).zipf(1.5, 90_000)]
    with tempfile.TemporaryDirectory() as directory, Footprint() as footprint:
        index = await ChromaIndex.open(Path(directory), run=run, cache_bytes=0)
        spent: list[float] = []
        lag = Lag()
        asking = asyncio.create_task(_ask(index, authors, vectors[:1], spent))
        with lag.watched():
            written = await _write(index, authors, vectors, seconds)
        asking.cancel()
        print(f"meanwhile   asked {_percentiles(spent)}  ({len(spent)} times, nothing cached)")
        print(f"meanwhile   loop lag {_percentiles(lag.seconds)}  at most {max(lag.seconds) * 1000:.0f} ms")
        print(f"processor   {footprint.cpu_seconds * 1000 / (2 * written):.2f} ms a document, all processes")
        await index.close()
        index = await ChromaIndex.open(Path(directory), run=run)
        viewers = list(dict.fromkeys(f"viewer-{author}" for author in authors[:written]))
        await _search(index, viewers[:300], vectors[:1], "viewers")
        await _search(index, [f"stream-{n}" for n in range(written // STREAM_LINES)], vectors[:1], "streams")
        await index.close()
    print(f"peak memory {footprint.peak_mb:.0f} MB, of which {footprint.own_peak_mb:.0f} in this process")


if __name__ == "__main__":
    set_up_logs(Log(), default="warning")
    given = [argument for argument in sys.argv[1:] if argument != "--here"]
    asyncio.run(main(float(given[0]) if given else 20.0, IndexRun(own_process="--here" not in sys.argv)))
