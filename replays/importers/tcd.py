"""tcd text: `[H:MM:SS] <badge?Name> text` in a file `ID - title (created_at).tcd`. No ids; one badge at most."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memory import Message
from replays.importers.intake import Intake
from replays.importers.notices import subscription_text

LINE = re.compile(r"\[(\d{1,4}):(\d\d):(\d\d)\] <([~@%+$&*]?)([^>\r\n]+)> ?(.*)", re.DOTALL)
NAME = re.compile(r"(?P<id>\d+) - (?P<title>.*) \((?P<at>\d{4}-\d\d-\d\dT\d\d:?\d\d:?\d\dZ)\)$")
BADGES = {
    "~": ("broadcaster",), "@": ("moderator",), "%": ("subscriber",), "+": ("premium",), "$": ("bits",), "&": ("staff",),
    "*": ("global_mod",), "": (),
}  # fmt: skip


def events(intake: Intake) -> Iterator[Message]:
    """Yield the messages of the file; a first line that is none is the stray title."""
    _read_name(intake)
    if intake.channel:
        intake.home(None, intake.channel)
    for number, line in intake.file.lines():
        found = LINE.fullmatch(line)
        if found:
            yield _message(intake, found)
        elif number == 1 and not line.startswith("["):
            intake.stream.title = intake.stream.title or line.strip() or None
            intake.report.warn("stray_title")
        elif line.strip():
            intake.report.skip(number, "not a line of tcd: [H:MM:SS] <name> text is expected")


def _read_name(intake: Intake) -> None:
    name = intake.file.path.name.removesuffix(".gz").removesuffix(".tcd")
    found = NAME.match(name)
    if not found:
        return
    intake.stream.stream_id = found["id"]
    intake.stream.title = found["title"].strip() or None
    digits = found["at"].replace(":", "")
    try:
        intake.stream.started_at = datetime.strptime(digits, "%Y-%m-%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        intake.report.warn("bad_start_time")


def _message(intake: Intake, found: re.Match[str]) -> Message:
    hours, minutes, seconds, badge, name, text = found.groups()
    at = intake.from_start(int(hours) * 3600 + int(minutes) * 60 + int(seconds))
    user = intake.viewer(None, None, name)
    subscription = subscription_text(user.name, text)
    return Message(
        id=intake.id_for(None, at, user.login, text),
        at=at,
        user=user,
        text=text,
        badges=BADGES[badge],
        # Anybody can type such a line, so it stays a message: the source does not tell the two apart.
        extra={"looks_like": subscription[0]} if subscription else {},
    )
