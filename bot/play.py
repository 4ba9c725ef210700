"""Recorded events, played to the chat loop at their own times."""

from bot.loop import ChatLoop
from bot.recording import arrival_of
from memory import Event, Settle, VirtualClock


async def play(loop: ChatLoop, event: Event, clock: VirtualClock) -> None:
    """Feed a recorded event when it came in, else at its own time; before it, the clock visits all that falls due till then."""
    at = None if isinstance(event, Settle) else arrival_of(event) or event.at
    if at is not None:
        while (due := loop.next_due()) is not None and due <= at:
            clock.move_to(due)
            await loop.tick(clock.now())
        clock.move_to(at)
    await loop.feed(event)
