"""The graphs that Chroma writes to disk, spoilt: none of them reaches Chroma, which would give wrong hits or die."""

import asyncio
import shutil
from pathlib import Path
from random import Random

import pytest
from builders_index import unit

from memory.errors import CollectionLost
from memory.store.chroma import ChromaIndex

GRAPH = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index with a collection so large that Chroma wrote its graph to disk, and a small one beside it."""
    folder = tmp_path_factory.mktemp("large")

    async def build() -> None:
        index = await ChromaIndex.open(folder, exact_rows=100)
        await index.upsert_many([("stream-1", [f"d{n}" for n in range(1200)], unit(1200)), ("stream-2", ["s"], unit(1))])
        await index.close()

    asyncio.run(build())
    return folder


_SPOILED = [*((name, "random") for name in GRAPH), (GRAPH[0], "half"), (GRAPH[1], "empty"), (GRAPH[4], "gone"), ("", "gone")]


@pytest.mark.parametrize(("name", "how"), _SPOILED)
async def test_a_spoilt_graph_is_never_read_and_its_collection_is_lost(
    large: Path, tmp_path: Path, name: str, how: str
) -> None:
    shutil.copytree(large / "chroma", tmp_path / "chroma")
    (graph,) = (path.parent for path in (tmp_path / "chroma").rglob("index_metadata.pickle"))
    file = graph / name
    if how == "gone":
        shutil.rmtree(file) if not name else file.unlink()
    else:
        content = file.read_bytes()
        spoilt = {"random": Random(3).randbytes(len(content)), "empty": b"", "half": content[: len(content) // 2]}
        file.write_bytes(spoilt[how])
    index = await ChromaIndex.open(tmp_path, exact_rows=100)
    try:
        for call in (index.search("stream-1", unit(1), 1), index.ids("stream-1"), index.upsert("stream-1", ["x"], unit(1))):
            with pytest.raises(CollectionLost):
                await call
        assert await index.ids("stream-2") == {"s"}
        await index.drop("stream-1")
        await index.upsert("stream-1", ["d7"], unit(8)[7:])
        assert [hit for hit, _ in await index.search("stream-1", unit(8)[7:], 1)] == ["d7"]
    finally:
        await index.close()


async def test_a_whole_graph_is_read_after_a_clean_end_and_after_a_kill(large: Path, tmp_path: Path) -> None:
    for seals in (True, False):
        folder = tmp_path / str(seals)
        shutil.copytree(large / "chroma", folder / "chroma")
        for path in (folder / "chroma").rglob("seals.json"):
            path.unlink() if not seals else None
        index = await ChromaIndex.open(folder, exact_rows=100)
        assert [hit for hit, _ in await index.search("stream-1", unit(1200)[7:8], 1)] == ["d7"]
        await index.close()
