"""Collections over many folders, synchronous: finds the folder, leases its client, retries, and cleans. No Chroma in here."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import structlog

from memory.errors import IndexUnavailable
from memory.ports import Vectors
from memory.store import chroma_files, seals
from memory.store.doubts import Doubts, lost
from memory.store.folder_client import FolderClient, FolderSpoilt, Found, GraphSpoilt, Write
from memory.store.folders import FolderLimits, Folders
from memory.store.index_lock import take_folders
from memory.store.instance_lock import InstanceLock
from memory.store.seals import Graph
from memory.store.shards import Place, Registry, chroma_name
from memory.store.vector_cache import CachedCollection

_NOT_ON_DISK = "Nothing found on disk"  # a client that touched too many collections, or files that are gone
_PRUNE_SECONDS = 2.0
_DELETED_AT_ONCE = 32  # a call holds the interpreter for its whole length: 0.5 ms an id
T = TypeVar("T")
log = structlog.get_logger(__name__)


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
        alive: Callable[[], None] | None = None,
    ) -> None:
        """Work below `root`; collections of up to `exact_rows` vectors are read whole.

        Between two native calls of a write `give_way` is called, which may wait; while a folder is held, `alive`, which may
        not.

        Raises:
            IndexUnavailable: the directory cannot be written, or another process still works in it.
        """
        self._root, self._open_client, self._exact_rows = root, opener, exact_rows
        self._lock, self._registry, self._registry_lock = *_opened(root), threading.Lock()
        self._used: set[Path] = set()
        self._graphs: dict[str, dict[str, Graph]] = {}  # of each folder, when it was opened; what was checked leaves
        self._doubts = Doubts()
        self._large: set[str] = set()
        self._give_way, self._alive = give_way or _go_on, alive or _go_on
        self._folders: Folders[FolderClient] = Folders(self._open, limits)

    @property
    def touched(self) -> int:
        """How many collections are open in Chroma, each at 2.6 MiB."""
        return self._folders.touched

    @property
    def identity(self) -> str:
        """The name of this index: another one where its files were lost and made anew."""
        return self._registry.identity

    def places(self) -> int:
        """Return how many collections have a place."""
        return len(self.names())

    def names(self) -> set[str]:
        """Return what all collections are called in the folders."""
        with self._registered():
            return self._registry.everything()

    def doubt(self) -> None:
        """Take every collection for lost until it is vouched for: the index came without what SQL says is in it."""
        self._doubts.doubt()

    def vouch(self, collections: Iterable[str]) -> None:
        """These collections hold what they should."""
        self._doubts.vouch(collections)

    def trust(self) -> None:
        """All collections hold what they should."""
        self._doubts.trust()

    def look(self) -> bool:
        """Return whether files of the index were taken away under it; what is left of it is opened anew."""
        if self._registry.moved():
            self._folders.close()
            with self._registered():
                self._registry.close()
                self._lock.release()
                self._lock, self._registry = _opened(self._root)
            self._large.clear()
            return True
        gone = [folder for folder in self._folders.opened() if not chroma_files.exists(self._root / folder)]
        for folder in gone:
            self._recycle(folder)
        return bool(gone)

    def search(self, collection: str, vector: Vectors, limit: int) -> Found:
        """Read a small collection whole and score it, or ask Chroma."""
        self._doubts.check(collection)

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
        gone, made = [], []
        try:
            for write in sorted(writes, key=lambda write: (places[names[write.collection]][0].folder, write.collection)):
                place, _ = places[names[write.collection]]
                if self._written(place, write, chunk, fresh=place.name not in made and not place.made):
                    made.append(place.name)
                else:
                    gone.append(write.collection)
        finally:
            with self._registered():
                self._registry.mark_made([name for name in made if not places[name][0].made])
        if gone:
            raise lost(gone)
        return {collection for collection, name in names.items() if places[name][1]}

    def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove ids; `vacuum` erases their bytes."""
        place = self._find(collection)
        if place is None:
            return
        with self._registered():
            self._registry.mark_unclean(place.name, place.folder)
        try:
            for start in range(0, len(ids), _DELETED_AT_ONCE):
                with self._folders.lease(place.folder, place.name) as client:
                    if client.has(place.name):
                        self._check(place)
                        client.delete(place.name, ids[start : start + _DELETED_AT_ONCE])
        except IndexUnavailable as error:
            if not self._hopeless(place.folder, error):
                raise

    def drop(self, collection: str) -> None:
        """Remove a collection; one in a folder that is no database any more takes the folder with it."""
        place = self._find(collection)
        self._large.discard(collection)
        if place is None:
            return
        with self._registered():
            self._registry.forget(place.name, place.folder)
        self._graphs.get(place.folder, {}).pop(place.name, None)
        try:
            with self._folders.lease(place.folder, place.name) as client:
                client.drop(place.name)
        except FolderSpoilt:
            self._discard(place.folder)

    def vacuum(self) -> int:
        """Clean every folder where something was deleted; return how many.

        Raises:
            IndexUnavailable: a folder could not be cleaned; it stays marked and the next call tries again.
        """
        with self._registered():
            unclean = self._registry.unclean()
        for folder, names in unclean.items():
            self._give_way()
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
                with suppress(OSError, sqlite3.Error):  # only room on the disk is lost, and the next close tries again
                    chroma_files.prune(path)
                    chroma_files.seal(path)
        self._lock.release()

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
        try:
            found = self._retried(place, work)
        except IndexUnavailable as error:
            if self._hopeless(place.folder, error):
                raise lost([collection]) from error
            raise
        if found is None and (again := self._find(collection)) is not None and again.made and again.folder == place.folder:
            raise lost([collection])
        return found

    def _retried(self, place: Place, work: Callable[[FolderClient, str], T]) -> T:
        try:
            return self._once(place, work)
        except (FolderSpoilt, GraphSpoilt):
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
            self._check(place)
            return work(client, place.name)

    def _check(self, place: Place) -> None:
        """See that the collection's graph is what Chroma wrote, before Chroma reads it for the first time."""
        graph = self._graphs.get(place.folder, {}).get(place.name)
        if graph is None:
            return
        if not seals.sound(self._root / place.folder, graph):
            msg = f"The graph of {place.name} in {self._root / place.folder} was spoilt; it is built anew from the database."
            raise GraphSpoilt(msg)
        self._graphs[place.folder].pop(place.name, None)

    def _hopeless(self, folder: str, error: IndexUnavailable) -> bool:
        """Return whether a failure does not pass by itself; a folder that is no whole database goes."""
        if isinstance(error, GraphSpoilt) or "hnsw" in str(error).lower():
            return True
        if not isinstance(error, FolderSpoilt):
            try:
                with self._folders.closed(folder):
                    whole = not chroma_files.exists(self._root / folder) or chroma_files.sound(self._root / folder)
            except (OSError, IndexUnavailable):
                return False
            if whole:
                return False
        self._discard(folder)
        return True

    def _discard(self, folder: str) -> None:
        log.warning("index_folder_removed", folder=folder)
        with self._folders.closed(folder):
            self._remove(folder)

    def _recycle(self, folder: str) -> None:
        with self._folders.closed(folder):
            log.info("index_folder_recycled", folder=folder)

    def _written(self, place: Place, write: Write, chunk: int, *, fresh: bool) -> bool:
        """Store; return False where the collection is lost."""
        try:
            return self._write(place, write, chunk, fresh=fresh)
        except IndexUnavailable as error:
            if self._hopeless(place.folder, error):
                return False
            raise

    def _write(self, place: Place, write: Write, chunk: int, *, fresh: bool) -> bool:
        for start in range(0, len(write.ids), chunk):
            self._give_way()
            with self._folders.lease(place.folder, place.name) as client:
                if start == 0 and not client.has(place.name):
                    if not fresh:
                        return False
                    client.create(place.name)
                self._check(place)
                client.upsert(place.name, write.ids[start : start + chunk], write.vectors[start : start + chunk])
        return True

    def _clean(self, folder: str, names: Sequence[str]) -> None:
        path = self._root / folder
        if not chroma_files.exists(path):
            return
        try:
            with self._registered():
                wanted = self._registry.names(folder)
            if not chroma_files.sound(path):
                self._remove(folder)
                return
            found, present = chroma_files.tune(path), set(chroma_files.names(path))
            client = self._open_client(path)
            try:
                for name in present - wanted:
                    client.drop(name)
                for name in present & set(names):
                    self._alive()
                    if seals.sound(path, found[name]) if name in found else True:
                        client.rewrite(name)
                    else:
                        client.drop(name)  # it is found lost by who reads it, and built anew
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
            self._graphs[folder] = chroma_files.tune(path)
        except (sqlite3.OperationalError, OSError) as error:
            if "no such table" in str(error):
                msg = f"The folder {path} of the index is empty; `ricordo reindex` builds it anew."
                raise FolderSpoilt(msg) from error
            msg = f"The folder {path} of the index cannot be opened: {error}. Check its permissions and the room on the disk."
            raise IndexUnavailable(msg) from error
        except sqlite3.DatabaseError as error:
            msg = f"The folder {path} of the index is spoilt ({error}); `ricordo reindex` builds it anew."
            raise FolderSpoilt(msg) from error
        self._used.add(path)
        return self._open_client(path)


def _opened(root: Path) -> tuple[InstanceLock, Registry]:
    lock = take_folders(root)
    with ExitStack() as opening:
        opening.callback(lock.release)
        registry = Registry.open(root)
        opening.pop_all()
    return lock, registry


def _go_on() -> None:
    """Wait for nobody."""
