"""The native chat log itself: nothing is changed but the form of the JSON, which becomes canonical."""

from collections.abc import Iterator

from memory import Event
from replays.importers.intake import Intake
from replays.log import parsed_events


def events(intake: Intake) -> Iterator[Event]:
    """Yield the events of the file in its order."""
    for logged in parsed_events(intake.file, intake.report):
        yield logged.event
