"""Which folder a collection lives in: by kind, then by order of first appearance, so that tonight's viewers share few folders.

`registry.db` remembers the places, what was really made, and what waits to be cleaned. It holds no vectors and no text.
"""

import hashlib
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self
from uuid import uuid4

from memory.errors import IndexUnavailable

Kind = Literal["viewers", "streams", "core"]
CAPACITY: dict[Kind, int] = {
    "viewers": 400,
    "streams": 64,
    "core": 400,
}  # collections a folder; a stream holds thousands of vectors
_VALID = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9_-]|\.(?!\.)){1,126}[a-zA-Z0-9]")
_NUMBERS_AND_DOTS = re.compile(r"[0-9.]+")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS place (
    name TEXT PRIMARY KEY, kind TEXT NOT NULL, ordinal INTEGER NOT NULL, folder TEXT NOT NULL, made INTEGER NOT NULL DEFAULT 0,
    UNIQUE (kind, ordinal)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counter (kind TEXT PRIMARY KEY, next INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS identity (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unclean (folder TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (folder, name)) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a collection lives."""

    name: str  # as Chroma knows it
    folder: str  # below `<data_dir>/chroma`
    made: bool  # it was written once: if Chroma does not have it, it was lost


def chroma_name(collection: str) -> str:
    """Return a name Chroma accepts: the collection's own where it is valid, a digest of it where it is not."""
    if _VALID.fullmatch(collection) and not _NUMBERS_AND_DOTS.fullmatch(collection):
        return collection
    digest = hashlib.sha256(collection.encode("utf-8", "surrogatepass")).hexdigest()[:40]
    return f"{_kind_word(collection)}x-{digest}"


def kind_of(name: str) -> Kind:
    """Return the kind of folder a collection belongs to."""
    if name.startswith("viewer"):
        return "viewers"
    return "streams" if name.startswith("stream") else "core"


def folder_of(kind: Kind, ordinal: int) -> str:
    """Return the folder of the `ordinal`-th collection of its kind, such as `viewers/007`."""
    number = ordinal // CAPACITY[kind]
    if kind == "core":
        return "core" if number == 0 else f"core/{number:03d}"
    return f"{kind}/{number:03d}" if kind == "viewers" else f"{kind}/{number}"


def _kind_word(collection: str) -> str:
    return {"viewers": "viewer", "streams": "stream", "core": "other"}[kind_of(collection)]


class Registry:
    """The places of all collections, in one small SQLite file. One thread at a time; every change is one transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        """Work on an open connection: `Registry.open` makes it."""
        self._db = connection
        self._path = path
        self._inode = path.stat().st_ino
        with _Transaction(connection):
            connection.execute("INSERT INTO identity SELECT ? WHERE NOT EXISTS (SELECT 1 FROM identity)", (uuid4().hex,))
        self.identity: str = connection.execute("SELECT id FROM identity").fetchone()[0]

    @classmethod
    def open(cls, root: Path) -> Self:
        """Open, or create, `<root>/registry.db`; one that was lost or spoilt is derived from the folders again.

        Raises:
            IndexUnavailable: the directory cannot be written.
        """
        path = root / "registry.db"
        try:
            root.mkdir(parents=True, exist_ok=True)
            registry = cls._try(path)
            if registry is None:
                for spoilt in root.glob("registry.db*"):
                    spoilt.unlink()
                registry = cls._try(path)
        except (OSError, sqlite3.OperationalError) as error:
            raise _unavailable(f"{path} cannot be opened: {error}") from error
        if registry is None:
            raise _unavailable(f"{path} cannot be created")
        registry.derive(root)
        return registry

    @classmethod
    def _try(cls, path: Path) -> Self | None:
        connection = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
        try:
            connection.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;" + _SCHEMA)
        except sqlite3.OperationalError:
            connection.close()
            raise
        except sqlite3.DatabaseError:
            connection.close()
            return None
        return cls(connection, path)

    def moved(self) -> bool:
        """Return whether the file is gone from its place, or another lies there."""
        try:
            return self._path.stat().st_ino != self._inode
        except OSError:
            return True

    def everything(self) -> set[str]:
        """Return the names of all collections that have a place."""
        return {row[0] for row in self._db.execute("SELECT name FROM place")}

    def find(self, name: str) -> Place | None:
        """Return where a collection lives, None where it has no place."""
        row = self._db.execute("SELECT name, folder, made FROM place WHERE name = ?", (name,)).fetchone()
        return None if row is None else Place(name=row[0], folder=row[1], made=bool(row[2]))

    def assign(self, names: Iterable[str]) -> dict[str, tuple[Place, bool]]:
        """Return the place of each name, and whether it was given out just now. One transaction."""
        found: dict[str, tuple[Place, bool]] = {}
        with _Transaction(self._db):
            for name in names:
                place = self.find(name)
                found[name] = (place, False) if place else (self._place(name), True)
        return found

    def _place(self, name: str) -> Place:
        kind = kind_of(name)
        row = self._db.execute("SELECT next FROM counter WHERE kind = ?", (kind,)).fetchone()
        ordinal = row[0] if row else 0
        folder = folder_of(kind, ordinal)
        self._db.execute("INSERT OR REPLACE INTO counter VALUES (?, ?)", (kind, ordinal + 1))
        self._db.execute("INSERT INTO place (name, kind, ordinal, folder) VALUES (?, ?, ?, ?)", (name, kind, ordinal, folder))
        return Place(name=name, folder=folder, made=False)

    def mark_made(self, names: Sequence[str]) -> None:
        """Remember that these collections exist."""
        with _Transaction(self._db):
            self._db.executemany("UPDATE place SET made = 1 WHERE name = ?", [(name,) for name in names])

    def forget(self, name: str, folder: str) -> None:
        """Give a place up and remember that its folder holds remains."""
        with _Transaction(self._db):
            self._db.execute("DELETE FROM place WHERE name = ?", (name,))
            self._db.execute("DELETE FROM unclean WHERE name = ?", (name,))
            self._db.execute("INSERT OR IGNORE INTO unclean VALUES (?, '')", (folder,))

    def mark_unclean(self, name: str, folder: str) -> None:
        """Remember that deleted vectors of this collection may still be readable in its folder."""
        with _Transaction(self._db):
            self._db.execute("INSERT OR IGNORE INTO unclean VALUES (?, ?)", (folder, name))

    def names(self, folder: str) -> set[str]:
        """Return the collections that belong in a folder."""
        return {row[0] for row in self._db.execute("SELECT name FROM place WHERE folder = ?", (folder,))}

    def unclean(self) -> dict[str, list[str]]:
        """Return the folders to clean, with the collections to write anew in each."""
        folders: dict[str, list[str]] = {}
        for folder, name in self._db.execute("SELECT folder, name FROM unclean ORDER BY folder, name"):
            folders.setdefault(folder, []).extend([name] if name else [])
        return folders

    def mark_clean(self, folder: str) -> None:
        """Remember that a folder was cleaned."""
        with _Transaction(self._db):
            self._db.execute("DELETE FROM unclean WHERE folder = ?", (folder,))

    def scrub(self) -> None:
        """Leave no trace of forgotten names in the file or its log."""
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def derive(self, root: Path) -> None:
        """Read the places from the folders, where the file is new and they are not."""
        if self._db.execute("SELECT EXISTS (SELECT 1 FROM counter)").fetchone()[0]:
            return
        with _Transaction(self._db):
            for kind in CAPACITY:
                folders = sorted(_folders(root, kind), key=lambda found: found[0])
                for number, path in folders:
                    self._adopt(root, path, kind, number)

    def _adopt(self, root: Path, path: Path, kind: Kind, number: int) -> None:
        folder, first = path.relative_to(root).as_posix(), number * CAPACITY[kind]
        rows = [(name, kind, first + slot, folder) for slot, name in enumerate(_names(path)) if slot < CAPACITY[kind]]
        self._db.executemany("INSERT OR IGNORE INTO place (name, kind, ordinal, folder, made) VALUES (?, ?, ?, ?, 1)", rows)
        # A fresh folder comes next: what else the unreadable ones hold is not known.
        self._db.execute("INSERT OR REPLACE INTO counter VALUES (?, ?)", (kind, first + CAPACITY[kind]))


class _Transaction:
    """BEGIN IMMEDIATE … COMMIT, or ROLLBACK on any error."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection

    def __enter__(self) -> None:
        self._db.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._db.execute("COMMIT" if kind is None else "ROLLBACK")


def _folders(root: Path, kind: Kind) -> list[tuple[int, Path]]:
    found = [(int(path.name), path) for path in (root / kind).glob("*") if path.name.isdecimal()]
    return [*found, (0, root / "core")] if kind == "core" and (root / "core").is_dir() else found


def _names(folder: Path) -> list[str]:
    file = folder / "chroma.sqlite3"
    if not file.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return [row[0] for row in connection.execute("SELECT name FROM collections ORDER BY rowid")]
    except sqlite3.Error:
        return []


def _unavailable(what: str) -> IndexUnavailable:
    return IndexUnavailable(f"{what}. Check that the data directory is writable and not full; the index itself can be rebuilt.")
