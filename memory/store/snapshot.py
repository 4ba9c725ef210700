"""A copy of the database as it is at one moment, made while others write to it, compact and without what was deleted."""

import sqlite3
from contextlib import closing
from pathlib import Path

from memory.store.schema import unavailable

_BUSY_SECONDS = 5.0


def take(source: Path, target: Path) -> None:
    """Copy the database `source` to a new file `target`, in one read transaction; writers go on meanwhile.

    The copy is written page by page from the rows (VACUUM INTO), so that nothing of what was deleted lies between them.

    Raises:
        StoreUnavailable: it cannot be read, or the disk is full.
    """
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("VACUUM INTO ?", (str(target),))
    except sqlite3.Error as error:
        raise unavailable(source, error) from error


def faults(path: Path) -> list[str]:
    """Return what SQLite finds wrong with a file, nothing where it is sound.

    Raises:
        StoreUnavailable: it is no database at all.
    """
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=_BUSY_SECONDS)) as connection:
            return [str(row[0]) for row in connection.execute("PRAGMA quick_check(5)") if row[0] != "ok"]
    except sqlite3.Error as error:
        raise unavailable(path, error) from error


def settle(path: Path) -> None:
    """Fold the write-ahead log into the file and remove it, so that the file alone is the database; nobody has it open.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE").fetchall()
    except sqlite3.Error as error:
        raise unavailable(path, error) from error
