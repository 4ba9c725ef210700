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
        self._gone_since: float | None = None

    def began(self, stream_id: str) -> None:
        """Take it from an event, or from the start, that a stream runs."""
        self._running, self._gone_since = stream_id, None
        self._known.append(stream_id)

    def over(self) -> None:
        """Take it from an event that no stream runs."""
        self._running = self._gone_since = None

    def look(self, listed: str | None) -> StreamEvent | None:
        """Take the id of the stream that Twitch lists, None for none; return the event that must have been lost."""
        now = self._clock.elapsed()
        if listed is not None:
            self._gone_since = None
            if listed in self._known:
                return None
            self.began(listed)
            return StreamEvent(at=self._clock.now(), event="online", stream_id=listed)
        if self._running is None:
            return None
        self._gone_since = now if self._gone_since is None else self._gone_since
        if now - self._gone_since < self._patience:
            return None
        ended = StreamEvent(at=self._clock.now(), event="offline", stream_id=self._running)
        self.over()
        return ended
