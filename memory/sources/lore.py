"""The canon: entries that the chat names by an alias come outright, others by search."""

from memory.caches import Cache
from memory.channels.scoped import Asking, ScopedSearch
from memory.model import Candidate, Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.sources import Found
from memory.store.collections import LORE

MOST_ENTRIES = 5000


class LoreSource:
    """Answers from the canon alone."""

    def __init__(self, reader: MemoryReader, search: ScopedSearch, entries: Cache[str, list[Document]]) -> None:
        self._reader = reader
        self._search = search
        self._entries = entries

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the entries named outright (channel `exact`), or else what a search finds."""
        if request.lore_ids:
            return Found(rankings=(await self._named(request),))
        rankings = await self._search.rank(
            request,
            asking,
            collection=LORE,
            limit=asking.recipe.limits.lore_hits,
            belongs=lambda document: document.kind == "lore",
        )
        return Found(rankings=tuple(rankings))

    async def _named(self, request: SourceRequest) -> Ranking:
        canon = await self._entries.get("", lambda: self._reader.newest(LORE, MOST_ENTRIES), tags=(LORE,))
        by_id = {lore_id: document for document in canon for lore_id in document.provenance}
        named = [by_id[f"lore:{id_}"] for id_ in dict.fromkeys(request.lore_ids) if f"lore:{id_}" in by_id]
        return Ranking(
            request=request,
            channel="exact",
            candidates=tuple(
                Candidate(document=entry, channel="exact", score=1.0 / rank, rank=rank)
                for rank, entry in enumerate(named, start=1)
            ),
        )
