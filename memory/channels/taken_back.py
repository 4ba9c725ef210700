"""What became of a line right after it was said: its author took it back, or somebody did not believe a word of it."""

from collections.abc import Iterable, Mapping, Sequence

from memory.model import Document
from memory.normalise import spaced, words
from memory.ports import MemoryReader
from memory.rules import Rules

NAME = "taken_back"
SHORT = 8  # words: who takes back, or scoffs, is brief; a longer line speaks of something else too
_PERSONAL = frozenset({"message", "fact"})


class TakenBack:
    """Says which documents still stand. What it reads of the lines behind them is never shown."""

    def __init__(self, reader: MemoryReader, rules: Sequence[Rules]) -> None:
        """Tell it by the phrases of `rules`."""
        self._reader = reader
        self._rules = tuple(rules)

    async def standing(self, documents: Iterable[Document]) -> list[Document]:
        """Return the documents without what a viewer said and was not meant, by what was said right behind it.

        A fact that several messages say goes where all of them were taken back.

        Raises:
            StoreUnavailable: the lines behind cannot be read.
        """
        asked = list(documents)
        lines = {line for one in asked if one.kind in _PERSONAL for line in one.provenance}
        if not lines:
            return asked
        behind = await self._reader.aftermath(sorted(lines))
        back = {line for line, said in behind.items() if self._undone(said)}
        return [one for one in asked if one.kind not in _PERSONAL or not one.provenance or not back.issuperset(one.provenance)]

    def _undone(self, said: Mapping[str, str]) -> bool:
        own = self._any("retract", said.get("own", ""))
        return own or any(self._any("doubt", said.get(whose, "")) for whose in ("answer", "other"))

    def _any(self, table: str, text: str) -> bool:
        if not 0 < len(words(text)) <= SHORT:
            return False
        plain = spaced(text)
        return any(getattr(rule, table).found(plain) for rule in self._rules)
