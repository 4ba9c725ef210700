"""The native chat log: a streaming reader with line numbers and counted warnings, and a canonical writer."""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from bot.chatlog import event_to_line, type_of
from memory import Event, Message, Notice, Probe, Settle
from replays.detect import detect
from replays.errors import LogUnreadable, NotAChat
from replays.importers.native import LoggedEvent as LoggedEvent
from replays.importers.native import parsed_events
from replays.log_report import LogReport
from replays.logfile import LogFile

WINDOW = 100_000  # ids remembered (at least) to find duplicates: bounded, so that memory does not grow with the log


def canon_folder(log: Path) -> Path | None:
    """Return the folder with the log's own canon, `NAME.lore` beside `NAME.jsonl` (or `NAME.jsonl.gz`), or None."""
    name = log.name.removesuffix(".gz").removesuffix(".jsonl")
    folder = log.with_name(f"{name}.lore")
    return folder if folder.is_dir() else None


def read_log(path: Path, report: LogReport | None = None) -> Iterator[LoggedEvent]:
    """Yield the events of a native log in the order of its lines; `report` is filled on the way.

    Bad lines and unknown types are counted and passed over. A message whose id was there before is counted and kept,
    since the memory ignores it; times that go back are counted and kept.

    Raises:
        LogUnreadable: the file cannot be opened or read.
        NotAChat: it is empty, binary, in an unknown encoding, or in a foreign format, which the text names.
    """
    report = report or LogReport(path=path)
    file = LogFile(path, report)
    found = detect(file)
    if found != "native":
        raise NotAChat(f"{path.name} is in the format {found}; import it first: ricordo import {path.name!r} --out chat.jsonl")
    return _watched(file, report)


def _watched(file: LogFile, report: LogReport) -> Iterator[LoggedEvent]:
    watch = Watch(report)
    for logged in parsed_events(file, report):
        watch.saw(logged.event)
        yield logged


class Watch:
    """Counts what passes by: events by type, duplicate ids, times that go back."""

    def __init__(self, report: LogReport, *, sorted_before: bool = False) -> None:
        self._report = report
        self._sorted_before = sorted_before  # times that went back were counted where they were put in order
        self._last: float | None = None
        self._seen: set[int] = set()
        self._seen_before: set[int] = set()

    def saw(self, event: Event) -> None:
        """Count `event`."""
        self._report.counts[type_of(event)] += 1
        if not isinstance(event, Settle | Probe):
            moment = event.at.timestamp()
            if self._last is not None and moment < self._last and not self._sorted_before:
                self._report.warn("time_went_back")
            self._last = moment
        if isinstance(event, Message | Notice):
            self._see(hash(event.id))

    def _see(self, key: int) -> None:
        if key in self._seen or key in self._seen_before:
            self._report.warn("duplicate_id")
            return
        self._seen.add(key)
        if len(self._seen) > WINDOW:
            self._seen_before, self._seen = self._seen, set()


def write_log(path: Path, events: Iterable[Event]) -> int:
    """Write `events` to `path` as canonical JSON Lines and return how many; the file appears whole or not at all.

    Raises:
        LogUnreadable: the file cannot be written (no room, no permission); nothing is left behind.
    """
    draft = path.with_name(f".{path.name}.part")
    count = 0
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as out:
            for event in events:
                out.write(event_to_line(event))
                out.write("\n")
                count += 1
            out.flush()
            os.fsync(out.fileno())
        draft.replace(path)
    except OSError as error:
        raise LogUnreadable(
            f"{path} cannot be written ({error.strerror or error}); free some room or choose another place with --out"
        ) from None
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return count
