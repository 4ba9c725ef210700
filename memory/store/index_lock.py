"""One process at a time works in the folders of the index: a child outlives a parent that was killed by some milliseconds."""

import threading
import time
from pathlib import Path

from memory.errors import DirectoryInUse, IndexUnavailable, StoreUnavailable
from memory.store.instance_lock import InstanceLock

_LOOK_SECONDS = 0.02


def take_folders(root: Path, *, wait_seconds: float = 10.0) -> InstanceLock:
    """Lock the directory of the index, waiting for whoever still works there; the system releases it when its holder dies.

    Raises:
        IndexUnavailable: another process, or another index in this one, still holds it; or the directory cannot be written.
    """
    deadline, pause = time.monotonic() + wait_seconds, threading.Event()
    while True:
        try:
            return InstanceLock.take(root)
        except StoreUnavailable as error:
            msg = f"{error}. Check that the data directory is writable; the index itself can be rebuilt."
            raise IndexUnavailable(msg) from error
        except DirectoryInUse as error:
            if time.monotonic() > deadline:
                msg = f"The vector index stayed in use for {wait_seconds:.0f} s: {error}. End that process, then start again."
                raise IndexUnavailable(msg) from error
        pause.wait(_LOOK_SECONDS)
