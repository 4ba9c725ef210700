"""An embedder without a model: a unit vector by the hash of the text, the same everywhere."""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from memory.ports import Vectors


class HashEmbedder:
    """Implements `Embedder`; counts what it is asked for, and raises the `faults` first."""

    def __init__(self, name: str = "hash/1", dimension: int = 8) -> None:
        self.name = name
        self.dimension = dimension
        self.asked: list[list[str]] = []
        self.faults: list[Exception] = []

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        if self.faults:
            raise self.faults.pop(0)
        return np.stack([self._vector(text) for text in texts])

    async def embed_query(self, text: str) -> Vectors:
        return self._vector(text).reshape(1, -1)

    async def close(self) -> None:
        """Nothing to release."""

    def _vector(self, text: str) -> Vectors:
        if not text:
            return np.zeros(self.dimension, np.float32)
        seed = int.from_bytes(blake2b(f"{self.name}\x00{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest())
        raw = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        unit: Vectors = raw / np.float32(np.linalg.norm(raw))
        return unit
