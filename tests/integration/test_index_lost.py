"""The folder of the vector index deleted or spoilt, with the memory closed or open: it answers, says so, heals by itself."""

import asyncio
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders_memory import BOB, a_past_stream, asked, opened, tell
from builders_recall import a_batch, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from memory import Batch, Memory, Recall

CAT = asked("come si chiama il mio gatto?")


def _gone(chroma: Path) -> None:
    shutil.rmtree(chroma)


def _shards_gone(chroma: Path) -> None:
    for folder in chroma.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)


def _registry_gone(chroma: Path) -> None:
    for path in chroma.glob("registry.db*"):
        path.unlink()


def _one_shard_and_the_registry_gone(chroma: Path) -> None:
    _registry_gone(chroma)
    shutil.rmtree(chroma / "viewers")


def _databases(chroma: Path) -> list[Path]:
    found = list(chroma.rglob("chroma.sqlite3"))
    for path in found:
        for beside in path.parent.glob("chroma.sqlite3-*"):
            beside.unlink()
    return found


def _emptied(chroma: Path) -> None:
    for path in _databases(chroma):
        path.write_bytes(b"")


def _cut_short(chroma: Path) -> None:
    for path in _databases(chroma):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])


def _random_bytes(chroma: Path) -> None:
    dice = random.Random(5)
    for path in _databases(chroma):
        content = bytearray(path.read_bytes())
        for _ in range(60):
            at = dice.randrange(4096, len(content) - 300)
            content[at : at + 300] = dice.randbytes(300)
        path.write_bytes(bytes(content))


def _overwritten(chroma: Path) -> None:
    for path in _databases(chroma):
        path.write_bytes(random.Random(6).randbytes(50_000))


def again(batch: Batch, number: int) -> Batch:
    """The same question as a new one, so that no cache answers it."""
    return replace(batch, lines=(replace(batch.lines[0], id=f"q{number}"),))


def dense_hits(recall: Recall) -> int:
    return sum(step.items_out for step in recall.steps if step.step == "viewer:101:recall/dense")


async def _heals(memory: Memory) -> None:
    first = await memory.recall(again(CAT, 1))
    assert "Birba" in first.block.text  # by its words
    assert first.degraded
    assert dense_hits(first) == 0
    await memory.run_jobs()
    second = await memory.recall(again(CAT, 2))
    assert not second.degraded
    assert dense_hits(second) == 2  # the message and its fact
    bob = await memory.recall(again(asked("come si chiama il mio gatto?", user=BOB), 3))
    assert not bob.degraded
    assert "Nerone" in bob.block.text
    assert (await memory.health()).problems == ()
    assert not await memory.jobs(state="ready")
    assert not await memory.jobs(state="dead")


@pytest.mark.parametrize(
    "spoil", [_gone, _shards_gone, _emptied, _cut_short, _random_bytes, _overwritten, _one_shard_and_the_registry_gone]
)
async def test_an_index_spoilt_while_the_memory_was_closed_heals_and_until_then_the_answer_says_so(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
    spoil(tmp_path / "chroma")
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await _heals(memory)
    async with opened(tmp_path) as memory:  # and it lasts
        await memory.begin_stream(a_stream())
        assert dense_hits(await memory.recall(CAT)) == 2


async def test_a_lost_index_is_a_problem_that_health_tells_until_it_is_whole(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
    _gone(tmp_path / "chroma")
    embedder = HashEmbedder(dimension=32)
    async with opened(tmp_path, embedder) as memory:
        await memory.begin_stream(a_stream())
        embedder.fail = True
        await memory.run_jobs()
        assert "the vector index was lost" in (await memory.health()).problems[0]
        assert (await memory.recall(CAT)).degraded
    async with opened(tmp_path) as memory:  # stopped in the middle, it goes on
        await memory.begin_stream(a_stream())
        assert "the vector index was lost" in (await memory.health()).problems[0]
        (job,) = await memory.jobs(kind="drift", state="ready")
        assert job.attempts == 1
        assert await memory.reindex() == 6
        assert (await memory.health()).problems == ()
        assert dense_hits(await memory.recall(CAT)) == 2


async def test_a_lost_registry_alone_is_read_from_the_folders_and_nothing_is_embedded_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
    _registry_gone(tmp_path / "chroma")
    embedder = HashEmbedder(dimension=32)
    async with opened(tmp_path, embedder) as memory:
        await memory.begin_stream(a_stream())
        await memory.run_jobs()
        assert (await memory.health()).problems == ()
        assert dense_hits(await memory.recall(CAT)) == 2


@pytest.mark.parametrize("spoil", [_gone, _shards_gone])
async def test_an_index_deleted_under_the_open_memory_heals_in_the_background(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        spoil(tmp_path / "chroma")
        await tell(memory, a_batch(a_message("m7", "il mio cane si chiama Fido", after=7)))
        await memory.run_jobs()
        recall = await memory.recall(again(CAT, 1))
        assert "Birba" in recall.block.text
        assert (await memory.health()).problems == ()
        assert (tmp_path / "chroma" / "registry.db").is_file()
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        recall = await memory.recall(CAT)
        assert not recall.degraded
        assert dense_hits(recall) >= 3


async def test_a_spoilt_index_heals_behind_the_running_worker(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
    _overwritten(tmp_path / "chroma")
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await memory.start_worker()
        async with asyncio.timeout(60):
            number = 10
            while not dense_hits(recall := await memory.recall(again(CAT, number))):
                assert "Birba" in recall.block.text
                number += 1
                await asyncio.sleep(0.05)
