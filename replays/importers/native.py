"""The native chat log itself: nothing is changed but the form of the JSON, which becomes canonical."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from bot.chatlog import BadEvent, UnknownType, event_from_json
from memory import Event
from replays.importers.intake import Intake
from replays.log_report import LogReport
from replays.logfile import LogFile


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event and the line of the log (from 1) that holds it."""

    line: int
    event: Event


def events(intake: Intake) -> Iterator[Event]:
    """Yield the events of the file in its order."""
    for logged in parsed_events(intake.file, intake.report):
        yield logged.event


def parsed_events(file: LogFile, report: LogReport) -> Iterator[LoggedEvent]:
    """Yield the events of a native log with their lines; bad lines are reported, unknown types counted."""
    for line, text in file.lines():
        event = _parsed(line, text, report) if text.strip() else None
        if event is not None:
            yield LoggedEvent(line=line, event=event)


def _parsed(line: int, text: str, report: LogReport) -> Event | None:
    try:
        return event_from_json(json.loads(text))
    except UnknownType:
        report.warn("unknown_type")
    except BadEvent as error:
        report.skip(line, str(error))
    except RecursionError:
        report.skip(line, "not JSON: nested too deeply")
    except ValueError as error:
        report.skip(line, f"not JSON: {error}")
    return None
