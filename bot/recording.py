"""Recording: what the bot takes in, and what it says, as a native chat log that a replay plays as it is. Opt-in.

One file a stream (a new one after a day, or when it grows large), `recordings/<begin>-<stream>.jsonl` beside the memory. Each
line also says when it `arrived`, since batches are made of that; commands carry the word `command`. Orders to forget and to
correct are not recorded: what they do is done to the recording itself.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import structlog

from bot.chatlog import event_to_line, time_to_json
from bot.fields import BadEvent, time_of
from bot.turn import TurnOutcome
from memory import (
    BotReply,
    Clock,
    Command,
    Deletion,
    Event,
    Message,
    Probe,
    Removals,
    Settle,
    StreamEvent,
    erase_recorded,
    expire_recorded,
    holding,
    recordings_in,
)

log = structlog.get_logger(__name__)
ARRIVED, COMMAND, TEMPORARY = "arrived", "command", "temporary"  # keys beside those of the chat log
_ERASING = frozenset({"forget", "forgetme", "correct", "optout", "optin", "wipe"})
_STAMP = "%Y%m%dT%H%M%S%fZ"
_OURS = re.compile(r"\d{8}T\d{12}Z-.*")
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_LOOK_EVERY = timedelta(hours=1)  # for recordings that are too old


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingSettings:
    """Where and for how long."""

    directory: Path
    days: float = 30.0
    most_bytes: int = 64 << 20
    longest: timedelta = timedelta(hours=24)
    most_waiting: int = 50_000  # lines kept while a file is being rewritten


class Recorder:
    """Writes down what it hears, at once. Nothing of it ever waits for the disk to become free, and nothing ends the bot."""

    def __init__(self, settings: RecordingSettings, clock: Clock, *, verb_of: Callable[[str], str | None]) -> None:
        """`verb_of` tells the meaning of a text that is one of the bot's commands, None for anything else."""
        self._settings = settings
        self._clock = clock
        self._verb_of = verb_of
        self._stream: StreamEvent | None = None
        self._path: Path | None = None
        self._waiting: list[tuple[Path, bytes]] = []
        self._taken_back: dict[tuple[str, str], int] = {}
        self._wanted = asyncio.Event()
        self._lost = 0
        self._looked = clock.now() - _LOOK_EVERY

    def heard(self, event: Event, arrived: datetime) -> None:
        """Write an event down; a deletion takes out what it names, too."""
        self._expire()
        if isinstance(event, Settle | Probe):
            return
        verb = self._verb_of(event.text) if isinstance(event, Message | Command) else None
        if verb in _ERASING:
            return
        if isinstance(event, StreamEvent) and event.event == "online":
            self._open(event)
        more = {ARRIVED: time_to_json(arrived)} | ({COMMAND: verb} if verb else {})
        self._write(replace(event, extra={**event.extra, **more}))
        if isinstance(event, Deletion):
            self._take_back(event)

    def over(self, outcome: TurnOutcome) -> None:
        """Write down what the bot said in a turn, as far as the memory keeps it: what is removed there is removed here."""
        said = outcome.turn.said
        if said.text and said.at is not None and said.state == "sent":
            self._write(BotReply(at=said.at, text=said.text, in_reply_to=said.in_reply_to, id=said.reply_id))

    async def keep(self) -> None:
        """Take out of the recordings what moderation took back, and write what had to wait, until cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await asyncio.to_thread(self._catch_up)

    def finish(self) -> None:
        """Write what still waits."""
        self._catch_up()
        if self._lost:
            log.warning("recording_incomplete", lines_lost=self._lost)

    def _open(self, event: StreamEvent) -> None:
        """Begin the stream's file; that of its temporary stand-in goes on, and so does one that is only named anew."""
        before, self._stream = self._stream, event
        goes_on = before is not None and (before.stream_id == event.stream_id or before.extra.get(TEMPORARY))
        if self._path is None or not goes_on:
            self._path = self._file_of(event.stream_id)

    def _file_of(self, stream_id: str) -> Path:
        """Return the file in which a stream goes on after a restart, or a new one."""
        name = _UNSAFE.sub("_", stream_id)[:64]
        known = [
            path
            for path in recordings_in(self._settings.directory)
            if _OURS.fullmatch(path.stem) and path.stem.partition("-")[2] == name
        ]
        if known and not self._is_full(known[-1]):
            return known[-1]
        return self._settings.directory / f"{self._clock.now():{_STAMP}}-{name}.jsonl"

    def _is_full(self, path: Path) -> bool:
        begun = datetime.strptime(path.stem.partition("-")[0], _STAMP).replace(tzinfo=UTC)
        if self._clock.now() - begun >= self._settings.longest:
            return True
        with suppress(OSError):
            return path.stat().st_size >= self._settings.most_bytes
        return False

    def _write(self, event: Event) -> None:
        if self._path is None:
            return
        if self._stream is not None and self._is_full(self._path):
            self._path = self._file_of(self._stream.stream_id)
            self._put(self._path, replace(self._stream, at=self._clock.now()))
        self._put(self._path, event)
        self._flush(wait=False)

    def _put(self, path: Path, event: Event) -> None:
        if len(self._waiting) >= self._settings.most_waiting:
            self._lost += 1
            return
        self._waiting.append((path, event_to_line(event).encode() + b"\n"))

    def _flush(self, *, wait: bool) -> None:
        waiting = self._waiting
        if not waiting:
            return
        directory = self._settings.directory
        try:
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            with holding(directory, wait=wait) as free:
                if not free:
                    self._wanted.set()
                    return
                self._waiting = []
                _append(waiting)
        except OSError as error:
            self._waiting = []
            self._lost += len(waiting)
            if self._lost.bit_count() == 1:  # 1, 2, 4, …: a full disk must not flood the log
                log.warning("recording_failed", reason=error.strerror or type(error).__name__, degraded="lines are lost to it")

    def _take_back(self, deletion: Deletion) -> None:
        at = round(deletion.at.timestamp() * 1000)
        if deletion.scope == "message" and deletion.message_id:
            self._taken_back["line", deletion.message_id] = at
        elif deletion.scope == "user" and deletion.user_id and self._stream is not None:
            self._taken_back["stream_user", f"{self._stream.stream_id}\x1f{deletion.user_id}"] = at
        self._wanted.set()

    def _catch_up(self) -> None:
        """Write what waits, then take out what was taken back: of the newest files, where it stands."""
        self._flush(wait=True)
        taken, self._taken_back = self._taken_back, {}
        if not taken:
            return
        try:
            erase_recorded(self._settings.directory, Removals(tombstones=taken), newest=2)
        except OSError as error:
            self._taken_back = taken | self._taken_back
            log.warning("recording_not_cleaned", reason=error.strerror or type(error).__name__, degraded="tried again later")

    def _expire(self) -> None:
        now = self._clock.now()
        if now - self._looked < _LOOK_EVERY:
            return
        self._looked = now
        expire(self._settings, now)


def expire(settings: RecordingSettings, now: datetime) -> None:
    """Remove recordings that are too old, whether or not more is recorded."""
    try:
        expire_recorded(settings.directory, now - timedelta(days=settings.days))
    except OSError as error:
        log.warning("recording_not_removed", reason=error.strerror or type(error).__name__)


@asynccontextmanager
async def recording(recorder: Recorder) -> AsyncIterator[Recorder]:
    """Let a recorder work until this is left; what it heard is written by then."""
    keeping = asyncio.create_task(recorder.keep(), name="recording")
    try:
        yield recorder
    finally:
        keeping.cancel()
        await asyncio.wait({keeping})
        await asyncio.to_thread(recorder.finish)


def arrival_of(event: Event) -> datetime | None:
    """Return when a recorded event had come in, None where that is not known."""
    if isinstance(event, Probe):
        return None
    try:
        return time_of(event.extra[ARRIVED])
    except (KeyError, BadEvent):
        return None


def _append(lines: list[tuple[Path, bytes]]) -> None:
    by_path: dict[Path, list[bytes]] = {}
    for path, line in lines:
        by_path.setdefault(path, []).append(line)
    for path, pieces in by_path.items():
        with path.open("ab", buffering=0) as file:
            if file.tell() == 0:
                path.chmod(0o600)
            file.write(b"".join(pieces))
