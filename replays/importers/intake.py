"""What every importer is given: the file, where to report, and the one way to make ids and times that a source lacks."""

import unicodedata
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b

from memory import Channel, Viewer
from replays.log_report import LogReport
from replays.logfile import LogFile

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ORDINALS = 10_000  # equal (time, login, text) are told apart by their order among this many
_INVISIBLE = {"Cf", "Cc", "Cs", "Co", "Cn"}


class BadLine(ValueError):
    """A line or element that cannot be imported; the text says why."""


@dataclass(slots=True, kw_only=True)
class StreamFacts:
    """What a source tells about the stream of a file; importers fill it before their first event."""

    stream_id: str | None = None
    started_at: datetime | None = None
    title: str | None = None
    category: str | None = None
    channel: Channel | None = None
    announced: str | None = None  # the stream that the source itself said is on
    split_at_gaps: bool = False  # a log without streams: hours of silence part them


@dataclass(slots=True, kw_only=True)
class Intake:
    """One import of one file. `start` dates what the source dates only from the beginning of its stream."""

    file: LogFile
    report: LogReport
    format: str
    channel: str | None = None  # login of the only channel wanted
    start: datetime | None = None
    stream: StreamFacts = field(default_factory=StreamFacts)
    last: datetime | None = None
    _ordinals: dict[bytes, int] = field(default_factory=dict)
    _ordinals_before: dict[bytes, int] = field(default_factory=dict)

    def viewer(self, user_id: object, login: object, name: object) -> Viewer:
        """Return who wrote; without an id the identity is `login:` and the normalised login; what is no word is missing."""
        given, typed = _word(user_id), _word(login)
        shown = _word(name) or typed
        plain = typed.lower() or normalised(shown)
        if given and given != "0":
            return Viewer(id=given, login=plain or given, name=shown or given)
        return Viewer(id=f"login:{plain}", login=plain, name=shown)

    def unknown(self, key: str) -> Viewer:
        """Return a viewer for a line whose author the source left out: one of its own, so that no two people become one."""
        self.report.warn("no_author")
        return Viewer(id=f"unknown:{key}", login="unknown", name="unknown")

    def id_for(self, given: object, at: datetime, login: str, text: str) -> str:
        """Return the id that the source gives, or one derived from the line and its order: the same each time."""
        if given not in (None, "", "0", 0):
            return str(given)
        self.report.warn("no_id")
        home = self.stream.channel.login if self.stream.channel else ""
        parts = (self.format, home, at.isoformat(), login, text)
        key = blake2b("\0".join(parts).encode(errors="surrogatepass"), digest_size=12).digest()
        ordinal = self._ordinals.get(key, self._ordinals_before.get(key, -1)) + 1
        self._ordinals[key] = ordinal
        if len(self._ordinals) > ORDINALS:
            self._ordinals_before, self._ordinals = self._ordinals, {}
        return key.hex() if ordinal == 0 else f"{key.hex()}-{ordinal}"

    def from_start(self, seconds: float) -> datetime:
        """Return the moment `seconds` after the stream began; without a known beginning after `--start` or 1970."""
        begin = self.stream.started_at or self.start
        if begin is None:
            self.report.warn("no_start_time")
            begin = EPOCH
        return begin + timedelta(seconds=seconds)

    def at_or_last(self, at: datetime | None) -> datetime:
        """Return `at`, or for a line without a time the one before it; with a warning."""
        if at is None:
            self.report.warn("no_time")
            at = self.last or self.start or EPOCH
        self.last = at
        return at

    def home(self, channel_id: object, login: object, name: object = None) -> None:
        """Note the channel of the file; the first one seen is its home."""
        if self.stream.channel is None and (login or name or channel_id):
            found = self.viewer(channel_id, login, name)
            self.stream.channel = Channel(id=found.id, login=found.login, name=found.name)


def _word(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def normalised(name: str) -> str:
    """Return a display name as a login: compatibility forms, case and invisible characters folded away."""
    if name.isascii():
        return name.strip().lower()
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if unicodedata.category(char) not in _INVISIBLE).strip()


def moment(value: object) -> datetime | None:
    """Return the UTC time that a number (seconds, milli- or microseconds since 1970) or an RFC 3339 text means, or None."""
    try:
        if isinstance(value, str) and not value.isdecimal():
            at = datetime.fromisoformat(value)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            number = float(value)
            scale = 1e6 if number > 1e14 else 1e3 if number > 1e11 else 1.0  # noqa: PLR2004 -- 1e11 s is the year 5138
            return EPOCH + timedelta(microseconds=round(number * 1e6 / scale))
    except (ValueError, OverflowError):
        return None
    return None


def whole(value: object) -> int:
    """Return a count as an integer; 0 where it is none."""
    try:
        return int(value) if isinstance(value, str | int | float) else 0
    except (ValueError, OverflowError):
        return 0
