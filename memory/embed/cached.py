"""An embedder that asks its model only for texts it has not seen: a small cache in memory before one on disk."""

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

import numpy as np

from memory.embed.clean import clean
from memory.embed.rows import unit_rows
from memory.ports import Embedder, Vectors


class KeptVectors(Protocol):
    """Where vectors are kept by key: `memory.store.embedding_cache.EmbeddingCache`."""

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are there."""
        ...

    async def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Store vectors."""
        ...

    async def forget(self, keys: Sequence[bytes]) -> None:
        """Erase vectors."""
        ...

    async def clear(self) -> None:
        """Erase all vectors."""
        ...

    async def close(self) -> None:
        """Release the file."""
        ...


class CachedEmbedder:
    """`memory.ports.Embedder` in front of another one. Fresh and kept vectors are equal to the bit, by way of float16."""

    def __init__(self, embedder: Embedder, cache: KeptVectors, *, entries: int = 4096, symmetric: bool = False) -> None:
        """Keep `entries` vectors in memory, all of them in `cache`. `symmetric`: questions are embedded as texts are."""
        self._embedder, self._cache, self._entries, self._symmetric = embedder, cache, entries, symmetric
        self._recent: OrderedDict[bytes, Vectors] = OrderedDict()
        self._forgotten = 0  # times that something was
        self.hits = self.misses = 0

    @property
    def name(self) -> str:
        """The model's name."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """The model's dimension."""
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text; equal texts are embedded once.

        Raises:
            ModelUnavailable: the model failed on a text that is not kept.
        """
        return await self._through(texts, "document", self._embedder.embed)

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, dimension) vector of a question.

        Raises:
            ModelUnavailable: the model failed on a text that is not kept.
        """

        async def ask(texts: Sequence[str]) -> Vectors:
            return await self._embedder.embed_query(texts[0])

        return await self._through([text], "document" if self._symmetric else "query", ask)

    async def forget(self, texts: Sequence[str]) -> None:
        """Erase the vectors of these texts, as questions and as documents."""
        self._forgotten += 1
        keys = [self._key(clean(text), side) for text in texts for side in ("document", "query")]
        for key in keys:
            self._recent.pop(key, None)
        await self._cache.forget(keys)

    async def forget_everything(self) -> None:
        """Erase every vector."""
        self._forgotten += 1
        self._recent.clear()
        await self._cache.clear()

    async def close(self) -> None:
        """Close the model and the cache; closing twice is fine."""
        await self._embedder.close()
        await self._cache.close()

    async def _through(self, texts: Sequence[str], side: str, ask: Callable[[Sequence[str]], Awaitable[Vectors]]) -> Vectors:
        forgotten = self._forgotten
        wanted = {self._key(cleaned, side): cleaned for cleaned in map(clean, texts)}
        found = {key: self._recent[key] for key in wanted if key in self._recent}
        missing = [key for key in wanted if key not in found]
        if missing:
            found.update(await self._cache.get(missing))
            missing = [key for key in missing if key not in found]
        self.hits += len(wanted) - len(missing)
        self.misses += len(missing)
        if missing:
            fresh = await ask([wanted[key] for key in missing])
            rounded = {key: row.astype(np.float16).astype(np.float32) for key, row in zip(missing, fresh, strict=True)}
            found.update(rounded)
            if forgotten == self._forgotten:  # else they may be among what was
                await self._cache.put(rounded)
        if forgotten == self._forgotten:
            self._remember(found)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        rows = [found[self._key(clean(text), side)] for text in texts]
        return unit_rows(np.stack(rows), model=self.name, count=len(texts), dimension=self.dimension)

    def _remember(self, vectors: Mapping[bytes, Vectors]) -> None:
        for key, vector in vectors.items():
            self._recent[key] = vector
            self._recent.move_to_end(key)
        while len(self._recent) > self._entries:
            self._recent.popitem(last=False)

    def _key(self, cleaned: str, side: str) -> bytes:
        return hashlib.sha256(f"{self._embedder.name}\0{side}\0{cleaned}".encode()).digest()
