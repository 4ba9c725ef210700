"""The shipped program, as a process, through everything that was seen to go wrong with Twitch in one evening."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path

import pytest
from builders_process import ROOT, Running, a_bot, a_config, lines_in
from fakes import issued, twitch_script
from fakes.llm_server import FakeLlmServer, says
from fakes.twitch import FakeTwitch

from bot.account import CHAT, MODERATION, NOTICES, STREAMS

WANTED = {CHAT, NOTICES, *MODERATION, *STREAMS}


@pytest.fixture
async def llm() -> AsyncIterator[FakeLlmServer]:
    async with FakeLlmServer([says(f"risposta {number}") for number in range(500)]) as served:  # none is a repetition
        yield served


class Evening:
    """A running bot that is asked something now and then."""

    def __init__(self, twitch: FakeTwitch, bot: Running) -> None:
        self.twitch = twitch
        self.bot = bot
        self.asked: list[str] = []

    async def healed(self) -> None:
        await self.twitch.reached(lambda: self.twitch.heard_types() >= WANTED)

    async def ask(self) -> str:
        """Ask something that no other question is answered with; return the question's id."""
        number = len(self.asked) + 1
        asked = await self.twitch.chat("alice", f"memo ricordi la cosa {number} {'x' * number}?", badges=("moderator",))
        self.asked.append(asked)
        return asked

    async def is_answered(self) -> None:
        """Ask until an answer to one of the questions comes: what is said while nobody listens is lost, at Twitch too."""
        async with asyncio.timeout(60):
            while True:
                asked = await self.ask()
                try:
                    await self.twitch.reached(lambda: asked in self.answered(), seconds=5)  # noqa: B023 - waited for here
                except TimeoutError:
                    continue
                return

    def answered(self) -> list[str]:
        """Which questions were answered; what Twitch refused (503: TwitchIO asks once more) does not count."""
        return [post["reply_parent_message_id"] for post in self.twitch.posts if "fault" not in post]


async def play(evening: Evening, script: Mapping[str, Callable[[FakeTwitch], Awaitable[None]]]) -> None:
    for deed in script.values():
        await deed(evening.twitch)
        await evening.healed()
        await evening.is_answered()


async def test_an_evening_with_every_fault_is_lived_through(twitch: FakeTwitch, llm: FakeLlmServer, tmp_path: Path) -> None:
    async with a_bot(a_config(tmp_path, twitch, llm=llm.url), twitch) as bot:
        evening = Evening(twitch, bot)
        await evening.healed()
        await play(evening, twitch_script.MESSAGE_FAULTS)
        texts = await lines_in(tmp_path, 3)
        assert [text for text in texts if "detto" in text or "arriva" in text] == [
            "detto una volta", "la seconda arriva prima", "la prima arriva dopo"
        ]  # fmt: skip
        assert not any("mai stato" in text for text in texts)
        assert "never" not in evening.answered()
        for deed in twitch_script.POST_FAULTS.values():
            await deed(twitch)
            posts = len(twitch.posts)
            await evening.ask()
            await twitch.until(lambda: len(twitch.posts) > posts)  # noqa: B023 - waited for here
            await evening.is_answered()
        await play(evening, twitch_script.CONNECTION_FAULTS)
        assert sorted(set(evening.answered())) == sorted(evening.answered()), "something was answered twice"
        assert await bot.stop() == 0
    ours = re.findall(rf'File "{re.escape(str(ROOT))}/(?!\.venv/)[^"]*"', bot.output)
    assert ours == []  # TwitchIO, in our `.venv`, tells of what it cannot read; nothing of ours may fail
    assert "senza una chiave" not in bot.output
    assert issued.leaks() == []


@pytest.mark.slow
async def test_a_reconnect_that_is_never_greeted_is_healed_by_the_program_itself(
    twitch: FakeTwitch, llm: FakeLlmServer, tmp_path: Path
) -> None:
    async with a_bot(a_config(tmp_path, twitch, llm=llm.url, watchdog=4), twitch) as bot:
        evening = Evening(twitch, bot)
        await evening.healed()
        await play(evening, twitch_script.SLOW_FAULTS)
        assert await bot.stop() == 0
