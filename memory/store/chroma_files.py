"""What is done to a folder of the index on disk while no client has it open: settings, and cleaning that leaves no bytes.

Chroma leaves vectors, directories and rows behind when it deletes; SQLite keeps freed pages until VACUUM.

Two copies of SQLite in one process (Chroma links its own) must never have the same file open: closing it in one drops the
locks of the other, and the process dies of SIGBUS. A closed client lets go of its file a millisecond late, so we wait for that.
"""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psutil
import structlog

from memory.store import seals
from memory.store.seals import Graph, graphs

_DATABASE = "chroma.sqlite3"
_DESCRIPTORS = Path("/proc/self/fd")
_RELEASE_SECONDS = 5.0
_PERSISTED = "index_metadata.pickle"
_INDEXES = (  # each write and each first touch looks these up; Chroma itself scans all vectors of the folder
    "CREATE INDEX IF NOT EXISTS ricordo_queue_topic ON embeddings_queue (topic, seq_id)",
    "CREATE INDEX IF NOT EXISTS ricordo_segments_collection ON segments (collection)",
)
_IDS = """
SELECT c.name, e.embedding_id FROM embeddings AS e JOIN segments AS s ON s.id = e.segment_id
JOIN collections AS c ON c.id = s.collection WHERE s.scope = 'METADATA'
"""
_LEFT_BEHIND = (
    "DELETE FROM embedding_metadata_array WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embedding_metadata WHERE id NOT IN (SELECT id FROM embeddings)",
    "DELETE FROM embeddings_queue AS q WHERE NOT EXISTS (SELECT 1 FROM collections AS c WHERE instr(q.topic, c.id) > 0)",
    "INSERT INTO embedding_fulltext_search (embedding_fulltext_search) VALUES ('optimize')",
)
log = structlog.get_logger(__name__)


def exists(folder: Path) -> bool:
    """Return whether Chroma ever worked in this folder."""
    return (folder / _DATABASE).is_file()


def is_made(folder: Path) -> bool:
    """Return whether Chroma's tables are there: killed while it made them, Chroma leaves a database without.

    Raises:
        sqlite3.DatabaseError: the file is no database.
    """
    if not exists(folder):
        return False
    with _database(folder) as connection:
        made = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'collections'"
        return bool(connection.execute(made).fetchone()[0])


def tune(folder: Path) -> dict[str, Graph]:
    """Set the write-ahead log and the indexes, both kept in the file; return the graphs that lie beside it.

    Without the indexes the folder is merely slower.

    Raises:
        sqlite3.DatabaseError: the file is no database (any more), or it cannot be written.
    """
    with _database(folder) as connection:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("SELECT count(*) FROM collections").fetchall()
        try:
            for statement in _INDEXES:
                connection.execute(statement)
        except sqlite3.OperationalError as error:
            log.warning("index_tuning_failed", folder=folder.name, error=str(error))
        return graphs(connection)


def sound(folder: Path) -> bool:
    """Return whether SQLite finds the database of a closed folder whole; True where it cannot tell (locked, no rights).

    Raises:
        OSError: the folder is still open.
    """
    try:
        with _database(folder) as connection:
            return [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")] == ["ok"]
    except sqlite3.OperationalError:
        return True
    except sqlite3.DatabaseError:
        return False


def seal(folder: Path) -> None:
    """Write down what the graphs of a closed folder are, so that the next opening sees whether they were spoilt.

    Raises:
        sqlite3.DatabaseError, OSError: the folder is still open, or cannot be read or written.
    """
    with _database(folder) as connection:
        found = graphs(connection)
    seals.seal(folder, found)


def names(folder: Path) -> list[str]:
    """Return the collections Chroma has in this folder."""
    if not is_made(folder):
        return []
    with _database(folder) as connection:
        return [row[0] for row in connection.execute("SELECT name FROM collections")]


def ids(folder: Path) -> dict[str, set[str]]:
    """Return the ids that each collection of a folder holds, also while another process works in it.

    Raises:
        sqlite3.DatabaseError, OSError: it cannot be read.
    """
    if not exists(folder):
        return {}
    found: dict[str, set[str]] = {}
    with reading(folder) as connection:
        for name, identity in connection.execute(_IDS):
            found.setdefault(name, set()).add(identity)
    return found


@contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """Give the database of a folder for reading alone, also while another process works in it.

    Raises:
        sqlite3.DatabaseError, OSError: it cannot be read.
    """
    _await_release(folder)
    file = (folder / _DATABASE).absolute().as_uri()
    with closing(sqlite3.connect(f"{file}?mode=ro", uri=True, timeout=10)) as connection:
        yield connection


def sweep(folder: Path) -> None:
    """Remove every byte of what was deleted: rows, pages, the log, and directories of collections that are gone.

    Raises:
        sqlite3.DatabaseError, OSError: the folder is still open, or cannot be read or written.
    """
    with _database(folder) as connection:
        for statement in _LEFT_BEHIND:
            connection.execute(statement)
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        segments = {row[0] for row in connection.execute("SELECT id FROM segments")}
    for directory in folder.iterdir():
        if directory.is_dir() and directory.name not in segments:
            shutil.rmtree(directory)
    prune(folder)


def prune(folder: Path) -> None:
    """Remove directories of collections that Chroma builds from its database anyway: 0.2 MB each, with nothing in them.

    Raises:
        OSError: the folder is still open, or cannot be written.
    """
    _await_release(folder)
    for directory in folder.iterdir():
        if directory.is_dir() and not (directory / _PERSISTED).exists():
            shutil.rmtree(directory)


def remove(folder: Path) -> None:
    """Remove a folder that is no database any more; it is built anew from SQL.

    Raises:
        OSError: this process still has it open.
    """
    _await_release(folder)
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _database(folder: Path) -> Iterator[sqlite3.Connection]:
    _await_release(folder)
    with closing(sqlite3.connect(folder / _DATABASE, timeout=10, isolation_level=None)) as connection:
        yield connection


def _await_release(folder: Path) -> None:
    prefix, pause = f"{folder.resolve()}{os.sep}", threading.Event()
    deadline = time.monotonic() + _RELEASE_SECONDS
    while any(path.startswith(prefix) for path in _open_files()):
        if time.monotonic() > deadline:
            msg = f"{folder} is still open in this process"
            raise OSError(msg)
        pause.wait(0.0005)


def _open_files() -> list[str]:
    if not _DESCRIPTORS.is_dir():
        return [file.path for file in psutil.Process().open_files()]
    paths = []
    for descriptor in os.listdir(_DESCRIPTORS):  # noqa: PTH208  ten times faster than building paths
        with suppress(OSError):  # closed meanwhile
            paths.append(os.readlink(f"/proc/self/fd/{descriptor}"))  # noqa: PTH115  the same
    return paths
