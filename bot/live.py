"""The live evening: a bounded queue between Twitch and the loop, a watchdog, a clean end."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

import structlog

from bot.live_errors import LiveError, TwitchDeaf, TwitchRefused
from bot.loop import ChatLoop
from bot.supervisor import tell_supervisor
from memory import BotMemoryError, Clock, Deletion, Event

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """Sizes and patience."""

    queue_events: int = 20_000
    watchdog_seconds: float = 45.0
    watchdog_failures: int = 5  # checks in a row that could not repair: then the bot ends, for its supervisor to start it anew
    check_seconds: float = 60.0  # for one check; longer is a failure
    beat_seconds: float = 30.0  # how often a supervisor hears that the bot lives
    stop_seconds: float = 20.0  # for what is pending when the bot is told to stop


class Ears(Protocol):
    """A connection to the chat."""

    async def listen(self, take: Callable[[Event], None]) -> None:
        """Begin to give every event to `take`, which returns at once.

        Raises:
            LiveError: what the bot cannot do without was refused.
        """
        ...

    async def check(self) -> list[str]:
        """Repair what has gone deaf; return what had to be repaired.

        Raises:
            LiveError: it could not be repaired now.
        """
        ...

    async def close(self) -> None:
        """Stop hearing."""
        ...


class Inbox:
    """What was heard and not served yet. Deletions have a lane of their own: they pass a backlog, and a running turn."""

    def __init__(self, settings: LiveSettings, clock: Clock) -> None:
        """Make both lanes."""
        self.events: asyncio.Queue[tuple[Event, datetime]] = asyncio.Queue(settings.queue_events)
        self.deletions: asyncio.Queue[Deletion] = asyncio.Queue(settings.queue_events)
        self.dropped = 0
        self._clock = clock

    def put(self, event: Event) -> None:
        """Take an event without waiting; a full lane drops it, counted."""
        try:
            if isinstance(event, Deletion):
                self.deletions.put_nowait(event)
            else:
                self.events.put_nowait((event, self._clock.now()))
        except asyncio.QueueFull:
            self.dropped += 1
            if self.dropped.bit_count() == 1:  # 1, 2, 4, 8, …: a flood must not flood the log
                log.warning("event_dropped", dropped=self.dropped, event_type=type(event).__name__)


async def run_live(
    loop: ChatLoop, ears: Ears, settings: LiveSettings, clock: Clock, *, stop: asyncio.Event, first: Event | None = None
) -> None:
    """Listen, answer and repair until `stop` is set, then serve what is pending; `first` is fed before anything else.

    Raises:
        TwitchDeaf: the chat could not be heard again: end with a failure, and let a supervisor start the bot anew.
        TwitchRefused: something that the bot cannot do without was refused, or its token has ended.
        StoreUnavailable: the database stayed away.
    """
    inbox = Inbox(settings, clock)
    await loop.start()
    if first is not None:
        inbox.put(first)
    try:
        await ears.listen(inbox.put)
        log.info("went_live")
        tell_supervisor("READY=1")
        await _until_stopped(loop, ears, inbox, settings, clock, stop)
    finally:
        tell_supervisor("STOPPING=1")
        await ears.close()
        await _wind_up(loop, inbox, settings)


@contextmanager
def stopping_on_signals(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` on SIGTERM and SIGINT; the signals' former handling returns afterwards."""
    running = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        running.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            running.remove_signal_handler(number)


async def _until_stopped(  # noqa: PLR0917 - the parts of one evening, named once
    loop: ChatLoop, ears: Ears, inbox: Inbox, settings: LiveSettings, clock: Clock, stop: asyncio.Event
) -> None:
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(loop, inbox, clock, stop), name="serve")
            others = [
                group.create_task(_erase(loop, inbox), name="erase"),
                group.create_task(_watch(ears, settings), name="watch"),
                group.create_task(_beat(settings), name="beat"),
            ]
            stopping = group.create_task(_told_to_stop(stop), name="stop")
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([serving], timeout=settings.stop_seconds)
            for task in (serving, stopping, *others):
                task.cancel()
    except* (LiveError, BotMemoryError) as failed:
        raise failed.exceptions[0] from None


async def _told_to_stop(stop: asyncio.Event) -> None:
    await stop.wait()


async def _wind_up(loop: ChatLoop, inbox: Inbox, settings: LiveSettings) -> None:
    try:
        async with asyncio.timeout(settings.stop_seconds):
            await _drain(loop, inbox)
            await loop.finish()
    except TimeoutError:
        log.warning("stopped_before_the_end", events=inbox.events.qsize(), lines=loop.pending)
    log.info("went_off", dropped=inbox.dropped, **loop.counts)


async def _serve(loop: ChatLoop, inbox: Inbox, clock: Clock, stop: asyncio.Event) -> None:
    """Feed the loop in order; while nothing comes in, wake it when something falls due."""
    while not stop.is_set():
        due = loop.next_due()
        wait = 0.25 if due is None else min(0.25, max(0.0, (due - clock.now()).total_seconds()))
        try:
            async with asyncio.timeout(wait):
                event, arrived = await inbox.events.get()
        except TimeoutError:
            await loop.tick(clock.now())
        else:
            await loop.feed(event, arrived=arrived)


async def _erase(loop: ChatLoop, inbox: Inbox) -> None:
    while True:
        await loop.delete(await inbox.deletions.get())


async def _beat(settings: LiveSettings) -> None:
    while True:
        tell_supervisor("WATCHDOG=1")
        await asyncio.sleep(settings.beat_seconds)


async def _watch(ears: Ears, settings: LiveSettings) -> None:
    failures = 0
    while True:
        await asyncio.sleep(settings.watchdog_seconds)
        try:
            async with asyncio.timeout(settings.check_seconds):
                repaired = await ears.check()
        except (LiveError, TimeoutError) as error:
            failures += 1
            reason = str(error) or f"no end within {settings.check_seconds:g} seconds"
            log.warning("repair_failed", failures=failures, reason=reason)
            if failures >= settings.watchdog_failures:
                if isinstance(error, TwitchRefused):
                    raise  # a new start would be refused as well
                msg = f"the chat could not be heard again after {failures} attempts: {reason}"
                raise TwitchDeaf(msg) from None
        else:
            failures = 0
            if repaired:
                log.warning("hearing_repaired", repaired=repaired)


async def _drain(loop: ChatLoop, inbox: Inbox) -> None:
    while not inbox.deletions.empty():
        await loop.delete(inbox.deletions.get_nowait())
    while not inbox.events.empty():
        event, arrived = inbox.events.get_nowait()
        await loop.feed(event, arrived=arrived)
