"""A long evening: 100 messages a second with the worker busy; how long storing takes, and how often the loop stands still."""

import asyncio
import shutil
from pathlib import Path

from bench.burst import BOT, CHANNEL, Asker, Crowd
from bench.figures import Figure, percentiles
from bench.lag import Lag
from bot.app import Hooks, make_loop, open_channel_memory
from bot.live import LiveSettings, Tally, run_live
from bot.steady import pass_over_loaded
from bot.stopping import Stopping
from bot.turn import TurnOutcome
from config.settings import Settings
from memory import StreamEvent, WallClock
from replays.hurry import few_arenas, short_turns

_RATE = 100


def measure(out: Path, *, seconds: float) -> list[Figure]:
    """Live for `seconds` on a memory made anew in `out`, and return the figures."""
    few_arenas()
    short_turns()
    shutil.rmtree(out, ignore_errors=True)
    return asyncio.run(_measured(out, seconds))


async def _measured(out: Path, seconds: float) -> list[Figure]:
    settings, clock, stopping, lag = Settings(), WallClock(), Stopping(), Lag()
    stored: list[float] = []

    def note(outcome: TurnOutcome) -> None:
        stored.append(outcome.seconds["observe"] + outcome.seconds["record"])

    async with open_channel_memory(settings, out, channel=CHANNEL, clock=clock) as memory:
        await memory.start_worker()
        loop = make_loop(settings, memory=memory, clock=clock, channel=CHANNEL, bot=BOT, hooks=Hooks(on_turn=note))
        crowd, asker = Crowd(rate=_RATE, seconds=seconds, rest=0, stopping=stopping), Asker(memory)
        asking = asyncio.create_task(asker.ask(lambda: "in the burst"))
        pass_over_loaded()
        with lag.watched():
            first = StreamEvent(at=clock.now(), event="online", stream_id="s", channel=CHANNEL)
            await run_live(
                loop, crowd, LiveSettings(), clock, stopping=stopping, first=first, tally=Tally(waiting=memory.waiting)
            )
        asking.cancel()
        health = await memory.health()
    return [
        Figure(bench="live", name="messages", value=crowd.sent, unit=""),
        *percentiles("live", "observe + record, 20 lines, worker busy", stored, p99="<= 10", max="<= 100"),
        *percentiles("live", "recall asked", asker.spent["in the burst"]),
        *lag.figures("live"),
        Figure(bench="live", name="jobs done", value=health.jobs["done"], unit=""),
        Figure(bench="live", name="jobs waiting at the end", value=health.jobs["ready"], unit=""),
        Figure(bench="live", name="dead jobs", value=health.jobs["dead"], unit="", goal="<= 0"),
    ]
