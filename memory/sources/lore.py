"""The canon: entries that the chat names by an alias come outright, others by how near a question comes to what they say."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lore.entry import LoreEntry
from memory.caches import Cache, Canon
from memory.channels.near import NAME, Near
from memory.channels.scoped import CHANNEL_SHARE, Asking, ScopedSearch
from memory.model import Candidate, Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.sources import Found
from memory.store.collections import LORE

MOST_ENTRIES = 5000
FEW_ENTRIES = 64  # up to so many are compared with a question part by part; a larger canon is searched
WHOLE, WORDS = 0.5, 0.3  # weights of an entry's whole text and of shared words beside its nearest part
LEAST = 0.1  # nearness from which an entry is a candidate
_SENTENCE = re.compile(r"(?<=[.!?;:…])\s+")


class LoreSource:
    """Answers from the canon alone."""

    def __init__(
        self,
        reader: MemoryReader,
        search: ScopedSearch,
        entries: Cache[str, Canon],
        *,
        near: Near | None = None,
    ) -> None:
        """Search the canon, or with `near` compare a small one entry by entry."""
        self._reader = reader
        self._search = search
        self._entries = entries
        self._near = near
        self._stems: dict[LoreEntry, frozenset[str]] = {}  # of the entries compared last

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the entries named outright (channel `exact`), else those the question comes near to, or a search finds."""
        if request.lore_ids:
            return Found(rankings=(_exact(request, await self._named(request)),))
        canon, entries = await self._canon()
        if self._near is not None and len(canon) <= FEW_ENTRIES:
            there = {entry: canon[f"lore:{entry.id}"] for entry in entries if f"lore:{entry.id}" in canon}
            return Found(rankings=(await self._nearest(request, asking, there, self._near),))
        if request.strict:
            return Found()
        rankings = await self._search.rank(
            request,
            asking,
            collection=LORE,
            limit=asking.recipe.limits.lore_hits,
            belongs=lambda document: document.kind == "lore",
        )
        return Found(rankings=tuple(rankings))

    async def warm(self) -> None:
        """Have the canon compared once, so that the first question finds its vectors made.

        Raises:
            BotMemoryError: the store or the model failed; the first question tries again.
        """
        canon, entries = await self._canon()
        if self._near is not None and len(canon) <= FEW_ENTRIES:
            await _meaning(".", entries, self._near)

    async def _canon(self) -> tuple[dict[str, Document], list[LoreEntry]]:
        canon, entries = await self._entries.get("", self._read, tags=(LORE,))
        return {lore_id: document for document in canon for lore_id in document.provenance}, entries

    async def _read(self) -> Canon:
        return await self._reader.newest(LORE, MOST_ENTRIES), await self._reader.lore()

    async def _named(self, request: SourceRequest) -> list[Document]:
        by_id, _ = await self._canon()
        return [by_id[f"lore:{id_}"] for id_ in dict.fromkeys(request.lore_ids) if f"lore:{id_}" in by_id]

    async def _nearest(self, request: SourceRequest, asking: Asking, canon: dict[LoreEntry, Document], near: Near) -> Ranking:
        entries = list(canon)
        channels = asking.recipe.channels
        if "dense" in channels:
            meaning = await asking.trace.run(
                f"{request.name}/{NAME}",
                _meaning(request.query, entries, near),
                within=asking.recipe.deadlines.source_seconds * CHANNEL_SHARE,
                otherwise=[0.0] * len(entries),
            )
        else:
            meaning = [0.0] * len(entries)
        self._stems = {entry: self._stems.get(entry) or near.stems(_all(entry)) for entry in entries}
        words = near.held(request.query, list(self._stems.values())) if "lexical" in channels else np.zeros(len(entries))
        scored = [
            (score, canon[entry])
            for entry, means, says in zip(entries, meaning, words, strict=True)
            if (score := means + WORDS * float(says)) >= LEAST
        ]
        return _ranking(request, NAME, sorted(scored, key=lambda pair: (-pair[0], pair[1].id)))


async def _meaning(query: str, entries: Sequence[LoreEntry], near: Near) -> list[float]:
    """Return for each entry the cosine of its nearest part, with `WHOLE` of its whole text's."""
    parts = [(place, part) for place, entry in enumerate(entries) for part in _parts(entry)]
    whole = [f"{entry.title}: {entry.text}" for entry in entries]
    found = await near.cosines(query, [*whole, *(part for _, part in parts)])
    best = _best(found[len(whole) :], [place for place, _ in parts], len(entries))
    return [float(part + WHOLE * text) for part, text in zip(best, found, strict=False)]


def _best(cosines: NDArray[np.float32], places: Sequence[int], count: int) -> NDArray[np.float32]:
    best = np.zeros(count, dtype=np.float32)
    np.maximum.at(best, np.array(places, dtype=np.intp), cosines)
    return best


def _parts(entry: LoreEntry) -> list[str]:
    return [entry.title, *entry.aliases, *(part for part in _SENTENCE.split(entry.text) if part.strip())]


def _all(entry: LoreEntry) -> str:
    return " ".join((entry.title, *entry.aliases, entry.text))


def _exact(request: SourceRequest, entries: Sequence[Document]) -> Ranking:
    return _ranking(request, "exact", [(1.0 / rank, entry) for rank, entry in enumerate(entries, start=1)])


def _ranking(request: SourceRequest, channel: str, found: Sequence[tuple[float, Document]]) -> Ranking:
    return Ranking(
        request=request,
        channel=channel,
        candidates=tuple(
            Candidate(document=document, channel=channel, score=score, rank=rank)
            for rank, (score, document) in enumerate(found, start=1)
        ),
    )
