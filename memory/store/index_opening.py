"""What the memory and the process of its index agree on: what is opened, and which calls write."""

from dataclasses import dataclass
from pathlib import Path

from memory.store.folders import FolderLimits

WRITES = frozenset({"upsert", "delete", "drop", "vacuum", "look"})  # one at a time; every other call only reads
CLOSE = "close"


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What the parent sends first: the index to be opened."""

    root: Path  # absolute: the child may stand elsewhere
    limits: FolderLimits
    exact_rows: int  # collections of up to so many vectors are read whole
