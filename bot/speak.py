"""Posting: one queue in front of the chat, with its pace and its last check. A reply is posted at most once, ever."""

import asyncio
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, Protocol

import structlog

from bot.plain import plain
from memory import Clock

log = structlog.get_logger(__name__)
DeliveryState = Literal["sent", "failed", "ambiguous", "withheld"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """What became of a post. `ambiguous`: the platform may or may not have it; it is not posted again."""

    state: DeliveryState
    id: str | None = None  # the platform's id of the posted line
    reason: str = ""


class Voice(Protocol):
    """A way to post one line."""

    async def say(self, text: str, reply_to: str | None) -> Delivery:
        """Post `text`, as an answer to a message where one is named. Never raises for what the platform does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeakSettings:
    """The pace. Twitch allows 20 messages in 30 s, moderators 100, and about one a second a channel."""

    per_window: int = 20
    window_seconds: float = 32.0  # two more than the platform counts
    spacing_seconds: float = 1.1
    duplicate_seconds: float = 30.0  # the platform drops the same text within this time
    longest_wait_seconds: float = 5.0  # a line that would have to wait longer is dropped


class DryVoice:
    """Posts nothing: the whole bot runs, the chat hears none of it."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        """Take where the lines are shown to whoever runs the bot; None shows them nowhere."""
        self._write = write

    async def say(self, text: str, reply_to: str | None) -> Delivery:
        """Show the line to nobody in the chat."""
        if self._write is not None:
            self._write(text)
        log.info("reply_withheld_by_dry_run", characters=len(text), reply_to=reply_to)
        return Delivery(state="withheld", reason="dry_run")


class ConsoleVoice:
    """Says its lines to a given function: replays and demonstrations."""

    def __init__(self, write: Callable[[str], None] | None = None) -> None:
        """Take where the lines go; None swallows them (they count as said all the same)."""
        self._write = write

    async def say(self, text: str, reply_to: str | None) -> Delivery:  # noqa: ARG002 - the protocol's signature
        """Write the line."""
        if self._write is not None:
            self._write(text)
        return Delivery(state="sent")


class Pace:
    """Which moment the next post may have. Pure: moments in, seconds out."""

    def __init__(self, settings: SpeakSettings) -> None:
        """Start with nothing posted."""
        self._settings = settings
        self._posted: deque[datetime] = deque(maxlen=settings.per_window)

    def wait(self, now: datetime) -> float:
        """Return how many seconds a post must wait at `now`."""
        if self._posted and self._posted[-1] - now > timedelta(seconds=self._settings.window_seconds):
            self._posted.clear()  # the clock was set back since
        earliest = now
        if self._posted:
            earliest = max(earliest, self._posted[-1] + timedelta(seconds=self._settings.spacing_seconds))
        if len(self._posted) == self._settings.per_window:
            earliest = max(earliest, self._posted[0] + timedelta(seconds=self._settings.window_seconds))
        return (earliest - now).total_seconds()

    def take(self, at: datetime) -> None:
        """Note a post at that moment."""
        self._posted.append(at)


class Speaker:
    """The one way out. Callers come one after the other; nobody else may post."""

    def __init__(
        self,
        voice: Voice,
        settings: SpeakSettings,
        clock: Clock,
        *,
        pause: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Take the voice and the pace. On a virtual clock give a `pause` that returns at once."""
        self._voice = voice
        self._settings = settings
        self._clock = clock
        self._pause = pause
        self._pace = Pace(settings)
        self._recent: deque[tuple[str, datetime]] = deque(maxlen=settings.per_window)
        self._counts: Counter[str] = Counter()

    @property
    def counts(self) -> Mapping[str, int]:
        """How many posts went out or not, by their state (`post_sent`), and why not (`unsaid_rate_limited`)."""
        return dict(self._counts)

    async def say(self, text: str, reply_to: str | None, *, wanted: Callable[[], bool]) -> Delivery:
        """Post one line; `wanted` is asked at the very last moment whether it still may be said."""
        delivery = await self._delivered(text, reply_to, wanted)
        self._counts[f"post_{delivery.state}"] += 1
        if delivery.state != "sent":
            self._counts[f"unsaid_{delivery.reason}"] += 1
        return delivery

    async def _delivered(self, text: str, reply_to: str | None, wanted: Callable[[], bool]) -> Delivery:
        now = self._clock.now()
        if self._is_duplicate(text, now):
            return Delivery(state="failed", reason="duplicate")
        wait = self._pace.wait(now)
        if wait > self._settings.longest_wait_seconds:
            return Delivery(state="failed", reason="rate_limited")
        if wait > 0:
            await self._pause(wait)
        if not wanted():
            return Delivery(state="withheld", reason="deleted")
        self.note_said(text, max(self._clock.now(), now + timedelta(seconds=wait)))
        return await self._voice.say(text, reply_to)

    def note_said(self, text: str, at: datetime) -> None:
        """Count a line as posted at that moment (a resumed replay takes up the pace where it was)."""
        self._pace.take(at)
        self._recent.append((plain(text), at))

    def _is_duplicate(self, text: str, now: datetime) -> bool:
        since = now - timedelta(seconds=self._settings.duplicate_seconds)
        return any(said == plain(text) and at >= since for said, at in self._recent)
