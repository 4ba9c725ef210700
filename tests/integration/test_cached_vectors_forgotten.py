"""The cache of embeddings: what is erased, put right or wiped leaves no vector in it, whoever ordered it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from builders_forget import correcting, forgetting, said
from builders_memory import ALICE, BOB, asked, opened, tell
from builders_recall import NOON, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from memory import Batch, CachedEmbedder, Deletion, EmbeddingCache, Memory, Notice, Vectors

CAT, DOG = "il mio gatto grigio si chiama Birba", "il mio cane nero si chiama Zorro"


@dataclass
class Kept:
    """A memory whose embedder keeps vectors on disk."""

    memory: Memory
    embedder: CachedEmbedder

    async def holds(self, text: str) -> bool:
        """Return whether the vector of a text is kept; it is afterwards."""
        before = self.embedder.misses
        await self.embedder.embed([text])
        return self.embedder.misses == before

    async def night(self) -> None:
        await self.memory.run_jobs()
        await self.memory._parts.upkeep._background.purger.clean_if_needed()


@asynccontextmanager
async def keeping(folder: Path) -> AsyncIterator[Kept]:
    embedder = CachedEmbedder(HashEmbedder(dimension=32), EmbeddingCache(folder / "embeddings.db"), symmetric=True)
    async with opened(folder, embedder) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, said("m1", CAT))
        await tell(memory, said("m2", DOG, user=BOB, after=2))
        await memory.run_jobs()
        kept = Kept(memory, embedder)
        assert await kept.holds(CAT)
        yield kept
    await embedder.close()


class Gated(HashEmbedder):
    """Answers once it is let go."""

    def __init__(self) -> None:
        super().__init__(dimension=32)
        self.asked, self.gate = asyncio.Event(), asyncio.Event()

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked.set()
        await self.gate.wait()
        return await super().embed(texts)


@pytest.mark.parametrize("whole", [True, False])
async def test_what_is_forgotten_while_it_is_embedded_is_not_kept(tmp_path: Path, whole: bool) -> None:
    model, kept = Gated(), EmbeddingCache(tmp_path / "embeddings.db")
    embedder = CachedEmbedder(model, kept, symmetric=True)
    asking = asyncio.create_task(embedder.embed([CAT]))
    await model.asked.wait()
    await (embedder.forget_everything() if whole else embedder.forget([CAT]))
    model.gate.set()
    assert (await asking).shape == (1, 32)
    before = embedder.misses
    await embedder.embed([CAT])
    assert embedder.misses == before + 1
    await embedder.close()


async def test_after_everything_was_forgotten_no_vector_is_kept(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        await kept.memory.forget(forgetting("everything"))
        await kept.memory.run_jobs()
        assert not await kept.holds(CAT)
        assert not await kept.holds(DOG)


async def test_the_old_words_of_a_corrected_line_keep_no_vector(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        receipt = await kept.memory.correct(correcting("Nebbia", viewer_id="101", old="Birba"))
        assert receipt.lines == 1
        await kept.memory.run_jobs()
        assert not await kept.holds(CAT)


async def test_a_line_that_moderation_deleted_keeps_no_vector_over_night(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        await kept.memory.delete("s1", Deletion(at=NOON + timedelta(seconds=9), scope="message", message_id="m1"))
        await kept.night()
        assert not await kept.holds(CAT)


async def test_the_questions_of_a_forgotten_viewer_keep_no_vector_over_night(tmp_path: Path) -> None:
    async with keeping(tmp_path) as kept:
        await kept.memory.recall(asked("dove abitavo da piccola?"))
        assert await kept.holds("dove abitavo da piccola?")
        await kept.memory.forget(forgetting("viewer", viewer_id="101"))
        await kept.night()
        assert not await kept.holds("dove abitavo da piccola?")


async def test_what_a_notice_said_keeps_no_vector_once_it_is_forgotten(tmp_path: Path) -> None:
    shown = "[resub months=3] sono qui da quando Birba era piccola"
    async with keeping(tmp_path) as kept:
        notice = Notice(id="n1", at=NOON + timedelta(seconds=3), kind="resub", user=ALICE, text=shown[17:], data={"months": 3})
        beside = a_message("m3", "che bello", user=BOB, after=4)
        await tell(kept.memory, Batch(stream_id="s1", lines=(notice, beside), closed_at=beside.at))
        await kept.memory.run_jobs()
        assert await kept.holds(shown)
        await kept.memory.forget(forgetting("viewer", viewer_id="101"))
        await kept.memory.run_jobs()
        assert not await kept.holds(shown)
        assert await kept.holds(DOG)
