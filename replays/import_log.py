"""Import: chat logs of any known format in, one native log out, streams in the order of their beginning."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from memory import Event, Settle, StreamEvent
from replays.detect import FORMATS, detect
from replays.errors import LogError, LogUnreadable, NotAChat
from replays.importers.intake import EPOCH, Intake
from replays.log import Watch, write_log
from replays.log_report import LogReport
from replays.logfile import LogFile
from replays.sessions import Dated, in_order, with_streams


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """What the user may say about the sources. `start` dates a source that has times since its beginning alone."""

    format: str | None = None  # a key of FORMATS; None: told from the content
    channel: str | None = None  # login: the only channel wanted, or the name of the one that the source leaves out
    start: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportProgress:
    """How far an import is: bytes on disk of all files together, lines (or elements) of all files so far."""

    path: Path
    bytes_done: int
    bytes_total: int
    lines: int


@dataclass(slots=True, kw_only=True)
class ImportSummary:
    """What came of an import."""

    out: Path
    files: list[LogReport] = field(default_factory=list)  # in the order of the log
    failed: list[tuple[Path, str]] = field(default_factory=list)  # files without chat, and why
    events: int = 0

    def total(self, name: str) -> Counter[str]:
        """Return the sum of one counter ("counts", "warnings", "ignored") over the files."""
        found: Counter[str] = Counter()
        for report in self.files:
            found.update(getattr(report, name))
        return found

    @property
    def channels(self) -> list[str]:
        """The home channels of the files; more than one do not belong into one memory."""
        return sorted({report.channel for report in self.files if report.channel})

    @property
    def skipped(self) -> int:
        """How many lines could not be read."""
        return sum(report.skipped for report in self.files)

    def to_json(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        return {
            "out": str(self.out),
            "events": self.events,
            "channels": self.channels,
            "counts": dict(sorted(self.total("counts").items())),
            "warnings": dict(sorted(self.total("warnings").items())),
            "ignored": dict(sorted(self.total("ignored").items())),
            "skipped": self.skipped,
            "files": [report.to_json() for report in self.files],
            "failed": [{"path": str(path), "reason": reason} for path, reason in self.failed],
        }


def import_logs(
    paths: Sequence[Path],
    out: Path,
    options: ImportOptions | None = None,
    *,
    progress: Callable[[ImportProgress], None] | None = None,
) -> ImportSummary:
    """Write the chat of `paths` to `out` as one native log and return the account.

    A file without any chat is listed in `failed` and the others go on. Memory stays constant in the size of the files.

    Raises:
        NotAChat: not one of the files holds chat; the text is the first reason.
        LogUnreadable: `out` cannot be written, or it is one of the sources.
        LogError: an unknown format is asked for.
    """
    options = options or ImportOptions()
    if options.format is not None and options.format not in FORMATS:
        raise LogError(f"unknown format {options.format!r}; known are {', '.join(FORMATS)}")
    if any(path.exists() and out.exists() and path.samefile(out) for path in paths):
        raise LogUnreadable(f"{out} is one of the files to be imported; choose another place with --out")
    summary = ImportSummary(out=out)
    ordered = _by_start(paths, options, summary)
    if not ordered:
        raise NotAChat(summary.failed[0][1] if summary.failed else "no file was given")
    summary.events = write_log(out, _all_events(ordered, options, summary, progress))
    return summary


def read_foreign(path: Path, options: ImportOptions | None = None, report: LogReport | None = None) -> Iterator[Event]:
    """Yield the events of one file in any known format, as an import would write them.

    Raises:
        LogUnreadable: the file cannot be opened.
        NotAChat: it holds no chat.
    """
    options = options or ImportOptions()
    report = report or LogReport(path=path)
    return _counted(_events_of(_open(path, options, report), set()), report)


def _by_start(paths: Iterable[Path], options: ImportOptions, summary: ImportSummary) -> list[Path]:
    """Return the files that hold chat by the time of their first event; the others go to `summary.failed`."""
    found = []
    for number, path in enumerate(paths):
        try:
            intake = _open(path, options, LogReport(path=path))
            first = next(_raw_events(intake), None)
        except LogError as error:
            summary.failed.append((path, str(error)))
            continue
        if first is None:
            summary.failed.append((path, _nothing_in(intake)))
            continue
        at = EPOCH if isinstance(first, Settle) else first.at
        found.append((intake.stream.started_at or at, number, path))
    return [path for _, _, path in sorted(found)]


def _nothing_in(intake: Intake) -> str:
    report, name = intake.report, intake.file.path.name
    if report.ignored:
        kinds = ", ".join(sorted(report.ignored)[:5])
        return f"{name} is in the format {intake.format}, but holds no chat (only: {kinds})"
    if report.first_skipped:
        worst = report.first_skipped[0]
        return f"{name} looked like {intake.format}, but no line could be read (line {worst.line}: {worst.reason})"
    return f"{name} is in the format {intake.format}, but holds no chat"


def _open(path: Path, options: ImportOptions, report: LogReport, moved: Callable[[int], None] | None = None) -> Intake:
    file = LogFile(path, report, moved)
    report.format = options.format or detect(file)
    channel = options.channel.lstrip("#").lower() if options.channel else None
    return Intake(file=file, report=report, format=report.format, channel=channel, start=options.start)


def _raw_events(intake: Intake) -> Iterator[Event]:
    return FORMATS[intake.format](intake)


def _events_of(intake: Intake, taken: set[str]) -> Iterator[Event]:
    raw = _raw_events(intake)
    if intake.format == "native":  # its order is the log's meaning (probes, settle), its streams are its own
        return _native(raw, intake)
    return with_streams(in_order(cast("Iterator[Dated]", raw), intake), intake, taken)


def _native(events: Iterator[Event], intake: Intake) -> Iterator[Event]:
    for event in events:
        if isinstance(event, StreamEvent) and event.event == "online":
            intake.report.streams.append(event.stream_id)
        yield event


def _counted(events: Iterator[Event], report: LogReport) -> Iterator[Event]:
    watch = Watch(report, sorted_before=report.format != "native")
    for event in events:
        watch.saw(event)
        yield event


def _all_events(
    paths: Sequence[Path], options: ImportOptions, summary: ImportSummary, progress: Callable[[ImportProgress], None] | None
) -> Iterator[Event]:
    total = sum(path.stat().st_size for path in paths)
    done, lines = 0, 0
    taken: set[str] = set()
    for path in paths:
        report = LogReport(path=path)
        summary.files.append(report)

        def moved(position: int, report: LogReport = report, before: tuple[int, int] = (done, lines)) -> None:
            if progress:
                now = ImportProgress(
                    path=report.path, bytes_done=before[0] + position, bytes_total=total, lines=before[1] + report.lines
                )
                progress(now)

        yield from _counted(_events_of(_open(path, options, report, moved), taken), report)
        done, lines = done + path.stat().st_size, lines + report.lines
