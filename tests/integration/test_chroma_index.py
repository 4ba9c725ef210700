"""Chroma on disk: restarts, limits, broken folders, erasure down to the bytes, cancelled calls."""

import asyncio
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing, suppress
from pathlib import Path

import pytest
from builders_index import unit
from fakes.memory_index import MemoryIndex

from memory.errors import CollectionLost, IndexUnavailable, MemoryClosed, ModelMismatch
from memory.store.chroma import ChromaIndex
from memory.store.folders import FolderLimits

SMALL = FolderLimits(folders=2, touched_each=3, touched_all=5)
Opener = Callable[..., Awaitable[ChromaIndex]]


@pytest.fixture
async def opened(tmp_path: Path) -> AsyncIterator[Opener]:
    indexes: list[ChromaIndex] = []

    async def make(**options: object) -> ChromaIndex:
        indexes.append(await ChromaIndex.open(tmp_path, **options))  # type: ignore[arg-type]  # passed on
        return indexes[-1]

    yield make
    for index in indexes:
        await index.close()


def _files(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def _holding(root: Path, needle: bytes) -> list[Path]:
    return [path for path, content in _files(root).items() if needle in content]


def _remove(path: Path) -> None:
    shutil.rmtree(path)


def _write(path: Path, content: bytes) -> None:
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(content)


async def test_what_was_stored_is_there_after_a_restart(opened: Opener) -> None:
    vectors = unit(3)
    first = await opened()
    await first.upsert_many([("viewer-1", ["a", "b"], vectors[:2]), ("lore", ["c"], vectors[2:])])
    await first.close()
    second = await opened()
    assert [name for name, _ in await second.search("viewer-1", vectors[1:2], 2)] == ["b", "a"]
    assert await second.ids("lore") == {"c"}


async def test_closing_leaves_no_empty_directories_and_loses_nothing(opened: Opener, tmp_path: Path) -> None:
    index = await opened()
    rows = unit(1100)
    await index.upsert_many(
        [*((f"viewer-{n}", ["a"], unit(1, seed=n)) for n in range(20)), ("viewer-large", [f"m{n}" for n in range(1100)], rows)]
    )
    await index.close()
    assert len([path for path in (tmp_path / "chroma" / "viewers" / "000").iterdir() if path.is_dir()]) == 1
    index = await opened(exact_rows=500)
    assert (await index.search("viewer-7", unit(1, seed=7), 1))[0][1] == pytest.approx(1.0, abs=1e-4)
    assert [name for name, _ in await index.search("viewer-large", rows[1050:1051], 1)] == ["m1050"]
    await index.upsert("viewer-7", ["b"], unit(1))
    assert await index.ids("viewer-7") == {"a", "b"}


@pytest.mark.parametrize("spoil", ["removed", "spoilt"])
async def test_a_lost_registry_is_read_from_the_folders_again(opened: Opener, tmp_path: Path, spoil: str) -> None:
    first = await opened()
    await first.upsert_many([(f"viewer-{n}", ["a"], unit(1, seed=n)) for n in range(3)] + [("lore", ["l"], unit(1))])
    await first.close()
    registry = tmp_path / "chroma" / "registry.db"
    if spoil == "removed":
        registry.unlink()
    else:
        _write(registry, b"no database at all, only words" * 200)
    second = await opened()
    assert (await second.search("viewer-2", unit(1, seed=2), 1))[0][1] == pytest.approx(1.0, abs=1e-4)
    assert await second.ids("lore") == {"l"}
    await second.upsert("viewer-new", ["b"], unit(1))
    assert await second.ids("viewer-new") == {"b"}


async def test_far_more_collections_than_may_be_open_all_answer(opened: Opener) -> None:
    index = await opened(limits=SMALL, cache_bytes=0)
    for turn in range(2):
        await index.upsert_many([(f"viewer-{n}", [f"{n}:{turn}"], unit(1, seed=n)) for n in range(25)])
        await index.upsert_many([(f"stream-{n}", [f"s{n}:{turn}"], unit(1, seed=n)) for n in range(70)])
        assert index.touched <= SMALL.touched_all
    for n in range(25):
        assert {name for name, _ in await index.search(f"viewer-{n}", unit(1, seed=n), 9)} == {f"{n}:0", f"{n}:1"}
    assert await index.ids("stream-69") == {"s69:0", "s69:1"}
    assert index.touched <= SMALL.touched_all


async def test_a_removed_folder_costs_its_collections_alone_until_they_are_built_anew(opened: Opener, tmp_path: Path) -> None:
    first = await opened()
    await first.upsert("viewer-1", ["a"], unit(1))
    await first.upsert("stream-1", ["s"], unit(1))
    await first.close()
    _remove(tmp_path / "chroma" / "viewers" / "000")
    index = await opened()
    with pytest.raises(CollectionLost, match="reindex") as caught:
        await index.search("viewer-1", unit(1), 1)
    assert caught.value.collections == ("viewer-1",)
    with pytest.raises(CollectionLost):
        await index.upsert_many([("viewer-1", ["b"], unit(1)), ("viewer-2", ["c"], unit(1))])
    assert await index.ids("viewer-2") == {"c"}
    assert await index.ids("stream-1") == {"s"}
    await index.drop("viewer-1")
    await index.upsert("viewer-1", ["a", "b"], unit(2))
    assert await index.ids("viewer-1") == {"a", "b"}


@pytest.mark.parametrize("content", [b"\x00garbage" * 5000, b""])
async def test_a_spoilt_folder_costs_its_collections_alone_until_they_are_built_anew(
    opened: Opener, tmp_path: Path, content: bytes
) -> None:
    first = await opened()
    await first.upsert_many([("viewer-1", ["a"], unit(1)), ("viewer-2", ["b"], unit(1)), ("stream-1", ["s"], unit(1))])
    await first.close()
    _write(tmp_path / "chroma" / "viewers" / "000" / "chroma.sqlite3", content)
    index = await opened()
    for call in (index.search("viewer-1", unit(1), 1), index.ids("viewer-2"), index.upsert("viewer-2", ["x"], unit(1))):
        with pytest.raises(CollectionLost, match="reindex"):
            await call
    assert await index.ids("stream-1") == {"s"}
    for name, document in (("viewer-1", "a"), ("viewer-2", "b")):
        await index.drop(name)
        await index.upsert(name, [document], unit(1))
        assert await index.ids(name) == {document}


async def test_an_index_in_doubt_searches_only_what_is_vouched_for(opened: Opener) -> None:
    index = await opened()
    await index.upsert_many([("viewer-1", ["a"], unit(1)), ("viewer-2", ["b"], unit(1))])
    await index.close()
    again = await opened()
    again.doubt()
    again.vouch(["viewer-2"])
    assert [hit for hit, _ in await again.search("viewer-2", unit(1), 1)] == ["b"]
    for name in ("viewer-1", "viewer-404"):
        with pytest.raises(CollectionLost):
            await again.search(name, unit(1), 1)
    assert await again.ids("viewer-1") == {"a"}  # what it has can be compared with what it should have
    again.trust()
    assert [hit for hit, _ in await again.search("viewer-1", unit(1), 1)] == ["a"]
    assert await again.names() == {"viewer-1", "viewer-2"}


async def test_an_index_whose_files_are_taken_away_notices_and_is_another_one(opened: Opener, tmp_path: Path) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1))
    before = index.identity
    assert not await index.look()
    shutil.rmtree(tmp_path / "chroma")
    assert await index.look()
    assert index.identity != before
    await index.upsert("viewer-2", ["b"], unit(1))
    await index.close()
    assert (await opened()).identity == index.identity


async def test_a_folder_whose_making_was_killed_is_made_again(opened: Opener, tmp_path: Path) -> None:
    folder = tmp_path / "chroma" / "viewers" / "000"
    folder.mkdir(parents=True)
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as half:
        half.execute("PRAGMA journal_mode=WAL")
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1))
    assert await index.ids("viewer-1") == {"a"}


async def test_after_dropping_and_cleaning_no_byte_is_left(opened: Opener, tmp_path: Path) -> None:
    index = await opened()
    secret, kept = unit(40, seed=1), unit(40, seed=2)
    secret_ids, kept_ids = [f"secret-{n:04d}" for n in range(40)], [f"kept-{n:04d}" for n in range(40)]
    await index.upsert_many([("viewer-777000", secret_ids, secret), ("viewer-2", kept_ids, kept)])
    assert _holding(tmp_path, b"secret-0001")
    await index.drop("viewer-777000")
    assert await index.vacuum() == 1
    for needle in (b"secret-0001", b"viewer-777000", secret[3].tobytes()):
        assert not _holding(tmp_path, needle)
    assert _holding(tmp_path, kept[3].tobytes())
    assert await index.ids("viewer-2") == set(kept_ids)
    assert await index.vacuum() == 0


@pytest.mark.parametrize("rows", [40, 1100])  # beyond 1000 Chroma writes its graph to files of its own
async def test_after_deleting_and_cleaning_no_byte_is_left(opened: Opener, tmp_path: Path, rows: int) -> None:
    index = await opened()
    vectors, ids = unit(rows, seed=1), [f"line-{n:05d}" for n in range(rows)]
    await index.upsert_many([("viewer-1", ids, vectors)])
    await index.delete("viewer-1", ["line-00003"])
    await index.vacuum()
    assert not _holding(tmp_path, b"line-00003")
    assert not _holding(tmp_path, vectors[3].tobytes())
    assert await index.ids("viewer-1") == set(ids) - {"line-00003"}
    await index.close()
    again = await opened(cache_bytes=0)
    assert [name for name, _ in await again.search("viewer-1", vectors[4:5], 1)] == ["line-00004"]


async def test_what_a_crash_left_without_a_place_is_cleaned(opened: Opener, tmp_path: Path) -> None:
    index = await opened()
    await index.upsert_many([("viewer-1", ["orphan-1"], unit(1)), ("viewer-2", ["kept"], unit(1))])
    await index.close()
    killed_after = (
        "import sqlite3,sys; db=sqlite3.connect(sys.argv[1]); db.execute('DELETE FROM place WHERE name=?',('viewer-1',)); "
    )
    killed_after += "db.execute('INSERT INTO unclean VALUES (?,?)',('viewers/000','')); db.commit()"
    _run(killed_after, str(tmp_path / "chroma" / "registry.db"))
    index = await opened()
    await index.vacuum()
    assert not _holding(tmp_path, b"orphan-1")
    assert await index.ids("viewer-2") == {"kept"}


async def test_vectors_of_another_length_are_a_mismatch(opened: Opener) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1, 32))
    with pytest.raises(ModelMismatch, match="reindex"):
        await index.search("viewer-1", unit(1, 16), 1)
    with pytest.raises(ModelMismatch, match="reindex"):
        await index.upsert("viewer-1", ["b"], unit(1, 16))
    with pytest.raises(ModelMismatch, match="reindex"):
        await index.upsert_many([("viewer-2", ["b"], unit(1, 16)), ("viewer-2", ["c"], unit(1, 32))])
    assert await index.ids("viewer-1") == {"a"}


async def test_cancelled_calls_are_counted_and_change_nothing_that_is_read(opened: Opener) -> None:
    index = await opened(cache_bytes=2**20)
    vectors = unit(400)
    ids = [f"m{n}" for n in range(400)]
    await index.upsert("viewer-1", ["first"], vectors[:1])
    task = asyncio.create_task(index.upsert("viewer-1", ids, vectors))
    await asyncio.sleep(0.02)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert index.abandoned == 1
    await index.upsert("viewer-1", ["last"], vectors[1:2])
    found = {name for name, _ in await index.search("viewer-1", vectors[:1], 1000)}
    assert found == await index.ids("viewer-1")
    assert {"first", "last"} <= found


async def test_after_close_every_call_says_so(opened: Opener) -> None:
    index = await opened()
    await index.upsert("viewer-1", ["a"], unit(1))
    await index.close()
    with pytest.raises(MemoryClosed):
        await index.search("viewer-1", unit(1), 1)
    with pytest.raises(MemoryClosed):
        await index.upsert("viewer-1", ["b"], unit(1))


async def test_a_directory_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    _write(tmp_path / "chroma", b"a file in the way")
    with pytest.raises(IndexUnavailable, match="writable"):
        await ChromaIndex.open(tmp_path)


@pytest.mark.parametrize("seed", range(3))
async def test_interleaved_calls_end_like_a_dictionary(opened: Opener, seed: int) -> None:
    index, model, rng = await opened(limits=SMALL, cache_bytes=6000), MemoryIndex(), random.Random(seed)
    vectors = unit(64, seed=seed)

    async def owner(collection: str) -> None:
        for _ in range(14):
            picked = rng.sample(range(64), rng.randint(1, 8))
            ids = [f"d{row}" for row in picked]
            action = rng.random()
            for each in (index, model):
                if action < 0.6:
                    await each.upsert(collection, ids, vectors[picked])
                elif action < 0.9:
                    await each.delete(collection, ids)
                else:
                    await each.drop(collection)
            assert await index.search(collection, vectors[:1], 200) == await _about(model, collection, vectors[:1], index)

    async with asyncio.TaskGroup() as group:
        for n in range(6):
            group.create_task(owner(f"viewer-{n}"))
    for n in range(6):
        assert await index.ids(f"viewer-{n}") == await model.ids(f"viewer-{n}")


async def _about(model: MemoryIndex, collection: str, query: object, index: ChromaIndex) -> list[tuple[str, object]]:
    expected = await model.search(collection, query, 200)  # type: ignore[arg-type]  # vectors
    found = dict(await index.search(collection, query, 200))  # type: ignore[arg-type]  # vectors
    assert set(found) == {name for name, _ in expected}
    rounded = [(name, pytest.approx(score, abs=1e-4)) for name, score in expected]
    order = {name: place for place, name in enumerate(found)}
    return sorted(rounded, key=lambda hit: order[hit[0]])


_KILLED = """
import asyncio, sys
from pathlib import Path
sys.path.insert(0, "tests")
from builders_index import unit
from memory.store.chroma import ChromaIndex
async def main():
    index = await ChromaIndex.open(Path(sys.argv[1]))
    for n in range(10_000):
        await index.upsert_many([(f"viewer-{n % 7}", [f"m{n}"], unit(1, seed=n)), ("stream-1", [f"s{n}"], unit(1, seed=n))])
        print(n, flush=True)
asyncio.run(main())
"""


@pytest.mark.parametrize("lines", [1, 9, 40])
async def test_killed_at_any_point_no_acknowledged_vector_is_lost(opened: Opener, tmp_path: Path, lines: int) -> None:
    writer = subprocess.Popen([sys.executable, "-c", _KILLED, str(tmp_path)], stdout=subprocess.PIPE, env=_environment())  # noqa: ASYNC220  the test's own child
    assert writer.stdout is not None
    acknowledged = [int(writer.stdout.readline()) for _ in range(lines)][-1]
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()
    writer.stdout.close()
    index = await opened()
    found = set().union(*[await index.ids(f"viewer-{n}") for n in range(7)])
    assert found >= {f"m{n}" for n in range(acknowledged + 1)}
    assert await index.ids("stream-1") >= {f"s{n}" for n in range(acknowledged + 1)}
    assert (await index.search("stream-1", unit(1, seed=0), 1))[0][0] == "s0"


def test_chroma_loads_no_model_and_sends_nothing(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys; from pathlib import Path; sys.path.insert(0, 'tests'); from builders_index import unit\n"
        "from memory.store.chroma import ChromaIndex\n"
        "async def main():\n"
        "    index = await ChromaIndex.open(Path(sys.argv[1])); await index.upsert('lore', ['a'], unit(1))\n"
        "    await index.search('lore', unit(1), 1); await index.close()\n"
        "asyncio.run(main()); print(sorted({'onnxruntime', 'tokenizers', 'posthog'} & set(sys.modules)))\n"
    )
    assert _run(script, str(tmp_path)).strip() == "[]"


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def _run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=Path(__file__).parents[2],
        env=_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
