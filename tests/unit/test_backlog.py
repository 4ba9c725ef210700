"""What waits when the bot leaves is stored together, in order and whole."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from builders_live import Bench, at, message, online
from builders_memory import opened
from fakes.memory import FakeMemory

from bot.backlog import TOGETHER, place
from memory import Batch, Command, Deletion, InvalidRow

LINES = 20 * TOGETHER * 2 + 67  # of 20 a batch


class Transactions(FakeMemory):
    """Counts them; refuses any that holds the line `refused`."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[int] = []
        self.refused = ""

    async def observe_all(self, batches: Sequence[Batch]) -> int:
        self._check(*batches)
        self.sizes.append(len(batches))
        return await super().observe_all(batches)

    async def observe(self, batch: Batch) -> int:
        self._check(batch)
        return await super().observe(batch)

    def _check(self, *batches: Batch) -> None:
        if self.refused in {line.id for batch in batches for line in batch.lines}:
            message = "refused"
            raise InvalidRow(message)


async def a_flood(bench: Bench) -> list[str]:
    """The bot is told to end while all this waits."""
    await bench.loop.feed(online())
    bench.loop.hush(brief=True)
    for number in range(LINES):
        await bench.loop.feed(message("ricordino?", seconds=number / 1000, message_id=f"m{number}"), arrived=at(number / 1000))
    return [f"m{number}" for number in range(LINES)]


async def test_a_backlog_is_stored_in_few_transactions_in_order_and_answered_to_nobody() -> None:
    memory = Transactions()
    bench = Bench(memory=memory)
    chat = await a_flood(bench)
    await bench.loop.finish()
    assert list(memory.lines) == chat
    assert sum(memory.sizes) >= LINES // 20
    assert len(memory.sizes) <= 4
    assert (bench.heard, memory.turns) == ([], {})


async def test_one_batch_that_cannot_be_stored_takes_no_other_along() -> None:
    memory = Transactions()
    memory.refused = "m30"
    bench = Bench(memory=memory)
    chat = await a_flood(bench)
    await bench.loop.finish()
    assert list(memory.lines) == chat[:20] + chat[40:]
    assert bench.loop.counts["failures"] == 1


async def test_a_backlog_waits_whole_while_the_database_is_away() -> None:
    memory = Transactions()
    bench = Bench(memory=memory)
    await bench.loop.feed(online())
    memory.away = {"observe"}
    chat = await a_flood(bench)
    assert memory.lines == {}
    memory.away = set()
    await bench.loop.finish()
    assert list(memory.lines) == chat


async def test_what_was_taken_back_or_stands_before_a_command_keeps_its_place() -> None:
    memory = Transactions()
    bench = Bench(memory=memory)
    chat = await a_flood(bench)
    await bench.loop.feed(Command(id="c", at=at(2), user=message("x").user, text="!ricordo stato"))
    await bench.loop.delete(Deletion(at=at(2), scope="message", message_id=chat[-30]))
    await bench.loop.finish()
    assert list(memory.lines) == [line for line in chat if line != chat[-30]]


async def test_the_memory_takes_many_batches_at_once_and_the_next_start_makes_turns_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        bench = Bench(memory=memory)  # type: ignore[arg-type]  # the real one in the place of its fake
        chat = await a_flood(bench)
        await bench.loop.finish()
        left = await memory.unrecorded()
        assert [line.id for batch in left for line in batch.lines] == chat
        assert len(left) == LINES // 20 + 1
        assert await memory.observe_all(left) == 0
        again = Bench(memory=memory)  # type: ignore[arg-type]  # the same
        await again.loop.start()
        assert await memory.unrecorded() == []
        assert again.loop.counts["turns_cut_off"] == len(left)


def test_the_place_of_a_mistake_is_named_without_its_words() -> None:
    with pytest.raises(ValueError, match="chat") as failed:
        int("chat")
    assert place(failed.value).startswith("test_backlog.py:")
    assert place(ValueError("chat")) == "?"
