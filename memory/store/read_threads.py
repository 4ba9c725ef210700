"""Short reads on threads of their own: one hop a call, to a connection that is open already, and one snapshot.

A session of the asynchronous engine hops to a thread and back for each of its steps: 2.5 ms a read, of which SQLite takes 0.2.
"""

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool

T = TypeVar("T")


def driver_connection(connection: Connection) -> sqlite3.Connection:
    """Return SQLite's own connection below the engine's."""
    raw = connection.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        msg = f"the engine has no connection of SQLite's own, but {type(raw).__name__}"
        raise TypeError(msg)
    return raw


def _engine(path: Path, busy_ms: int) -> Engine:
    connect_args = {"check_same_thread": False, "isolation_level": None, "timeout": busy_ms / 1000}
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args=connect_args)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.execute("PRAGMA query_only=ON")

    return engine


class ReadThreads:
    """A few threads and as many connections, opened when they are needed; each serves one call at a time."""

    def __init__(self, path: Path, *, threads: int, busy_ms: int) -> None:
        """Open nothing yet."""
        self._engine = _engine(path, busy_ms)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="memory-reader")
        self._under_way: set[Future[Any]] = set()
        self._lock = Lock()
        self._idle: list[Connection] = []  # the one used last goes first: its pages are still cached
        self._closed = False

    def submit(self, fn: Callable[[Connection], T]) -> "Future[T]":
        """Have `fn` run with a connection that can only read, on one snapshot. Cancelled before its turn, it does not run."""
        future = self._pool.submit(self._run, fn)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)
        return future

    def close(self, within: float) -> None:
        """Close every connection that is idle by then; a call that takes longer closes its own when it ends. Blocks."""
        self._pool.shutdown(wait=False)
        wait(self._under_way.copy(), within)
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _run(self, fn: Callable[[Connection], T]) -> T:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            connection = self._engine.connect()
        sound = False
        try:
            result = _on_one_snapshot(connection, fn)
            sound = True
        finally:
            self._give_back(connection, sound=sound)
        return result

    def _give_back(self, connection: Connection, *, sound: bool) -> None:
        with self._lock:
            kept = sound and not self._closed
            if kept:
                self._idle.append(connection)
        if not kept:
            connection.close()


def _on_one_snapshot(connection: Connection, fn: Callable[[Connection], T]) -> T:
    raw = driver_connection(connection)
    raw.execute("BEGIN")
    try:
        return fn(connection)
    finally:
        connection.rollback()  # what the engine began by itself
        raw.rollback()
