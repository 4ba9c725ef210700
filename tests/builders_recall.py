"""Builders for the hot path's tests: small values with sensible defaults."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np

from memory.clock import VirtualClock
from memory.events import BotIdentity, Channel, Message, Viewer
from memory.model import Batch, Document, HistoryLine, Stream
from memory.ports import Vectors
from memory.store.collections import collection_name

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
CHANNEL = Channel(id="1", login="tana", name="Tana")
BOT = BotIdentity(id="900", login="ricordo", name="Ricordo", aliases=("ric",))

BOT_VIEWER = Viewer(id=BOT.id, login=BOT.login, name=BOT.name)


def a_clock() -> VirtualClock:
    return VirtualClock(NOON)


def a_viewer(id_: str = "101", name: str = "Alice") -> Viewer:
    return Viewer(id=id_, login=name.lower(), name=name)


def a_message(
    id_: str, text: str, *, user: Viewer | None = None, after: float = 0, mentions: tuple[Viewer, ...] = ()
) -> Message:
    return Message(id=id_, at=NOON + timedelta(seconds=after), user=user or a_viewer(), text=text, mentions=mentions)


def a_batch(*messages: Message, stream_id: str = "s1") -> Batch:
    return Batch(stream_id=stream_id, lines=messages, closed_at=messages[-1].at)


def a_line(id_: str, text: str, *, user: Viewer | None = None, after: float = 0) -> HistoryLine:
    return HistoryLine(id=id_, at=NOON + timedelta(seconds=after), kind="message", author=user or a_viewer(), text=text)


def a_stream(id_: str = "s1", *, after: float = 0) -> Stream:
    return Stream(id=id_, channel=CHANNEL, bot=BOT, started_at=NOON + timedelta(seconds=after))


def own_words(id_: str, text: str, *, viewer_id: str = "101", after: float = 0) -> Document:
    return Document(
        id=id_,
        collection=collection_name("viewer", viewer_id),
        kind="message",
        text=text,
        at=NOON + timedelta(seconds=after),
        provenance=(id_,),
        subject=viewer_id,
        author=viewer_id,
        stream_id="s0",
    )


def a_whole_turn(id_: str, text: str, *, stream_id: str = "s1", provenance: tuple[str, ...] = ()) -> Document:
    return Document(
        id=id_,
        collection=collection_name("stream", stream_id),
        kind="turn",
        text=text,
        at=NOON,
        provenance=provenance or (id_,),
        stream_id=stream_id,
    )


class WordIndex:
    """A vector index whose answers a test writes down: (id, cosine) by collection."""

    def __init__(self, hits: dict[str, list[tuple[str, float]]] | None = None) -> None:
        self.hits = hits or {}
        self.asked: list[tuple[str, int]] = []

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        self.hits[collection] = [(id_, 0.5) for id_ in ids]

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        self.hits[collection] = [hit for hit in self.hits.get(collection, []) if hit[0] not in ids]

    async def drop(self, collection: str) -> None:
        self.hits.pop(collection, None)

    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        self.asked.append((collection, limit))
        return self.hits.get(collection, [])[:limit]

    async def ids(self, collection: str) -> set[str]:
        return {id_ for id_, _ in self.hits.get(collection, [])}

    async def close(self) -> None:
        return


class CountingEmbedder:
    """Gives every text the same unit vector, an empty one the zero vector, and counts."""

    name = "counting/1"
    dimension = 4

    def __init__(self) -> None:
        self.queries: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return np.stack([self._vector(text) for text in texts]) if texts else np.zeros((0, 4), np.float32)

    async def embed_query(self, text: str) -> Vectors:
        self.queries.append(text)
        await asyncio.sleep(0)
        return self._vector(text)[None, :]

    async def close(self) -> None:
        return

    def _vector(self, text: str) -> Vectors:
        return np.full(4, 0.5 if text.strip() else 0.0, np.float32)
