"""One process a data directory: a lock that the system releases when its holder dies, however it dies."""

import os
from pathlib import Path
from typing import Self

from memory.errors import DirectoryInUse, StoreUnavailable

try:
    import fcntl
except ImportError:  # pragma: no cover - not a POSIX system
    fcntl = None  # type: ignore[assignment]  # the code below asks
try:
    import msvcrt
except ImportError:  # not Windows
    msvcrt = None  # type: ignore[assignment]  # the code below asks

_LOCKED_BYTE = 1 << 20  # Windows locks bytes against reading too: lock one behind the process id


class InstanceLock:
    """The held lock of a data directory. Made by `take`."""

    def __init__(self, path: Path, descriptor: int) -> None:
        """Take over an open, locked file; `take` makes it."""
        self.path = path
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, directory: Path) -> Self:
        """Lock the directory for this process, creating it where missing.

        Raises:
            DirectoryInUse: another process, or another memory in this one, holds it.
            StoreUnavailable: the directory cannot be created or written.
        """
        path = directory / "lock"
        try:
            directory.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreUnavailable(
                f"{path}: {error.strerror}; check the owner and mode of the directory, or choose another data directory"
            ) from error
        try:
            _lock(descriptor)
        except OSError as error:
            holder = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() if hasattr(os, "pread") else ""
            os.close(descriptor)
            raise DirectoryInUse(
                f"{directory} is in use by process {holder or 'unknown'}: stop it, or choose another data directory"
            ) from error
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        return cls(path, descriptor)

    def release(self) -> None:
        """Give the directory free. The file stays: deleting it would let two processes lock two files. Twice is fine."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _lock(descriptor: int) -> None:
    if fcntl is not None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:  # pragma: no cover - Windows
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
