"""Accounts come in by a code or by a redirect, only those that are configured, and go out again: against a fake Twitch."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import aiohttp
import pytest
from builders_twitch import evening, twitch_settings
from fakes import issued
from fakes.twitch import FakeTwitch

from bot.live_errors import LoginFailed, TokenFileUnsafe, TwitchRefused, TwitchUnreachable
from bot.login import Wanted, log_in_by_device, log_in_by_redirect, log_out
from bot.oauth import DeviceCode, Holder, TwitchAccounts
from bot.scopes import Role, missing_scopes, scopes_of
from bot.tokens import TokenPair, load_tokens, save_tokens


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        served.oauth.interval = 0
        yield served


def wanted(folder: Path, role: Role = "bot", *, login: str = "") -> Wanted:
    return Wanted(
        role=role,
        login=login or {"bot": "ricordo_bot", "broadcaster": "casa"}[role],
        scopes=tuple(scope.name for scope in scopes_of(role, secret=role == "broadcaster")),
        client_id="client",
        token_file=folder / "tokens.json",
    )


async def by_device(fake: FakeTwitch, asked: Wanted, tell: Callable[[DeviceCode], None], **more: Any) -> Holder:  # noqa: ANN401 - any field
    async with TwitchAccounts(twitch_settings(fake, asked.token_file.parent, **more)) as accounts:
        return await log_in_by_device(accounts, asked, tell)


async def test_a_code_that_is_entered_brings_tokens_that_the_bot_lives_on(fake: FakeTwitch, tmp_path: Path) -> None:
    told: list[DeviceCode] = []

    def approve(code: DeviceCode) -> None:
        told.append(code)
        fake.oauth.approve(fake.bot)

    holder = await by_device(fake, wanted(tmp_path), approve, client_secret="")
    assert (holder.login, holder.id) == ("ricordo_bot", "900")
    assert told[0].user_code in told[0].address
    file = tmp_path / "tokens.json"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    fake.access = "dead"  # nothing but the new pair is left
    async with evening(fake, tmp_path, access_token="", refresh_token="", client_secret="") as live:
        await fake.chat("alice", "ricordino ci sei?")
        assert await fake.posted(1) == ["risposta 1"]
        await live.until(lambda: live.bench.outcomes)


async def test_only_what_is_used_is_asked_for(fake: FakeTwitch, tmp_path: Path) -> None:
    await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.approve(fake.bot))
    assert fake.oauth.grants[-1].scopes == ("user:read:chat", "user:write:chat", "user:read:moderated_channels")
    assert fake.oauth.grants[-1].scopes == tuple(scope.name for scope in scopes_of("bot", secret=False))
    assert [scope.name for scope in scopes_of("bot")][-1] == "user:bot"  # where there is a secret
    assert scopes_of("broadcaster", secret=False) == ()
    assert [scope.name for scope in scopes_of("bot", minimal=True)] == ["user:read:chat", "user:write:chat"]
    assert missing_scopes("bot", ("user:read:chat",)) == ("user:write:chat",)
    assert all(scope.why["it"] and scope.why["en"] for scope in (*scopes_of("bot"), *scopes_of("broadcaster")))


async def test_waiting_goes_on_while_nobody_has_answered_and_through_an_outage(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.interval = 0.02
    fake.trouble.statuses["/oauth2/token"].extend([503, 429])

    async def approve_later() -> None:
        while not any(device.polls >= 2 for device in fake.oauth.devices.values()):  # noqa: ASYNC110 - a plain count
            await asyncio.sleep(0.01)
        fake.oauth.approve(fake.bot)

    async with TwitchAccounts(twitch_settings(fake, tmp_path)) as accounts, asyncio.TaskGroup() as group:
        coming = group.create_task(log_in_by_device(accounts, wanted(tmp_path), lambda _: None))
        group.create_task(approve_later())
    assert coming.result().login == "ricordo_bot"


async def test_a_denied_code_is_said_and_keeps_nothing(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(LoginFailed, match="denied"):
        await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.deny())
    assert not (tmp_path / "tokens.json").exists()


async def test_a_code_that_twitch_has_forgotten_is_said(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(LoginFailed, match="ended or was used already"):
        await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.devices.clear())


async def test_a_code_that_nobody_enters_ends(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.interval, fake.oauth.device_life = 0.01, 0.1
    with pytest.raises(LoginFailed, match="nobody entered the code in time"):
        await by_device(fake, wanted(tmp_path), lambda _: None)


async def test_another_account_is_refused_and_its_token_ended(fake: FakeTwitch, tmp_path: Path) -> None:
    mallory = fake.person("mallory")
    with pytest.raises(LoginFailed, match=r"mallory was signed in .* names ricordo_bot as the bot; nothing was kept"):
        await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.approve(mallory))
    assert [grant.user for grant in fake.oauth.grants] == [fake.bot]
    assert not (tmp_path / "tokens.json").exists()


async def test_a_refused_token_that_cannot_be_ended_is_told_to_be_ended_by_hand(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.trouble.statuses["/oauth2/revoke"].append(503)
    with pytest.raises(LoginFailed, match="could not be withdrawn: do so at https"):
        await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.approve(fake.person("mallory")))


async def test_a_permission_that_was_left_out_is_named(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(LoginFailed, match="not granted: user:write:chat"):
        await by_device(fake, wanted(tmp_path), lambda _: fake.oauth.approve(fake.bot, scopes=("user:read:chat",)))
    assert len(fake.oauth.revoked) == 1


async def test_a_token_file_that_others_can_read_is_refused_before_anybody_is_asked(fake: FakeTwitch, tmp_path: Path) -> None:
    save_tokens(tmp_path / "tokens.json", {})
    (tmp_path / "tokens.json").chmod(0o640)
    told: list[DeviceCode] = []
    with pytest.raises(TokenFileUnsafe, match="chmod 600"):
        await by_device(fake, wanted(tmp_path), told.append)
    assert told == []


async def test_tokens_that_cannot_be_written_are_ended(fake: FakeTwitch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    asked = wanted(tmp_path / "file" / "sub")
    with pytest.raises(OSError, match="Not a directory"):
        await by_device(fake, asked, lambda _: fake.oauth.approve(fake.bot))
    assert len(fake.oauth.revoked) == 1


async def test_an_unknown_client_is_refused_with_where_to_look(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(TwitchRefused, match=r"check twitch\.client_id"):
        await by_device(fake, wanted(tmp_path), lambda _: None, client_id="other")


async def test_a_twitch_that_does_not_answer_in_time_is_unreachable(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.trouble.seconds["/oauth2/device"] = 5
    with pytest.raises(TwitchUnreachable, match="check the network"):
        await by_device(fake, wanted(tmp_path), lambda _: None, request_seconds=0.2)


async def by_redirect(
    fake: FakeTwitch,
    asked: Wanted,
    visit: Callable[[str], Any],
    *,
    seconds: float = 10,
    **more: Any,  # noqa: ANN401 - any field
) -> Holder:
    pages: list[str] = []

    async def browser() -> None:
        async with asyncio.timeout(10):
            while not pages:  # noqa: ASYNC110 - a list that a callback fills
                await asyncio.sleep(0.01)
        await visit(pages[0])

    async with TwitchAccounts(twitch_settings(fake, asked.token_file.parent, **more)) as accounts, asyncio.TaskGroup() as group:
        coming = group.create_task(log_in_by_redirect(accounts, asked, pages.append, port=0, seconds=seconds))
        group.create_task(browser())
    return coming.result()


async def follow(page: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(page) as answer:
        assert answer.status == 200
        assert answer.headers["Cache-Control"] == "no-store"


async def test_a_broadcaster_comes_in_by_a_browser_of_this_machine(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.browser = fake.channel
    save_tokens(tmp_path / "tokens.json", {"bot": TokenPair(access="a", refresh="b")})
    assert (await by_redirect(fake, wanted(tmp_path, "broadcaster"), follow)).login == "casa"
    (asked,) = fake.oauth.asked
    assert asked["redirect_uri"].startswith("http://localhost:")
    assert (asked["scope"], asked["force_verify"], len(asked["state"])) == ("channel:bot", "true", 43)
    assert set(load_tokens(tmp_path / "tokens.json")) == {"bot", "broadcaster"}


async def test_a_viewer_who_comes_back_in_the_broadcasters_place_is_refused(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.browser = fake.person("mallory")
    with pytest.raises(ExceptionGroup) as caught:
        await by_redirect(fake, wanted(tmp_path, "broadcaster"), follow)
    assert caught.group_contains(LoginFailed, match="names casa as the broadcaster")
    assert len(fake.oauth.revoked) == 1


async def test_an_answer_with_another_state_is_refused_and_the_right_one_still_counts(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.browser = fake.channel
    statuses = []

    async def forge_then_follow(page: str) -> None:
        asked = {key: values[0] for key, values in parse_qs(urlsplit(page).query).items()}
        forged = [
            {"code": "stolen", "state": "guessed"},
            {"code": "stolen"},
            {"state": asked["state"]},
        ]
        async with aiohttp.ClientSession() as session:
            for query in forged:
                async with session.get(f"{asked['redirect_uri']}?{urlencode(query)}") as answer:
                    statuses.append(answer.status)
            rebound = {"code": "stolen", "state": asked["state"]}
            address = f"{asked['redirect_uri']}?{urlencode(rebound)}"
            async with session.get(address, headers={"Host": "evil.example"}) as answer:
                statuses.append(answer.status)
        await follow(page)

    assert (await by_redirect(fake, wanted(tmp_path, "broadcaster"), forge_then_follow)).login == "casa"
    assert statuses == [400] * 4


async def test_a_no_on_the_page_is_said(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as caught:
        await by_redirect(fake, wanted(tmp_path, "broadcaster"), follow)
    assert caught.group_contains(LoginFailed, match="denied")


async def test_a_redirect_that_nobody_follows_ends(fake: FakeTwitch, tmp_path: Path) -> None:
    async def nobody(_: str) -> None:
        """Look at the page, and leave."""

    with pytest.raises(ExceptionGroup) as caught:
        await by_redirect(fake, wanted(tmp_path, "broadcaster"), nobody, seconds=0.2)
    assert caught.group_contains(LoginFailed, match="nobody answered")


async def test_an_address_that_is_not_registered_leads_nowhere(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.browser = fake.channel
    fake.oauth.redirects = {"http://localhost:17563"}

    async def visit(page: str) -> None:
        async with aiohttp.ClientSession() as session, session.get(page) as answer:
            assert answer.status == 400

    with pytest.raises(ExceptionGroup) as caught:
        await by_redirect(fake, wanted(tmp_path, "broadcaster"), visit, seconds=0.3)
    assert caught.group_contains(LoginFailed, match="nobody answered")
    assert fake.oauth.codes == {}


async def test_a_code_without_the_secret_is_refused(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.browser = fake.channel
    with pytest.raises(ExceptionGroup) as caught:
        await by_redirect(fake, wanted(tmp_path, "broadcaster"), follow, client_secret="")
    assert caught.group_contains(TwitchRefused, match="exchange the code")


async def test_a_port_that_is_taken_is_named_with_its_setting(fake: FakeTwitch, tmp_path: Path) -> None:
    async with TwitchAccounts(twitch_settings(fake, tmp_path)) as accounts:
        with pytest.raises(LoginFailed, match=r"twitch\.redirect_port"):
            await log_in_by_redirect(accounts, wanted(tmp_path), lambda _: None, port=fake.port)


async def test_logging_out_ends_every_token_and_deletes_the_file(fake: FakeTwitch, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    casa = fake.oauth.grant(fake.channel, ("channel:bot",))
    old = TokenPair(access=issued.issue("access-of-yesterday"), refresh=casa.refresh)
    gone = TokenPair(access="gone", refresh="gone")
    save_tokens(file, {"bot": TokenPair(access="access-1", refresh="refresh-1"), "broadcaster": old, "other": gone})
    async with TwitchAccounts(twitch_settings(fake, tmp_path)) as accounts:
        assert await log_out(accounts, file) == {"bot": True, "broadcaster": True, "other": False}
    assert fake.oauth.grants == []
    assert not file.exists()


async def test_a_logout_without_twitch_keeps_what_was_not_ended(fake: FakeTwitch, tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    pair = TokenPair(access="access-1", refresh="refresh-1")
    save_tokens(file, {"bot": pair, "broadcaster": pair})
    fake.trouble.seconds["/oauth2/revoke"] = 0
    async with TwitchAccounts(twitch_settings(fake, tmp_path)) as accounts:
        fake.trouble.statuses["/oauth2/revoke"].append(503)
        with pytest.raises(TwitchUnreachable):
            await log_out(accounts, file)
    assert set(json.loads(file.read_text())["tokens"]) == {"bot", "broadcaster"}


async def test_answers_that_are_no_json_are_an_outage(fake: FakeTwitch, tmp_path: Path) -> None:
    async with TwitchAccounts(twitch_settings(fake, tmp_path, api_url=f"{fake.url}nowhere/")) as accounts:
        with pytest.raises(TwitchUnreachable, match="did not answer"):
            await accounts.holder("access-1")


async def test_nothing_is_asked_before_the_connection_is_open(fake: FakeTwitch, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="async with"):
        await TwitchAccounts(twitch_settings(fake, tmp_path)).holder("access-1")


def test_what_was_granted_does_not_show_when_it_is_printed() -> None:
    code = DeviceCode(code="device-secret", user_code="ABCD", address="https://x", interval_seconds=1, lives_seconds=2)
    assert "device-secret" not in repr(code)
