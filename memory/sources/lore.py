"""The canon: entries that the chat names by an alias come outright, others by search."""

from functools import partial

from memory.caches import Cache
from memory.channels.scoped import Asking, ScopedSearch
from memory.model import LORE_COLLECTION, Candidate, Document, Ranking, SourceRequest
from memory.ports import MemoryReader


class LoreSource:
    """Answers from the canon alone."""

    def __init__(self, reader: MemoryReader, search: ScopedSearch, entries: Cache[str, Document | None]) -> None:
        self._reader = reader
        self._search = search
        self._entries = entries

    async def ask(self, request: SourceRequest, asking: Asking) -> list[Ranking]:
        """Return the entries named outright (channel `exact`), or else what a search finds."""
        if request.lore_ids:
            return [await self._named(request)]
        return await self._search.rank(
            request,
            asking,
            collection=LORE_COLLECTION,
            limit=asking.recipe.limits.lore_hits,
            belongs=lambda document: document.kind == "lore",
        )

    async def _named(self, request: SourceRequest) -> Ranking:
        entries = [await self._entries.get(id_, partial(self._load, id_), tags=(LORE_COLLECTION,)) for id_ in request.lore_ids]
        return Ranking(
            request=request,
            channel="exact",
            candidates=tuple(
                Candidate(document=entry, channel="exact", score=1.0 / rank, rank=rank)
                for rank, entry in enumerate((entry for entry in entries if entry is not None), start=1)
            ),
        )

    async def _load(self, lore_id: str) -> Document | None:
        document_id = f"lore:{lore_id}"
        return (await self._reader.documents([document_id])).get(document_id)
