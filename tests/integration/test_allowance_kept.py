"""What answers may cost, across restarts: a memory that is opened again knows what was spent, and a new stream begins anew."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import structlog
from builders_recall import CHANNEL, a_clock, a_stream
from fakes.hash_embedder import HashEmbedder
from fakes.llm_server import FakeLlmServer, says

from bot.allowance import Allowance, LlmSpent, MeteredChat
from bot.llm import LanguageModel
from bot.llm_values import ChatMessage, LlmSettings
from memory import Memory, MemorySettings, StoreUnavailable, Stream, VirtualClock, open_memory

ASKED = (ChatMessage(role="user", content="ciao?"),)
STREAM = a_stream("s1")


class Life:
    """One run of the program: its memory, its model, and the meter between them."""

    def __init__(self, memory: Memory, metered: MeteredChat) -> None:
        self.memory = memory
        self._metered = metered

    async def begins(self, stream: Stream) -> None:
        await self.memory.begin_stream(stream)
        self._metered.begin(stream)

    async def answers(self) -> bool:
        try:
            await self._metered.chat(ASKED)
        except LlmSpent:
            return False
        return True


@asynccontextmanager
async def a_life(
    directory: Path, server: FakeLlmServer, allowance: Allowance, *, clock: VirtualClock | None = None
) -> AsyncIterator[Life]:
    chosen = clock or a_clock()
    async with (
        await open_memory(
            MemorySettings(data_dir=directory), channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=chosen
        ) as memory,
        LanguageModel(LlmSettings(base_url=server.url, model="fake-1", retries=0)) as model,
    ):
        yield Life(memory, MeteredChat(model, allowance, chosen, memory))
        await memory.run_jobs()  # what was begun to be written stands there, as before a turn is recorded


def temporary(name: str) -> Stream:
    return replace(a_stream(name), temporary=True)


@pytest.mark.parametrize("field", ["calls_per_hour", "calls_per_stream", "tokens_per_hour", "tokens_per_stream"])
async def test_a_restart_within_the_same_stream_brings_no_fresh_allowance(field: str, tmp_path: Path) -> None:
    allowance = Allowance(**{field: 2 if field.startswith("calls") else 12})  # two answers of one word
    async with FakeLlmServer([says("sì")]) as server:
        for expected in ([True], [True, False], [False]):
            async with a_life(tmp_path, server, allowance) as life:
                await life.begins(STREAM)
                assert [await life.answers() for _ in expected] == expected
    assert len(server.requests) == 2


async def test_a_new_stream_has_its_own_allowance_and_the_old_one_keeps_what_it_spent(tmp_path: Path) -> None:
    async with FakeLlmServer([says("sì")]) as server:
        async with a_life(tmp_path, server, Allowance(calls_per_stream=1)) as life:
            await life.begins(STREAM)
            assert await life.answers()
        async with a_life(tmp_path, server, Allowance(calls_per_stream=1)) as life:
            await life.begins(a_stream("s2"))
            assert await life.answers()
            assert not await life.answers()
            await life.begins(STREAM)  # it comes back
            assert not await life.answers()


async def test_a_stream_that_is_named_only_after_a_restart_goes_on_with_what_it_spent(tmp_path: Path) -> None:
    async with FakeLlmServer([says("sì")]) as server:
        for name in ("live-1", "live-2"):
            async with a_life(tmp_path, server, Allowance(calls_per_stream=2)) as life:
                await life.begins(temporary(name))
                assert await life.answers()
        async with a_life(tmp_path, server, Allowance(calls_per_stream=2)) as life:
            await life.begins(temporary("live-3"))
            assert not await life.answers()
            await life.begins(STREAM)
            assert not await life.answers()
            await life.begins(temporary("live-4"))  # after the stream
            assert await life.answers()


@pytest.mark.parametrize(("later", "answered"), [(timedelta(minutes=59), False), (timedelta(minutes=61), True)])
async def test_what_was_spent_over_an_hour_ago_counts_no_more(later: timedelta, answered: bool, tmp_path: Path) -> None:
    async with FakeLlmServer([says("sì")]) as server:
        async with a_life(tmp_path, server, Allowance(calls_per_hour=1)) as life:
            await life.begins(STREAM)
            assert await life.answers()
        clock = VirtualClock(a_clock().now() + later)
        async with a_life(tmp_path, server, Allowance(calls_per_hour=1), clock=clock) as life:
            await life.begins(STREAM)
            assert await life.answers() is answered


async def test_a_clock_that_was_set_back_meanwhile_makes_the_hour_no_longer(tmp_path: Path) -> None:
    async with FakeLlmServer([says("sì")]) as server:
        async with a_life(tmp_path, server, Allowance(calls_per_hour=1)) as life:
            await life.begins(STREAM)
            assert await life.answers()
        clock = VirtualClock(a_clock().now() - timedelta(days=1))
        async with a_life(tmp_path, server, Allowance(calls_per_hour=1), clock=clock) as life:
            await life.begins(STREAM)
            assert not await life.answers()
            clock.advance(timedelta(minutes=61))
            assert await life.answers()


async def test_while_the_database_is_away_answers_go_on_and_are_written_down_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object) -> None:
        message = "the disk is full"
        raise StoreUnavailable(message)

    async with FakeLlmServer([says("sì")]) as server:
        async with a_life(tmp_path, server, Allowance(calls_per_stream=3)) as life:
            await life.begins(STREAM)
            with monkeypatch.context() as broken, structlog.testing.capture_logs() as logs:
                broken.setattr(life.memory, "spent", away)
                broken.setattr(life.memory, "note_spent", away)
                assert await life.answers()
                assert await life.answers()
            assert {"llm_account_not_read", "llm_account_not_written"} <= {entry["event"] for entry in logs}
            assert await life.answers()
            assert not await life.answers()
        async with a_life(tmp_path, server, Allowance(calls_per_stream=3)) as life:
            await life.begins(STREAM)
            assert not await life.answers()


async def test_the_account_holds_an_hour_however_much_is_asked(tmp_path: Path) -> None:
    clock = a_clock()
    async with FakeLlmServer([says("sì")]) as server, a_life(tmp_path, server, Allowance(), clock=clock) as life:
        await life.begins(STREAM)
        for _ in range(130):
            assert await life.answers()
            clock.advance(timedelta(minutes=1))
        await life.memory.run_jobs()
        spent = await life.memory.spent("s1")
    assert spent.calls == 130
    assert len(spent.hour) <= 61
