"""Time as a dependency: the wall clock live, a virtual one in replay, so that the same log gives the same bytes."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Where the memory reads the time from."""

    def now(self) -> datetime:
        """Return the current moment, aware, in UTC."""
        ...

    def elapsed(self) -> float:
        """Return seconds from an arbitrary origin, never going back: for durations alone."""
        ...


class WallClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the current moment in UTC."""
        return datetime.now(UTC)

    def elapsed(self) -> float:
        """Return `time.perf_counter()`."""
        return time.perf_counter()


class VirtualClock:
    """A clock that stands still until it is moved. Moving it back is ignored: a log whose times jump must not undo the past."""

    def __init__(self, start: datetime) -> None:
        """Start at `start` (aware)."""
        self._now = start.astimezone(UTC)

    def now(self) -> datetime:
        """Return the virtual moment."""
        return self._now

    def elapsed(self) -> float:
        """Return real seconds: latencies are measured, never simulated."""
        return time.perf_counter()

    def move_to(self, moment: datetime) -> None:
        """Move forward to `moment`; an earlier one changes nothing."""
        self._now = max(self._now, moment.astimezone(UTC))

    def advance(self, by: timedelta) -> None:
        """Move forward by `by`."""
        self.move_to(self._now + by)
