"""The shipped program with its vector index in a process of its own: that one dies, and Ctrl-C reaches both."""

import asyncio
import os
import signal
from pathlib import Path

import psutil
from builders_process import a_bot, a_config, jobs_done, lines_in
from fakes.twitch import FakeTwitch


async def test_the_index_is_killed_in_the_evening_and_nothing_is_forgotten(twitch: FakeTwitch, tmp_path: Path) -> None:
    config = a_config(tmp_path, twitch)
    async with a_bot(config, twitch) as first:
        await twitch.chat("alice", "io lavoro in una serra, vendiamo basilico ai ristoranti")
        await lines_in(tmp_path, 1)
        first.index_process().kill()
        await first.wrote("index_process_died")
        await twitch.chat("bruno", "la mia gatta si chiama Briciola")
        await lines_in(tmp_path, 2)
        await jobs_done(tmp_path, later=True)
        assert await first.stop() == 0
    assert first.output.count("index_process_started") == 2
    assert "Traceback" not in first.output
    await twitch.until(lambda: not twitch.subscriptions)
    async with a_bot(config, twitch) as second:
        await twitch.chat("alice", "memo ricordi che lavoro faccio?")
        assert "serra" in (await twitch.posted(1))[0]
        await twitch.chat("bruno", "memo ricordi come si chiama la mia gatta?")
        assert "Briciola" in (await twitch.posted(2))[1]
        assert await second.stop() == 0


async def test_an_interrupt_from_the_terminal_reaches_both_and_the_index_is_closed_in_order(
    twitch: FakeTwitch, tmp_path: Path
) -> None:
    async with a_bot(a_config(tmp_path, twitch), twitch) as bot:
        await twitch.chat("alice", "io lavoro in una serra")
        await lines_in(tmp_path, 1)
        await jobs_done(tmp_path)
        index = bot.index_process()
        os.killpg(bot.process.pid, signal.SIGINT)
        async with asyncio.timeout(10):
            await bot.process.wait()
        assert await bot.stop() == 0
    assert not psutil.pid_exists(index.pid)
    assert "index_process_died" not in bot.output
    assert "index_process_not_closed" not in bot.output
    assert "Traceback" not in bot.output


async def test_a_bot_that_is_killed_takes_its_index_along_and_the_next_one_starts_at_once(
    twitch: FakeTwitch, tmp_path: Path
) -> None:
    config = a_config(tmp_path, twitch)
    async with a_bot(config, twitch) as first:
        await twitch.chat("alice", "io lavoro in una serra, vendiamo basilico ai ristoranti")
        await lines_in(tmp_path, 1)
        index = first.index_process()
        first.process.kill()
        await first.process.wait()
    await twitch.until(lambda: not twitch.subscriptions)
    async with a_bot(config, twitch) as second:
        assert second.index_process().pid != index.pid
        assert not psutil.pid_exists(index.pid)
        await jobs_done(tmp_path, later=True)
        await twitch.chat("alice", "memo ricordi che lavoro faccio?")
        assert "serra" in (await twitch.posted(1))[0]
        assert await second.stop() == 0
