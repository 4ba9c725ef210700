"""Whether a stream runs: events tell it at once and may be lost, looks tell it late and may be behind. No I/O."""

from collections import deque

from memory import Clock, StreamEvent

PATIENCE_SECONDS = 300.0  # for so long Twitch may list no stream although one runs: its list is behind its events


class OnAir:
    """Holds what events and looks say against each other, and finds the events that never came."""

    def __init__(self, clock: Clock, patience: float = PATIENCE_SECONDS) -> None:
        """Know of no stream."""
        self._clock = clock
        self._patience = patience
        self._running: str | None = None
        self._known: deque[str] = deque(maxlen=20)  # streams that were told of: one that is over may still be listed
        self._against_since: float | None = None  # since when the list says other than the events

    def began(self, stream_id: str) -> None:
        """Take it from an event, or from the start, that a stream runs."""
        self._running, self._against_since = stream_id, None
        self._known.append(stream_id)

    def over(self) -> None:
        """Take it from an event that no stream runs."""
        self._running = self._against_since = None

    def look(self, listed: str | None) -> StreamEvent | None:
        """Take the id of the stream that Twitch lists, None for none; return the event that must have been lost."""
        if listed == self._running:
            self._against_since = None
            return None
        if (listed is None or listed in self._known) and not self._stays():
            return None
        at, was = self._clock.now(), self._running
        if listed is not None:
            self.began(listed)
            return StreamEvent(at=at, event="online", stream_id=listed)
        self.over()
        return StreamEvent(at=at, event="offline", stream_id=was) if was is not None else None

    def _stays(self) -> bool:
        """Return whether the list has said other than the events for longer than it may be behind them."""
        now = self._clock.elapsed()
        self._against_since = now if self._against_since is None else self._against_since
        return now - self._against_since >= self._patience
