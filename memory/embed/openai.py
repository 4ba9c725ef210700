"""Any OpenAI-compatible embeddings endpoint."""

from collections.abc import Sequence

from memory.embed.rows import embed_cleaned, unit_rows
from memory.errors import ModelUnavailable
from memory.ports import Vectors

_PROBE = "ciao"


class OpenAIEmbedder:
    """`memory.ports.Embedder` over HTTP. The dimension is what the server's first answer has, unless it is given."""

    def __init__(  # noqa: PLR0913  an endpoint has this many sides, all named
        self,
        *,
        base_url: str,
        api_key: str,
        model: str,
        dimension: int | None = None,
        timeout_seconds: float = 10.0,
        retries: int = 2,
        batch: int = 64,
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        """Connect to nothing yet. Prefixes are for models that want a question and a stored text told apart."""
        import openai  # noqa: PLC0415 - two seconds of imports that only this embedder needs

        self._failure = openai.OpenAIError
        self._client = openai.AsyncOpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout_seconds, max_retries=retries
        )
        self._model, self._dimension, self._batch = model, dimension, batch
        self._prefixes = {True: query_prefix, False: document_prefix}
        self._closed = False

    @property
    def name(self) -> str:
        """Model, as the server names it."""
        return f"openai/{self._model}"

    @property
    def dimension(self) -> int:
        """Length of a vector.

        Raises:
            ModelUnavailable: no answer came yet; await `warm`.
        """
        if self._dimension is None:
            msg = f"The dimension of {self.name} is not known before its first answer; ask it once, or configure it."
            raise ModelUnavailable(msg)
        return self._dimension

    async def warm(self) -> None:
        """Ask once, so that the dimension is known.

        Raises:
            ModelUnavailable: the server cannot be reached or answers nonsense.
        """
        await self._call([_PROBE])

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit vector a text; an empty text gives a zero vector.

        Raises:
            ModelUnavailable: the server cannot be reached, refuses, is late, or answers nonsense; retries are spent.
        """
        return await self._embed(texts, query=False)

    async def embed_query(self, text: str) -> Vectors:
        """Return the (1, dimension) vector of a question.

        Raises:
            ModelUnavailable: as `embed`.
        """
        return await self._embed([text], query=True)

    async def close(self) -> None:
        """Close the connections; closing twice is fine."""
        self._closed = True
        await self._client.close()

    async def _embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        if self._dimension is None:
            await self.warm()
        prefix = self._prefixes[query]

        async def call(batch: Sequence[str]) -> Vectors:
            return await self._call([prefix + text for text in batch])

        return await embed_cleaned(texts, self.dimension, call, batch=self._batch)

    async def _call(self, texts: Sequence[str]) -> Vectors:
        if self._closed:
            msg = f"The embedding model {self.name} was closed; open the memory again."
            raise ModelUnavailable(msg)
        try:
            answer = await self._client.embeddings.create(model=self._model, input=list(texts), encoding_format="float")
            rows = [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]
        except (self._failure, AttributeError, TypeError, ValueError) as error:
            msg = f"The embeddings endpoint for {self.name} failed: {_told(error)}. Check URL, key and model."
            raise ModelUnavailable(msg) from error
        vectors = unit_rows(rows, model=self.name, count=len(texts), dimension=self._dimension)
        self._dimension = vectors.shape[1]
        return vectors


def _told(error: Exception) -> str:
    """Return what went wrong without the server's words: some send the texts back, and errors are kept."""
    status = getattr(error, "status_code", None)
    return type(error).__name__ if status is None else f"{type(error).__name__}, status {status}"
