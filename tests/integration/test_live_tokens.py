"""The bot's token through an evening: it runs out, is renewed, taken away, or replaced by a login; and what Twitch forgets."""

import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from builders_twitch import evening, twitch_settings
from fakes.twitch import FakeTwitch

from bot.live import LiveSettings
from bot.live_errors import TwitchRefused, TwitchUnreachable
from bot.supervisor import tell_supervisor
from bot.tokens import TokenPair, load_tokens, save_tokens
from bot.twitch import TwitchConnection
from memory import WallClock


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        yield served


async def test_a_public_client_whose_token_ran_out_overnight_renews_it(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.access = "newer"
    async with evening(fake, tmp_path, client_secret="") as live:
        await fake.chat("alice", "ricordino ci sei?")
        await fake.posted(1)
        assert load_tokens(tmp_path / "tokens.json")["bot"].access == fake.access == "access-r1"
        await live.until(lambda: live.bench.outcomes)


async def test_a_public_client_whose_token_runs_out_in_the_evening_renews_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path, client_secret="") as live:
        fake.access = "newer"
        await fake.chat("alice", "ricordino ci sei?")
        await fake.posted(1)
        await live.until(lambda: load_tokens(tmp_path / "tokens.json")["bot"].access == "access-r1")
        assert await live.connection.check() == []


@pytest.mark.parametrize("path", ["/oauth2/validate", "/helix/users"])
@pytest.mark.parametrize("status", [429, 500])
async def test_an_outage_at_the_start_is_no_refusal(fake: FakeTwitch, tmp_path: Path, path: str, status: int) -> None:
    fake.trouble.statuses[path].append(status)
    async with TwitchConnection(twitch_settings(fake, tmp_path, client_secret=""), WallClock()) as connection:
        with pytest.raises(TwitchUnreachable, match=f"HTTP {status}"):
            await connection.log_in()


async def test_a_wrong_client_secret_is_not_taken_for_a_dead_token(fake: FakeTwitch, tmp_path: Path) -> None:
    async with TwitchConnection(twitch_settings(fake, tmp_path, client_secret="wrong"), WallClock()) as connection:
        with pytest.raises(TwitchRefused, match="check client id and secret"):
            await connection.log_in()


async def test_a_token_of_another_account_is_refused(fake: FakeTwitch, tmp_path: Path) -> None:
    async with TwitchConnection(twitch_settings(fake, tmp_path, bot="somebody"), WallClock()) as connection:
        with pytest.raises(TwitchRefused, match=r"belongs to ricordo_bot, .* names somebody"):
            await connection.log_in()


async def test_a_permission_that_is_taken_away_ends_the_evening_and_names_the_login(fake: FakeTwitch, tmp_path: Path) -> None:
    async def robbed() -> None:
        async with evening(fake, tmp_path, live=LiveSettings(watchdog_seconds=0.05, watchdog_failures=2)) as live:
            fake.oauth.grants.clear()
            await live.until(lambda: False)

    with pytest.raises(ExceptionGroup) as caught:
        await robbed()
    assert caught.group_contains(TwitchRefused, match="run `ricordo login`")


async def test_a_token_that_twitchio_gave_up_is_not_spoken_with(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path, client_secret="") as live:
        assert live.connection._client is not None
        await live.connection._client.remove_token("900")
        said = await live.connection.voice().say("ciao", None)
        assert (said.state, said.reason) == ("failed", "token_ended")
        with pytest.raises(TwitchRefused, match="has ended"):
            await live.connection.check()


async def test_the_hourly_look_at_the_token_is_revived_where_it_died(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        client = live.connection._client
        assert client is not None
        assert await live.connection.check() == []
        dead = client._http._validate_task
        assert dead is not None
        dead.cancel()
        await live.until(dead.done)
        fake.access = "newer"  # it also finds that the token has run out meanwhile
        assert await live.connection.check() == []
        revived = client._http._validate_task
        assert revived is not None
        assert not revived.done()
        assert load_tokens(tmp_path / "tokens.json")["bot"].access == "access-r1"


async def test_a_login_while_the_bot_runs_is_not_undone_by_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        newer = TokenPair(access="of-the-login", refresh="r")
        save_tokens(tmp_path / "tokens.json", {"bot": newer})
        await live.connection.check()
    assert load_tokens(tmp_path / "tokens.json")["bot"] == newer


async def test_tokens_that_could_not_be_written_are_written_at_the_next_check(fake: FakeTwitch, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    async with evening(fake, tmp_path) as live:
        file.unlink()
        file.mkdir()  # a file cannot replace it
        fake.access = "newer"
        await live.connection.check()
        file.rmdir()
        await live.connection.check()
        assert load_tokens(file)["bot"].refresh == "refresh-r1"


async def test_a_subscription_that_twitch_forgot_without_a_word_is_taken_out_again(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.lose("channel.chat.message")
        assert "channel.chat.message" in live.connection.living()
        assert await live.connection.check() == ["channel.chat.message"]
        assert await live.connection.check() == []
        await fake.chat("alice", "ricordino ci sei?")
        assert await fake.posted(1) == ["risposta 1"]


@pytest.mark.parametrize("status", [429, 500])
async def test_a_list_that_twitch_does_not_give_is_no_failure(fake: FakeTwitch, tmp_path: Path, status: int) -> None:
    async with evening(fake, tmp_path) as live:
        fake.trouble.statuses["/helix/eventsub/subscriptions"].append(status)
        assert await live.connection.check() == []
        fake.trouble.seconds["/helix/eventsub/subscriptions"] = 1.0
        live.connection._settings = twitch_settings(fake, tmp_path)
        assert await live.connection.check() == []


async def test_systemd_hears_that_the_bot_is_up_lives_and_ends(
    fake: FakeTwitch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as supervisor:
        supervisor.bind(str(path))
        supervisor.settimeout(0)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        async with evening(fake, tmp_path):
            pass
        heard = [supervisor.recv(100).decode() for _ in range(3)]
    assert heard == ["READY=1", "WATCHDOG=1", "STOPPING=1"]
    os.unlink(path)  # noqa: PTH108 - a socket, gone like a supervisor that crashed
    tell_supervisor("WATCHDOG=1")
    monkeypatch.setenv("NOTIFY_SOCKET", "@ricordo-test-nobody")
    tell_supervisor("WATCHDOG=1")
