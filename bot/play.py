"""Recorded events, played to the chat loop at their own times."""

from bot.loop import ChatLoop
from memory import Event, Settle, VirtualClock


async def play(loop: ChatLoop, event: Event, clock: VirtualClock) -> None:
    """Feed a recorded event at its own time: first the clock visits every moment at which something falls due before it."""
    at = None if isinstance(event, Settle) else event.at
    if at is not None:
        while (due := loop.next_due()) is not None and due <= at:
            clock.move_to(due)
            await loop.tick(clock.now())
        clock.move_to(at)
    await loop.feed(event)
