"""The slot channel: what kind of thing a question is after, compared with what kind of thing was said."""

import asyncio
from collections.abc import Sequence

import numpy as np

from memory.normalise import spaced
from memory.ports import Embedder, VectorIndex, Vectors
from memory.rules import Rules, SlotRule


class Slot:
    """Searches with sentences that say the kind of thing a question asks for ("I live in …" for "where do I live?").

    A question and its answer often share no word and little meaning; two answers to the same question are alike. The sentences
    are data of the language rules, embedded once.
    """

    name = "slot"

    def __init__(self, index: VectorIndex, embedder: Embedder, rules: Sequence[Rules], *, happenings: bool = False) -> None:
        """Take what viewers say of themselves, or with `happenings` what is told of a stream.

        Embed nothing yet: `warm` does, or the first question of a kind.
        """
        self._index = index
        self._embedder = embedder
        self._slots = tuple(slot for rule in rules for slot in (rule.happening if happenings else rule.slot))
        self._vectors: dict[str, Vectors] = {}
        self._embedding = asyncio.Lock()

    async def warm(self) -> None:
        """Embed the sentences of every slot.

        Raises:
            ModelUnavailable: the model failed; a later question tries again.
        """
        for name in dict.fromkeys(slot.name for slot in self._slots):
            await self._said(name)

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents nearest to any sentence of the question's slots, with that cosine; none where it has no slot."""
        names = _asked(query, self._slots)
        if not names:
            return []
        return await self._index.search(collection, np.vstack([await self._said(name) for name in names]), limit)

    async def _said(self, name: str) -> Vectors:
        async with self._embedding:
            if name not in self._vectors:
                sentences = [text for slot in self._slots if slot.name == name for text in slot.say]
                self._vectors[name] = await self._embedder.embed(sentences)
            return self._vectors[name]


def _asked(query: str, slots: Sequence[SlotRule]) -> tuple[str, ...]:
    plain = spaced(query)
    return tuple(dict.fromkeys(slot.name for slot in slots if slot.ask.found(plain)))
