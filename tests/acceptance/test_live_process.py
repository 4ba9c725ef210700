"""The shipped program, as a process, against a Twitch on this machine: it answers, remembers across a restart, ends cleanly."""

import asyncio
import signal
import sqlite3
from pathlib import Path

from builders_process import a_bot, a_config, jobs_done, lines_in, started
from fakes.llm_server import Answer, FakeLlmServer, Fault
from fakes.twitch import FakeTwitch


async def test_a_fact_told_one_evening_is_recalled_after_a_restart(twitch: FakeTwitch, tmp_path: Path) -> None:
    config = a_config(tmp_path, twitch)
    async with a_bot(config, twitch) as first:
        await twitch.chat("alice", "io lavoro in una serra, vendiamo basilico ai ristoranti")
        await twitch.chat("bruno", "che freddo stasera in studio")
        await lines_in(tmp_path, 2)
        await jobs_done(tmp_path)
        assert await first.stop() == 0
    await twitch.until(lambda: not twitch.subscriptions)  # what the first one held is not taken for the second one's
    async with a_bot(config, twitch) as second:
        await twitch.chat("alice", "memo ricordi che lavoro faccio?")
        replies = await twitch.posted(1)
        assert "serra" in replies[0]
        assert "freddo" not in replies[0]
        assert await second.stop() == 0
    assert (await lines_in(tmp_path, 4))[-1] == replies[0]


async def test_the_model_is_asked_with_the_memory_block_and_its_words_are_posted(twitch: FakeTwitch, tmp_path: Path) -> None:
    async with FakeLlmServer([Answer(text="Lavori in una serra!")]) as llm:
        async with a_bot(a_config(tmp_path, twitch, llm=llm.url), twitch) as bot:
            await twitch.chat("alice", "io lavoro in una serra")
            await lines_in(tmp_path, 1)
            await twitch.chat("alice", "memo che lavoro faccio?")
            assert await twitch.posted(1) == ["Lavori in una serra!"]
            assert await bot.stop() == 0
        assert "serra" in str(llm.requests[-1]["messages"])


async def test_a_killed_bot_that_starts_again_knows_what_its_answers_have_cost(twitch: FakeTwitch, tmp_path: Path) -> None:
    async with FakeLlmServer([Answer(text="Sono qui!")]) as llm:
        config = a_config(tmp_path, twitch, llm=llm.url)
        config.write_text(config.read_text(encoding="utf-8") + "calls_per_stream = 1\ntools = false\n", encoding="utf-8")
        async with a_bot(config, twitch) as first:
            await twitch.chat("alice", "memo ci sei?")
            assert await twitch.posted(1) == ["Sono qui!"]
            await lines_in(tmp_path, 2)  # the turn is recorded
            first.process.kill()
            await first.process.wait()
        await twitch.until(lambda: not twitch.subscriptions)
        async with a_bot(config, twitch) as second:
            await twitch.chat("alice", "memo ci sei ancora?")
            await second.wrote("allowance_spent")
            assert await second.stop() == 0
        assert len(llm.requests) == 1


async def test_a_second_bot_on_the_same_data_is_refused_with_its_own_exit_code(twitch: FakeTwitch, tmp_path: Path) -> None:
    config = a_config(tmp_path, twitch)
    async with a_bot(config, twitch) as first:
        second = await started(config)
        async with asyncio.timeout(60):
            await second.process.wait()
        assert await second.stop() == 3
        assert "Traceback" not in second.output
        assert await first.stop() == 0


async def test_told_to_stop_while_the_model_hangs_the_bot_stores_what_it_heard_and_ends_well(
    twitch: FakeTwitch, tmp_path: Path
) -> None:
    async with FakeLlmServer([Fault("hang")]) as llm:
        async with a_bot(a_config(tmp_path, twitch, llm=llm.url), twitch) as bot:
            await twitch.chat("alice", "memo che lavoro faccio?")
            await asked(llm)
            for number in range(30):
                await twitch.chat("bruno", f"riga {number}")
            async with asyncio.timeout(10):
                assert await bot.stop() == 0
        assert "Traceback" not in bot.output
    assert turns_in(tmp_path) == ["recorded"]
    texts = await lines_in(tmp_path, 1)
    assert texts == ["memo che lavoro faccio?", *(f"riga {number}" for number in range(len(texts) - 1))]


async def test_a_second_signal_ends_the_bot_at_once_with_everything_stored(twitch: FakeTwitch, tmp_path: Path) -> None:
    async with FakeLlmServer([Fault("hang")]) as llm, a_bot(a_config(tmp_path, twitch, llm=llm.url), twitch) as bot:
        await twitch.chat("alice", "memo che lavoro faccio?")
        await asked(llm)
        for number in range(30):
            await twitch.chat("bruno", f"riga {number}")
        await asyncio.sleep(0.5)  # heard, and waiting behind the turn in hand
        bot.process.send_signal(signal.SIGINT)
        await asyncio.sleep(0.1)
        bot.process.send_signal(signal.SIGINT)
        async with asyncio.timeout(10):
            assert await bot.process.wait() == 128 + signal.SIGINT
    assert await lines_in(tmp_path, 31) == ["memo che lavoro faccio?", *(f"riga {number}" for number in range(30))]


async def asked(llm: FakeLlmServer) -> None:
    """Wait until the model was asked something."""
    async with asyncio.timeout(20):
        while not llm.requests:  # noqa: ASYNC110 - a list of the fake
            await asyncio.sleep(0.02)


def turns_in(folder: Path) -> list[str]:
    """Return the states of all turns, each once."""
    (path,) = folder.glob("data/*/memory.db")
    with sqlite3.connect(path) as connection:
        states = [row[0] for row in connection.execute("SELECT DISTINCT state FROM turn")]
    connection.close()
    return states


async def test_a_hangup_reads_the_files_anew_and_the_evening_is_recorded(twitch: FakeTwitch, tmp_path: Path) -> None:
    async with a_bot(a_config(tmp_path, twitch), twitch) as bot:
        await twitch.chat("alice", "io lavoro in una serra")
        await lines_in(tmp_path, 1)
        bot.process.send_signal(signal.SIGHUP)
        await bot.wrote("files_reloaded")
        assert await bot.stop() == 0
    recorded = next(tmp_path.glob("data/*/recordings/*.jsonl"))  # noqa: ASYNC240 - a test may look at its own disk
    assert "io lavoro in una serra" in recorded.read_text(encoding="utf-8")
