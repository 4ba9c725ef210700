"""The real TwitchIO against a Twitch on this machine: a line of chat comes in, a reply goes out."""

import asyncio
import json
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from builders_twitch import evening, twitch_settings
from fakes import twitch_payloads as payloads
from fakes.twitch import FakeTwitch

from bot.account import wanted_types
from bot.live import LiveSettings
from bot.live_errors import EndpointRefused, TwitchDeaf, TwitchRefused
from bot.tokens import TokenPair, save_tokens
from bot.twitch import TwitchConnection
from memory import Batch, Deletion, Message, Notice, WallClock


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        yield served


async def test_a_line_to_the_bot_gets_one_reply_under_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path):
        question = await fake.chat("alice", "ciao @Ricordo_Bot come va?", badges=("founder",))
        assert await fake.posted(1) == ["risposta 1"]
    post = fake.posts[0]
    assert (post["broadcaster_id"], post["sender_id"], post["reply_parent_message_id"]) == ("100", "900", question)


async def test_a_turn_is_recorded_with_the_id_that_twitch_gave_the_reply(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ricordino ci sei?")
        await fake.posted(1)
        await live.until(lambda: live.bench.outcomes)
    said = live.bench.outcomes[0].turn.said
    assert (said.state, said.text) == ("sent", "risposta 1")
    assert said.reply_id is not None
    assert said.reply_id.startswith("post-")


def _let_by_the_broadcaster(fake: FakeTwitch, folder: Path) -> None:
    casa = fake.oauth.grant(fake.channel, ("channel:bot",))
    pairs = {"bot": ("access-1", "refresh-1"), "broadcaster": (casa.access, casa.refresh)}
    save_tokens(
        folder / "tokens.json",
        {role: TokenPair(access=access, refresh=refresh) for role, (access, refresh) in pairs.items()},
    )


async def test_where_the_broadcaster_allows_it_the_application_writes_into_this_channel_alone(
    fake: FakeTwitch, tmp_path: Path
) -> None:
    _let_by_the_broadcaster(fake, tmp_path)
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ricordino ci sei?")
        await live.until(lambda: live.bench.outcomes)
    [post] = fake.posts
    assert (post["for_source_only"], post["sender_id"]) == (True, "900")
    assert live.bench.outcomes[0].turn.said.state == "sent"


@pytest.mark.parametrize(("taken_back", "secret"), [(True, "client-secret"), (False, "")])
async def test_where_the_application_may_not_write_the_bot_does_so_itself_and_once(
    fake: FakeTwitch, tmp_path: Path, *, taken_back: bool, secret: str
) -> None:
    _let_by_the_broadcaster(fake, tmp_path)
    if taken_back:
        fake.oauth.grants = [grant for grant in fake.oauth.grants if grant.user == fake.bot]
    async with evening(fake, tmp_path, client_secret=secret) as live:
        for number in (1, 2):
            await fake.chat("alice", f"ricordino ci sei, {number}?")
            await fake.posted(number)
        await live.until(lambda: len(live.bench.outcomes) == 2)
    assert ["for_source_only" in post for post in fake.posts] == [False, False]
    assert [outcome.turn.said.state for outcome in live.bench.outcomes] == ["sent", "sent"]


async def test_chat_among_viewers_is_remembered_and_not_answered(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "bella partita")
        await live.until(lambda: live.bench.outcomes)
    assert fake.posts == []
    assert [line.id for line in live.bench.memory.lines.values()] != []


async def test_a_notification_that_comes_twice_is_answered_once(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ricordino ci sei?", message_id="same")
        await fake.chat("alice", "ricordino ci sei?", message_id="same")
        await fake.posted(1)
        await live.until(lambda: live.bench.loop.counts.get("left_out_duplicate"))
    assert len(fake.posts) == 1


async def test_a_deletion_that_comes_before_its_message_keeps_it_out(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.delete("alice", "gone")
        await live.until(lambda: live.bench.memory.log or live.bench.parts.deleted.covers(_line("gone")))
        await fake.chat("alice", "ricordino ripeti questo", message_id="gone")
        await fake.chat("bob", "ricordino ci sei?")
        await fake.posted(1)
    assert "gone" not in live.bench.memory.lines
    assert [message.user.login for message in live.bench.responder.asked] == ["bob"]


async def test_a_deletion_while_the_answer_is_made_withholds_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:

        async def deleted_meanwhile() -> None:
            await fake.delete("alice", "secret")
            await live.until(lambda: live.bench.memory.deletions)

        live.bench.responder.before = deleted_meanwhile
        await fake.chat("alice", "ricordino il mio indirizzo è …", message_id="secret")
        await live.until(lambda: live.bench.outcomes)
    assert live.bench.said == [("withheld", "deleted")]
    assert fake.posts == []


async def test_a_time_out_while_the_answer_is_made_withholds_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:

        async def banned_meanwhile() -> None:
            await fake.time_out("alice")
            await live.until(lambda: live.bench.memory.deletions)

        live.bench.responder.before = banned_meanwhile
        await fake.chat("alice", "ricordino di' una cosa brutta")
        await live.until(lambda: live.bench.outcomes)
    assert live.bench.said == [("withheld", "deleted")]


async def test_an_order_to_forget_while_the_answer_is_made_withholds_it(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        line = _line("of-the-bot")
        waiting = Batch(stream_id="s1", lines=(line,), closed_at=line.at, flush_reason="quiet")

        async def ordered_meanwhile() -> None:
            await fake.chat("mod", "!forget last", badges=("moderator",))
            await live.until(lambda: live.bench.parts.deleted.touches(waiting, None))

        live.bench.responder.before = ordered_meanwhile
        await fake.chat("alice", "ricordino dove abito?")
        await live.until(lambda: live.bench.outcomes)
        assert live.bench.said == [("withheld", "deleted")]
        await live.until(lambda: not live.bench.parts.deleted.touches(waiting, None))  # the order's turn came


async def test_a_refused_optional_event_does_not_stop_the_start(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.forbidden["channel.chat.notification"] = 403
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ricordino ci sei?")
        await fake.posted(1)
        assert await live.connection.check() == []


async def test_a_bot_that_may_not_hear_of_moderation_does_not_start(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.forbidden["channel.chat.message_delete"] = 403
    settings = twitch_settings(fake, tmp_path)
    async with TwitchConnection(settings, WallClock()) as connection:
        await connection.log_in()
        with pytest.raises(TwitchRefused, match=r"message_delete \(HTTP 403\)"):
            await connection.listen(lambda _: None)


async def test_replies_actions_emotes_and_notices_arrive_as_what_their_writers_meant(fake: FakeTwitch, tmp_path: Path) -> None:
    bob = fake.person("bob")
    async with evening(fake, tmp_path) as live:
        await fake.chat(
            "alice",
            "@Bob Kappa è vero",
            message_id="reply",
            reply=payloads.reply_to("m-bob", bob),
            fragments=[payloads.fragment("@Bob", mention=bob), payloads.fragment(" "), payloads.fragment("Kappa", emote="25"),
                       payloads.fragment(" è vero")],
        )  # fmt: skip
        await fake.chat("alice", "\x01ACTION saluta\x01", message_id="action", fragments=[payloads.fragment("saluta")])
        await fake.chat("alice", "da lontano", message_id="foreign", source_broadcaster_user_id="555",
                        source_broadcaster_user_login="altri", source_broadcaster_user_name="Altri")  # fmt: skip
        await fake.notice(
            "alice", "watch_streak", text="cinque di fila!", details={"streak_count": 5, "channel_points_awarded": 1}
        )
        await live.until(lambda: len(live.bench.memory.lines) == 3)
    lines = live.bench.memory.lines
    reply, action = lines["reply"], lines["action"]
    assert isinstance(reply, Message)
    assert isinstance(action, Message)
    assert (reply.text, reply.reply_to, [user.login for user in reply.mentions]) == ("Kappa è vero", "m-bob", ["bob"])
    assert [(emote.name, emote.start, emote.end) for emote in reply.emotes] == [("Kappa", 0, 4)]
    assert (action.text, action.is_action) == ("saluta", True)
    assert live.bench.loop.counts["left_out_foreign"] == 1
    (streak,) = [line for line in lines.values() if isinstance(line, Notice)]
    assert (streak.kind, streak.text) == ("watch_streak", "cinque di fila!")


async def test_clearing_the_chat_reaches_the_memory(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ciao")
        await live.until(lambda: live.bench.outcomes)
        await fake.clear()
        await live.until(lambda: live.bench.memory.deletions)
    ((_, deletion),) = live.bench.memory.deletions
    assert isinstance(deletion, Deletion)
    assert deletion.scope == "chat"


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"is_sent": False, "drop_reason": {"code": "msg_ratelimit", "message": "slow"}}, ("failed", "msg_ratelimit")),
        ({"is_sent": False, "message_id": ""}, ("failed", "not_sent")),
        (429, ("failed", "http_429")),
        (500, ("ambiguous", "http_500")),
    ],
)
async def test_a_post_that_twitch_does_not_take_is_recorded_as_such_and_not_repeated(
    fake: FakeTwitch, tmp_path: Path, fault: payloads.Json | int, said: tuple[str, str]
) -> None:
    fake.faults.append(fault)
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ricordino ci sei?")
        await live.until(lambda: live.bench.outcomes)
    assert live.bench.said == [said]
    assert len(fake.posts) == 1


async def test_a_post_without_an_answer_is_ambiguous_and_never_repeated(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.silent_post.set()
    async with evening(fake, tmp_path, request_seconds=0.5) as live:
        await fake.chat("alice", "ricordino ci sei?")
        await live.until(lambda: live.bench.outcomes)
        await asyncio.sleep(0.2)
    assert live.bench.said[0][0] == "ambiguous"
    assert len(fake.posts) == 1


async def test_a_socket_closed_for_good_is_repaired_by_the_check(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.hang_up(4003)
        await live.until(lambda: not live.connection.living())
        assert "channel.chat.message" in await live.connection.check()
        await fake.chat("alice", "ricordino ci sei?")
        assert await fake.posted(1) == ["risposta 1"]


async def test_a_revoked_subscription_is_taken_out_again(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.revoke("channel.chat.message_delete")
        await live.until(lambda: "channel.chat.message_delete" not in live.connection.living())
        assert await live.connection.check() == ["channel.chat.message_delete"]
        assert "channel.chat.message_delete" in fake.heard_types()


async def test_a_chat_that_cannot_be_heard_again_ends_the_bot(fake: FakeTwitch, tmp_path: Path) -> None:
    async def hear_nothing_any_more() -> None:
        async with evening(fake, tmp_path, live=LiveSettings(watchdog_seconds=0.05, watchdog_failures=2)) as live:
            fake.forbidden["channel.chat.message"] = 500
            await fake.hang_up(4003)
            await live.until(lambda: False)

    with pytest.raises(ExceptionGroup) as caught:
        await hear_nothing_any_more()
    assert caught.group_contains(TwitchDeaf, match="after 2 attempts")


async def test_tokens_about_to_run_out_are_refreshed_and_saved_for_their_owner_alone(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.oauth.first.expires_in = 60
    async with evening(fake, tmp_path):
        pass
    file = tmp_path / "tokens.json"
    saved = json.loads(file.read_text())["tokens"]["bot"]
    assert (saved["access"], saved["refresh"]) == ("access-r1", "refresh-r1")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_token_that_dies_in_the_evening_is_refreshed_saved_and_the_reply_still_sent(
    fake: FakeTwitch, tmp_path: Path
) -> None:
    async with evening(fake, tmp_path) as live:
        fake.access = "another"
        await fake.chat("alice", "ricordino ci sei?")
        assert await fake.posted(1) == ["risposta 1"]
        await live.until(lambda: "access-r1" in (tmp_path / "tokens.json").read_text())


async def test_a_token_that_cannot_be_refreshed_is_refused_without_showing_it(
    fake: FakeTwitch, tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = twitch_settings(fake, tmp_path, access_token="stolen-access", refresh_token="stolen-refresh")
    async with TwitchConnection(settings, WallClock()) as connection:
        with pytest.raises(TwitchRefused, match="run `ricordo login`") as caught:
            await connection.log_in()
    seen = f"{caught.value!r} {caught.value.__cause__!r} {caplog.text} {capsys.readouterr()} {settings!r}"
    assert "stolen" not in seen
    assert "client-secret" not in seen


async def test_a_channel_that_does_not_exist_is_named(fake: FakeTwitch, tmp_path: Path) -> None:
    settings = twitch_settings(fake, tmp_path, channel="nessuno")
    async with TwitchConnection(settings, WallClock()) as connection:
        with pytest.raises(TwitchRefused, match="no channel called nessuno"):
            await connection.log_in()


@pytest.mark.parametrize(
    "url", ["http://evil.example", "https://127.0.0.1:9", "http://127.0.0.1.evil.example", "http://@evil/"]
)
def test_a_stand_in_on_another_machine_is_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(EndpointRefused, match="leave api_url empty"):
        twitch_settings(FakeTwitch(), tmp_path, api_url=url)


def test_without_a_stand_in_twitch_itself_is_meant(tmp_path: Path) -> None:
    assert twitch_settings(FakeTwitch(), tmp_path, api_url="").endpoints is None


async def test_what_the_streamer_does_not_want_to_be_heard_is_not_subscribed_to(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path, notices=False, moderation=False) as live:
        wanted = {"channel.chat.message", "channel.update", "stream.online", "stream.offline"}
        await live.until(lambda: live.connection.living() == fake.heard_types() == wanted)
        assert set.union(*wanted_types(live.connection._settings)) == wanted
        assert await live.connection.check() == []


async def test_what_is_wanted_is_what_is_subscribed_to(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        assert set.union(*wanted_types(live.connection._settings)) == fake.heard_types()
        required, optional = wanted_types(live.connection._settings)
        assert ({kind.type for kind in live.connection._required}, {kind.type for kind in live.connection._optional}) == (
            required,
            optional,
        )


def _line(message_id: str) -> Message:
    fake = FakeTwitch()
    return Message(id=message_id, at=WallClock().now(), user=fake.bot, text="")
