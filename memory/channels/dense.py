"""The dense channel: nearness of meaning, by cosine in the vector index."""

from hashlib import sha256

import numpy as np

from memory.caches import Cache
from memory.ports import Embedder, VectorIndex, Vectors


class Dense:
    """Searches the index with the question's vector, which is made once however many collections are asked."""

    name = "dense"

    def __init__(self, index: VectorIndex, embedder: Embedder, vectors: Cache[bytes, Vectors]) -> None:
        self._index = index
        self._embedder = embedder
        self._vectors = vectors

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return the nearest documents with their cosine; a question without meaning (an empty vector) finds nothing."""
        key = sha256(query.encode("utf-8", "replace")).digest()  # the text itself is nobody's to keep here
        vector = await self._vectors.get(key, lambda: self._embedder.embed_query(query))
        if not np.any(vector):
            return []
        return await self._index.search(collection, vector, limit)
