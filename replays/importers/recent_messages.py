"""The recent-messages API: `{"messages": [raw IRC line…]}`, with tags in any order."""

from collections.abc import Iterator

from replays.importers.intake import Intake
from replays.importers.irc import ChatEvent, events_of_line
from replays.importers.jsonparts import elements


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield the chat of the file."""
    intake.stream.split_at_gaps = True
    for number, line in elements(intake, "messages.item"):
        if isinstance(line, str):
            yield from events_of_line(intake, number, line)
        else:
            intake.report.skip(number, "not a raw line: a text is expected")
