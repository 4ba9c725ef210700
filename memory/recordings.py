"""Recordings of the chat that lie beside a memory: what is removed from the memory leaves them too, down to the bytes.

A recording is a native chat log, one JSON object a line. Whoever writes to one, or rewrites one, holds the folder meanwhile.
"""

import asyncio
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import structlog

from memory.errors import StoreUnavailable
from memory.store import records, removals
from memory.store.database import Database
from memory.store.removals import Removals as Removals
from memory.store.stamps import milliseconds
from memory.store.tombstones import EVERYBODY, stream_user

RECORDINGS = "recordings"  # the folder, inside a channel's memory
SUFFIX = ".jsonl"
_LOCK = ".lock"
_TITLES = frozenset({"title", "category"})  # of a stream: what the memory drops with everything, too
try:
    import fcntl
except ImportError:  # Windows has no advisory locks: there a recording must not be written to while words leave it
    fcntl = None  # type: ignore[assignment]  # the code below asks
log = structlog.get_logger(__name__)


def recordings_in(folder: Path) -> list[Path]:
    """Return the recordings of a folder, oldest first; none where there is no folder."""
    return sorted(folder.glob(f"*{SUFFIX}"))


@contextmanager
def holding(folder: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the recordings of a folder; False where somebody else does and this is not to wait.

    Raises:
        OSError: the folder is not there, or cannot be written.
    """
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            held = True
        except BlockingIOError:
            held = False
        yield held
    finally:
        os.close(lock)


def expire_recorded(folder: Path, before: datetime) -> int:
    """Remove the recordings that nothing was written to since `before`; return how many.

    Raises:
        OSError: one cannot be removed.
    """
    old = [path for path in recordings_in(folder) if path.stat().st_mtime < before.timestamp()]
    for path in old:
        path.unlink(missing_ok=True)
        log.info("recording_removed", name=path.name)
    return len(old)


def erase_recorded(folder: Path, gone: Removals, *, newest: int | None = None) -> int:
    """Take out of the recordings what is gone, put right what was put right; return how many files were written anew.

    Of the `newest` files alone, where a number is given. Lines that are no JSON (a crash cut them off) go as well.

    Raises:
        OSError: words may be left; call again.
    """
    found = recordings_in(folder)
    paths = found if newest is None else found[-newest:]
    if not paths:
        return 0
    with holding(folder, wait=True):
        for draft in folder.glob(f".*{SUFFIX}.part"):
            draft.unlink(missing_ok=True)
        sieve = _Sieve(gone)
        stale = {path for path in paths if sieve.look_through(path)}
        if sieve.names:  # commands may name whom nothing is left of
            stale |= {path for path in paths if sieve.names_somebody(path)}
        for path in sorted(stale):
            _write_anew(path, sieve)
    if stale:
        log.info("recordings_cleaned", files=len(stale))
    return len(stale)


class Recordings:
    """The recordings beside one memory, kept free of what was removed from it."""

    def __init__(self, database: Database) -> None:
        """Look after the folder beside `database`; it may be missing."""
        self._database = database
        self._folder = database.path.parent / RECORDINGS

    async def clean(self) -> int:
        """Take out what was removed from the memory; return how many files were written anew.

        Raises:
            StoreUnavailable: words may be left; call again.
        """
        if not recordings_in(self._folder):
            return 0
        async with self._database.reading() as session:
            gone = await session.run_sync(lambda reading: removals.read(reading.connection()))
        try:
            return await asyncio.to_thread(erase_recorded, self._folder, gone)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise StoreUnavailable(
                f"the recordings in {self._folder} cannot be rewritten ({reason}); free some room or mend its rights"
            ) from None


class _Sieve:
    """Decides what stays, line by line. Everything is looked through first: replies and commands follow from what went."""

    def __init__(self, gone: Removals) -> None:
        self._gone = gone
        self._texts = {line: text for one in gone.corrections for line, text in one.texts.items()}
        self._records_until = max((at for (scope, _), at in gone.tombstones.items() if scope == records.SCOPE), default=-1)
        self._dropped: set[str] = set()
        self._streams: dict[Path, set[str]] = {}  # whose lines a file holds: a time-out is one of a stream
        self.names: set[str] = set()  # of viewers who are forgotten, folded

    def look_through(self, path: Path) -> bool:
        """Return whether anything of a file goes or changes."""
        begun = (_event(line) for line in _lines(path) if b'"stream_id"' in line)
        streams = self._streams[path] = {str(event.get("stream_id")) for event in begun}
        changes = False
        for line in _lines(path):
            event = _event(line)
            if not event or self._goes(event, streams):
                self._note(event)
                changes = True
            changes = changes or self._changed(event) is not None
        return changes

    def names_somebody(self, path: Path) -> bool:
        """Return whether a file holds a command that names a forgotten viewer."""
        return any(self._names_forgotten(event) for event in map(_event, _lines(path)))

    def sifted(self, path: Path, line: bytes) -> bytes:
        """Return what stays of a line of a file that was looked through: all, nothing, or the line with its new words."""
        event = _event(line)
        if not event or self._goes(event, self._streams[path]) or self._names_forgotten(event):
            return b""
        right = self._changed(event)
        return line if right is None else json.dumps(right, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"

    def _note(self, event: Mapping[str, Any]) -> None:
        self._dropped.add(str(event.get("id")))
        user = _object(event.get("user"))
        if ("viewer", user.get("id")) in self._gone.tombstones:
            self.names |= {str(user.get(key)).casefold() for key in ("login", "name") if user.get(key)}

    def _goes(self, event: Mapping[str, Any], streams: Iterable[str]) -> bool:
        id_, whose = event.get("id"), _object(event.get("user")).get("id", event.get("user_id"))
        stones = self._gone.tombstones
        if id_ in self._gone.deleted or ("line", id_) in stones:
            return True
        at = _milliseconds(event.get("at"))
        covering = [("viewer", str(whose)), ("viewer", EVERYBODY)]
        if event.get("type") != "deletion":  # a time-out itself stays: it is an id and a time
            covering += [("stream_user", stream_user(stream, str(whose))) for stream in streams]
        if event.get("type") != "stream" and any(at <= stones.get(key, -1) for key in covering):
            return True
        answered = event.get("in_reply_to") or ()
        return bool(answered) and self._dropped.issuperset(answered)

    def _names_forgotten(self, event: Mapping[str, Any]) -> bool:
        """Return whether a command names a forgotten viewer, or noted something that is forgotten."""
        verb = event.get("command")
        if not verb:
            return False
        mentioned = {("viewer", _object(one).get("id")) for one in event.get("mentions", ())}
        text = str(event.get("text")).casefold()
        erased = verb == "state" and _milliseconds(event.get("at")) <= self._records_until
        named = any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) for name in self.names)
        return erased or named or not mentioned.isdisjoint(self._gone.tombstones)

    def _changed(self, event: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return an event with its new words, a stream of before everything was forgotten without its title; None: as it is."""
        wiped = _milliseconds(event.get("at")) <= self._gone.tombstones.get(("viewer", EVERYBODY), -1)
        if event.get("type") == "stream" and wiped and not _TITLES.isdisjoint(event):
            return {key: value for key, value in event.items() if key not in _TITLES}
        text = self._texts.get(str(event.get("id")))
        if text is None or event.get("text") == text:
            return None
        return {key: value for key, value in event.items() if key != "emotes"} | {"text": text}


def _write_anew(path: Path, sieve: _Sieve) -> None:
    before, draft = path.stat(), path.with_name(f".{path.name}.part")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            for line in _lines(path):
                out.write(sieve.sifted(path, line))
            out.flush()
            os.fsync(out.fileno())
        os.utime(draft, (before.st_atime, before.st_mtime))  # how long it is kept is counted from what was recorded
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _lines(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        yield from file


def _event(line: bytes) -> dict[str, Any]:
    """Return a line's object, an empty one where it is none."""
    try:
        return _object(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _object(value: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON of any shape
    return value if isinstance(value, dict) else {}


def _milliseconds(at: object) -> int:
    try:
        return milliseconds(datetime.fromisoformat(str(at)))
    except ValueError:
        return 0
