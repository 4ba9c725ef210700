"""An embedder without a model: signed hashes of words and of letters in threes. Texts that share words are near each other."""

import hashlib
from collections.abc import Sequence

import numpy as np

from memory.embed.rows import embed_cleaned, unit_rows
from memory.errors import ModelUnavailable
from memory.ports import Vectors


class HashEmbedder:
    """`memory.ports.Embedder`, deterministic and instant. `fail` makes every call fail, `calls` counts the texts it saw."""

    def __init__(self, dimension: int = 64) -> None:
        self._dimension = dimension
        self.fail = False
        self.calls: list[str] = []

    @property
    def name(self) -> str:
        return f"hash/{self._dimension}"

    @property
    def dimension(self) -> int:
        return self._dimension

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await embed_cleaned(texts, self._dimension, self._call, batch=64)

    async def embed_query(self, text: str) -> Vectors:
        return await self.embed([text])

    async def close(self) -> None:
        return

    async def _call(self, texts: Sequence[str]) -> Vectors:
        if self.fail:
            msg = "the hash embedder was told to fail; retry"
            raise ModelUnavailable(msg)
        self.calls.extend(texts)
        rows = np.stack([self._row(text) for text in texts])
        return unit_rows(rows, model=self.name, count=len(texts), dimension=self._dimension)

    def _row(self, text: str) -> Vectors:
        row = np.zeros(self._dimension, dtype=np.float32)
        folded = text.casefold()
        for piece in [*folded.split(), *(folded[i : i + 3] for i in range(len(folded) - 2))]:
            digest = hashlib.blake2b(piece.encode(), digest_size=8).digest()
            row[int.from_bytes(digest[:4], "little") % self._dimension] += 1.0 if digest[4] & 1 else -1.0
        if not row.any():
            row[0] = 1.0
        return row
