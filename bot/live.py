"""The live evening: a bounded queue between Twitch and the loop, a watchdog, a clean end."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import structlog

from bot.live_errors import LiveError, TwitchDeaf, TwitchRefused
from bot.loop import ChatLoop
from bot.stopping import Stopping
from bot.supervisor import tell_supervisor
from memory import BotMemoryError, Clock, Deletion, Event, StoreUnavailable

log = structlog.get_logger(__name__)
_RETRY_SECONDS = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveSettings:
    """Sizes and patience."""

    queue_events: int = 64_000  # 2,000 a second for a minute on a machine that can follow half of them; 0.7 kB each
    watchdog_seconds: float = 45.0
    watchdog_failures: int = 5  # checks in a row that could not repair: then the bot ends, for its supervisor to start it anew
    check_seconds: float = 60.0  # for one check; longer is a failure
    beat_seconds: float = 30.0  # how often a supervisor hears that the bot lives
    finish_seconds: float = 1.5  # for the turn in hand when the bot is told to stop; then it is recorded without an answer
    store_seconds: float = 4.0  # for what was heard and not stored yet
    crowd_events: int = 400  # that wait: then batches grow
    brief_events: int = 400  # that wait at the end: then they are only stored, and the next start makes turns of them
    close_seconds: float = 0.5  # for taking leave of the chat


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What is told of an evening while it runs."""

    waiting: Callable[[int], None] = lambda _: None  # hears how many events wait to be served
    live: Callable[[], None] = lambda: None  # called once the chat is heard
    counted: Counter[str] = field(default_factory=Counter)  # events `dropped`, kinds `repaired`, checks with `repairs_failed`


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

    def __init__(
        self, settings: LiveSettings, clock: Clock, counted: Counter[str], foresee: Callable[[Event], None] = lambda _: None
    ) -> None:
        """Make both lanes; what they drop is added to `counted`, under `dropped`. `foresee` looks at each event that waits."""
        self._foresee = foresee
        self.events: asyncio.Queue[tuple[Event, datetime]] = asyncio.Queue(settings.queue_events)
        self.deletions: asyncio.Queue[Deletion] = asyncio.Queue(settings.queue_events)
        self.closed = False  # what comes now is passed over, but for deletions: the bot is leaving
        self._clock = clock
        self._counted = counted

    @property
    def dropped(self) -> int:
        """How many events found their lane full."""
        return self._counted["dropped"]

    def put(self, event: Event) -> None:
        """Take an event without waiting; a full lane drops it, counted."""
        if self.closed and not isinstance(event, Deletion):  # what is taken back now is told nobody again
            return
        try:
            if isinstance(event, Deletion):
                self.deletions.put_nowait(event)
            else:
                self.events.put_nowait((event, self._clock.now()))
                self._foresee(event)
        except asyncio.QueueFull:
            self._counted["dropped"] += 1
            if self.dropped.bit_count() == 1:  # 1, 2, 4, 8, …: a flood must not flood the log
                log.warning("event_dropped", dropped=self.dropped, event_type=type(event).__name__)


@dataclass(slots=True, kw_only=True)
class _Evening:
    """Everything that one evening needs."""

    loop: ChatLoop
    ears: Ears
    inbox: Inbox
    settings: LiveSettings
    clock: Clock
    stopping: Stopping
    tally: Tally


async def run_live(
    loop: ChatLoop,
    ears: Ears,
    settings: LiveSettings,
    clock: Clock,
    *,
    stopping: Stopping,
    first: Event | None = None,
    tally: Tally | None = None,
) -> None:
    """Listen, answer and repair until it is stopped, then store what is pending; `first` is fed before anything else.

    Raises:
        TwitchDeaf: the chat could not be heard again: end with a failure, and let a supervisor start the bot anew.
        TwitchRefused: something that the bot cannot do without was refused, or its token has ended.
        StoreUnavailable: the database stayed away.
    """
    tally = tally or Tally()
    inbox = Inbox(settings, clock, tally.counted, loop.foresee)
    evening = _Evening(
        loop=loop, ears=ears, inbox=inbox, settings=settings, clock=clock, stopping=stopping, tally=tally
    )  # fmt: skip
    stopping.live = True
    await loop.start()
    if first is not None:
        inbox.put(first)
    try:
        await ears.listen(inbox.put)
        log.info("went_live")
        tally.live()
        tell_supervisor("READY=1")
        await _until_stopped(evening)
    finally:
        tell_supervisor("STOPPING=1")
        inbox.closed = True
        loop.hush(brief=inbox.events.qsize() > settings.brief_events)
        try:
            await _store(evening)
        finally:
            await _leave_chat(evening)


async def _until_stopped(evening: _Evening) -> None:
    failure: Exception | None = None
    try:
        async with asyncio.TaskGroup() as group:
            serving = group.create_task(_serve(evening), name="serve")
            others = [
                group.create_task(_erase(evening), name="erase"),
                group.create_task(_watch(evening.ears, evening.settings, evening.tally.counted), name="watch"),
                group.create_task(_beat(evening.settings), name="beat"),
            ]
            stopping = group.create_task(_told(evening.stopping.asked), name="stop")
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
            evening.inbox.closed = True
            await _finish_turn(serving, evening)
            for task in (serving, stopping, *others):
                task.cancel()
    except* (LiveError, BotMemoryError) as failed:
        failure = failed.exceptions[0]
    if failure is not None:  # raised within `except*`, Python 3.11.3 and older would wrap it again
        raise failure from None


async def _told(event: asyncio.Event) -> None:
    await event.wait()


async def _finish_turn(serving: asyncio.Task[None], evening: _Evening) -> None:
    """Give the turn in hand its time, unless nobody wants to wait any longer."""
    pressed = asyncio.create_task(_told(evening.stopping.pressed), name="pressed")
    try:
        await asyncio.wait(
            [serving, pressed], timeout=evening.settings.finish_seconds, return_when=asyncio.FIRST_COMPLETED
        )  # fmt: skip
    finally:
        pressed.cancel()


async def _store(evening: _Evening) -> None:
    """Store what was heard, answering nobody."""
    loop, inbox = evening.loop, evening.inbox
    failure: StoreUnavailable | None = None
    try:
        async with asyncio.timeout(evening.settings.store_seconds):
            while (failure := await _drained(loop, inbox)) is not None:  # noqa: ASYNC110 - nobody tells of room on a disk
                await asyncio.sleep(_RETRY_SECONDS)
        evening.stopping.stored = True
    except TimeoutError:
        log.warning("stopped_before_the_end", events=inbox.events.qsize(), lines=loop.pending)
        if failure is not None:
            raise failure from None
    log.info("went_off", dropped=inbox.dropped, **loop.counts)
    evening.stopping.leave_if_pressed()


async def _leave_chat(evening: _Evening) -> None:
    try:
        async with asyncio.timeout(evening.settings.close_seconds):
            await evening.ears.close()
    except TimeoutError:
        log.warning("leave_not_taken")


async def _serve(evening: _Evening) -> None:
    """Feed the loop in order; while nothing comes in, wake it when something falls due."""
    loop, inbox, clock = evening.loop, evening.inbox, evening.clock
    while not evening.stopping.asked.is_set():
        due = loop.next_due()
        wait = 0.25 if due is None else min(0.25, max(0.0, (due - clock.now()).total_seconds()))
        waiting = inbox.events.qsize()
        evening.tally.waiting(waiting)
        loop.batcher.crowd(crowded=waiting > evening.settings.crowd_events)
        try:
            async with asyncio.timeout(wait):
                event, arrived = await inbox.events.get()
        except TimeoutError:
            await loop.tick(clock.now())
        else:
            await loop.feed(event, arrived=arrived)


async def _erase(evening: _Evening) -> None:
    while True:
        await evening.loop.delete(await evening.inbox.deletions.get())


async def _beat(settings: LiveSettings) -> None:
    while True:
        tell_supervisor("WATCHDOG=1")
        await asyncio.sleep(settings.beat_seconds)


async def _watch(ears: Ears, settings: LiveSettings, counted: Counter[str]) -> None:
    failures = 0
    while True:
        await asyncio.sleep(settings.watchdog_seconds)
        try:
            async with asyncio.timeout(settings.check_seconds):
                repaired = await ears.check()
        except (LiveError, TimeoutError) as error:
            failures += 1
            counted["repairs_failed"] += 1
            reason = str(error) or f"no end within {settings.check_seconds:g} seconds"
            log.warning("repair_failed", failures=failures, reason=reason)
            if failures >= settings.watchdog_failures:
                if isinstance(error, TwitchRefused):
                    raise  # a new start would be refused as well
                msg = f"the chat could not be heard again after {failures} attempts: {reason}"
                raise TwitchDeaf(msg) from None
        else:
            failures = 0
            counted["repaired"] += len(repaired)
            if repaired:
                log.warning("hearing_repaired", repaired=repaired)


async def _drained(loop: ChatLoop, inbox: Inbox) -> StoreUnavailable | None:
    """Store all there is; return what kept it from being stored: the disk may have room again in a moment."""
    try:
        await _drain(loop, inbox)
        await loop.finish()
    except StoreUnavailable as error:
        return error
    return None


async def _drain(loop: ChatLoop, inbox: Inbox) -> None:
    while not (inbox.deletions.empty() and inbox.events.empty()):
        if not inbox.deletions.empty():
            await loop.delete(inbox.deletions.get_nowait())
            continue
        event, arrived = inbox.events.get_nowait()
        await loop.feed(event, arrived=arrived)
