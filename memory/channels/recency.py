"""The recency channel: what is newest. A prior, never evidence: fusion lets it lift what another channel matched, no more."""

from memory.ports import MemoryReader


class Recency:
    """Ranks the newest documents of a collection, whatever is asked."""

    name = "recency"

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:  # noqa: ARG002 - any question
        """Return the newest documents; the score is 1 / rank."""
        newest = await self._reader.newest(collection, limit)
        return [(document.id, 1.0 / rank) for rank, document in enumerate(newest, start=1)]
