"""The shipped program as a process of its own, against a Twitch on this machine."""

import asyncio
import os
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
from fakes import issued
from fakes.twitch import FakeTwitch

ROOT = Path(__file__).parent.parent
_NEVER = 2**62
_UNDONE = "SELECT count(*) FROM memory_job WHERE state = 'leased' OR (state = 'ready' AND run_after <= :now)"


def a_config(folder: Path, twitch: FakeTwitch, *, llm: str = "", grace: float = 0.05, watchdog: float = 0.2) -> Path:
    path = folder / "ricordo.toml"
    path.write_text(
        f"""
[storage]
data_dir = "{folder / "data"}"
[twitch]
client_id = "client"
channel = "casa"
api_url = "{twitch.url}"
watchdog_seconds = {watchdog}
[recording]
enabled = true
[persona]
aliases = ["memo"]
[batching]
addressed_grace_seconds = {grace}
quiet_seconds = 0.3
longest_wait_seconds = 1.0
[retrieval]
source_seconds = 40
retrieve_seconds = 50
recall_seconds = 60
[manners]
channel_cooldown_seconds = 0
messages_per_window = 100
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

    def __init__(self, process: asyncio.subprocess.Process, written: Path) -> None:
        self.process = process
        self.output = ""
        self._written = written  # a file: a pipe that nobody reads fills up

    async def wrote(self, word: str) -> None:
        """Wait until the program wrote a word."""
        async with asyncio.timeout(60):
            while word not in self._written.read_text(encoding="utf-8"):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)

    def index_process(self) -> psutil.Process:
        """The process of its vector index."""
        [found] = [one for one in psutil.Process(self.process.pid).children() if "index_worker" in " ".join(one.cmdline())]
        return found

    async def stop(self) -> int:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(self.process.wait(), 60)
        self.output = self._written.read_text(encoding="utf-8")
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
    written = config.parent / f"output-{time.monotonic_ns()}.log"
    with written.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            "from replays.cli import main; main()",
            "run",
            "--config",
            str(config),
            cwd=config.parent,
            env=environment,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # so that a test can do what a terminal does: signal it with all of its children
        )
    return Running(process, written)


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
    async with asyncio.timeout(60):
        while True:
            for path in folder.glob("data/*/memory.db"):  # noqa: ASYNC240 - a test may look at its own disk
                with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                    texts = [row[0] for row in connection.execute("SELECT text FROM line ORDER BY seq")]
                connection.close()
                if len(texts) >= count:
                    return texts
            await asyncio.sleep(0.1)


async def jobs_done(folder: Path, *, later: bool = False) -> None:
    """Wait until no job of the memory is left to be done now; with `later`, none either that failed and comes again."""
    async with asyncio.timeout(60):
        while True:
            for path in folder.glob("data/*/memory.db"):  # noqa: ASYNC240 - a test may look at its own disk
                connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
                [(left,)] = connection.execute(_UNDONE, {"now": _NEVER if later else round(time.time() * 1000)})
                connection.close()
                if not left:
                    return
            await asyncio.sleep(0.1)
