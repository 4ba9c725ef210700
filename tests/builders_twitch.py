"""The real TwitchIO, connected to a Twitch on this machine, with the loop behind it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from builders_live import EAGER, QUICK, Bench
from fakes.twitch import FakeTwitch

from bot.account import TwitchSettings
from bot.batching import BatchingSettings
from bot.live import LiveSettings, run_live
from bot.loop_settings import LoopSettings
from bot.stopping import Stopping
from bot.twitch import TwitchConnection
from memory import WallClock

FAST = LoopSettings(batching=BatchingSettings(grace_seconds=0.02, quiet_seconds=0.05, longest_wait_seconds=0.5))


def twitch_settings(fake: FakeTwitch, folder: Path, **more: Any) -> TwitchSettings:  # noqa: ANN401 - any field
    values: dict[str, Any] = {
        "client_id": "client",
        "client_secret": "client-secret",
        "channel": "casa",
        "token_file": folder / "tokens.json",
        "access_token": "access-1",
        "refresh_token": "refresh-1",
        "aliases": ("ricordino",),
        "api_url": fake.url,
        **more,
    }
    return TwitchSettings(**values)


class Evening:
    """A bot that is live."""

    def __init__(self, fake: FakeTwitch, connection: TwitchConnection, bench: Bench) -> None:
        self.fake = fake
        self.connection = connection
        self.bench = bench
        self.stopping = Stopping(leave=lambda _: None)

    async def until(self, holds: Any, *, seconds: float = 10) -> None:  # noqa: ANN401 - any predicate
        async with asyncio.timeout(seconds):
            while not holds():  # noqa: ASYNC110 - what is waited for lies in many objects
                await asyncio.sleep(0.01)


@asynccontextmanager
async def evening(
    fake: FakeTwitch,
    folder: Path,
    *,
    live: LiveSettings | None = None,
    settings: LoopSettings = FAST,
    **more: Any,  # noqa: ANN401 - any field
) -> AsyncIterator[Evening]:
    """Start the bot against `fake`; it is listening when this yields, and stopped in order afterwards."""
    clock = WallClock()
    configured = twitch_settings(fake, folder, **more)
    async with TwitchConnection(configured, clock) as connection:
        account = await connection.log_in()
        bench = Bench(voice=connection.voice(), manners=EAGER, settings=settings, clock=clock, speak=QUICK)
        bench.addressing.meet(account.bot)
        running = Evening(fake, connection, bench)
        patience = live or LiveSettings()
        async with asyncio.TaskGroup() as group:
            group.create_task(
                run_live(bench.loop, connection, patience, clock, stopping=running.stopping, first=account.stream)
            )
            await fake.until(lambda: "stream.offline" in fake.heard_types() | set(fake.forbidden))
            await running.until(lambda: connection.living() >= fake.heard_types())  # the last answer is on its way
            yield running
            running.stopping.asked.set()
