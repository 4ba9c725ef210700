"""Replay: a chat log through the real turn, on a virtual clock, in a data directory of its own, resumable after a kill."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Literal

import structlog

from bot.app import Hooks, language_model, make_loop, open_channel_memory
from bot.canon import sync_canon
from bot.loop import ChatLoop
from bot.speak import Voice
from bot.turn import TurnOutcome
from config.settings import Settings
from memory import BotIdentity, Channel, Event, Health, Memory, Settle, StreamEvent, VirtualClock
from replays.errors import LogError
from replays.log import LoggedEvent, canon_folder, read_log
from replays.log_report import LogReport
from replays.player import Player, Settling
from replays.stats import percentile
from replays.turns import TurnFile

log = structlog.get_logger(__name__)
LONGEST_PAUSE_SECONDS = 5.0
REMEMBERED_REPLIES = 40  # more than manners and pace look back
NOBODY = Channel(id="login:unknown", login="unknown", name="unknown")
BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo", aliases=("ricordo",))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """What is replayed, and how."""

    log: Path
    out: Path
    speed: float | None = None  # times real time; None: as fast as it goes
    start: datetime | None = None  # events before it are passed over
    end: datetime | None = None
    replies: Literal["bot", "log"] = "bot"  # log: the replies recorded in the log are the bot's words
    voice: Voice | None = None  # hears the replies


@dataclass(slots=True)
class Timings:
    """Seconds of every turn, by step."""

    observe_record: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    memory_asked: list[float] = field(default_factory=list)  # turns that queried a semantic source
    degraded: int = 0

    def note(self, outcome: TurnOutcome) -> None:
        """Take the seconds of one turn."""
        seconds = outcome.seconds
        self.observe_record.append(seconds.get("observe", 0.0) + seconds.get("record", 0.0))
        self.memory.append(seconds.get("recall", 0.0))
        recall = outcome.turn.recall
        if recall and recall.plan.requests:
            self.memory_asked.append(seconds.get("recall", 0.0))
        self.degraded += bool(recall and recall.degraded)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySummary:
    """What a replay did, for a person and for scripts."""

    counts: dict[str, int]
    seconds: float
    messages_per_second: float
    latency_ms: dict[str, dict[str, float]]
    health: Health
    report: LogReport
    resumed_turns: int
    degraded_turns: int
    llm: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the summary as JSON types."""
        health = self.health
        return {
            "counts": self.counts,
            "seconds": round(self.seconds, 3),
            "messages_per_second": round(self.messages_per_second, 1),
            "latency_ms": self.latency_ms,
            "documents": health.documents,
            "viewers": health.viewers,
            "streams": health.streams,
            "jobs": dict(health.jobs),
            "embedder": health.embedder,
            "llm": self.llm,
            "resumed_turns": self.resumed_turns,
            "degraded_turns": self.degraded_turns,
            "warnings": dict(self.report.warnings),
            "skipped_lines": self.report.skipped,
        }


class Replay:
    """One run over one log. `on_event` hears every event before it is fed, `on_turn` every turn that is over."""

    def __init__(
        self,
        options: ReplayOptions,
        settings: Settings,
        *,
        on_event: Callable[[LoggedEvent], None] | None = None,
        on_turn: Callable[[TurnOutcome], None] | None = None,
        settling: Callable[[Memory, int], Settling] = Settling,
    ) -> None:
        """Open nothing yet. `settling` makes, from a memory and the number of its turns, what settles it."""
        self._options = options
        self._settings = settings
        self._on_event = on_event
        self._on_turn = on_turn
        self._timings = Timings()
        self._settling = settling

    async def run(self) -> ReplaySummary:
        """Play the log to its end and return what happened.

        Raises:
            LogError: the log cannot be read, or holds no event.
            BotMemoryError: the replay's data directory cannot be used.
        """
        options = self._options
        options.out.mkdir(parents=True, exist_ok=True)
        report = LogReport(path=options.log)
        async with (
            open_home(self._settings, options.log, options.out / "memory", start=options.start) as home,
            language_model(self._settings) as model,
        ):
            with TurnFile(options.out / "turns.jsonl") as turns:
                resumed = await turns.resume(home.memory.recorded)
                settling = self._settling(home.memory, resumed)
                hooks = Hooks(
                    voice=options.voice,
                    model=model,
                    before=settling.before,
                    searched=settling.searched,
                    drafted=turns.write,
                    on_turn=partial(self._over, settling),
                    resume=True,
                    recorded_turns=resumed,
                    said=turns.said(REMEMBERED_REPLIES),
                    replies=options.replies,
                )
                loop = home.loop(self._settings, hooks)
                began = home.clock.elapsed()
                await loop.start()
                await self._play(Player(loop, home.clock, settling), report)
            return await self._summary(home.memory, loop, home.clock.elapsed() - began, report=report, resumed=resumed)

    async def _play(self, player: Player, report: LogReport) -> None:
        pace = Pace(self._options.speed)
        for logged in within(read_log(self._options.log, report), self._options):
            await pace.wait(logged.event)
            if self._on_event:
                self._on_event(logged)
            await player.feed(logged.event)
        await player.finish()

    def _over(self, settling: Settling, outcome: TurnOutcome) -> None:
        settling.over(outcome)
        self._timings.note(outcome)
        if self._on_turn:
            self._on_turn(outcome)

    async def _summary(
        self, memory: Memory, loop: ChatLoop, seconds: float, *, report: LogReport, resumed: int
    ) -> ReplaySummary:
        timings = self._timings
        messages = report.counts["message"]
        return ReplaySummary(
            counts=dict(loop.counts),
            seconds=seconds,
            messages_per_second=messages / seconds if seconds else 0.0,
            latency_ms={
                "observe_record": spread(timings.observe_record),
                "memory": spread(timings.memory),
                "memory_asked": spread(timings.memory_asked),
            },
            health=await memory.health(),
            report=report,
            resumed_turns=resumed,
            degraded_turns=timings.degraded,
            llm=self._settings.llm.model if self._settings.llm.base_url else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """A log's own memory, open, with the clock it lives by."""

    memory: Memory
    clock: VirtualClock
    channel: Channel
    bot: BotIdentity

    def loop(self, settings: Settings, hooks: Hooks) -> ChatLoop:
        """Return the chat loop over this memory."""
        return make_loop(settings, memory=self.memory, clock=self.clock, channel=self.channel, bot=self.bot, hooks=hooks)


@asynccontextmanager
async def open_home(
    settings: Settings, log_path: Path, directory: Path, *, start: datetime | None = None
) -> AsyncIterator[Home]:
    """Open a memory for one log in `directory`, with the log's own canon; the clock stands at its beginning, or at `start`.

    Raises:
        LogError: the log cannot be read, or holds no event.
        BotMemoryError: the directory cannot be used.
    """
    first = first_event(log_path)
    channel, bot = identities(log_path, first)
    clock = VirtualClock(start or first.at)
    async with open_channel_memory(settings, directory, channel=channel, clock=clock) as memory:
        await sync_canon(memory, canon_folder(log_path) or settings.persona.canon)
        yield Home(memory=memory, clock=clock, channel=channel, bot=bot)


class Pace:
    """Holds a replay back to a multiple of real time."""

    def __init__(self, speed: float | None) -> None:
        """None never waits."""
        self._speed = speed
        self._last: datetime | None = None

    async def wait(self, event: Event) -> None:
        """Sleep until `event` may come."""
        if self._speed is None or isinstance(event, Settle):
            return
        gap = event.at - self._last if self._last else timedelta()
        self._last = event.at
        if gap > timedelta():
            await asyncio.sleep(min(gap.total_seconds() / self._speed, LONGEST_PAUSE_SECONDS))


def first_event(path: Path) -> Any:  # noqa: ANN401 any event that has a time
    """Return the first event of a log that has a time.

    Raises:
        LogError: there is none.
    """
    for logged in read_log(path):
        if not isinstance(logged.event, Settle):
            return logged.event
    raise LogError(f"{path} holds no event to replay")


def identities(path: Path, first: Event) -> tuple[Channel, BotIdentity]:
    """Return the channel and the bot that the log names in its first `stream` event, stand-ins where it names none."""
    streams: Iterator[StreamEvent] = (e.event for e in read_log(path) if isinstance(e.event, StreamEvent))
    stream = first if isinstance(first, StreamEvent) else next(streams, None)
    return (stream and stream.channel) or NOBODY, (stream and stream.bot) or BOT


def within(events: Iterator[LoggedEvent], options: ReplayOptions) -> Iterator[LoggedEvent]:
    """Yield the events between the options' start and end; those without a time always pass."""
    for logged in events:
        at = None if isinstance(logged.event, Settle) else logged.event.at
        if at is None or ((options.start is None or at >= options.start) and (options.end is None or at <= options.end)):
            yield logged


def spread(seconds: list[float]) -> dict[str, float]:
    """Return count, p50, p95, p99 and maximum of durations, in milliseconds."""
    return {
        "count": len(seconds),
        **{f"p{share}": round(percentile(seconds, share / 100) * 1000, 3) for share in (50, 95, 99)},
        "max": round(max(seconds, default=0.0) * 1000, 3),
    }


def write_summary(path: Path, summary: ReplaySummary) -> None:
    """Write the summary as JSON."""
    path.write_text(json.dumps(summary.to_json(), ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
