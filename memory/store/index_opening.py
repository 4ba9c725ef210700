"""What the memory and the process of its index agree on: what is opened, which calls write, and whose signals are whose."""

import signal
from dataclasses import dataclass
from pathlib import Path

from memory.store.folders import FolderLimits

WRITES = frozenset({"upsert", "delete", "drop", "vacuum", "look"})  # one at a time; every other call only reads
CLOSE = "close"
# A terminal or systemd sends these to the whole group: the parent ends the child in order, or reads its files anew.
LEFT_TO_THE_PARENT = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What the parent sends first: the index to be opened."""

    root: Path  # absolute: the child may stand elsewhere
    limits: FolderLimits
    exact_rows: int  # collections of up to so many vectors are read whole
