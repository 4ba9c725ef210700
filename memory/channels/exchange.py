"""The exchange channel: whether the question's words stand in the line that a line answers. A prior: it finds nothing.

An answer seldom repeats what it answers: "since 2019, on the lake" stands below "when did you move, and where to?". What a line
answers is known where it is a reply, and likely where only two people talk, which counts half; in a chat of many the line
before is mostly another talk.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from memory.caches import Hits
from memory.language import content_stems
from memory.model import Document
from memory.normalise import fold
from memory.ports import MemoryReader
from memory.rules import Rules

NAME = "exchange"
LIKELY = 0.5  # of what a reply's parent counts, where two people talk and no reply says what is answered
_ENDING = 4  # letters that a form of a word may have behind its stem
_WORDS = 24  # different words of a question that are looked for


class Exchange:
    """Weighs a viewer's lines by what they answer. What it reads there is other people's, and never shown."""

    def __init__(self, reader: MemoryReader, rules: Sequence[Rules]) -> None:
        """Look for the words that carry content by `rules`."""
        self._reader = reader
        self._rules = tuple(rules)

    async def weigh(self, query: str, documents: Iterable[Document]) -> Hits:
        """Return the documents with their `shares` of the question, best first; those of which no word is there are missing.

        Raises:
            StoreUnavailable: the lines cannot be read.
        """
        stems = sorted(content_stems(query, self._rules))
        resting = {document.id: document.provenance[0] for document in documents if document.provenance}
        if not stems or not resting:  # before anything is read
            return []
        answered = await self._reader.answered(sorted(set(resting.values())))
        said = {id_: answered[line] for id_, line in resting.items() if line in answered}
        found = shares(stems, {id_: text for id_, (text, _) in said.items()})
        weighed = ((id_, share * (1.0 if said[id_][1] else LIKELY)) for id_, share in found.items())
        return sorted(weighed, key=lambda hit: (-hit[1], hit[0]))


def shares(stems: Sequence[str], texts: Mapping[str, str]) -> dict[str, float]:
    """Return, by text, Σ idf of the stems that begin a word of it / Σ idf of all, 0 to 1; rare among these texts counts more.

    Texts with no stem are left out.
    """
    wanted = list(dict.fromkeys(stems))[:_WORDS]
    if not wanted or not texts:
        return {}
    pattern = re.compile(rf"\b({'|'.join(sorted(map(re.escape, wanted), key=len, reverse=True))})\w{{0,{_ENDING}}}\b")
    held = {id_: set(pattern.findall(fold(text))) for id_, text in texts.items()}
    idf = {stem: math.log(1 + len(texts) / (1 + sum(stem in one for one in held.values()))) for stem in wanted}
    total = sum(idf.values())
    return {id_: sum(idf[stem] for stem in sorted(one)) / total for id_, one in held.items() if one}
