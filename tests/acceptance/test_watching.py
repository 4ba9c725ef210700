"""The live bot as people watch it: `make demo-live` as a script, and `ricordo top` beside a running bot."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import demo_live
import pytest
from builders_cli import ROOT, an_evening, clean_environment, ricordo, write_log_file
from fakes.twitch import FakeTwitch

from config.settings import Settings

DEMO = [sys.executable, str(ROOT / "tests" / "demo_live.py"), "--folder", "demo"]
TOP = [sys.executable, "-m", "replays", "top", "--data", "data"]
CHAT = (
    "anna: la mia gatta si chiama Briciola\nbruno: che freddo\n/mod bruno\nanna: memo come si chiama la mia gatta?\n/help me\n"
)


def played(folder: Path, chat: str, *arguments: str) -> str:
    done = subprocess.run(
        [*DEMO, "--every", "1.5", *arguments],
        cwd=folder, env=clean_environment(folder), input=chat, capture_output=True, text=True,
        check=False, timeout=100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_the_demo_answers_what_is_typed_and_remembers_it_the_next_time(tmp_path: Path) -> None:
    shown = played(tmp_path, CHAT)
    assert "bruno is a moderator now" in shown
    assert re.search(r"▸ Ricordo: .*Briciola", shown)
    assert "stopped. 3 lines were written" in shown
    again = played(tmp_path, "anna: memo come si chiama la mia gatta?\n/quit\nanna: never said\n")
    assert re.search(r"▸ Ricordo: .*Briciola", again)
    assert "└ anna wrote" in again
    assert "never said" not in again


@pytest.mark.slow
def test_the_demo_plays_a_log(tmp_path: Path) -> None:
    user = {"id": "77", "login": "lia", "name": "Lia"}
    line = {"type": "message", "id": "m1", "at": "2026-03-01T20:00:00Z", "user": user, "text": "memo ciao!"}
    (tmp_path / "log.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    shown = played(tmp_path, "", "--play", "log.jsonl")
    assert "Lia             memo ciao!" in shown
    assert "▸ Ricordo: " in shown


@pytest.fixture
async def twitch(tmp_path: Path) -> AsyncIterator[FakeTwitch]:
    """A running bot in `tmp_path`, which was told something and asked about it."""
    own = Settings()
    async with FakeTwitch() as served:
        await served.go_online("777")
        config = demo_live.write_config(tmp_path, served, own)
        config.write_text(config.read_text(encoding="utf-8") + f"[watch]\nport = {a_port()}\n", encoding="utf-8")
        async with demo_live.running(config, served, own):
            await served.chat("alice", "io lavoro in una serra")
            await asyncio.sleep(2)  # the turn of this line is over: quiet_seconds is 1
            await served.chat("alice", "memo ciao!")
            await served.posted(1)
            yield served


def a_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def ran(folder: Path, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        *TOP, *arguments, cwd=folder, env=clean_environment(folder), stdout=asyncio.subprocess.PIPE
    )
    written, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0
    return written.decode()


@pytest.mark.slow
async def test_top_reads_beside_the_running_bot_and_metrics_are_served(twitch: FakeTwitch, tmp_path: Path) -> None:
    told = json.loads(await ran(tmp_path, "--json"))
    assert told["running"]["counts"]["message"] == 2
    assert told["turns"][0]["asked"][0]["text"] == "memo ciao!"
    assert told["turns"][0]["running"]["milliseconds"]["total"] > 0
    assert told["messages_per_second"]["60s"] > 0
    shown = await ran(tmp_path, "--once")
    assert "Ricordo · Casa" in shown
    assert "running since" in shown
    assert f"▸ {twitch.posts[0]['message']}" in shown
    port = re.search(r"port = (\d+)", (tmp_path / "ricordo.toml").read_text(encoding="utf-8"))
    assert port is not None
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port[1]}/metrics") as answer:
        assert 'ricordo_events_total{type="message"} 2' in await answer.text()
    log = (tmp_path / "bot.log").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in log.splitlines()]
    assert {"metrics_served", "turn_finished", "went_live"} <= {line["event"] for line in lines}
    assert "serra" not in log


def test_top_in_a_folder_without_a_memory_says_how_to_get_one(tmp_path: Path) -> None:
    done = ricordo("top", "--once", "--data", "data", cwd=tmp_path)
    assert done.returncode == 2
    assert "holds no memory" in done.stderr


ON_A_TERMINAL = (
    "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.executable, sys.argv[1:])"
)


@pytest.fixture(scope="module")
def demo_memory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("top")
    write_log_file(folder / "chat.jsonl", an_evening())
    assert ricordo("replay", "chat.jsonl", "--out", "data", cwd=folder).returncode == 0
    return folder


@pytest.mark.parametrize("key", [b"q", b"\x03", b"\x1b"])
@pytest.mark.slow
def test_top_ends_on_q_escape_and_ctrl_c(demo_memory: Path, key: bytes) -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-c", ON_A_TERMINAL, *TOP], cwd=demo_memory, stdin=theirs, stdout=theirs, stderr=theirs,
        env=clean_environment(demo_memory, TERM="xterm"),
    ) as process:  # fmt: skip
        os.close(theirs)
        try:
            seen = b""
            while b"Briciola" not in seen:
                seen += os.read(ours, 4096)
            os.write(ours, key)
            with contextlib.suppress(OSError):  # the terminal is gone with the program
                while more := os.read(ours, 4096):
                    seen += more
            assert process.wait(20) == 0
        finally:
            os.close(ours)
            process.kill()
    assert b"no bot is running here" in seen
    assert b"Traceback" not in seen


def test_top_prints_one_picture_where_nobody_watches(demo_memory: Path) -> None:
    done = ricordo("top", "--data", "data", cwd=demo_memory)
    assert done.returncode == 0
    assert "Ricordo · Canale  no bot is running here" in done.stdout
    assert "la mia gatta si chiama Briciola" in done.stdout
