"""Feeds a log's events to the bot at their own times, and brings the memory up to date at fixed points."""

from bot.loop import ChatLoop, play
from memory import Batch, Event, Memory, StreamEvent, VirtualClock

SETTLE_TURNS = 64  # jobs run at least after so many turns: large groups are indexed faster, small ones sooner


class Settling:
    """Runs the background jobs at points that the log alone decides, so that the same log always recalls the same."""

    def __init__(self, memory: Memory) -> None:
        """Count turns from here."""
        self._memory = memory
        self._turns = 0

    async def before(self, batch: Batch) -> None:
        """Settle before a turn that is answered, and after every 64th one: the loop's `before` hook."""
        self._turns += 1
        if batch.flush_reason == "addressed" or self._turns % SETTLE_TURNS == 0:
            await self.run_jobs()

    async def run_jobs(self) -> None:
        """Run every due job to its end."""
        await self._memory.run_jobs()


class Player:
    """One log through one loop."""

    def __init__(self, loop: ChatLoop, clock: VirtualClock, settling: Settling) -> None:
        """Take the loop, whose `before` hook is the one of `settling`."""
        self._loop = loop
        self._clock = clock
        self._settling = settling

    async def feed(self, event: Event) -> None:
        """Play one event; the end of a stream closes the open batch and settles first."""
        if isinstance(event, StreamEvent) and event.event == "offline":
            await self.catch_up()
        await play(self._loop, event, self._clock)

    async def catch_up(self, *, settle: bool = True) -> None:
        """Close the open batch, run its turn, and, where `settle`, every pending job."""
        await self._loop.flush("end")
        if settle:
            await self._settling.run_jobs()

    async def finish(self) -> None:
        """Run what is pending to its end."""
        await self._loop.finish()
        await self._settling.run_jobs()
