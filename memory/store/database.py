"""One SQLite file: one thread writes, in serial transactions; reads go on beside it, each on a snapshot of its own.

A function given to `write` runs on the writer's thread in one `BEGIN IMMEDIATE` transaction. Once it has begun, it commits or
rolls back, whatever becomes of the task that awaits it: a cancelled task cannot leave the file locked.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DatabaseError, InterfaceError
from sqlalchemy.ext.asyncio import AsyncEngine, AsyncSession, create_async_engine
from sqlalchemy.pool import StaticPool

from memory.errors import MemoryClosed, StoreUnavailable
from memory.store.prepared import dump
from memory.store.read_threads import ReadThreads, driver_connection
from memory.store.schema import check_schema, migrate, unavailable

T = TypeVar("T")
_CLOSED = "the memory was closed; open it again"
_BUSY_MS = 5000
_CHECKPOINT_SECONDS = 0.25
_LOOKS, _LOOK_SECONDS = 100, 0.1  # for a moment without readers, in which the log can be cut
_READERS = 4
_READS_END_SECONDS = 1.0  # what is being read may end, before the memory closes without it
_WRITER_CACHE_KB = (
    16 * 1024
)  # an order to forget touches a thousand pages all over the file; SQLite's own 2 MB hold half of them
_WAL_LIMIT_BYTES = 64 * 1024 * 1024
_AUTOCHECKPOINT_PAGES = 16384  # a net only: checkpoints run in the background, off the writer
# What SQLite or the system says, in the order of asking, and what to do about it.


def _is_of_the_store(error: DatabaseError | InterfaceError) -> bool:
    """Whether the file is at fault, not the statement: a violated constraint is the caller's."""
    return isinstance(error.orig, sqlite3.OperationalError) or type(error.orig) is sqlite3.DatabaseError


def _writer_engine(path: Path, synchronous: str) -> Engine:
    engine = create_engine(
        f"sqlite:///{path}",
        poolclass=StaticPool,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": _BUSY_MS / 1000},
        json_serializer=dump,
    )

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        for pragma in (
            "journal_mode=WAL",
            f"synchronous={synchronous}",
            "foreign_keys=ON",
            "secure_delete=ON",
            f"cache_size=-{_WRITER_CACHE_KB}",
            f"busy_timeout={_BUSY_MS}",
            f"journal_size_limit={_WAL_LIMIT_BYTES}",
            f"wal_autocheckpoint={_AUTOCHECKPOINT_PAGES}",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _reader_engine(path: Path) -> AsyncEngine:
    engine = create_async_engine(
        f"sqlite+aiosqlite:///{path}",
        pool_size=_READERS,
        max_overflow=0,
        connect_args={"isolation_level": None, "timeout": _BUSY_MS / 1000},
    )

    @event.listens_for(engine.sync_engine, "connect")
    def prepare(connection: Any, _: object) -> None:  # noqa: ANN401 - SQLAlchemy's adapter has no public type
        cursor = connection.cursor()
        for pragma in (f"busy_timeout={_BUSY_MS}", "foreign_keys=ON", "query_only=ON"):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begin(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine


class Database:
    """The memory's file. Made by `open`; one event loop only."""

    def __init__(self, path: Path, writer: Engine, readers: AsyncEngine, thread: ThreadPoolExecutor) -> None:
        """Take engines that are ready; `open` makes them."""
        self.path = path
        self._writer = writer
        self._readers = readers
        self._thread = thread
        self._closed = False
        self._connection: Connection | None = None
        self._read_threads = ReadThreads(path, threads=_READERS, busy_ms=_BUSY_MS)
        self._reads, self._idle = 0, asyncio.Event()

    @classmethod
    async def open(cls, path: Path, *, synchronous: str = "normal") -> Self:
        """Open or create the file, bring its schema up to date, and start the writer.

        `synchronous` is `normal` (safe against a crash of the program) or `full` (against power loss too).

        Raises:
            ValueError: `synchronous` is neither.
            SchemaTooNew: a newer program wrote the file.
            StoreUnavailable: the file cannot be opened, read or written.
        """
        if synchronous not in {"normal", "full"}:
            raise ValueError(f"synchronous must be normal or full, not {synchronous!r}")
        await asyncio.to_thread(_prepare_file, path)
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-writer")
        return cls(path, _writer_engine(path, synchronous), _reader_engine(path), thread)

    @classmethod
    async def open_existing(cls, path: Path) -> Self:
        """Open a file for `reading` alone, as it is: nothing is created or migrated, and whoever writes to it goes on.

        Raises:
            SchemaTooNew: a newer program wrote the file.
            StoreUnavailable: there is no such file, it cannot be read, or an older program wrote it.
        """
        try:
            await asyncio.to_thread(check_schema, path)
        except (DatabaseError, sqlite3.Error, OSError) as error:
            raise unavailable(path, error) from error
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-writer")
        return cls(path, create_engine("sqlite://"), _reader_engine(path), thread)

    async def write(self, fn: Callable[[Connection], T], *, committed: Callable[[T], None] | None = None) -> T:
        """Run `fn` in one transaction on the writer's thread and return what it returns; what it raises rolls back.

        Cancelled before its turn came, it does not run; cancelled later, it still ends in a commit or a rollback. After a
        commit `committed` gets the result, on the same thread, also where nobody awaits it any more: caches follow the disk.

        Raises:
            MemoryClosed: after `close`.
            StoreUnavailable: the disk is full, the file locked, unwritable or damaged; nothing was stored.
        """
        if self._closed:
            raise MemoryClosed(_CLOSED)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._transact, fn, committed)

    def _transact(self, fn: Callable[[Connection], T], committed: Callable[[T], None] | None) -> T:
        with self._told(), self._transaction() as connection:
            result = fn(connection)
        if committed is not None:
            committed(result)
        return result

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Raise StoreUnavailable for what the file is at fault for."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise unavailable(self.path, error) from error
        except (DatabaseError, InterfaceError) as error:
            if _is_of_the_store(error):
                raise unavailable(self.path, error) from error
            raise

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """Give the writer's connection within one transaction of SQLite's own: the engine's costs a turn 0.2 ms more."""
        if self._connection is None:
            self._connection = self._writer.connect()
        connection, raw = self._connection, driver_connection(self._connection)
        raw.execute("BEGIN IMMEDIATE")
        try:
            yield connection
            connection.commit()  # what the engine began by itself
            raw.commit()
        finally:  # nothing is left to roll back after a commit
            connection.rollback()
            raw.rollback()

    async def read(self, fn: Callable[[Connection], T]) -> T:
        """Run `fn` on a reader's thread, on one snapshot that it cannot change, and return what it returns: for the hot path.

        Cancelled before its turn came, it does not run; cancelled later, it ends by itself and leaves nothing locked.

        Raises:
            MemoryClosed: after `close`.
            StoreUnavailable: the file cannot be read.
        """
        if self._closed:
            raise MemoryClosed(_CLOSED)
        with self._told():
            return await asyncio.wrap_future(self._read_threads.submit(fn))

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[AsyncSession]:
        """Give a session that can only read, on one snapshot. Keep it short: no model, no index inside.

        Raises:
            MemoryClosed: after `close`.
            StoreUnavailable: the file cannot be read.
        """
        if self._closed:
            raise MemoryClosed(_CLOSED)
        self._reads += 1
        try:
            with self._told():
                async with AsyncSession(self._readers, expire_on_commit=False) as session:
                    try:
                        yield session
                    finally:
                        if self._closed:  # its pool is gone: nobody would close what is given back to it
                            await session.invalidate()
        finally:
            self._reads -= 1
            self._idle.set()

    async def checkpoint(self) -> int:
        """Move the write-ahead log into the file without disturbing the writer; return the pages that are still in the log."""
        return await asyncio.to_thread(_checkpoint, self.path)

    async def scrub(self) -> None:
        """Leave no byte of what was deleted: in free pages, in the gaps of pages, in the log, in copies made by upgrades.

        `secure_delete` overwrites what is deleted in place, yet a page that was split keeps a copy of what moved away: the
        file is written anew. Readers go on meanwhile, writers wait (0.1 s for 20 MB).

        Raises:
            MemoryClosed: after `close`.
            StoreUnavailable: bytes may be left; call again.
        """
        if self._closed:
            raise MemoryClosed(_CLOSED)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._vacuum)
        for _ in range(_LOOKS):
            if await asyncio.to_thread(_checkpoint, self.path, "TRUNCATE") == 0:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        else:
            raise StoreUnavailable(f"{self.path}: a reader holds the log, and what was deleted may stand in it: try again")
        for copy in self.path.parent.glob(f"{self.path.stem}-before-*{self.path.suffix}*"):
            copy.unlink(missing_ok=True)

    def _vacuum(self) -> None:
        raw = self._writer.raw_connection()
        cursor = raw.cursor()
        try:
            cursor.execute("VACUUM")
        except sqlite3.Error as error:
            raise unavailable(self.path, error) from error
        finally:
            cursor.close()
            raw.close()

    def _close_writer(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        self._writer.dispose()

    async def close(self) -> None:
        """Let running transactions end, then close every connection. Closing twice is fine.

        A read that goes on for longer than a second keeps its connection, and closes it when it ends.
        """
        if self._closed:
            return
        self._closed = True
        await asyncio.get_running_loop().run_in_executor(self._thread, self._close_writer)
        self._thread.shutdown(wait=False)
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(self._read_threads.close, _READS_END_SECONDS))
            group.create_task(self._close_sessions())

    async def _close_sessions(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_READS_END_SECONDS):
                while self._reads:
                    self._idle.clear()
                    await self._idle.wait()
        await self._readers.dispose()


def _prepare_file(path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        migrate(path)
    except (DatabaseError, sqlite3.Error, OSError) as error:
        raise unavailable(path, error) from error


def _checkpoint(path: Path, mode: str = "PASSIVE") -> int:
    """Return the pages that are still in the log; a log that cannot be cut counts as one page at least."""
    connection = sqlite3.connect(path, timeout=_CHECKPOINT_SECONDS)
    try:
        busy, pages, moved = connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
    except sqlite3.Error as error:
        raise unavailable(path, error) from error
    finally:
        connection.close()
    return max(int(busy), int(pages) - int(moved))
