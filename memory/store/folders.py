"""Open folders: few at a time, none closed while in use, each recycled before Chroma has touched too many collections.

Every touched collection costs 2.6 MiB and four file handles until its client closes, and beyond a fifth of the file limit
Chroma silently loses small ones. So what was touched is counted, in each client and in all together.
"""

import ctypes
import resource
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from memory.errors import IndexUnavailable

_HANDLES_EACH = 5  # Chroma's own divisor of RLIMIT_NOFILE
_SPARE = 8


class Closable(Protocol):
    """What a folder opens to."""

    def close(self) -> None:
        """Release it."""
        ...


C = TypeVar("C", bound=Closable)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderLimits:
    """How much may be open."""

    folders: int = 16
    touched_each: int = 64
    touched_all: int = 96
    wait_seconds: float = 20.0  # for a folder that others still use

    def each(self) -> int:
        """Return the limit a client, below what the file limit of this moment allows."""
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        return max(1, min(self.touched_each, soft // _HANDLES_EACH - _SPARE))


@dataclass(slots=True, kw_only=True)
class _Folder(Generic[C]):
    client: C | None = None
    leases: int = 0
    busy: bool = False  # opening, closing or held by one
    touched: set[str] = field(default_factory=set)


class Folders(Generic[C]):
    """Leases on open folders. For several threads; a lease is held for one call and never nested."""

    def __init__(self, opener: Callable[[str], C], limits: FolderLimits) -> None:
        """Open folders by `opener`, which may raise `IndexUnavailable`."""
        self._opener, self._limits = opener, limits
        self._folders: OrderedDict[str, _Folder[C]] = OrderedDict()
        self._changed = threading.Condition()

    @property
    def touched(self) -> int:
        """How many collections the open clients have touched."""
        with self._changed:
            return sum(len(folder.touched) for folder in self._folders.values())

    def opened(self) -> list[str]:
        """Return the folders that are open."""
        with self._changed:
            return [name for name, folder in self._folders.items() if folder.client is not None]

    def __len__(self) -> int:
        """Return how many folders are open."""
        with self._changed:
            return sum(1 for folder in self._folders.values() if folder.client is not None)

    @contextmanager
    def lease(self, name: str, collection: str) -> Iterator[C]:
        """Give the open client of a folder, to touch one collection.

        Raises:
            IndexUnavailable: it cannot be opened, or others do not let go of it.
        """
        folder = self._enter(name, collection)
        try:
            if folder.client is None:
                msg = f"The folder {name} of the index is closed; the next call opens it again."
                raise IndexUnavailable(msg)
            yield folder.client
        finally:
            with self._changed:
                folder.leases -= 1
                self._changed.notify_all()

    @contextmanager
    def closed(self, name: str) -> Iterator[None]:
        """Hold a folder closed: for work on its files, and to recycle its client."""
        with self._changed:
            folder = self._idle(name)
            folder.busy = True
        try:
            self._close(folder)
            yield
        finally:
            with self._changed:
                folder.busy = False
                self._forget(name)
                self._changed.notify_all()

    def close(self) -> None:
        """Close all, waiting for those in use."""
        with self._changed:
            names = list(self._folders)
        for name in names:
            with self.closed(name):
                pass

    def _enter(self, name: str, collection: str) -> _Folder[C]:
        with self._changed:
            folder = self._free(name)
            if folder.client is not None and not self._full(folder, collection):
                return self._take(name, folder, collection)
            folder = self._idle(name)
            folder.busy = True
        try:
            if self._full(folder, collection):
                self._close(folder)
            if folder.client is None:
                folder.client = self._opener(name)
        finally:
            with self._changed:
                folder.busy = False
                self._changed.notify_all()
                if folder.client is not None:
                    self._take(name, folder, collection)
                else:
                    self._forget(name)
        return folder

    def _full(self, folder: _Folder[C], collection: str) -> bool:
        return collection not in folder.touched and len(folder.touched) >= self._limits.each()

    def _take(self, name: str, folder: _Folder[C], collection: str) -> _Folder[C]:
        folder.touched.add(collection)
        self._folders.move_to_end(name)
        self._make_room(folder)
        folder.leases += 1
        return folder

    def _make_room(self, keep: _Folder[C]) -> None:
        for name, folder in list(self._folders.items()):
            touched = sum(len(other.touched) for other in self._folders.values())
            if len(self._folders) <= self._limits.folders and touched <= self._limits.touched_all:
                return
            if folder is not keep and not folder.leases and not folder.busy:
                self._close(folder)
                self._forget(name)

    def _free(self, name: str) -> _Folder[C]:
        return self._wait(name, lambda folder: not folder.busy)

    def _idle(self, name: str) -> _Folder[C]:
        return self._wait(name, lambda folder: not folder.busy and not folder.leases)

    def _wait(self, name: str, ready: Callable[[_Folder[C]], bool]) -> _Folder[C]:
        def found() -> bool:
            return ready(self._folders.setdefault(name, _Folder()))

        if not self._changed.wait_for(found, self._limits.wait_seconds):
            msg = f"The folder {name} of the index is held by a call that does not end; restart the program if this goes on."
            raise IndexUnavailable(msg)
        return self._folders[name]

    def _forget(self, name: str) -> None:
        if (folder := self._folders.get(name)) is not None and folder.client is None and not folder.leases and not folder.busy:
            del self._folders[name]

    @staticmethod
    def _close(folder: _Folder[C]) -> None:
        client, folder.client = folder.client, None
        folder.touched.clear()
        if client is not None:
            client.close()
            give_memory_back()


def give_memory_back() -> None:
    """Ask glibc to return what a closed client freed; elsewhere nothing happens."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
