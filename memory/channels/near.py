"""How near a question is to a handful of short texts, each compared by itself: for places that hold few of them.

Records and entries of the canon are titles and descriptions, no lines of chat: a question is compared with them as it stands,
not with where the lines lie that answer it (`memory.embed.projection`).
"""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from memory.caches import Cache
from memory.language import content_stems
from memory.ports import Embedder, Vectors
from memory.rules import Rules

NAME = "near"
MOST_TEXTS = 512  # embedded at most for one question; what is beyond is compared by its words alone


class Near:
    """Compares questions with texts by meaning and by words. The texts' vectors are kept by content hash, for a time."""

    def __init__(self, embedder: Embedder, kept: Cache[tuple[bytes, ...], Vectors], rules: Sequence[Rules]) -> None:
        """Keep the vectors of texts in `kept`; a question is embedded each time."""
        self._embedder = embedder
        self._kept = kept
        self._rules = tuple(rules)

    async def cosines(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the cosine of the question with each text, zero for a text without meaning.

        Raises:
            ModelUnavailable: the model failed.
        """
        found = np.zeros(len(texts), dtype=np.float32)
        head = texts[:MOST_TEXTS]
        if not head:
            return found
        key = tuple(sha256(text.encode("utf-8", "replace")).digest() for text in head)  # the texts themselves are not kept
        rows = await self._kept.get(key, lambda: self._embedder.embed(head))
        asked = await self._embedder.embed([query])
        found[: len(head)] = rows @ asked[0]
        return found

    def shared(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return which share of the question's words, by their stems, stands in each text: 0 to 1."""
        return self.held(query, [self.stems(text) for text in texts])

    def stems(self, text: str) -> frozenset[str]:
        """Return the stems of the words of a text that carry content, for `held`."""
        return content_stems(text, self._rules)

    def held(self, query: str, texts: Sequence[frozenset[str]]) -> NDArray[np.float32]:
        """Return which share of the question's words stands in each text, given by its stems: 0 to 1."""
        asked = self.stems(query)
        return np.array([len(asked & said) for said in texts], dtype=np.float32) / np.float32(max(1, len(asked)))
