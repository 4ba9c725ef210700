"""What every vector index keeps: fakes in a dictionary and in a file, and Chroma, here or in a process of its own."""

from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
from builders_index import exact, unit
from fakes.file_vectors import FileVectors
from fakes.memory_index import MemoryIndex

from memory.errors import InvalidRow
from memory.recipes import IndexRun
from memory.store.chroma import ChromaIndex

Index = MemoryIndex | FileVectors | ChromaIndex
IDS = [f"m:{number:03d}" for number in range(30)]


@pytest.fixture(params=["memory", "file", "chroma", "chroma_large", "chroma_uncached", "chroma_process"])
async def index(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Index]:
    made: Index
    if request.param == "memory":
        made = MemoryIndex()
    elif request.param == "file":
        made = FileVectors()
    elif request.param == "chroma_large":
        made = await ChromaIndex.open(tmp_path, exact_rows=5)  # beyond five rows Chroma's own query answers
    elif request.param == "chroma_process":
        made = await ChromaIndex.open(tmp_path, cache_bytes=0, exact_rows=5, run=IndexRun(own_process=True))
    else:
        made = await ChromaIndex.open(tmp_path, cache_bytes=0 if request.param == "chroma_uncached" else 2**20)
    yield made
    await made.close()


async def test_the_nearest_come_first_with_their_cosines(index: Index) -> None:
    vectors = unit(30)
    await index.upsert("viewer-1", IDS, vectors)
    hits = await index.search("viewer-1", vectors[7:8], 4)
    assert [name for name, _ in hits] == exact(vectors, IDS, vectors[7:8], 4)
    assert [score for _, score in hits] == pytest.approx(sorted((vectors @ vectors[7])[:], reverse=True)[:4], abs=1e-3)


async def test_a_missing_collection_gives_nothing(index: Index) -> None:
    assert await index.search("viewer-404", unit(1), 5) == []
    assert await index.ids("viewer-404") == set()
    await index.delete("viewer-404", ["a"])
    await index.drop("viewer-404")


async def test_collections_do_not_see_each_other(index: Index) -> None:
    vectors = unit(4)
    await index.upsert("viewer-1", ["a"], vectors[:1])
    await index.upsert("viewer-11", ["b"], vectors[1:2])
    await index.upsert("stream-1", ["c"], vectors[2:3])
    await index.upsert("lore", ["d"], vectors[3:4])
    for collection, name in (("viewer-1", "a"), ("viewer-11", "b"), ("stream-1", "c"), ("lore", "d")):
        assert [found for found, _ in await index.search(collection, vectors[:1], 9)] == [name]


async def test_storing_again_replaces(index: Index) -> None:
    vectors = unit(3)
    await index.upsert("viewer-1", ["a", "b"], vectors[:2])
    await index.upsert("viewer-1", ["a"], vectors[2:3])
    await index.upsert("viewer-1", ["a"], vectors[2:3])
    assert await index.ids("viewer-1") == {"a", "b"}
    assert dict(await index.search("viewer-1", vectors[2:3], 1)) == {"a": pytest.approx(1.0, abs=1e-4)}


async def test_what_was_deleted_is_not_found(index: Index) -> None:
    vectors = unit(30)
    await index.upsert("viewer-1", IDS, vectors)
    await index.delete("viewer-1", ["m:007", "never"])
    assert "m:007" not in {name for name, _ in await index.search("viewer-1", vectors[7:8], 30)}
    assert await index.ids("viewer-1") == set(IDS) - {"m:007"}


async def test_a_dropped_collection_is_gone_and_can_come_back(index: Index) -> None:
    vectors = unit(8)
    await index.upsert("viewer-1", IDS[:8], vectors)
    await index.drop("viewer-1")
    assert await index.search("viewer-1", vectors[:1], 5) == []
    assert await index.ids("viewer-1") == set()
    await index.upsert("viewer-1", ["new"], vectors[:1])
    assert [name for name, _ in await index.search("viewer-1", vectors[:1], 5)] == ["new"]


async def test_many_collections_are_stored_in_one_call(index: Index) -> None:
    vectors = unit(30)
    writes = [(f"viewer-{n}", [f"{n}:a", f"{n}:b"], vectors[n : n + 2]) for n in range(20)]
    await index.upsert_many([*writes, ("viewer-3", ["late"], vectors[29:30]), ("viewer-9", [], vectors[:0])])
    assert await index.ids("viewer-3") == {"3:a", "3:b", "late"}
    for n in range(20):
        assert (await index.search(f"viewer-{n}", vectors[n : n + 1], 1))[0][0] == f"{n}:a"


async def test_fewer_rows_than_asked_are_all_given(index: Index) -> None:
    await index.upsert("viewer-1", ["a", "b"], unit(2))
    assert len(await index.search("viewer-1", unit(1), 50)) == 2
    assert await index.search("viewer-1", unit(1), 0) == []


async def test_equal_scores_are_ordered_by_id(index: Index) -> None:
    same = np.repeat(unit(1), 4, axis=0)
    await index.upsert("viewer-1", ["d", "b", "c", "a"], same)
    assert [name for name, _ in await index.search("viewer-1", same[:1], 4)] == ["a", "b", "c", "d"]


async def test_a_zero_row_scores_nothing(index: Index) -> None:
    vectors = unit(2)
    await index.upsert("viewer-1", ["empty", "full"], np.stack([np.zeros(32, dtype=np.float32), vectors[0]]))
    hits = dict(await index.search("viewer-1", vectors[:1], 2))
    assert hits["empty"] == pytest.approx(0.0, abs=1e-4)


async def test_the_last_of_equal_ids_in_one_call_wins(index: Index) -> None:
    vectors = unit(2)
    await index.upsert("viewer-1", ["a", "a"], vectors)
    assert (await index.search("viewer-1", vectors[1:], 1))[0][1] == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(
    "name", ["viewer-../../etc", "viewer-名前", "viewer-a b:c", "v", "1.2.3.4", "viewer-" + "x" * 600, "..", ""]
)
async def test_a_collection_may_be_named_like_a_path(index: Index, name: str, tmp_path: Path) -> None:
    await index.upsert(name, ["a"], unit(1))
    await index.upsert(name + "_", ["b"], unit(1))
    assert [found for found, _ in await index.search(name, unit(1), 5)] == ["a"]
    assert _entries(tmp_path) <= {"chroma"}


@pytest.mark.parametrize("name", ["", "a\0b", "a\ud800"])
async def test_an_id_that_cannot_be_stored_is_refused(index: Index, name: str) -> None:
    with pytest.raises(InvalidRow):
        await index.upsert("viewer-1", [name], unit(1))


async def test_numbers_that_are_none_are_refused(index: Index) -> None:
    bad = unit(1)
    bad[0, 3] = np.nan
    with pytest.raises(InvalidRow):
        await index.upsert("viewer-1", ["a"], bad)


async def test_ids_and_rows_must_be_as_many(index: Index) -> None:
    with pytest.raises(InvalidRow):
        await index.upsert("viewer-1", ["a", "b"], unit(1))


async def test_closing_twice_is_fine(index: Index) -> None:
    await index.upsert("viewer-1", ["a"], unit(1))
    await index.close()
    await index.close()


def _entries(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_of_several_questions_the_nearest_counts(index: Index) -> None:
    vectors = unit(30)
    await index.upsert("viewer-1", IDS, vectors)
    for limit in (30, 3):
        hits = dict(await index.search("viewer-1", vectors[[3, 9]], limit))
        assert {"m:003", "m:009"} <= hits.keys()
        assert hits["m:003"] == pytest.approx(1.0, abs=1e-4)
        assert len(hits) == limit
