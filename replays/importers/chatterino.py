"""Chatterino's text logs: `# Start logging at …`, then `[time] login: text` or `[time] Name login: text`.

Times are the reader's local time without a date: the day comes from the header or the file name, half a day back is midnight.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from memory import Deletion, Message, Notice
from replays.importers.intake import EPOCH, BadLine, Intake
from replays.importers.notices import subscription_text

HEADER = re.compile(r"# Start logging at (?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) ?(?P<zone>.*)")
CLOCK = re.compile(
    r"\[(?P<h>\d{1,2}):(?P<m>\d\d)(?::(?P<s>\d\d)(?:\.\d+)?)?(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?\] +(?P<rest>.*)", re.DOTALL
)
SAID = re.compile(r"(?:#(?P<channel>\w+) )?(?:(?P<name>[^\s:]+) )?(?P<login>[a-z0-9_]{1,25}): (?P<text>.*)", re.DOTALL)
SHOWN = re.compile(r"(?:#(?P<channel>\w+) )?(?P<login>[^\s:]{1,25}): (?P<text>.*)", re.DOTALL)
BANNED = re.compile(
    r"(?P<login>\S+) has been (?:permanently )?(?:banned|timed out)(?: for (?P<for>[\dwdhms ]+))?\b.*", re.DOTALL
)
DELETED = re.compile(r"A message from (?P<login>\S+) was deleted: (?P<text>.*)", re.DOTALL)
CLEARED = re.compile(r"Chat has been cleared by a moderator\b.*", re.DOTALL)
GIFTED = re.compile(r"(?P<login>\S+) (?:gifted|is gifting) .*", re.DOTALL)
RAIDED = re.compile(r"(?P<n>\d+) raiders from (?P<login>\S+) have joined.*", re.DOTALL)
DAY_IN_NAME = re.compile(r"(?:(?P<channel>\w+)-)?(?P<day>\d{4}-\d\d-\d\d)$")
REMEMBERED = 500  # messages looked through for the one that a system line says was deleted


@dataclass(slots=True)
class _Day:
    """The running date of a log that gives only the time of day."""

    midnight: datetime
    last: timedelta | None = None
    said: deque[Message] = field(default_factory=lambda: deque(maxlen=REMEMBERED))

    def at(self, clock: timedelta) -> datetime:
        if self.last is not None and self.last - clock > timedelta(hours=12):
            self.midnight += timedelta(days=1)
        self.last = clock
        return (self.midnight + clock).astimezone(UTC)


def events(intake: Intake) -> Iterator[Message | Notice | Deletion]:
    """Yield the lines of the file; what the client itself said is read where it means moderation or a subscription."""
    intake.stream.split_at_gaps = True
    day = _first_day(intake)
    for number, line in intake.file.lines():
        header = HEADER.match(line)
        if header:
            day = _Day(_midnight(header["at"], _zone(intake, header["zone"])), said=day.said)
        elif line.strip() and not line.startswith("#"):
            try:
                yield from _line(intake, day, line)
            except BadLine as error:
                intake.report.skip(number, str(error))


def _first_day(intake: Intake) -> _Day:
    found = DAY_IN_NAME.search(intake.file.path.stem)
    intake.home(None, intake.channel or (found["channel"] if found else None))
    if found:
        return _Day(_midnight(f"{found['day']} 00:00:00", UTC))
    if not HEADER.search(intake.file.head):
        intake.report.warn("no_start_time")
    return _Day((intake.start or EPOCH).replace(hour=0, minute=0, second=0, microsecond=0))


def _midnight(at: str, zone: tzinfo) -> datetime:
    try:
        return datetime.fromisoformat(at).replace(hour=0, minute=0, second=0, tzinfo=zone)
    except ValueError:
        return EPOCH


def _zone(intake: Intake, name: str) -> tzinfo:
    """Return the zone of the header: UTC, GMT or an offset; other abbreviations are ambiguous: taken as UTC with a warning."""
    found = re.search(r"(?P<sign>[+-])(?P<h>\d{1,2}):?(?P<m>\d\d)?$", name.strip())
    if found and int(found["h"]) <= 14:  # noqa: PLR2004 -- the easternmost zone
        offset = timedelta(hours=int(found["h"]), minutes=int(found["m"] or 0))
        return timezone(-offset if found["sign"] == "-" else offset)
    if name.strip() not in {"UTC", "GMT", "Z"}:
        intake.report.warn("local_time_taken_as_utc")
    return UTC


def _line(intake: Intake, day: _Day, line: str) -> Iterator[Message | Notice | Deletion]:
    found = CLOCK.fullmatch(line)
    if not found:
        raise BadLine(f"no time at the beginning: {'[HH:MM:SS] login: text'} is expected")
    hour = int(found["h"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"] in "Pp" else 0)
    at = day.at(timedelta(hours=hour, minutes=int(found["m"]), seconds=int(found["s"] or 0)))
    rest = found["rest"]
    event: Message | Notice | Deletion | None = _moderation(intake, day, at, rest)
    if event is None:
        said = SAID.fullmatch(rest) or SHOWN.fullmatch(rest)
        event = _message(intake, day, at, said) if said else _notice(intake, at, rest)
    if event is None:
        intake.report.ignored["system line"] += 1
    else:
        yield event


def _message(intake: Intake, day: _Day, at: datetime, said: re.Match[str]) -> Message:
    intake.home(None, said["channel"])
    name = said.groupdict().get("name")
    user = intake.viewer(None, None if said.re is SHOWN else said["login"], name or said["login"])
    message = Message(id=intake.id_for(None, at, user.login, said["text"]), at=at, user=user, text=said["text"])
    day.said.append(message)
    return message


def _moderation(intake: Intake, day: _Day, at: datetime, rest: str) -> Deletion | None:
    banned = BANNED.fullmatch(rest)
    if banned:
        extra = {"lasts": banned["for"].strip()} if banned["for"] else {}
        return Deletion(at=at, scope="user", user_id=intake.viewer(None, banned["login"], None).id, extra=extra)
    if CLEARED.fullmatch(rest):
        return Deletion(at=at, scope="chat")
    deleted = DELETED.fullmatch(rest)
    if not deleted:
        return None
    login, text = deleted["login"].lower(), deleted["text"].removesuffix("…")
    for message in reversed(day.said):
        if message.user.login == login and message.text.startswith(text):
            return Deletion(at=at, scope="message", message_id=message.id)
    raise BadLine(f"a deletion whose message is not in the log: {deleted['login'][:40]!r}")


def _notice(intake: Intake, at: datetime, rest: str) -> Notice | None:
    name = rest.partition(" ")[0]
    subscription = subscription_text(name, rest)
    gifted, raided = GIFTED.fullmatch(rest), RAIDED.fullmatch(rest)
    if subscription:
        kind = subscription[0]
    elif gifted:
        kind, name = "gift", gifted["login"]
    elif raided:
        kind, name = "raid", raided["login"]
    else:
        return None
    user = intake.viewer(None, name.lower(), name)
    data = {"system_msg": rest}
    return Notice(id=intake.id_for(None, at, user.login, rest), at=at, kind=kind, user=user, data=data)
