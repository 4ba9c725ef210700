"""What was read from one chat log: counts, warnings, and the first lines that were skipped, with the reason."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memory import counted

_EXPLAINED = {  # warnings, as they are told with their count
    "bad_emote": "{count:emote position|emote positions} outside the text, left out",
    "duplicate_id": "{count:message|messages} whose id was there before, kept (the memory ignores the second)",
    "gzip_cut": "{count:packed file that breaks off|packed files that break off}: what could be unpacked was kept",
    "json_broken": "{count:JSON file that breaks|JSON files that break} in the middle: what came before was kept",
    "json_cut": "{count:JSON file that breaks off|JSON files that break off}: what came before was kept",
    "local_time_taken_as_utc": "{count:local time|local times} of an ambiguous zone, taken as UTC",
    "no_author": "{count:message|messages} without an author, kept as somebody unknown",
    "no_id": "{count:message|messages} without an id, replaced by one derived from the content",
    "no_start_time": "{count:time|times} counted from 1970, since the source does not say when it began: give --start",
    "no_time": "{count:line|lines} without a time, dated like the line before (the first: --start or 1970)",
    "not_utf8": "{count:line|lines} with bytes that are no UTF-8, replaced by �",
    "other_channel": "{count:message|messages} of another channel than the first: give --channel to keep one alone",
    "stray_title": "{count:file whose first line is a title|files whose first line is a title}",
    "time_went_back": "{count:line|lines} older than the line before",
    "type_cut_short": "{count:message type|message types} cut short at the source",
    "unknown_type": "{count:event|events} of an unknown type, passed over",
}


def warned(kind: str, count: int) -> str:
    """Return a warning for people, with how often it was given."""
    return counted(_EXPLAINED.get(kind, "{count:,} {kind}"), count=count, kind=kind)


SHOWN = 5  # skipped lines that are shown with their reason
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
