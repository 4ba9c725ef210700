"""Embedding, full text and vectors, over the memory that the replay left."""

import asyncio
import sqlite3
import time
from pathlib import Path
from random import Random

from bench.figures import Figure, percentiles
from memory import UseEmbedder, Vectors
from memory.store.chroma import ChromaIndex
from memory.store.database import Database
from memory.store.reader import Reader

_ASKED = "che gioco preferisce, e what does he do for work?"


def measure(directory: Path, *, texts: int, collections: int) -> list[Figure]:
    """Return the figures over `directory`, the memory of a replay; its collections and texts are drawn by a fixed seed."""
    with sqlite3.connect(directory / "memory.db") as database:
        found = [row[0] for row in database.execute("SELECT text FROM document ORDER BY seq LIMIT ?", (texts,))]
        names = [row[0] for row in database.execute("SELECT DISTINCT collection FROM document ORDER BY collection")]
    viewers = [name for name in names if name.startswith("viewer-")]
    streams = [name for name in names if name.startswith("stream-")]
    chosen = Random(1).sample(viewers, min(collections, len(viewers)))
    return asyncio.run(_measure(directory, found, chosen, streams))


async def _measure(directory: Path, texts: list[str], viewers: list[str], streams: list[str]) -> list[Figure]:
    embedder = UseEmbedder()
    await embedder.warm()
    began = time.perf_counter()
    await embedder.embed(texts)
    rate = len(texts) / (time.perf_counter() - began)
    questions: list[float] = []
    query: Vectors = await embedder.embed_query(_ASKED)
    for text in texts[:200]:
        began = time.perf_counter()
        await embedder.embed_query(text)
        questions.append(time.perf_counter() - began)
    await embedder.close()
    return [
        Figure(bench="embed", name="texts of a chat", value=rate, unit="texts/s"),
        *percentiles("embed", "one question", questions),
        *await _full_text(directory, [*viewers[:100], *streams]),
        *await _vectors(directory, viewers, streams, query),
    ]


async def _full_text(directory: Path, names: list[str]) -> list[Figure]:
    database, spent = await Database.open(directory / "memory.db"), []
    reader = Reader(database)
    for name in names:
        began = time.perf_counter()
        await reader.full_text(name, _ASKED, 8)
        spent.append(time.perf_counter() - began)
    await database.close()
    return percentiles("search", f"full text, {len(names)} collections", spent)


async def _vectors(directory: Path, viewers: list[str], streams: list[str], query: Vectors) -> list[Figure]:
    index, figures = await ChromaIndex.open(directory), []
    for state in ("cold", "warm"):
        for label, names in (("viewers", viewers), ("streams", streams)):
            spent = []
            for name in names:
                began = time.perf_counter()
                await index.search(name, query, 8)
                spent.append(time.perf_counter() - began)
            figures += percentiles("search", f"vectors, {len(names)} {label}, {state}", spent)
    await index.close()
    return figures
