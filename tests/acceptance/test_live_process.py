"""The shipped program, as a process, against a Twitch on this machine: it answers, remembers across a restart, ends cleanly."""

import asyncio
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from fakes import issued
from fakes.llm_server import Answer, FakeLlmServer, Fault
from fakes.twitch import FakeTwitch

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
async def twitch() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        await served.go_online("777")
        yield served


def a_config(folder: Path, twitch: FakeTwitch, *, llm: str = "") -> Path:
    path = folder / "ricordo.toml"
    path.write_text(
        f"""
[storage]
data_dir = "{folder / "data"}"
[twitch]
client_id = "client"
channel = "casa"
api_url = "{twitch.url}"
[persona]
aliases = ["memo"]
[batching]
addressed_grace_seconds = 0.05
quiet_seconds = 0.3
longest_wait_seconds = 1.0
[manners]
channel_cooldown_seconds = 0
viewer_cooldown_seconds = 0
[llm]
base_url = "{llm}"
model = "{"tiny" if llm else ""}"
""",
        encoding="utf-8",
    )
    return path


class Running:
    """A running bot: its process, and everything it wrote."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        written, _ = await asyncio.wait_for(self.process.communicate(), 20)
        self.output = written.decode()
        issued.look_into("the bot's output", self.output)
        return self.process.returncode or 0


async def started(config: Path) -> Running:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}
    environment |= {
        "RICORDO_TWITCH__ACCESS_TOKEN": "access-1",
        "RICORDO_TWITCH__REFRESH_TOKEN": "refresh-1",
        "RICORDO_TWITCH__CLIENT_SECRET": "client-secret",
        "RICORDO_LLM__API_KEY": issued.issue("llm-key"),
        "PYTHONPATH": str(ROOT),
    }
    return Running(
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from replays.cli import main; main()",
            "run",
            "--config",
            str(config),
            cwd=config.parent,
            env=environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
    )


@asynccontextmanager
async def a_bot(config: Path, twitch: FakeTwitch) -> AsyncIterator[Running]:
    running = await started(config)
    try:
        async with asyncio.timeout(60):
            while "channel.chat.message" not in twitch.heard_types():
                assert running.process.returncode is None, f"ended with {await running.stop()}: {running.output}"
                await asyncio.sleep(0.05)
        yield running
    finally:
        if running.process.returncode is None:
            running.process.kill()
            await running.process.wait()


async def lines_in(folder: Path, count: int) -> list[str]:
    """Wait until the memory holds so many lines; return their texts in order."""
    async with asyncio.timeout(20):
        while True:
            for path in folder.glob("data/*/memory.db"):  # noqa: ASYNC240 - a test may look at its own disk
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                    texts = [row[0] for row in connection.execute("SELECT text FROM line ORDER BY seq")]
                connection.close()
                if len(texts) >= count:
                    return texts
            await asyncio.sleep(0.1)


async def test_a_fact_told_one_evening_is_recalled_after_a_restart(twitch: FakeTwitch, tmp_path: Path) -> None:
    config = a_config(tmp_path, twitch)
    async with a_bot(config, twitch) as first:
        await twitch.chat("alice", "io lavoro in una serra, vendiamo basilico ai ristoranti")
        await twitch.chat("bruno", "che freddo stasera in studio")
        await lines_in(tmp_path, 2)
        assert await first.stop() == 0
    twitch.subscriptions.clear()
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
