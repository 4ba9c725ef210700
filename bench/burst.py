"""A burst of chat against the live bot: taken in order and whole, in bounded memory, while answers keep their latency."""

import asyncio
import resource
import shutil
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

from bench.figures import Figure, percentiles
from bench.footprint import Footprint
from bench.lag import Lag
from bot.app import Hooks, make_loop, open_channel_memory
from bot.live import Inbox, LiveSettings, Tally, run_live
from bot.stopping import Stopping
from config.settings import Settings
from memory import Batch, BotIdentity, Channel, Event, Memory, Message, StreamEvent, Viewer, WallClock
from replays.hurry import few_arenas, short_turns

CHANNEL = Channel(id="9000", login="banco", name="Banco")
BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo", aliases=("ricordo",))
RATE = 2000
_VIEWERS = 2000
_SAYINGS = ("che bella la partita oggi", "vivo a Torino", "I love this soundtrack", "ho due gatti", "non mi piace il boss")
_ASK_SECONDS = 0.5


@dataclass
class Crowd:
    """A chat of `rate` messages a second for `seconds`; then it is silent while the backlog drains, for `rest` seconds."""

    rate: float
    seconds: float
    rest: float
    stopping: Stopping
    sent: int = 0
    over: asyncio.Event = field(default_factory=asyncio.Event)
    peak_mb: float = 0.0  # of the whole process, when it fell silent
    _saying: asyncio.Task[None] | None = None

    async def listen(self, take: Callable[[Event], None]) -> None:
        """Begin."""
        self._saying = asyncio.create_task(self._say(take))

    async def _say(self, take: Callable[[Event], None]) -> None:
        began = time.perf_counter()
        while (passed := time.perf_counter() - began) < self.seconds:
            while self.sent < passed * self.rate:
                take(line(self.sent))
                self.sent += 1
            await asyncio.sleep(0.01)
        self.peak_mb = _peak_mb()
        self.over.set()
        await asyncio.sleep(self.rest)
        self.stopping.asked.set()

    async def check(self) -> list[str]:
        """Nothing has to be repaired."""
        return []

    async def close(self) -> None:
        """Be silent."""
        if self._saying is not None:
            self._saying.cancel()


def line(number: int) -> Message:
    """Return the `number`-th message of the crowd."""
    who = number * 7919 % _VIEWERS
    viewer = Viewer(id=str(1000 + who), login=f"viewer_{who}", name=f"Viewer_{who}")
    return Message(id=f"m{number}", at=datetime.now(UTC), user=viewer, text=f"{_SAYINGS[number % 5]} {number}")


class Asker:
    """Asks the memory what it has of somebody, twice a second, as a question in the chat does, and notes how long that took."""

    def __init__(self, memory: Memory) -> None:
        """Ask nothing yet."""
        self._memory = memory
        self.spent: dict[str, list[float]] = {"in the burst": [], "while it drains": []}

    async def ask(self, phase: Callable[[], str]) -> None:
        """Ask until cancelled."""
        number = 0
        while True:
            await asyncio.sleep(_ASK_SECONDS)
            number += 1
            viewer = line(number * 31).user
            question = Message(id=f"q{number}", at=datetime.now(UTC), user=viewer, text="@Ricordo cosa ricordi di me?")
            asked = Batch(stream_id="s", lines=(question,), closed_at=question.at, flush_reason="addressed")
            began = time.perf_counter()
            await self._memory.recall(asked)
            self.spent[phase()].append(time.perf_counter() - began)


class _Watched(Inbox):
    """Notes the longest queue."""

    longest = 0

    def put(self, event: Event) -> None:
        """Take an event."""
        super().put(event)
        _Watched.longest = max(_Watched.longest, self.events.qsize())


def measure(out: Path, *, seconds: float, rest: float) -> list[Figure]:
    """Let the crowd loose on a memory made anew in `out`, and return the figures."""
    few_arenas()
    short_turns()
    shutil.rmtree(out, ignore_errors=True)
    return asyncio.run(_measured(out, seconds, rest))


async def _measured(out: Path, seconds: float, rest: float) -> list[Figure]:
    import bot.live  # noqa: PLC0415 - to watch its queue, for the length of this process

    bot.live.Inbox = _Watched  # type: ignore[misc]  # the same, counted
    settings, clock, stopping, lag = Settings(), WallClock(), Stopping(), Lag()
    async with open_channel_memory(settings, out, channel=CHANNEL, clock=clock) as memory, _counted() as footprint:
        await memory.start_worker()
        loop = make_loop(settings, memory=memory, clock=clock, channel=CHANNEL, bot=BOT, hooks=Hooks())
        crowd, asker = Crowd(rate=RATE, seconds=seconds, rest=rest, stopping=stopping), Asker(memory)
        at_start, all_at_start = _peak_mb(), footprint.peak_mb
        asking = asyncio.create_task(asker.ask(lambda: "while it drains" if crowd.over.is_set() else "in the burst"))
        spending = asyncio.create_task(_spent(crowd, footprint))
        with lag.watched():
            first = StreamEvent(at=clock.now(), event="online", stream_id="s", channel=CHANNEL)
            await run_live(
                loop, crowd, LiveSettings(), clock, stopping=stopping, first=first, tally=Tally(waiting=memory.waiting)
            )
        asking.cancel()
        health, spent = await memory.health(), await spending
    stored, disordered = _stored(out / "memory.db")
    return [
        *_intake(crowd, seconds, stored=stored, disordered=disordered, spent=spent),
        Figure(bench="burst", name="memory added by the end of the burst", value=crowd.peak_mb - at_start, unit="MB"),
        Figure(bench="burst", name="memory added at most", value=_peak_mb() - at_start, unit="MB"),
        Figure(bench="burst", name="the same, index's process included", value=footprint.peak_mb - all_at_start, unit="MB"),
        Figure(bench="burst", name="memory at most, all processes", value=footprint.peak_mb, unit="MB"),
        Figure(bench="burst", name="jobs waiting at the end", value=health.jobs["ready"], unit=""),
        Figure(bench="burst", name="jobs done by the end", value=health.jobs["done"], unit=""),
        Figure(bench="burst", name="dead jobs", value=health.jobs["dead"], unit="", goal="<= 0"),
        *(figure for phase, took in asker.spent.items() if took for figure in percentiles("burst", f"recall {phase}", took)),
        *lag.figures("burst"),
    ]


@asynccontextmanager
async def _counted() -> AsyncIterator[Footprint]:
    with Footprint() as footprint:
        yield footprint


async def _spent(crowd: Crowd, footprint: Footprint) -> float:
    """Return the processor time of the burst, background work, the index's process and the crowd itself included."""
    await crowd.over.wait()
    return footprint.cpu_seconds


def _intake(crowd: Crowd, seconds: float, *, stored: int, disordered: int, spent: float) -> list[Figure]:
    rate = crowd.sent / seconds
    return [
        Figure(bench="burst", name="messages sent", value=crowd.sent, unit=""),
        Figure(bench="burst", name="sent a second", value=rate, unit="messages/s", goal=f">= {RATE - 20}"),
        Figure(bench="burst", name="messages lost", value=crowd.sent - stored, unit="", goal="<= 0"),
        Figure(bench="burst", name="messages out of order", value=disordered, unit="", goal="<= 0"),
        Figure(bench="burst", name="longest queue", value=_Watched.longest, unit="messages", goal="<= 64000"),
        Figure(bench="burst", name="processor time in the burst", value=100 * spent / seconds, unit="% of one"),
    ]


def _stored(path: Path) -> tuple[int, int]:
    """Return how many messages were stored, and how many of them not in the order in which they were sent."""
    file = sqlite3.connect(path)
    try:
        numbers = [int(row[0][1:]) for row in file.execute("SELECT id FROM line WHERE id LIKE 'm%' ORDER BY seq")]
    finally:
        file.close()
    return len(numbers), sum(one > other for one, other in pairwise(numbers))


def _peak_mb() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 1024)
