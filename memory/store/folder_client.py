"""What the sharded collections ask of one open folder, and what goes in and comes out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.errors import IndexUnavailable
from memory.ports import Vectors
from memory.store.vector_cache import CachedCollection


class FolderClient(Protocol):
    """One open folder. Every failure is an `IndexUnavailable` (or `ModelMismatch`); names are valid ones."""

    def rows(self, name: str) -> int | None:
        """Return how many vectors a collection has, None where there is no such collection."""
        ...

    def has(self, name: str) -> bool:
        """Return whether there is such a collection."""
        ...

    def load(self, name: str) -> tuple[list[str], Vectors]:
        """Return all ids and vectors of a collection."""
        ...

    def ids(self, name: str) -> set[str]:
        """Return all ids of a collection."""
        ...

    def query(self, name: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (id, cosine), best first."""
        ...

    def create(self, name: str) -> None:
        """Make an empty collection, in place of any that is there."""
        ...

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        """Store in one call."""
        ...

    def delete(self, name: str, ids: Sequence[str]) -> None:
        """Remove ids."""
        ...

    def drop(self, name: str) -> None:
        """Remove a collection; a missing one is fine."""
        ...

    def rewrite(self, name: str) -> None:
        """Copy a collection into a new one of the same name, so that nothing of what was deleted is left."""
        ...

    def close(self) -> None:
        """Release everything."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Vectors for one collection; ids are distinct."""

    collection: str
    ids: Sequence[str]
    vectors: Vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a search read: the hits, and the collection whole where it is small enough to be kept."""

    hits: list[tuple[str, float]]
    entry: CachedCollection | None = None


class GraphSpoilt(IndexUnavailable):
    """The files of one collection's graph are not what Chroma wrote: it is to be built anew."""


class FolderSpoilt(IndexUnavailable):
    """The database of a folder cannot be read by SQLite: all its collections are to be built anew."""
