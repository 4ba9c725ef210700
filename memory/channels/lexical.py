"""The lexical channel: the same words, by BM25 in the full-text index."""

from collections.abc import Sequence

from memory.language import carries
from memory.normalise import words
from memory.ports import MemoryReader
from memory.rules import Rules


class Lexical:
    """Searches the full text of a collection."""

    name = "lexical"

    def __init__(self, reader: MemoryReader, rules: Sequence[Rules] = ()) -> None:
        """Search the words that carry content by `rules`: in a small collection even "who" and "was" are rare."""
        self._reader = reader
        self._rules = tuple(rules)

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents that share words with the question, with their BM25 score."""
        content = " ".join(word for word in words(query) if carries(word, self._rules))
        return await self._reader.full_text(collection, content, limit) if content else []
