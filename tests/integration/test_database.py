"""The file: one writer, readers that cannot write, and clear words when the disk or another process is in the way."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Row, text
from sqlalchemy.exc import IntegrityError

from memory.errors import MemoryClosed, StoreUnavailable
from memory.store.database import Database


def put(key: str, value: str = "v") -> Callable[[Connection], None]:
    def write(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO meta VALUES (?, ?)", (key, value))

    return write


async def count(database: Database) -> int:
    return await database.write(lambda c: c.exec_driver_sql("SELECT count(*) FROM meta").scalar_one())


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = await Database.open(tmp_path / "memory.db")
    yield opened
    await opened.close()


async def test_a_write_is_seen_by_the_next_reading(database: Database) -> None:
    await database.write(put("a"))
    async with database.reading() as session:
        assert (await session.execute(text("SELECT key FROM meta"))).scalars().all() == ["a"]


async def test_an_exception_rolls_the_whole_transaction_back_and_comes_out(database: Database) -> None:
    def half(connection: Connection) -> None:
        connection.exec_driver_sql("INSERT INTO meta VALUES ('a', 'v')")
        msg = "half way"
        raise KeyError(msg)

    with pytest.raises(KeyError, match="half way"):
        await database.write(half)
    assert await count(database) == 0


async def test_a_violated_constraint_is_the_callers_error_not_the_disks(database: Database) -> None:
    await database.write(put("a"))
    with pytest.raises(IntegrityError):
        await database.write(put("a"))


async def test_a_reader_cannot_write(database: Database) -> None:
    with pytest.raises(StoreUnavailable, match="readonly"):
        async with database.reading() as session:
            await session.execute(text("INSERT INTO meta VALUES ('a', 'v')"))


async def test_a_read_sees_what_was_written_and_cannot_write(database: Database) -> None:
    await database.write(put("a"))
    assert await database.read(lambda c: c.exec_driver_sql("SELECT key FROM meta").scalars().all()) == ["a"]
    with pytest.raises(StoreUnavailable, match="readonly"):
        await database.read(put("b"))


async def test_a_read_stays_on_one_snapshot_while_others_write(database: Database) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def twice(connection: Connection) -> list[int]:
        counts = [connection.exec_driver_sql("SELECT count(*) FROM meta").scalar_one()]
        begun.set()
        go_on.wait()
        return [*counts, connection.exec_driver_sql("SELECT count(*) FROM meta").scalar_one()]

    reading = asyncio.create_task(database.read(twice))
    await asyncio.to_thread(begun.wait)
    await database.write(put("a"))
    go_on.set()
    assert await reading == [0, 0]
    assert await database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM meta").scalar_one()) == 1


async def test_an_exception_of_a_read_comes_out_and_the_log_can_be_cut(database: Database) -> None:
    def half(connection: Connection) -> None:
        connection.exec_driver_sql("SELECT * FROM meta").fetchone()
        msg = "half way"
        raise KeyError(msg)

    await database.write(put("a"))
    with pytest.raises(KeyError, match="half way"):
        await database.read(half)
    assert await database.read(lambda c: c.exec_driver_sql("SELECT count(*) FROM meta").scalar_one()) == 1
    await database.scrub()


async def test_foreign_keys_wal_and_secure_delete_are_on(database: Database) -> None:
    def pragmas(connection: Connection) -> list[object]:
        names = ("foreign_keys", "journal_mode", "secure_delete", "synchronous", "wal_autocheckpoint", "journal_size_limit")
        return [connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names]

    assert await database.write(pragmas) == [1, "wal", 1, 1, 16384, 67108864]


async def test_full_synchronisation_is_a_choice_and_a_wrong_word_is_refused(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db", synchronous="full")
    assert await database.write(lambda c: c.exec_driver_sql("PRAGMA synchronous").scalar_one()) == 2
    await database.close()
    with pytest.raises(ValueError, match="normal or full"):
        await Database.open(tmp_path / "other.db", synchronous="off")


async def test_concurrent_writes_are_serial_and_none_is_lost(database: Database) -> None:
    def add_one(connection: Connection) -> None:
        found = connection.exec_driver_sql("SELECT value FROM meta WHERE key = 'n'").scalar() or "0"
        connection.exec_driver_sql(
            "INSERT INTO meta VALUES ('n', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", (str(int(found) + 1),)
        )

    async with asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(database.write(add_one))
    assert await database.write(lambda c: c.exec_driver_sql("SELECT value FROM meta").scalar_one()) == "200"


async def test_a_storm_of_cancelled_writes_leaves_no_lock_and_nothing_half_done(database: Database) -> None:
    def two_rows(number: int) -> Callable[[Connection], None]:
        def write(connection: Connection) -> None:
            connection.exec_driver_sql("INSERT INTO meta VALUES (?, 'v')", (f"a{number}",))
            connection.exec_driver_sql("INSERT INTO meta VALUES (?, 'v')", (f"b{number}",))

        return write

    for number in range(300):
        task = asyncio.create_task(database.write(two_rows(number)))
        await asyncio.sleep(number % 5 / 10_000)
        task.cancel()
        await asyncio.wait([task])
    halves = "SELECT count(*) FROM meta WHERE key LIKE 'a%' AND 'b' || substr(key, 2) NOT IN (SELECT key FROM meta)"
    assert await database.write(lambda c: c.exec_driver_sql(halves).scalar_one()) == 0


async def test_a_storm_of_cancelled_readings_leaves_readers_to_use(database: Database) -> None:
    async def read() -> None:
        async with database.reading() as session:
            await session.execute(text("SELECT * FROM meta"))

    for number in range(100):
        task = asyncio.create_task(read())
        await asyncio.sleep(number % 7 / 10_000)
        task.cancel()
        await asyncio.wait([task])
    await asyncio.wait_for(read(), 20)


async def test_a_storm_of_cancelled_reads_leaves_readers_to_use_and_nothing_locked(database: Database) -> None:
    def read() -> Coroutine[Any, Any, Sequence[Row[Any]]]:
        return database.read(lambda c: c.exec_driver_sql("SELECT * FROM meta").all())

    for number in range(100):
        task = asyncio.create_task(read())
        await asyncio.sleep(number % 7 / 10_000)
        task.cancel()
        await asyncio.wait([task])
    assert await asyncio.wait_for(read(), 20) == []
    await database.write(put("a"))
    await database.scrub()


async def test_a_full_disk_stores_nothing_and_says_so_and_writing_goes_on_when_there_is_room(database: Database) -> None:
    await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count=1").scalar())
    with pytest.raises(StoreUnavailable, match="the disk is full: free some space"):
        await database.write(put("a", "x" * 100_000))
    await database.write(lambda c: c.exec_driver_sql("PRAGMA max_page_count=100000").scalar())
    assert await count(database) == 0
    await database.write(put("a", "x" * 100_000))
    assert await count(database) == 1


async def test_a_file_locked_by_another_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.store.database._BUSY_MS", 50)
    database = await Database.open(tmp_path / "memory.db")
    other = sqlite3.connect(database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(StoreUnavailable, match=r"memory\.db: database is locked; another program holds the file"):
            await database.write(put("a"))
    finally:
        other.close()
    await database.write(put("a"))
    await database.close()


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreUnavailable, match="move it away"):
        await Database.open(tmp_path / "memory.db")


async def test_a_directory_in_the_files_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StoreUnavailable, match="check that the directory exists and may be written"):
        await Database.open(tmp_path / "memory.db")


async def test_a_data_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("")
    with pytest.raises(StoreUnavailable, match="data"):
        await Database.open(tmp_path / "data" / "memory.db")


@pytest.fixture
def unwritable(tmp_path: Path) -> Iterator[Path]:
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    yield tmp_path
    tmp_path.chmod(stat.S_IRWXU)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_an_unwritable_directory_is_refused(unwritable: Path) -> None:
    with pytest.raises(StoreUnavailable, match="may be written"):
        await Database.open(unwritable / "memory.db")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a file system that nobody can write")
async def test_a_directory_that_nobody_can_make_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="choose a data directory that this user may write"):
        await Database.open(Path("/proc/ricordo/memory.db"))


async def test_a_checkpoint_moves_the_log_into_the_file(database: Database) -> None:
    await database.write(put("a", "x" * 200_000))
    size = database.path.stat().st_size
    assert await database.checkpoint() == 0
    assert database.path.stat().st_size > size


async def test_a_checkpoint_of_a_broken_file_says_what_to_do(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    await database.close()
    database.path.write_bytes(b"broken" * 1000)
    with pytest.raises(StoreUnavailable, match="no SQLite database: move it away"):
        await database.checkpoint()


async def test_nothing_works_after_close_and_closing_twice_is_fine(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    await database.close()
    await database.close()
    with pytest.raises(MemoryClosed):
        await database.write(put("a"))
    with pytest.raises(MemoryClosed):
        async with database.reading():
            pass
    with pytest.raises(MemoryClosed):
        await database.read(lambda c: c.exec_driver_sql("SELECT 1").scalar_one())


def descriptors(path: Path) -> int:
    """How many of this process's open files are this one."""
    return sum(one.resolve() == path.resolve() for one in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
@pytest.mark.parametrize("patient", [True, False])
async def test_a_reading_that_ends_while_or_after_it_is_closed_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, patient: bool
) -> None:
    if not patient:
        monkeypatch.setattr("memory.store.database._READS_END_SECONDS", 0.0)
    database = await Database.open(tmp_path / "memory.db")
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        async with database.reading() as session:
            await session.execute(text("SELECT * FROM meta"))
            begun.set()
            await go_on.wait()

    reading = asyncio.create_task(read())
    await begun.wait()
    assert descriptors(database.path) > 0
    closing = asyncio.create_task(database.close())
    if patient:
        await asyncio.sleep(0)
        go_on.set()
    await closing
    assert reading.done() is patient
    go_on.set()
    await reading
    assert descriptors(database.path) == 0


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are listed in /proc")
@pytest.mark.parametrize("awaited", [True, False])
@pytest.mark.parametrize("patient", [True, False])
async def test_a_read_that_ends_while_or_after_it_is_closed_leaves_no_file_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, patient: bool, awaited: bool
) -> None:
    if not patient:
        monkeypatch.setattr("memory.store.database._READS_END_SECONDS", 0.0)
    database = await Database.open(tmp_path / "memory.db")
    begun, go_on = threading.Event(), threading.Event()

    def read(connection: Connection) -> int:
        begun.set()
        go_on.wait()
        found: int = connection.exec_driver_sql("SELECT count(*) FROM meta").scalar_one()
        return found

    reading = asyncio.create_task(database.read(read))
    await asyncio.to_thread(begun.wait)
    if not awaited:
        reading.cancel()
        await asyncio.wait([reading])
    closing = asyncio.create_task(database.close())
    if patient:
        await asyncio.sleep(0)
        go_on.set()
    await closing
    assert (descriptors(database.path) == 0) is patient
    go_on.set()
    if awaited:
        assert await reading == 0
    while descriptors(database.path):  # noqa: ASYNC110 - nothing tells when a thread that nobody waits for is done
        await asyncio.sleep(0.001)


NEVER_CLOSES = """
import asyncio, pathlib, sys
from sqlalchemy import text
from memory.store.database import Database
async def main():
    database = await Database.open(pathlib.Path(sys.argv[1]))
    await database.write(lambda c: c.exec_driver_sql("INSERT INTO meta VALUES ('a', 'v')"))
    async with database.reading() as session:
        await session.execute(text("SELECT 1"))
    await database.read(lambda c: c.exec_driver_sql("SELECT 1").all())
asyncio.run(main())
"""


def test_a_program_that_never_closes_its_database_still_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NEVER_CLOSES, str(tmp_path / "memory.db")]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], timeout=60, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
