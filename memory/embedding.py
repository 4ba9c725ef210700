"""The embedders by name, ready for `open_memory`."""

from pathlib import Path
from typing import Literal

from memory.embed.cached import CachedEmbedder
from memory.embed.e5 import E5Embedder
from memory.embed.openai import OpenAIEmbedder
from memory.embed.use import UseEmbedder
from memory.ports import Embedder
from memory.store.embedding_cache import EmbeddingCache

EmbedderKind = Literal["use", "e5", "openai"]


def make_embedder(
    kind: EmbedderKind,
    *,
    data_dir: Path,
    base_url: str = "",
    model: str = "",
    dimension: int = 0,
    api_key: str = "",
    timeout_seconds: float = 10.0,
) -> Embedder:
    """Return the embedder; nothing is loaded or asked before its first call. The caller closes it, after the memory.

    `use` is built in and takes 2 ms a text: a cache would cost as much. The `dimension` of an endpoint is what its first answer
    has, where 0 is given. What `e5` and an endpoint (`openai`) gave is kept below `data_dir`, by content hash.
    """
    if kind == "use":
        return UseEmbedder()
    cache = EmbeddingCache(data_dir / "embeddings.db")
    if kind == "e5":
        return CachedEmbedder(E5Embedder(timeout_seconds=timeout_seconds), cache)
    slow = OpenAIEmbedder(
        base_url=base_url, api_key=api_key, model=model, dimension=dimension or None, timeout_seconds=timeout_seconds
    )
    return CachedEmbedder(slow, cache, symmetric=True)
