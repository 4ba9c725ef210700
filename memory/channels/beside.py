"""The beside channel: whether the question's words stand in a line or in the lines around it. A prior: it finds nothing.

An answer seldom repeats what it answers: "since 2019, on the lake" stands below "when did you move, and where to?".
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from memory.caches import Hits
from memory.language import carries, stemmed
from memory.model import Document
from memory.normalise import fold, words
from memory.ports import MemoryReader
from memory.rules import Rules

NAME = "beside"
_ENDING = 4  # letters that a form of a word may have behind its stem
_WORDS = 24  # different words of a question that are looked for


class Beside:
    """Weighs documents by the chat that they were said in. What it reads there is never shown."""

    def __init__(self, reader: MemoryReader, rules: Sequence[Rules]) -> None:
        """Look for the words that carry content by `rules`."""
        self._reader = reader
        self._rules = tuple(rules)

    async def weigh(self, query: str, documents: Iterable[Document]) -> Hits:
        """Return the documents with `shares` of the question, best first; those of which no word is near are missing.

        Raises:
            StoreUnavailable: the lines around cannot be read.
        """
        stems = [stemmed(word, self._rules) for word in words(query) if carries(word, self._rules)]
        resting = {document.id: document for document in documents if document.provenance}
        if not stems or not resting:  # before anything is read
            return []
        beside = await self._reader.beside([document.provenance[0] for document in resting.values()])
        around = {id_: beside.get(one.provenance[0], ("", "")) for id_, one in resting.items()}
        said = {id_: (f"{around[id_][0]} {one.text}", around[id_][1]) for id_, one in resting.items()}
        return sorted(shares(stems, said).items(), key=lambda hit: (-hit[1], hit[0]))


def shares(stems: Sequence[str], texts: Mapping[str, tuple[str, str]]) -> dict[str, float]:
    """Return, by text, Σ idf of the stems that begin a word of it / Σ idf of all, 0 to 1; rare among these texts counts more.

    Each text is the line with the one before it, and the one after it: the mean of the share without and with the latter, since
    what comes before says more. Texts with no stem are left out.
    """
    wanted = list(dict.fromkeys(stems))[:_WORDS]
    if not wanted:
        return {}
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, wanted), key=len, reverse=True))})\w{{0,{_ENDING}}}\b")
    near = {id_: set(pattern.findall(fold(text))) for id_, (text, _) in texts.items()}
    wide = {id_: near[id_].union(pattern.findall(fold(after))) for id_, (_, after) in texts.items()}
    idf = {stem: math.log(1 + len(texts) / (1 + sum(stem in held for held in wide.values()))) for stem in wanted}
    total = 2 * sum(idf.values())
    return {
        id_: sum(idf[stem] for held in (near[id_], wide[id_]) for stem in sorted(held)) / total for id_ in texts if wide[id_]
    }
