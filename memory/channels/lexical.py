"""The lexical channel: the same words, by BM25 in the full-text index."""

from memory.ports import MemoryReader


class Lexical:
    """Searches the full text of a collection."""

    name = "lexical"

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents that share words with the question, with their BM25 score."""
        return await self._reader.full_text(collection, query, limit)
