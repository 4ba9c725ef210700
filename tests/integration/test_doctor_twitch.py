"""What `ricordo doctor` says of Twitch, against a Twitch on this machine; it changes nothing there."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders_twitch import evening
from fakes.twitch import FakeTwitch
from pydantic import SecretStr

from bot.cli.checks_twitch import check_twitch
from bot.cli.findings import Finding
from bot.scopes import MODERATED
from bot.tokens import TokenPair, save_tokens
from config.sections import Manners, Storage, Twitch
from config.settings import Settings
from memory import WallClock

SCOPES = ("user:read:chat", "user:write:chat", MODERATED)


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        served.oauth.first.scopes = SCOPES
        yield served


def a_config(fake: FakeTwitch, folder: Path, **more: Any) -> Settings:  # noqa: ANN401 - any field of the section
    values = {
        "client_id": "client", "channel": "casa", "bot": "ricordo_bot", "access_token": SecretStr("access-1"),
        "refresh_token": SecretStr("refresh-1"), "api_url": fake.url, "token_file": folder / "tokens.json", **more,
    }  # fmt: skip
    return Settings(storage=Storage(data_dir=folder), twitch=Twitch(**values))


async def found(settings: Settings) -> dict[str, Finding]:
    return {finding.what: finding for finding in await check_twitch(settings, WallClock())}


async def test_an_account_that_is_well_is_ok_in_every_line(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.moderated.add("100")
    async with evening(fake, tmp_path, bot="ricordo_bot"):
        lines = await found(a_config(fake, tmp_path))
    assert {name: finding.state for name, finding in lines.items()} == dict.fromkeys(
        ("Twitch", "permissions", "clock", "channel", "moderator", "subscriptions"), "ok"
    )
    assert "3.9 hours" in lines["Twitch"].text
    assert "messages_per_window may be 100" in lines["moderator"].text
    assert "all 8 kinds" in lines["subscriptions"].text
    assert fake.oauth.refreshes == 0


async def test_a_bot_that_does_not_run_and_is_no_moderator_is_noted(fake: FakeTwitch, tmp_path: Path) -> None:
    lines = await found(a_config(fake, tmp_path))
    assert (lines["subscriptions"].state, lines["moderator"].state) == ("note", "note")
    assert "`ricordo run`" in lines["subscriptions"].advice
    assert "/mod ricordo_bot" in lines["moderator"].advice


async def test_what_the_running_bot_does_not_hear_is_named(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path):
        fake.lose("channel.chat.notification")
        assert (await found(a_config(fake, tmp_path)))["subscriptions"].state == "note"
        fake.lose("channel.chat.clear")
        heard = (await found(a_config(fake, tmp_path)))["subscriptions"]
    assert (heard.state, heard.text) == ("wrong", "the running bot does not hear: channel.chat.clear")


async def test_permissions_that_are_missing_are_named(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.first.scopes = ("user:read:chat",)
    lines = await found(a_config(fake, tmp_path))
    assert (lines["permissions"].state, lines["permissions"].text) == ("wrong", "not granted: user:write:chat")
    assert lines["moderator"].text == "not known: the bot may not ask"


@pytest.mark.parametrize(("off", "told"), [(-600, "600 seconds ahead of"), (600, "seconds behind")])
async def test_a_clock_that_is_wrong_is_told_by_how_much(fake: FakeTwitch, tmp_path: Path, off: int, told: str) -> None:
    fake.trouble.clock_off = timedelta(seconds=off)
    clock = (await found(a_config(fake, tmp_path)))["clock"]
    assert clock.state == "wrong"
    assert told.removeprefix("600 ") in clock.text


async def test_a_token_of_somebody_else_or_of_another_application_is_wrong(fake: FakeTwitch, tmp_path: Path) -> None:
    assert "belongs to ricordo_bot" in (await found(a_config(fake, tmp_path, bot="somebody")))["Twitch"].text
    fake.oauth.client_id = "another"
    lines = await found(a_config(fake, tmp_path))
    assert "another application" in lines["Twitch"].text


async def test_a_channel_that_does_not_exist_is_wrong(fake: FakeTwitch, tmp_path: Path) -> None:
    channel = (await found(a_config(fake, tmp_path, channel="nessuno")))["channel"]
    assert (channel.state, "nessuno" in channel.text) == ("wrong", True)


async def test_a_token_that_ran_out_is_left_for_the_bot_to_renew(fake: FakeTwitch, tmp_path: Path) -> None:
    lines = await found(a_config(fake, tmp_path, access_token=SecretStr("of-yesterday")))
    assert (lines["Twitch"].state, fake.oauth.refreshes) == ("note", 0)
    lines = await found(a_config(fake, tmp_path, access_token=SecretStr("of-yesterday"), refresh_token=SecretStr("")))
    assert (lines["Twitch"].state, lines["Twitch"].advice) == ("wrong", "run `ricordo login`")


async def test_a_twitch_that_is_away_or_overrun_is_told(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.trouble.statuses["/oauth2/validate"].append(503)
    assert "try again later" in (await found(a_config(fake, tmp_path)))["Twitch"].text
    fake.trouble.statuses["/helix/moderation/channels"].append(403)
    assert (await found(a_config(fake, tmp_path)))["moderator"].state == "note"


async def test_the_broadcasters_account_is_looked_at_where_it_is_connected(fake: FakeTwitch, tmp_path: Path) -> None:
    pair = TokenPair(access="access-1", refresh="refresh-1")
    casa = fake.oauth.grant(fake.channel, ("channel:bot",))
    file = tmp_path / "tokens.json"
    save_tokens(file, {"bot": pair, "broadcaster": TokenPair(access=casa.access, refresh=casa.refresh)})
    assert "only with a client secret" in (await found(a_config(fake, tmp_path)))["broadcaster"].text
    secret = {"client_secret": SecretStr("client-secret")}
    assert "did not allow user:bot" in (await found(a_config(fake, tmp_path, **secret)))["broadcaster"].text
    fake.oauth.first.scopes = (*SCOPES, "user:bot")
    line = (await found(a_config(fake, tmp_path, **secret)))["broadcaster"]
    assert (line.state, line.text) == ("ok", "casa is connected: channel:bot")
    save_tokens(file, {"bot": pair, "broadcaster": pair})
    assert (await found(a_config(fake, tmp_path)))["broadcaster"].state == "wrong"
    save_tokens(file, {"bot": pair, "broadcaster": TokenPair(access="gone", refresh="gone")})
    assert "broadcaster" not in await found(a_config(fake, tmp_path))


async def test_a_bot_that_is_the_broadcaster_is_noted(fake: FakeTwitch, tmp_path: Path) -> None:
    settings = a_config(fake, tmp_path, channel="ricordo_bot")
    assert "an account of its own" in (await found(settings))["moderator"].text


async def test_a_moderator_that_is_configured_as_one_hears_no_advice(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.moderated.add("100")
    settings = a_config(fake, tmp_path).model_copy(update={"manners": Manners(messages_per_window=100)})
    assert (await found(settings))["moderator"].text == "the bot is a moderator"


async def test_tokens_that_others_can_read_and_accounts_that_are_half_configured_are_told(tmp_path: Path) -> None:
    chosen = Twitch(client_id="c", channel="canale")
    settings = Settings(storage=Storage(data_dir=tmp_path), twitch=chosen)
    tokens = tmp_path / "twitch-tokens.json"
    assert (await found(settings))["Twitch"].advice == "run `ricordo login`"
    tokens.write_text("{}")
    tokens.chmod(0o644)
    assert (await found(settings))["Twitch"].advice == f"chmod 600 {tokens}"
    tokens.chmod(0o600)
    assert "holds no tokens" in (await found(settings))["Twitch"].text
    assert "twitch.channel missing" in (await found(Settings(twitch=Twitch(client_id="c"))))["Twitch"].text
