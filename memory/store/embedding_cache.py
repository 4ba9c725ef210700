"""Vectors by content: SHA-256 of model and text, float16, in a SQLite file of its own that may be lost at any time."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import structlog

from memory.ports import Vectors

_SCHEMA = """
PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON;
CREATE TABLE IF NOT EXISTS vector (key BLOB PRIMARY KEY, used INTEGER NOT NULL, value BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS vector_used ON vector (used);
"""
_KEEP = 0.9  # of the bound, when it is pruned
_KEYS = 500  # a statement
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
log = structlog.get_logger(__name__)


class EmbeddingCache:
    """Keys to vectors on disk, on one thread. A spoilt file is replaced, a failing one counts as empty: both are logged."""

    def __init__(self, path: Path, *, max_rows: int = 200_000) -> None:
        """Use `path`, about 1.2 KB a row; beyond `max_rows` the least recently used go. Nothing is opened yet."""
        self._path, self._max_rows = path, max_rows
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="embeddings")
        self._db: sqlite3.Connection | None = None
        self._rows = self._tick = 0
        self._hits: set[bytes] = set()
        self._closed = False

    async def get(self, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are there, each (dimension,)."""
        return await self._run(lambda db: self._get(db, keys)) or {}

    async def put(self, vectors: Mapping[bytes, Vectors]) -> None:
        """Store vectors, each (dimension,)."""
        if vectors:
            await self._run(lambda db: self._put(db, vectors))

    async def forget(self, keys: Sequence[bytes]) -> None:
        """Erase vectors, bytes included: what forgotten texts left here."""
        await self._run(lambda db: self._forget(db, keys))

    async def clear(self) -> None:
        """Erase all vectors, bytes included."""
        await self._run(self._clear)

    async def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._executor, self._close)
        self._executor.shutdown(wait=False)

    async def _run(self, work: Work[T]) -> T | None:
        if self._closed:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._executor, self._guarded, work)

    def _guarded(self, work: Work[T]) -> T | None:
        try:
            return work(self._open())
        except (sqlite3.OperationalError, OSError) as error:
            log.warning("embedding_cache_failed", path=str(self._path), error=str(error))
        except sqlite3.DatabaseError as error:
            log.warning("embedding_cache_replaced", path=str(self._path), error=str(error))
            self._close()
            for file in self._path.parent.glob(f"{self._path.name}*"):
                file.unlink(missing_ok=True)
        return None

    def _open(self) -> sqlite3.Connection:
        if self._db is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._path, timeout=5, check_same_thread=False)
            self._db.executescript(_SCHEMA)
            self._rows, self._tick = self._db.execute("SELECT count(*), coalesce(max(used), 0) FROM vector").fetchone()
        return self._db

    def _get(self, db: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, Vectors]:
        found: dict[bytes, Vectors] = {}
        for start in range(0, len(keys), _KEYS):
            part = keys[start : start + _KEYS]
            marks = ",".join("?" * len(part))
            rows = db.execute(f"SELECT key, value FROM vector WHERE key IN ({marks})", part)  # noqa: S608  question marks alone
            found.update((key, np.frombuffer(value, dtype="<f2").astype(np.float32)) for key, value in rows)
        self._hits.update(found)
        return found

    def _put(self, db: sqlite3.Connection, vectors: Mapping[bytes, Vectors]) -> None:
        self._tick += 1
        hits, self._hits = self._hits, set()
        with db:
            db.executemany("UPDATE vector SET used = ? WHERE key = ?", [(self._tick, key) for key in hits])
            before = db.total_changes
            rows = [(key, self._tick, vector.astype("<f2").tobytes()) for key, vector in vectors.items()]
            db.executemany("INSERT OR IGNORE INTO vector VALUES (?, ?, ?)", rows)
            self._rows += db.total_changes - before
            if self._rows > self._max_rows:
                self._prune(db)

    def _prune(self, db: sqlite3.Connection) -> None:
        surplus = self._rows - int(self._max_rows * _KEEP)
        oldest = "DELETE FROM vector WHERE key IN (SELECT key FROM vector ORDER BY used, rowid LIMIT ?)"
        self._rows -= db.execute(oldest, (surplus,)).rowcount

    def _forget(self, db: sqlite3.Connection, keys: Sequence[bytes]) -> None:
        self._hits.difference_update(keys)
        with db:
            before = db.total_changes
            db.executemany("DELETE FROM vector WHERE key = ?", [(key,) for key in keys])
            self._rows -= db.total_changes - before
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _clear(self, db: sqlite3.Connection) -> None:
        self._hits.clear()
        with db:
            db.execute("DELETE FROM vector")
        self._rows = 0
        db.execute("VACUUM")  # pages that were split keep copies of what is deleted
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def _close(self) -> None:
        connection, self._db = self._db, None
        if connection is not None:
            connection.close()
