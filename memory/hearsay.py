"""Who is meant where chat speaks of somebody: the names of known viewers, for the reading of claims."""

from collections.abc import Callable, Sequence

from memory.extract.others import ClaimExtractor
from memory.extract.rules import Spoken
from memory.names import NameIndex
from memory.normalise import fold
from memory.rules import Rules
from memory.statements import Statement

SMALL_CHAT = 2000  # viewers up to which a part of a name that only one of them has means that one


class Hearsay:
    """Reads what lines say about known viewers, other bots aside; a name that several have means nobody."""

    def __init__(
        self, extractor: Callable[[], ClaimExtractor], names: NameIndex, rules: Sequence[Rules], ignored: frozenset[str]
    ) -> None:
        """`extractor` is made when it is needed first; `names` is kept up to date by its owner."""
        self._make = extractor
        self._names = names
        self._rules = rules
        self._ignored = ignored

    def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        """Return the claims of these lines, in their order."""
        return self._make().extract(lines, self.whom)

    def _is_word(self, word: str) -> bool:
        return any(word in rule.stop or word in rule.ordinary for rule in self._rules)

    def whom(self, name: str) -> str | None:
        """Return the viewer that a name means, None where it is nobody's or several have it."""
        found = self._names.exact(name)
        if not found and len(self._names) <= SMALL_CHAT and not self._is_word(fold(name)):
            found = self._names.part(name)
        viewer = self._names.get(found[0].viewer_id) if len(found) == 1 else None
        return viewer.id if viewer and not viewer.is_bot and viewer.id not in self._ignored else None
