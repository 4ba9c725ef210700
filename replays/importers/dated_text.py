"""Text with a time and a display name: TwitchDownloader's export and justlog's plain text.

TwitchDownloader: `[YYYY-MM-DD HH:MM:SS UTC] Name: text` or `[h:mm:ss] Name: text`, both also with `.fff`.
justlog, rustlog: `[YYYY-MM-DD HH:MM:SS] #channel login: text`, moderation as free text.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from memory import Deletion, Message
from replays.importers.intake import BadLine, Intake, moment
from replays.importers.notices import subscription_text

DATED = re.compile(r"\[(?P<at>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)(?: UTC| ?Z)?\] (?P<said>\S.*)", re.DOTALL)
OFFSET = re.compile(r"\[(?P<h>\d{1,3}):(?P<m>\d\d):(?P<s>\d\d(?:\.\d+)?)\] (?P<said>[^<\s].*)", re.DOTALL)
CHANNEL = re.compile(r"#(?P<channel>\w+) (?P<said>.*)", re.DOTALL)
BANNED = re.compile(r"(?P<login>\w+) has been (?:(?P<timed>timed out)(?: for (?P<duration>\d+) ?s\w*)?|banned)\b.*", re.DOTALL)


def events(intake: Intake) -> Iterator[Message | Deletion]:
    """Yield the lines of the file; names are display names, ids are derived."""
    if intake.channel:
        intake.home(None, intake.channel)
    intake.stream.split_at_gaps = True
    for number, line in intake.file.lines():
        if not line.strip():
            continue
        try:
            yield _line(intake, line)
        except BadLine as error:
            intake.report.skip(number, str(error))


def _line(intake: Intake, line: str) -> Message | Deletion:
    dated = DATED.fullmatch(line)
    if dated:
        at, said = moment(dated["at"].replace(" ", "T")), dated["said"]
        if at is None:
            raise BadLine(f"no such time: {dated['at']}")
    else:
        offset = OFFSET.fullmatch(line)
        if not offset:
            raise BadLine(f"no time and name at the beginning: {'[time] name: text'} is expected")
        at = intake.from_start(int(offset["h"]) * 3600 + int(offset["m"]) * 60 + float(offset["s"]))
        said = offset["said"]
    channel = CHANNEL.fullmatch(said)
    if channel:
        intake.home(None, channel["channel"])
        said = channel["said"]
        banned = BANNED.fullmatch(said)
        if banned:
            extra = {"duration": int(banned["duration"])} if banned["duration"] else {}
            return Deletion(at=at, scope="user", user_id=intake.viewer(None, banned["login"], None).id, extra=extra)
    return _message(intake, at, said)


def _message(intake: Intake, at: datetime, said: str) -> Message:
    name, colon, text = said.partition(":")
    if not colon or not name.strip():
        raise BadLine(f"no name before the text: {'name: text'} is expected")
    user = intake.viewer(None, None, name)
    text = text.removeprefix(" ")
    subscription = subscription_text(user.name, text)
    return Message(
        id=intake.id_for(None, at, user.login, text),
        at=at,
        user=user,
        text=text,
        extra={"looks_like": subscription[0]} if subscription else {},
    )
