"""What was read from one chat log: counts, warnings, and the first lines that were skipped, with the reason."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAMPLES = 20  # skipped lines kept with their reason; all are counted


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedLine:
    """A line that could not be read. `line` counts from 1; in a JSON array it counts the elements."""

    line: int
    reason: str


@dataclass(slots=True, kw_only=True)
class LogReport:
    """The account of one file, filled while it is read."""

    path: Path
    format: str = "native"
    channel: str | None = None  # login of the home channel, where the source names it
    counts: Counter[str] = field(default_factory=Counter)  # events by type
    warnings: Counter[str] = field(default_factory=Counter)  # by kind, such as "duplicate_id"
    ignored: Counter[str] = field(default_factory=Counter)  # well-formed, but no chat: PING, JOIN, …
    skipped: int = 0
    first_skipped: list[SkippedLine] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    lines: int = 0  # the last line read

    def skip(self, line: int, reason: str) -> None:
        """Count a line that could not be read; the first ones are kept with their reason."""
        self.skipped += 1
        if len(self.first_skipped) < SAMPLES:
            self.first_skipped.append(SkippedLine(line=line, reason=reason))

    def warn(self, kind: str) -> None:
        """Count a warning."""
        self.warnings[kind] += 1

    def to_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "path": str(self.path),
            "format": self.format,
            "channel": self.channel,
            "streams": self.streams,
            "counts": dict(sorted(self.counts.items())),
            "warnings": dict(sorted(self.warnings.items())),
            "ignored": dict(sorted(self.ignored.items())),
            "skipped": self.skipped,
            "first_skipped": [{"line": item.line, "reason": item.reason} for item in self.first_skipped],
        }
