"""Raw lines inside JSON, one case a line: `{case, line, [previous]}`, as collections of hard lines keep them."""

from collections.abc import Iterator

from replays.importers.intake import Intake
from replays.importers.irc import ChatEvent, events_of_line
from replays.importers.jsonparts import objects_of_lines


def events(intake: Intake) -> Iterator[ChatEvent]:
    """Yield what every case means, the lines before it first."""
    for number, case in objects_of_lines(intake):
        if not isinstance(case, dict) or not isinstance(case.get("line"), str):
            intake.report.ignored["no line"] += 1
            continue
        previous = case.get("previous")
        for line in [*(previous if isinstance(previous, list) else ()), case["line"]]:
            yield from events_of_line(intake, number, str(line))
