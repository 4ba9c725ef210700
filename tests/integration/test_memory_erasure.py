import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_memory import BOB, a_past_stream, asked, opened, tell
from builders_recall import NOON, a_batch, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from memory import Deletion, InvalidRow, Memory, Said, Vectors

CAT = asked("come si chiama il mio gatto?")
LATER = NOON + timedelta(seconds=20)


class GatedEmbedder(HashEmbedder):
    """Answers questions only when it is let go."""

    def __init__(self) -> None:
        super().__init__(dimension=32)
        self.gate = asyncio.Event()
        self.asked_now = asyncio.Event()

    async def embed_query(self, text: str) -> Vectors:
        self.asked_now.set()
        await self.gate.wait()
        return await super().embed_query(text)


async def everything_shown(memory: Memory) -> str:
    recall = await memory.recall(CAT)
    return recall.block.text + " ".join(line.text for line in recall.window.lines)


async def test_a_deleted_message_cannot_be_recalled_once_the_call_returned(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        assert "Birba" in await everything_shown(memory)
        assert await memory.delete("s0", Deletion(at=LATER, scope="message", message_id="m1")) == 1
        assert "Birba" not in await everything_shown(memory)  # the index still holds its vector
        await memory.run_jobs()
        assert "Birba" not in await everything_shown(memory)
        assert await memory.documents_of("101") == []
        assert {document.provenance for document in await memory.documents_of("202")} == {("m2",)}


async def test_a_message_deleted_while_a_recall_is_under_way_does_not_come_out_of_it(tmp_path: Path) -> None:
    embedder = GatedEmbedder()
    async with opened(tmp_path, embedder) as memory:
        await a_past_stream(memory)
        recalling = asyncio.create_task(memory.recall(CAT))
        await embedder.asked_now.wait()
        await memory.delete("s0", Deletion(at=LATER, scope="message", message_id="m1"))
        embedder.gate.set()
        assert "Birba" not in (await recalling).block.text


async def test_a_deletion_that_comes_before_its_message_keeps_it_out_of_everything(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await memory.delete("s1", Deletion(at=NOON, scope="message", message_id="m1"))
        await tell(
            memory, a_batch(a_message("m1", "il gatto si chiama Birba", after=1), a_message("m2", "salve", user=BOB, after=1))
        )
        await memory.run_jobs()
        recall = await memory.recall(CAT)
        assert [line.id for line in recall.window.lines] == ["m2"]
        assert "Birba" not in recall.block.text


async def test_a_time_out_takes_a_users_lines_of_this_stream_with_the_replies_to_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        said = Said(state="sent", text="Zorro, che nome!", at=NOON, in_reply_to=("m3",))
        await tell(memory, a_batch(a_message("m3", "anzi il gatto si chiama Zorro", after=1)), said=said)
        await tell(memory, a_batch(a_message("m4", "ma dai", user=BOB, after=2)))
        await memory.delete("s1", Deletion(at=LATER, scope="user", user_id="101"))
        recall = await memory.recall(CAT)
        assert [line.id for line in recall.window.lines] == ["m4"]
        assert "Zorro" not in recall.block.text
        assert "Birba" in recall.block.text  # said in another stream: a time-out does not reach there


async def test_a_cleared_chat_empties_the_history_and_keeps_the_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await tell(memory, a_batch(a_message("m3", "eccomi", after=1)))
        assert await memory.delete("s1", Deletion(at=LATER, scope="chat")) == 1
        recall = await memory.recall(CAT)
        assert recall.window.lines == ()
        assert "Birba" in recall.block.text


async def test_a_caller_that_is_cancelled_does_not_undo_a_deletion(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.recall(CAT)
        erasing = asyncio.create_task(memory.delete("s0", Deletion(at=LATER, scope="message", message_id="m1")))
        await asyncio.sleep(0)
        erasing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await erasing
        assert await memory.delete("s0", Deletion(at=LATER, scope="message", message_id="m1")) == 0  # it was done
        assert "Birba" not in await everything_shown(memory)


async def test_a_deletion_without_its_id_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        with pytest.raises(InvalidRow, match="needs the id"):
            await memory.delete("s1", Deletion(at=NOON, scope="message"))


async def test_a_time_out_in_a_temporary_stream_holds_in_the_real_one_that_it_becomes(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(replace(a_stream("tmp-1"), temporary=True))
        await memory.delete("tmp-1", Deletion(at=LATER, scope="user", user_id="101"))
        await memory.begin_stream(a_stream("s1", after=30))
        await tell(memory, a_batch(a_message("late", "il mio gatto si chiama Birba", after=5)))
        await tell(memory, a_batch(a_message("new", "sono tornata da Lodi", after=40)))
        held = str(await memory.export("101"))
        assert "Birba" not in held
        assert "Lodi" in held
