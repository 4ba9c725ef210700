"""The hashing embedder under any name, that notes what it is asked and raises the `faults` it was given first."""

from collections.abc import Sequence

from fakes.hash_embedder import HashEmbedder

from memory.ports import Vectors


class NotedEmbedder(HashEmbedder):
    """`memory.ports.Embedder`; `asked` holds the texts of each call of `embed`."""

    def __init__(self, name: str = "hash/1", dimension: int = 8) -> None:
        super().__init__(dimension)
        self._name = name
        self.asked: list[list[str]] = []
        self.faults: list[Exception] = []

    @property
    def name(self) -> str:
        return self._name

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.append(list(texts))
        if self.faults:
            raise self.faults.pop(0)
        return await super().embed(texts)
