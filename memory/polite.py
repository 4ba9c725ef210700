"""An embedder for background work: in pieces, so that a question of the chat never waits behind a whole batch."""

from collections.abc import Sequence

import numpy as np

from memory.ports import Embedder, Forgetful, Vectors
from memory.precedence import Precedence

_PIECE = 32  # texts; about 40 ms of the default model


class PoliteEmbedder:
    """`memory.ports.Embedder` over another one, which stays the caller's to close."""

    def __init__(self, embedder: Embedder, precedence: Precedence) -> None:
        """Give way between pieces while `precedence` is live; before that, a batch stays whole."""
        self._embedder = embedder
        self._precedence = precedence

    @property
    def name(self) -> str:
        """Model and version."""
        return self._embedder.name

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return self._embedder.dimension

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text.

        Raises:
            ModelUnavailable: the model failed.
        """
        if not self._precedence.live or len(texts) <= _PIECE:
            return await self._embedder.embed(texts)
        parts: list[Vectors] = []
        for start in range(0, len(texts), _PIECE):
            await self._precedence.giving_way()
            parts.append(await self._embedder.embed(texts[start : start + _PIECE]))
        return np.concatenate(parts)

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, dimension) vector of a question.

        Raises:
            ModelUnavailable: the model failed.
        """
        return await self._embedder.embed_query(text)

    async def forget(self, texts: Sequence[str]) -> None:
        """Erase what the embedder behind keeps of these texts, where it keeps any."""
        if isinstance(self._embedder, Forgetful):
            await self._embedder.forget(texts)

    async def forget_everything(self) -> None:
        """Erase all that the embedder behind keeps, where it keeps any."""
        if isinstance(self._embedder, Forgetful):
            await self._embedder.forget_everything()

    async def close(self) -> None:
        """Do nothing: the embedder behind is the caller's."""
