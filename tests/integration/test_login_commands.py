"""The commands of a login, a logout and a set-up in this process, with a fake Twitch and a person who follows them."""

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from builders_cli import Run
from fakes.twitch import FakeTwitch

from bot.tokens import load_tokens
from memory import Viewer

TOKENS = Path("data/twitch-tokens.json")


@pytest.fixture
async def fake(tmp_path: Path) -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        served.oauth.interval = 0.02
        (tmp_path / "ricordo.toml").write_text(
            f'[twitch]\nclient_id = "client"\nchannel = "casa"\nbot = "ricordo_bot"\napi_url = "{served.url}"\n'
        )
        yield served


@asynccontextmanager
async def approving(fake: FakeTwitch, user: Viewer) -> AsyncIterator[None]:
    """Somebody enters the code as soon as there is one."""

    async def enter() -> None:
        while not fake.oauth.devices:  # noqa: ASYNC110 - a plain dictionary
            await asyncio.sleep(0.01)
        fake.oauth.approve(user)

    entering = asyncio.create_task(enter())
    try:
        yield
    finally:
        entering.cancel()


async def test_a_login_says_what_to_do_and_a_logout_undoes_it(fake: FakeTwitch, run: Run, tmp_path: Path) -> None:
    async with approving(fake, fake.bot):
        code, shown, _ = await asyncio.to_thread(run, "login", "--language", "en")
    assert code == 0
    for told in ("Sign in to Twitch as ricordo_bot", "The code is  ABCD", "user:read:chat", "ricordo_bot is connected"):
        assert told in shown
    assert set(load_tokens(tmp_path / TOKENS)) == {"bot"}
    code, shown, _ = await asyncio.to_thread(run, "logout", "--language", "it")
    assert (code, "bot: uscito, Twitch ha ritirato il permesso" in shown) == (0, True)
    assert not (tmp_path / TOKENS).exists()


async def test_a_logout_names_a_token_that_is_configured_elsewhere(
    fake: FakeTwitch, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with approving(fake, fake.bot):
        await asyncio.to_thread(run, "login", "--language", "en", "--minimal")
    fake.oauth.grants.clear()
    monkeypatch.setenv("RICORDO_TWITCH__ACCESS_TOKEN", "access-1")
    shown = (await asyncio.to_thread(run, "logout", "--language", "en"))[1]
    assert "the permission had ended before" in shown
    assert "remove it there too" in shown


async def test_a_broadcaster_with_a_secret_is_sent_to_a_browser_and_without_one_is_not_needed(
    fake: FakeTwitch, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.oauth.browser = fake.channel
    code, _, said = await asyncio.to_thread(run, "login", "--broadcaster", "--language", "en")
    assert (code, "Nothing is missing" in said, fake.oauth.devices) == (2, True, {})
    monkeypatch.setenv("RICORDO_TWITCH__CLIENT_SECRET", "client-secret")
    monkeypatch.setenv("RICORDO_TWITCH__REDIRECT_PORT", "0")
    shown_page: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    class Browser(io.StringIO):
        """A terminal whose reader opens the address that is printed."""

        loop = asyncio.get_running_loop()

        def write(self, text: str) -> int:
            for word in text.split():
                if "/oauth2/authorize?" in word:
                    self.loop.call_soon_threadsafe(shown_page.set_result, word)
            return super().write(text)

    monkeypatch.setattr("sys.stdout", Browser())
    logging_in = asyncio.create_task(asyncio.to_thread(run, "login", "--broadcaster", "--language", "en"))
    async with asyncio.timeout(20), aiohttp.ClientSession() as session, session.get(await shown_page) as answer:
        assert answer.status == 200
    assert (await logging_in)[0] == 0
    assert set(load_tokens(tmp_path / TOKENS)) == {"broadcaster"}


async def test_a_set_up_whose_login_fails_goes_on_to_the_doctor(
    fake: FakeTwitch, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("\n\n\nn\n1\ns\n"))
    async with approving(fake, fake.person("mallory")):
        code, shown, _ = await asyncio.to_thread(run, "setup", "--language", "it")
    assert code == 1
    assert "L'account non è collegato: sulla pagina di Twitch era entrato mallory" in shown
    assert "MALE  Twitch" in shown
    assert "Ci siamo quasi" in shown
    assert "Per avviarlo" not in shown
