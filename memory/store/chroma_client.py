"""One folder of the vector index, open: the one place that imports chromadb."""

import logging
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import cast

import chromadb
import numpy as np
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import ChromaError, NotFoundError

from memory.errors import BotMemoryError, IndexUnavailable, ModelMismatch
from memory.ports import Vectors

_PAGE = 2000  # rows a call when a collection is read whole
_COPY_ROWS = 100
logging.getLogger("chromadb").setLevel(logging.WARNING)


class ChromaClient:
    """One folder of the index, open. Every failure comes as an `IndexUnavailable` or `ModelMismatch`."""

    def __init__(self, path: Path) -> None:
        """Open the folder, creating it where it is missing."""
        self._path = path
        self._collections: dict[str, Collection] = {}
        with self._translated():
            settings = Settings(anonymized_telemetry=False, allow_reset=False)
            self._client = cast("Client", chromadb.PersistentClient(path=str(path), settings=settings))

    def rows(self, name: str) -> int | None:
        """Return how many vectors a collection has, None where there is no such collection."""
        with self._translated():
            try:
                return self._collection(name).count()
            except NotFoundError:
                self._collections.pop(name, None)
                return None

    def has(self, name: str) -> bool:
        """Return whether there is such a collection."""
        with self._translated():
            try:
                self._collection(name)
            except NotFoundError:
                return False
        return True

    def ids(self, name: str) -> set[str]:
        """Return all ids of a collection."""
        found: set[str] = set()
        with self._translated():
            while page := self._collection(name).get(include=[], limit=_PAGE, offset=len(found))["ids"]:
                found.update(page)
        return found

    def load(self, name: str) -> tuple[list[str], Vectors]:
        """Return all ids and vectors of a collection."""
        ids: list[str] = []
        parts: list[Vectors] = []
        with self._translated():
            while True:
                page = self._collection(name).get(include=["embeddings"], limit=_PAGE, offset=len(ids))
                if not page["ids"]:
                    break
                ids.extend(page["ids"])
                parts.append(np.asarray(page["embeddings"], dtype=np.float32))
                if len(page["ids"]) < _PAGE:
                    break
        return ids, np.concatenate(parts) if parts else np.zeros((0, 0), dtype=np.float32)

    def query(self, name: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine to the nearest row of `vector`), best first, equal ones by id."""
        with self._translated():
            found = self._collection(name).query(query_embeddings=vector, n_results=limit, include=["distances"])
        best: dict[str, float] = {}
        for ids, distances in zip(found["ids"], found["distances"] or [], strict=True):
            for document_id, far in zip(ids, distances, strict=True):
                best[document_id] = max(best.get(document_id, -1.0), round(1.0 - float(far), 6))
        return sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def create(self, name: str) -> None:
        """Make an empty collection, in place of any that is there."""
        with self._translated():
            self.drop(name)
            self._collections[name] = self._client.create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store in one call."""
        with self._translated():
            self._collection(name).upsert(ids=list(ids), embeddings=vectors)

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove ids."""
        with self._translated():
            self._collection(name).delete(ids=list(ids))

    def drop(self, name: str) -> None:
        """Remove a collection; a missing one is fine."""
        self._collections.pop(name, None)
        with self._translated():
            try:
                self._client.delete_collection(name)
            except NotFoundError:
                return

    def rewrite(self, name: str) -> None:
        """Copy a collection into a new one of the same name; killed in between, the old or a missing one is found."""
        ids, vectors = self.load(name)
        copy = f"copy-of-{name}"
        self.create(copy)
        for start in range(0, len(ids), _COPY_ROWS):
            self.upsert(copy, ids[start : start + _COPY_ROWS], vectors[start : start + _COPY_ROWS])
        self.drop(name)
        with self._translated():
            self._collections.pop(copy).modify(name=name)

    def close(self) -> None:
        """Release memory and file handles."""
        self._collections.clear()
        with self._translated():
            self._client.close()

    def _collection(self, name: str) -> Collection:
        if name not in self._collections:
            self._collections[name] = self._client.get_collection(name, embedding_function=None)
        return self._collections[name]

    def _translated(self) -> "_Translated":
        return _Translated(self._path)


class _Translated:
    """Turns what comes out of Chroma, panics of its native half included, into the memory's own errors."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if error is None or isinstance(error, BotMemoryError):
            return
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            return
        if isinstance(error, ChromaError) and "dimension" in str(error).lower():
            msg = f"The index in {self._path} was built by another embedding model ({error}); run `ricordo reindex`."
            raise ModelMismatch(msg) from error
        msg = (
            f"Chroma failed in {self._path}: {error}. Repeat the call; if it goes on, `ricordo reindex` builds the index anew."
        )
        raise IndexUnavailable(msg) from error
