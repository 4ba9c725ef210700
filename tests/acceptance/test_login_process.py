"""`ricordo login`, `run` and `logout` as a streamer uses them, against a Twitch on this machine."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from builders_cli import clean_environment
from fakes import issued
from fakes.twitch import FakeTwitch


@pytest.fixture
async def twitch() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        served.oauth.interval = 0.05
        yield served


def a_config(folder: Path, twitch: FakeTwitch, **more: str) -> Path:
    path = folder / "ricordo.toml"
    values = {"client_id": "client", "channel": "casa", "bot": "Ricordo_Bot", "api_url": twitch.url, **more}
    path.write_text("[twitch]\n" + "".join(f'{key} = "{value}"\n' for key, value in values.items()))
    return path


class Command:
    """A command of the program as a process: what it has said so far, and how it ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.output = ""

    async def says(self, text: str) -> None:
        async with asyncio.timeout(60):
            while text not in self.output:
                assert self.process.stdout is not None
                chunk = await self.process.stdout.readline()
                assert chunk, f"ended without saying {text}: {self.output}"
                self.output += chunk.decode()

    async def ends(self, *, stop: bool = False) -> int:
        if stop:
            self.process.send_signal(signal.SIGTERM)
        rest, _ = await asyncio.wait_for(self.process.communicate(), 60)
        self.output += rest.decode()
        issued.look_into("a command's output", self.output)
        return self.process.returncode or 0


async def ricordo(folder: Path, *arguments: str, **environment: str) -> Command:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "replays", *arguments,
        cwd=folder, env=clean_environment(folder, PYTHONUNBUFFERED="1", **environment),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    return Command(process)


async def test_a_bot_logs_in_runs_and_logs_out_without_any_token_being_shown(twitch: FakeTwitch, tmp_path: Path) -> None:
    a_config(tmp_path, twitch)
    refused = await ricordo(tmp_path, "run")
    assert await refused.ends() == 4
    assert "run `ricordo login`" in refused.output

    login = await ricordo(tmp_path, "login", LANG="it_IT.UTF-8")
    await login.says("Ti aspetto")
    assert "Entra su Twitch come ricordo_bot" in login.output
    assert "user:write:chat" in login.output
    assert next(iter(twitch.oauth.devices.values())).user_code in login.output
    twitch.oauth.approve(twitch.bot)
    assert await login.ends() == 0
    assert "ricordo_bot è collegato" in login.output

    twitch.access = "dead"  # nothing but the login's pair is left
    bot = await ricordo(tmp_path, "run")
    await bot.says("went_live")
    assert await bot.ends(stop=True) == 0

    logout = await ricordo(tmp_path, "logout")
    assert await logout.ends() == 0
    assert "bot: logged out" in logout.output
    assert [grant.access for grant in twitch.oauth.grants] == ["dead"]
    assert not (tmp_path / "data" / "twitch-tokens.json").exists()
    again = await ricordo(tmp_path, "logout", "--language", "it")
    assert (await again.ends(), "nessuno è collegato" in again.output) == (0, True)


async def test_the_set_up_ends_with_a_connected_bot_and_a_content_doctor(twitch: FakeTwitch, tmp_path: Path) -> None:
    a_config(tmp_path, twitch)  # where this Twitch is; everything else is asked and kept
    setup = await ricordo(tmp_path, "setup", "--language", "it", LANG="it_IT.UTF-8")
    assert setup.process.stdin is not None
    setup.process.stdin.write(b"\n\n\nn\n1\ns\n")
    await setup.says("Ti aspetto")
    twitch.oauth.approve(twitch.bot)
    assert await setup.ends() == 0
    assert "ok    Twitch: ricordo_bot è collegato" in setup.output
    assert "Per avviarlo: ricordo run" in setup.output


async def test_a_bot_whose_permission_is_gone_ends_with_the_code_for_it(twitch: FakeTwitch, tmp_path: Path) -> None:
    a_config(tmp_path, twitch)
    bot = await ricordo(
        tmp_path, "run", RICORDO_TWITCH__ACCESS_TOKEN="stale-access-token", RICORDO_TWITCH__REFRESH_TOKEN="stale-refresh-token"
    )
    issued.issue("stale-access-token")
    issued.issue("stale-refresh-token")
    assert await bot.ends() == 4
    assert "run `ricordo login`" in bot.output
