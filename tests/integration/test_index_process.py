"""The vector index in a process of its own: it dies, hangs, is held back, outlives nobody, and what was answered is kept."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import psutil
import pytest
import structlog
from builders_index import unit

from memory.errors import CollectionLost, IndexUnavailable, MemoryClosed, ModelMismatch
from memory.recipes import IndexRun
from memory.store import index_child
from memory.store.chroma import ChromaIndex
from memory.store.index_lock import take_folders
from memory.store.index_process import IndexProcess

ROOT = Path(__file__).parents[2]
Opener = Callable[..., Awaitable[ChromaIndex]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opener]:
    indexes: list[ChromaIndex] = []

    async def make(*, hang_seconds: float = 60.0) -> ChromaIndex:
        run = IndexRun(own_process=True, hang_seconds=hang_seconds)
        indexes.append(await ChromaIndex.open(tmp_path, cache_bytes=0, run=run))
        return indexes[-1]

    yield make
    for index in indexes:
        await index.close()


def child_of(index: ChromaIndex) -> int:
    assert isinstance(index._store, IndexProcess)
    pid = index._store.pid
    assert pid is not None
    return pid


async def gone(pid: int) -> bool:
    """Wait until a process has ended."""
    async with asyncio.timeout(30):
        while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110 - of the system
            await asyncio.sleep(0.01)
    return True


async def test_a_killed_process_costs_the_call_in_hand_and_is_started_again(opened: Opener) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["before"], unit(1))
    identity, first = index.identity, child_of(index)
    with structlog.testing.capture_logs() as written:
        writing = asyncio.create_task(index.upsert("viewer-1", [f"m{n}" for n in range(2000)], unit(2000)))
        await asyncio.sleep(0.05)
        os.kill(first, signal.SIGKILL)
        with pytest.raises(IndexUnavailable, match="started again"):
            await writing
        await index.upsert("viewer-1", [f"m{n}" for n in range(20)], unit(20))  # as the outbox does
    assert {"before", "m0", "m19"} <= await index.ids("viewer-1")
    assert index.identity == identity
    assert child_of(index) != first
    events = {event["event"]: event for event in written}
    assert events["index_process_died"]["returncode"] == -signal.SIGKILL
    assert events["index_process_died"]["calls"] == 1
    assert "index_process_started" in events


async def test_what_is_in_doubt_stays_so_when_the_process_is_started_again(opened: Opener) -> None:
    index = await opened()
    await index.upsert_many([("viewer-1", ["a"], unit(1)), ("viewer-2", ["b"], unit(1))])
    index.doubt()
    index.vouch(["viewer-2"])
    os.kill(child_of(index), signal.SIGKILL)
    await _back(index)
    assert [hit for hit, _ in await index.search("viewer-2", unit(1), 1)] == ["b"]
    with pytest.raises(CollectionLost) as caught:
        await index.search("viewer-1", unit(1), 1)
    assert caught.value.collections == ("viewer-1",)
    index.trust()
    assert [hit for hit, _ in await index.search("viewer-1", unit(1), 1)] == ["a"]


async def test_an_index_that_came_back_as_another_one_is_in_doubt_and_the_next_look_tells(
    opened: Opener, tmp_path: Path
) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1))
    identity = index.identity
    assert not await index.look()
    shutil.rmtree(tmp_path / "chroma")
    os.kill(child_of(index), signal.SIGKILL)
    await _back(index)
    assert index.identity != identity
    with pytest.raises(CollectionLost):
        await index.search("viewer-1", unit(1), 1)
    assert await index.look()
    assert not await index.look()


async def test_a_process_that_hangs_is_killed_and_started_again(opened: Opener) -> None:
    index = await opened(hang_seconds=3.0)
    await index.upsert("viewer-1", ["a"], unit(1))
    first = child_of(index)
    with structlog.testing.capture_logs() as written:
        os.kill(first, signal.SIGSTOP)
        vectors = unit(4000, 64)  # more than the pipe holds: not even sending it would end
        with pytest.raises(IndexUnavailable):
            await index.upsert("viewer-2", [f"m{n}" for n in range(4000)], vectors)
        assert await gone(first)
        assert await index.ids("viewer-1") == {"a"}
    assert {"index_process_hung", "index_process_died", "index_process_started"} <= {event["event"] for event in written}


async def test_closing_while_the_process_hangs_ends_it_in_seconds(opened: Opener) -> None:
    index = await opened()
    first = child_of(index)
    os.kill(first, signal.SIGSTOP)
    asking = asyncio.create_task(index.ids("viewer-1"))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(20):
        await index.close()
    with pytest.raises(IndexUnavailable):
        await asking
    assert await gone(first)
    with pytest.raises(MemoryClosed):
        await index.ids("viewer-1")


async def test_signals_of_the_terminal_are_left_to_the_parent(opened: Opener) -> None:
    index = await opened()
    first = child_of(index)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(first, number)
    await index.upsert("viewer-1", ["a"], unit(1))
    assert await index.ids("viewer-1") == {"a"}
    assert child_of(index) == first
    await index.close()
    assert await gone(first)


@pytest.mark.parametrize("rows", [40, 1100])  # beyond 1000 Chroma writes its graph to files of its own
async def test_after_deleting_dropping_and_cleaning_no_byte_is_left(opened: Opener, tmp_path: Path, rows: int) -> None:
    index = await opened()
    vectors, ids, secret = unit(rows, seed=1), [f"line-{n:05d}" for n in range(rows)], unit(1, seed=2)
    await index.upsert_many([("viewer-1", ids, vectors), ("viewer-777000", ["secret"], secret)])
    await index.delete("viewer-1", ["line-00003"])
    await index.drop("viewer-777000")
    assert await index.vacuum() == 1
    held = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]  # noqa: ASYNC240 - a test may look at its own disk
    for needle in (b"line-00003", vectors[3].tobytes(), b"viewer-777000", secret.tobytes()):
        assert not any(needle in content for content in held)
    assert any(vectors[4].tobytes() in content for content in held)
    assert await index.ids("viewer-1") == set(ids) - {"line-00003"}


async def test_errors_cross_as_themselves(opened: Opener) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1, 32))
    with pytest.raises(ModelMismatch, match="reindex"):
        await index.upsert("viewer-1", ["b"], unit(1, 16))
    assert await index.ids("viewer-1") == {"a"}


async def test_a_process_that_cannot_start_is_reported_and_not_started_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_child, "_START", "raise SystemExit(3)")
    with pytest.raises(IndexUnavailable, match="ended"):
        await ChromaIndex.open(tmp_path, run=IndexRun(own_process=True))


async def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "chroma").write_bytes(b"a file in the way")
    with pytest.raises(IndexUnavailable, match="writable"):
        await ChromaIndex.open(tmp_path, run=IndexRun(own_process=True))


async def test_two_processes_never_work_in_the_same_folders(opened: Opener, tmp_path: Path) -> None:
    index = await opened()
    with pytest.raises(IndexUnavailable, match=f"process {child_of(index)}"):
        take_folders(tmp_path / "chroma", wait_seconds=0.1)
    await index.close()
    take_folders(tmp_path / "chroma", wait_seconds=0.1).release()


async def test_the_process_is_given_no_key_of_ours(opened: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LLM__API_KEY", "a-key-of-ours")
    index = await opened()
    assert "a-key-of-ours" not in str(psutil.Process(child_of(index)).environ())


_PARENT = """
import asyncio, sys
from pathlib import Path
import structlog
sys.path.insert(0, "tests")
from builders_index import unit
from memory.recipes import IndexRun
from memory.store.chroma import ChromaIndex
structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
async def main():
    index = await ChromaIndex.open(Path(sys.argv[1]), run=IndexRun(own_process=True))
    print(index._store.pid, "chromadb" in sys.modules, flush=True)
    for n in range(10_000):
        await index.upsert_many([(f"viewer-{n % 7}", [f"m{n}"], unit(1, seed=n))])
        print(n, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("lines", [1, 9, 40])
async def test_a_parent_that_is_killed_takes_it_along_and_no_answered_vector_is_lost(
    opened: Opener, tmp_path: Path, lines: int
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen(  # noqa: ASYNC220  the test's own
        [sys.executable, "-c", _PARENT, str(tmp_path)], stdout=subprocess.PIPE, env=environment, cwd=ROOT, text=True
    )
    assert parent.stdout is not None
    child, loaded = parent.stdout.readline().split()
    assert loaded == "False"  # Chroma is in the child alone
    answered = [int(parent.stdout.readline()) for _ in range(lines)][-1]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    index = await opened()  # at once, and it waits for the old one to be gone
    assert await gone(int(child))
    found = set().union(*[await index.ids(f"viewer-{n}") for n in range(7)])
    assert found >= {f"m{n}" for n in range(answered + 1)}


async def _back(index: ChromaIndex) -> None:
    """Wait until a killed process is there again."""
    async with asyncio.timeout(60):
        while True:
            try:
                await index.names()
            except IndexUnavailable:
                await asyncio.sleep(0.05)
            else:
                return
