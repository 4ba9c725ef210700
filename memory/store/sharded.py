"""Collections over many folders, synchronous: finds the folder, leases its client, retries, and cleans. No Chroma in here."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import structlog

from memory.errors import CollectionLost, IndexUnavailable
from memory.ports import Vectors
from memory.store import chroma_files
from memory.store.folders import FolderLimits, Folders
from memory.store.shards import Place, Registry, chroma_name
from memory.store.vector_cache import CachedCollection

_NOT_ON_DISK = "Nothing found on disk"  # a client that touched too many collections, or files that are gone
_PRUNE_SECONDS = 2.0
T = TypeVar("T")
log = structlog.get_logger(__name__)


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


class ShardedCollections:
    """Reads from several threads, writes from one."""

    def __init__(
        self,
        root: Path,
        opener: Callable[[Path], FolderClient],
        *,
        limits: FolderLimits,
        exact_rows: int,
        give_way: Callable[[], None] | None = None,
    ) -> None:
        """Work below `root`; collections of up to `exact_rows` vectors are read whole. `give_way` may wait, between two writes.

        Raises:
            IndexUnavailable: the directory cannot be written.
        """
        self._root, self._open_client, self._exact_rows = root, opener, exact_rows
        self._registry, self._registry_lock = Registry.open(root), threading.Lock()
        self._used: set[Path] = set()
        self._large: set[str] = set()
        self._give_way = give_way or _go_on
        self._folders: Folders[FolderClient] = Folders(self._open, limits)

    @property
    def touched(self) -> int:
        """How many collections are open in Chroma, each at 2.6 MiB."""
        return self._folders.touched

    def search(self, collection: str, vector: Vectors, limit: int) -> Found:
        """Read a small collection whole and score it, or ask Chroma."""

        def work(client: FolderClient, name: str) -> Found | None:
            rows = self._exact_rows + 1 if collection in self._large else client.rows(name)
            if rows is None:
                return None
            if rows > self._exact_rows:
                self._large.add(collection)  # counting a large one again and again would cost as much as asking it
                return Found(hits=client.query(name, vector, limit))
            entry = CachedCollection(*client.load(name))
            return Found(hits=entry.search(vector, limit) if len(entry) else [], entry=entry if len(entry) else None)

        return self._read(collection, work) or Found(hits=[])

    def ids(self, collection: str) -> set[str]:
        """Return every id of a collection."""

        def work(client: FolderClient, name: str) -> set[str] | None:
            return client.ids(name) if client.has(name) else None

        return self._read(collection, work) or set()

    def upsert(self, writes: Sequence[Write], chunk: int) -> set[str]:
        """Store all, folder by folder, `chunk` rows a call; return the collections that were empty before.

        Raises:
            CollectionLost: these collections were stored once and are gone; the others of the call are stored.
            IndexUnavailable: anything may or may not be stored; repeat the call.
        """
        names = {write.collection: chroma_name(write.collection) for write in writes}
        with self._registered():
            places = self._registry.assign(names.values())
        lost, made = [], []
        try:
            for write in sorted(writes, key=lambda write: (places[names[write.collection]][0].folder, write.collection)):
                place, _ = places[names[write.collection]]
                if self._write(place, write, chunk, fresh=place.name not in made and not place.made):
                    made.append(place.name)
                else:
                    lost.append(write.collection)
        finally:
            with self._registered():
                self._registry.mark_made([name for name in made if not places[name][0].made])
        if lost:
            raise _lost(lost)
        return {collection for collection, name in names.items() if places[name][1]}

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids; `vacuum` erases their bytes."""
        place = self._find(collection)
        if place is None:
            return
        with self._registered():
            self._registry.mark_unclean(place.name, place.folder)
        with self._folders.lease(place.folder, place.name) as client:
            if client.has(place.name):
                client.delete(place.name, ids)

    def drop(self, collection: str) -> None:
        """Remove a collection; one in a folder that is no database any more takes the folder with it."""
        place = self._find(collection)
        self._large.discard(collection)
        if place is None:
            return
        with self._registered():
            self._registry.forget(place.name, place.folder)
        try:
            with self._folders.lease(place.folder, place.name) as client:
                client.drop(place.name)
        except FolderSpoilt:
            log.warning("index_folder_removed", folder=place.folder)
            with self._folders.closed(place.folder):
                self._remove(place.folder)

    def vacuum(self) -> int:
        """Clean every folder where something was deleted; return how many.

        Raises:
            IndexUnavailable: a folder could not be cleaned; it stays marked and the next call tries again.
        """
        with self._registered():
            unclean = self._registry.unclean()
        for folder, names in unclean.items():
            with self._folders.closed(folder):
                self._clean(folder, names)
            with self._registered():
                self._registry.mark_clean(folder)
        with self._registered():
            self._registry.scrub()
        return len(unclean)

    def close(self) -> None:
        """Close every folder and the registry, and remove what Chroma left lying in the folders that were used."""
        self._folders.close()
        with self._registered():
            self._registry.close()
        deadline = time.monotonic() + _PRUNE_SECONDS
        for path in sorted(self._used):
            if path.is_dir() and time.monotonic() < deadline:
                with suppress(OSError):  # only room on the disk is lost, and the next close tries again
                    chroma_files.prune(path)

    @contextmanager
    def _registered(self) -> Iterator[None]:
        try:
            with self._registry_lock:
                yield
        except sqlite3.Error as error:
            msg = f"The registry of the index in {self._root} failed: {error}. Check the room on the disk; repeat the call."
            raise IndexUnavailable(msg) from error

    def _find(self, collection: str) -> Place | None:
        with self._registered():
            return self._registry.find(chroma_name(collection))

    def _read(self, collection: str, work: Callable[[FolderClient, str], T | None]) -> T | None:
        place = self._find(collection)
        if place is None:
            return None
        found = self._retried(place, work)
        if found is None and (again := self._find(collection)) is not None and again.made and again.folder == place.folder:
            raise _lost([collection])
        return found

    def _retried(self, place: Place, work: Callable[[FolderClient, str], T]) -> T:
        try:
            return self._once(place, work)
        except FolderSpoilt:
            raise
        except IndexUnavailable as error:
            log.info("index_read_retried", folder=place.folder, error=str(error))
            if _NOT_ON_DISK in str(error):
                self._recycle(place.folder)
        try:
            return self._once(place, work)
        except IndexUnavailable:
            self._recycle(place.folder)
        return self._once(place, work)

    def _once(self, place: Place, work: Callable[[FolderClient, str], T]) -> T:
        with self._folders.lease(place.folder, place.name) as client:
            return work(client, place.name)

    def _recycle(self, folder: str) -> None:
        with self._folders.closed(folder):
            log.info("index_folder_recycled", folder=folder)

    def _write(self, place: Place, write: Write, chunk: int, *, fresh: bool) -> bool:
        for start in range(0, len(write.ids), chunk):
            self._give_way()
            with self._folders.lease(place.folder, place.name) as client:
                if start == 0 and not client.has(place.name):
                    if not fresh:
                        return False
                    client.create(place.name)
                client.upsert(place.name, write.ids[start : start + chunk], write.vectors[start : start + chunk])
        return True

    def _clean(self, folder: str, names: Sequence[str]) -> None:
        path = self._root / folder
        if not chroma_files.exists(path):
            return
        try:
            with self._registered():
                wanted = self._registry.names(folder)
            present = set(chroma_files.names(path))
            client = self._open_client(path)
            try:
                for name in present - wanted:
                    client.drop(name)
                for name in present & set(names):
                    client.rewrite(name)
            finally:
                client.close()
            chroma_files.sweep(path)
        except (sqlite3.Error, OSError) as error:
            msg = f"The folder {path} of the index cannot be cleaned: {error}. What was forgotten may still be readable."
            raise IndexUnavailable(msg) from error

    def _remove(self, folder: str) -> None:
        try:
            chroma_files.remove(self._root / folder)
        except OSError as error:
            msg = f"The spoilt folder {self._root / folder} of the index cannot be removed: {error}. Remove it by hand."
            raise IndexUnavailable(msg) from error

    def _open(self, folder: str) -> FolderClient:
        path = self._root / folder
        try:
            path.mkdir(parents=True, exist_ok=True)
            if not chroma_files.is_made(path):
                self._open_client(path).close()
            chroma_files.tune(path)
        except (sqlite3.OperationalError, OSError) as error:
            msg = f"The folder {path} of the index cannot be opened: {error}. Check its permissions and the room on the disk."
            raise IndexUnavailable(msg) from error
        except sqlite3.DatabaseError as error:
            msg = f"The folder {path} of the index is spoilt ({error}); `ricordo reindex` builds it anew."
            raise FolderSpoilt(msg) from error
        self._used.add(path)
        return self._open_client(path)


class FolderSpoilt(IndexUnavailable):
    """The database of a folder cannot be read by SQLite: all its collections are to be built anew."""


def _go_on() -> None:
    """Wait for nobody."""


def _lost(collections: Sequence[str]) -> CollectionLost:
    shown = ", ".join(repr(collection)[:60] for collection in collections[:3])
    return CollectionLost(
        f"{len(collections)} collection(s) of the index are gone from its folder, such as {shown}; drop and index them again "
        "(`ricordo reindex` does all).",
        tuple(collections),
    )
