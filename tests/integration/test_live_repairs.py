"""The known ways in which TwitchIO goes deaf, each found and repaired; and the bot's own way out."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders_live import Bench, message
from builders_twitch import FAST, Evening, evening, twitch_settings
from fakes.twitch import FakeTwitch

from bot.live import Inbox, LiveSettings, Tally, run_live
from bot.live_errors import LiveError, TwitchDeaf, TwitchUnreachable
from bot.stopping import Stopping, stopping_on_signals
from bot.twitch import TwitchConnection
from memory import Deletion, Event, StoreUnavailable, WallClock


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        yield served


async def _answers(live: Evening, text: str = "ricordino ci sei?") -> bool:
    before = len(live.fake.posts)
    await live.fake.chat("alice", text)
    await live.fake.posted(before + 1)
    return True


async def _repaired(live: Evening) -> set[str]:
    """Check until something had to be repaired: what TwitchIO does in between takes its own time."""
    async with asyncio.timeout(20):
        while True:
            try:
                if repaired := await live.connection.check():
                    return set(repaired)
            except LiveError:
                pass
            await asyncio.sleep(0.02)


async def test_a_connection_that_breaks_comes_back_by_itself(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.break_off()
        await fake.until(lambda: not fake.subscriptions)
        await fake.until(lambda: "stream.offline" in fake.heard_types())
        assert await _answers(live)


async def test_a_subscription_that_was_lost_in_a_reconnect_is_taken_out_again(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.forbidden["channel.chat.message"] = 500
        fake.break_off()
        await fake.until(lambda: not fake.subscriptions)
        await fake.until(lambda: "stream.offline" in fake.heard_types())
        fake.forbidden.clear()
        assert "channel.chat.message" in await _repaired(live)
        assert await _answers(live)


async def test_a_reconnect_that_was_cut_while_subscribing_is_repaired_and_so_is_the_next_break(
    fake: FakeTwitch, tmp_path: Path
) -> None:
    async with evening(fake, tmp_path) as live:
        fake.cut_subscriptions = True
        fake.break_off()
        await live.until(lambda: not live.connection.living())
        fake.cut_subscriptions = False
        assert "channel.chat.message" in await _repaired(live)
        assert await _answers(live)
        fake.break_off()
        await fake.until(lambda: not fake.subscriptions)
        assert "channel.chat.message" in await _repaired(live)
        assert await _answers(live, "ricordino e adesso?")


@pytest.mark.slow
async def test_a_reconnect_that_is_never_greeted_is_repaired(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.welcomes = False
        fake.break_off()
        await fake.until(lambda: not fake.subscriptions)
        await asyncio.sleep(12)  # TwitchIO waits eleven seconds, then gives up for good
        fake.welcomes = True
        assert "channel.chat.message" in await _repaired(live)
        assert await _answers(live)


async def test_a_session_that_is_being_replaced_is_no_refusal(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.lose("channel.chat.message")
        fake.forbidden["channel.chat.message"] = 400
        with pytest.raises(TwitchUnreachable, match="HTTP 400"):
            await live.connection.check()
        fake.forbidden.clear()
        assert "channel.chat.message" in await _repaired(live)
        assert await _answers(live)


async def test_a_subscription_that_fails_keeps_no_other_from_being_repaired(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        fake.lose("channel.chat.message")
        fake.lose("stream.offline")
        fake.forbidden["channel.chat.message"] = 500
        with pytest.raises(TwitchUnreachable, match="HTTP 500"):
            await live.connection.check()
        assert "stream.offline" in fake.heard_types()


async def test_the_watchdog_repairs_without_being_asked(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path, live=LiveSettings(watchdog_seconds=0.05)) as live:
        await fake.hang_up(4003)
        await fake.until(lambda: not fake.subscriptions)
        await fake.until(lambda: "stream.offline" in fake.heard_types())
        assert await _answers(live)


async def test_a_twitch_that_is_away_is_unreachable_and_named_without_secrets(tmp_path: Path) -> None:
    async with FakeTwitch() as gone:
        settings = twitch_settings(gone, tmp_path)
    async with TwitchConnection(settings, WallClock()) as connection:
        with pytest.raises(TwitchUnreachable, match="check the network") as caught:
            await connection.log_in()
    assert "client-secret" not in str(caught.value)


async def test_a_public_client_lives_without_a_secret(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path, client_secret="") as live:
        assert await _answers(live)


async def test_newer_tokens_in_the_file_go_before_those_of_the_environment(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path):
        pass
    async with evening(fake, tmp_path, access_token="old", refresh_token="old") as live:
        assert await _answers(live)


async def test_new_tokens_in_the_environment_replace_dead_ones_in_the_file(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path):
        pass
    fake.access = "access-2"
    fake.oauth.first.refresh = "refresh-2"
    async with evening(fake, tmp_path, access_token="access-2", refresh_token="refresh-2") as live:
        assert await _answers(live)
    assert "access-2" in (tmp_path / "tokens.json").read_text()


async def test_a_bot_without_any_token_says_where_it_looked(fake: FakeTwitch, tmp_path: Path) -> None:
    connection = TwitchConnection(twitch_settings(fake, tmp_path, access_token=""), WallClock())
    try:
        with pytest.raises(LiveError, match=r"tokens\.json"):
            await connection.log_in()
    finally:
        await connection.close()


async def test_a_connection_that_never_logged_in_says_so() -> None:
    connection = TwitchConnection(twitch_settings(FakeTwitch(), Path()), WallClock())
    with pytest.raises(LiveError, match="call log_in first"):
        connection.voice()
    await connection.close()


def test_half_a_minute_of_a_thousand_messages_a_second_fits_into_the_queue() -> None:
    inbox = Inbox(LiveSettings(), WallClock(), Counter())
    line = message("ciao")
    for _ in range(30_000):
        inbox.put(line)
    assert inbox.dropped == 0


async def test_a_quiet_session_is_kept_alive_and_not_taken_for_a_dead_one(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.keepalive = 0.05
    async with evening(fake, tmp_path) as live:
        await fake.until(lambda: fake.kept_alive >= 3)
        assert (fake.sessions_begun, await live.connection.check()) == (1, [])
        assert await _answers(live)


def test_a_full_queue_drops_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    counted = Counter[str]()
    inbox = Inbox(LiveSettings(queue_events=2), WallClock(), counted)
    for number in range(7):
        inbox.put(message("ciao", seconds=number))
    inbox.put(Deletion(at=WallClock().now(), scope="chat"))
    assert (inbox.dropped, inbox.events.qsize(), inbox.deletions.qsize()) == (5, 2, 1)
    assert counted == {"dropped": 5}
    assert capsys.readouterr().out.count("event_dropped") == 3  # after 1, 2 and 4


class _Ears:
    """A connection that says what its test gives it."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.closed = False
        self.take: Callable[[Event], None] = lambda _: None

    async def listen(self, take: Callable[[Event], None]) -> None:
        self.take = take

    async def check(self) -> list[str]:
        if self.fails:
            msg = "still nothing"
            raise TwitchUnreachable(msg)
        return []

    async def close(self) -> None:
        self.closed = True


async def test_a_signal_ends_the_evening_after_what_was_heard_is_served() -> None:
    bench, ears, stop = Bench(settings=FAST, clock=WallClock()), _Ears(), Stopping(leave=lambda _: None)
    with stopping_on_signals(stop):
        async with asyncio.TaskGroup() as group:
            group.create_task(run_live(bench.loop, ears, LiveSettings(), bench.clock, stopping=stop))
            await asyncio.sleep(0.05)
            for number in range(50):
                ears.take(message("ciao", seconds=number))
            os.kill(os.getpid(), signal.SIGTERM)
    assert ears.closed
    assert len(bench.memory.lines) == 50


async def test_a_deaf_bot_ends_with_its_reason_and_keeps_what_it_heard() -> None:
    bench, ears, counted = Bench(settings=FAST, clock=WallClock()), _Ears(fails=True), Counter[str]()
    running = asyncio.create_task(
        run_live(
            bench.loop,
            ears,
            LiveSettings(watchdog_seconds=0.05, watchdog_failures=3),
            bench.clock,
            stopping=Stopping(leave=lambda _: None),
            tally=Tally(counted=counted),
        )
    )
    await asyncio.sleep(0.02)
    ears.take(message("ciao"))
    with pytest.raises(TwitchDeaf, match="after 3 attempts: still nothing"):
        await running
    assert counted == {"repairs_failed": 3}
    assert ears.closed
    assert len(bench.memory.lines) == 1


async def test_a_check_that_never_ends_counts_as_a_failure() -> None:
    class Stuck(_Ears):
        async def check(self) -> list[str]:
            await asyncio.Event().wait()
            return []

    bench, ears = Bench(settings=FAST, clock=WallClock()), Stuck()
    patience = LiveSettings(watchdog_seconds=0.02, watchdog_failures=2, check_seconds=0.05)
    async with asyncio.timeout(10):
        with pytest.raises(TwitchDeaf, match=r"after 2 attempts: no end within 0\.05 seconds"):
            await run_live(bench.loop, ears, patience, bench.clock, stopping=Stopping(leave=lambda _: None))
    assert ears.closed


async def test_a_database_that_stays_away_ends_the_evening_with_its_own_error() -> None:
    bench, ears = Bench(settings=replace(FAST, waiting_steps=20), clock=WallClock()), _Ears()
    bench.memory.away = {"begin_stream", "observe"}
    running = asyncio.create_task(
        run_live(bench.loop, ears, LiveSettings(store_seconds=0.2), bench.clock, stopping=Stopping(leave=lambda _: None))
    )
    await asyncio.sleep(0.02)
    for number in range(20 * 60):  # batches are longer in a crowd
        ears.take(message("ciao", seconds=number))
    with pytest.raises(StoreUnavailable):
        await running
    assert ears.closed


async def test_a_turn_that_does_not_end_does_not_keep_the_bot_from_stopping() -> None:
    bench, ears, stop = Bench(settings=FAST, clock=WallClock()), _Ears(), Stopping(leave=lambda _: None)

    async def for_ever() -> None:
        stop.asked.set()
        await asyncio.sleep(60)

    bench.responder.before = for_ever
    running = asyncio.create_task(
        run_live(bench.loop, ears, LiveSettings(finish_seconds=0.2, store_seconds=0.2), bench.clock, stopping=stop)
    )
    await asyncio.sleep(0.02)
    ears.take(message("ricordino?"))
    async with asyncio.timeout(10):
        await running
    assert ears.closed


async def test_what_moderation_takes_back_while_the_bot_leaves_is_erased_all_the_same() -> None:
    bench, ears, stop = Bench(settings=FAST, clock=WallClock()), _Ears(), Stopping(leave=lambda _: None)
    taken_back = Deletion(at=bench.clock.now(), scope="message", message_id="secret")

    async def deleted_meanwhile() -> None:
        stop.asked.set()
        await asyncio.sleep(0.05)
        ears.take(message("troppo tardi", message_id="late"))
        ears.take(taken_back)
        await asyncio.sleep(0.05)

    bench.responder.before = deleted_meanwhile
    running = asyncio.create_task(run_live(bench.loop, ears, LiveSettings(), bench.clock, stopping=stop))
    await asyncio.sleep(0.02)
    ears.take(message("ricordino?", message_id="asked"))
    async with asyncio.timeout(10):
        await running
    assert [one for _, one in bench.memory.deletions] == [taken_back]
    assert set(bench.memory.lines) == {"asked"}


async def test_a_newly_configured_token_goes_before_a_file_that_still_works(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path):
        pass
    fake.also_valid("access-other")
    async with evening(fake, tmp_path, access_token="access-other", refresh_token="refresh-other"):
        pass
    assert '"access": "access-other"' in (tmp_path / "tokens.json").read_text()
