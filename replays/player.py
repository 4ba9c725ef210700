"""Feeds a log's events to the bot at their own times, and brings the memory up to date at fixed points."""

from bot.loop import ChatLoop
from bot.play import play
from bot.turn import TurnOutcome
from memory import Batch, Event, Memory, StreamEvent, VirtualClock

SETTLE_TURNS = 1024  # jobs run at least after so many turns: large groups are indexed faster, small ones sooner
AHEAD_TURNS = 16  # recorded turns that are embedded together, while the next ones are played


class Settling:
    """Runs the background jobs at points that the log alone decides, so that the same log always recalls the same."""

    def __init__(self, memory: Memory, turns: int = 0) -> None:
        """Count turns from here; `turns`: how many an earlier run had recorded."""
        self._memory = memory
        self._turns = turns
        self._fresh: list[str] = []  # recorded turns that nothing embeds yet

    async def before(self, batch: Batch) -> None:
        """Settle before a turn that is answered, and begin to after every 1024th one: the loop's `before` hook."""
        self._turns += 1
        if batch.flush_reason == "addressed":
            await self.run_jobs()
        elif self._turns % SETTLE_TURNS == 0:
            await self.begin_jobs()

    async def searched(self) -> bool:
        """Bring the index up to what was recorded; return whether it was behind: the loop's `searched` hook.

        So a turn that searches without being addressed finds the same however far the indexing had got.
        """
        return await self._memory.index_now() > 0

    def over(self, outcome: TurnOutcome) -> None:
        """Embed what the last turns left while the next ones are played: the loop's `on_turn` hook."""
        self._fresh.append(outcome.turn.batch.id)
        if len(self._fresh) >= AHEAD_TURNS:
            self._memory.embed_ahead(self._fresh)
            self._fresh = []

    async def begin_jobs(self) -> None:
        """Run every due job but indexing, which goes on beside the next turns."""
        self._fresh = []
        await self._memory.begin_jobs()

    async def run_jobs(self) -> None:
        """Run every due job to its end."""
        self._fresh = []
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
            await self._loop.flush("end")
            if not self._loop.behind:
                await self._settling.begin_jobs()
        await play(self._loop, event, self._clock)

    async def catch_up(self, *, settle: bool = True) -> None:
        """Close the open batch, run its turn, and, where `settle`, every pending job."""
        await self._loop.flush("end")
        if settle and not self._loop.behind:
            await self._settling.run_jobs()

    async def finish(self) -> None:
        """Run what is pending to its end."""
        await self._loop.finish()
        await self._settling.run_jobs()
