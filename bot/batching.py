"""When a handful of chat lines becomes a turn. Times are given: the same lines at the same times make the same batches."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from memory import Batch, Line


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchingSettings:
    """What closes a batch, in seconds and lines."""

    grace_seconds: float = 0.8  # after the bot was addressed: a follow-up line joins
    quiet_seconds: float = 4.0  # nobody wrote for so long
    longest_wait_seconds: float = 15.0  # since the first line
    max_lines: int = 20

    def __post_init__(self) -> None:
        """Refuse waits that contradict each other."""
        if not 0 <= self.grace_seconds <= self.quiet_seconds <= self.longest_wait_seconds or self.max_lines < 1:
            msg = (
                "batching needs 0 <= grace_seconds <= quiet_seconds <= longest_wait_seconds and max_lines >= 1, not "
                f"{self.grace_seconds} / {self.quiet_seconds} / {self.longest_wait_seconds} and {self.max_lines}"
            )
            raise ValueError(msg)


class Batcher:
    """Collects lines of one stream and closes them into batches. Holds at most `max_lines` lines, twice as many in a crowd."""

    def __init__(self, settings: BatchingSettings) -> None:
        """Start empty, outside of any stream."""
        self._settings = settings
        self._stream_id = ""
        self._crowded = False
        self._lines: list[Line] = []
        self._first = self._last = self._addressed = None  # type: datetime | None

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines of the open batch."""
        return tuple(self._lines)

    def crowd(self, *, crowded: bool) -> None:
        """Make batches twice as long while more comes in than turns can follow: each costs the same, whatever is in it."""
        self._crowded = crowded

    def open(self, stream_id: str, now: datetime) -> list[Batch]:
        """Collect for this stream from now on; what was collected for another one is closed and returned."""
        closed = self.flush("end", now) if stream_id != self._stream_id else []
        self._stream_id = stream_id
        return closed

    def add(self, line: Line, *, addressed: bool, now: datetime) -> list[Batch]:
        """Take a line that arrived `now`; return the batches that this closes, oldest first."""
        closed = self.due(now)
        self._lines.append(line)
        self._first = self._first or now
        self._last = now
        if addressed and self._addressed is None:
            self._addressed = now
        if len(self._lines) >= self._settings.max_lines * (1 + self._crowded):
            closed += self.flush("size", now)
        elif self._settings.grace_seconds == 0:
            closed += self.due(now)
        return closed

    def remove(self, gone: set[str]) -> None:
        """Drop pending lines by id: moderation took them back before their turn."""
        self._lines = [line for line in self._lines if line.id not in gone]
        if not self._lines:
            self._clear()

    def next_due(self) -> datetime | None:
        """Return when the open batch closes by itself, None where nothing is pending."""
        deadline = self._deadline()
        return deadline[0] if deadline else None

    def due(self, now: datetime) -> list[Batch]:
        """Return the batch whose time has come by `now`. It counts as closed at its deadline, however late this is asked."""
        self._set_back(now)
        deadline = self._deadline()
        if deadline is None or now < deadline[0]:
            return []
        return self.flush(deadline[1], deadline[0])

    def flush(self, reason: str, now: datetime) -> list[Batch]:
        """Close the open batch, whatever its age."""
        if not self._lines:
            return []
        batch = Batch(stream_id=self._stream_id, lines=tuple(self._lines), closed_at=now, flush_reason=reason)
        self._clear()
        return [batch]

    def _set_back(self, now: datetime) -> None:
        """Where the clock was set back since the last line came, let its waits begin anew: an hour more would be too long."""
        if self._last is not None and now < self._last:
            self._first = self._last = now
            self._addressed = now if self._addressed is not None else None

    def _deadline(self) -> tuple[datetime, str] | None:
        if not self._lines or self._first is None or self._last is None:
            return None
        rules = self._settings
        deadlines = [
            (self._last + timedelta(seconds=rules.quiet_seconds), "quiet"),
            (self._first + timedelta(seconds=rules.longest_wait_seconds), "waited"),
        ]
        if self._addressed is not None:
            deadlines.append((self._addressed + timedelta(seconds=rules.grace_seconds), "addressed"))
        return min(deadlines)

    def _clear(self) -> None:
        self._lines = []
        self._first = self._last = self._addressed = None
