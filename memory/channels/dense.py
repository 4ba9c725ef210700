"""The dense channel: nearness of meaning, by cosine in the vector index."""

from collections.abc import Callable
from hashlib import sha256

import numpy as np

from memory.caches import Cache
from memory.errors import CollectionLost
from memory.ports import Embedder, VectorIndex, Vectors


class Dense:
    """Searches the index with the question's vector, which is made once however many collections are asked."""

    name = "dense"

    def __init__(
        self,
        index: VectorIndex,
        embedder: Embedder,
        vectors: Cache[bytes, Vectors],
        *,
        on_lost: Callable[[tuple[str, ...]], None] | None = None,
    ) -> None:
        """`on_lost` is told which collections must be built anew from SQL; until then they find nothing here."""
        self._index = index
        self._embedder = embedder
        self._vectors = vectors
        self._on_lost = on_lost

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the nearest documents with their cosine; a question without meaning (an empty vector) finds nothing."""
        vector = await self.vector(query)
        if not np.any(vector):
            return []
        try:
            return await self._index.search(collection, vector, limit)
        except CollectionLost as lost:
            if self._on_lost is not None:
                self._on_lost(lost.collections)
            raise

    async def vector(self, query: str) -> Vectors:
        """Return the (1, dimension) vector of a question, made once for all who ask it.

        Raises:
            ModelUnavailable: the model failed.
        """
        key = sha256(query.encode("utf-8", "replace")).digest()  # the text itself is nobody's to keep here
        return await self._vectors.get(key, lambda: self._embedder.embed_query(query))
