"""The child process of the vector index, kept alive: started, heard, killed where it hangs, started again where it died."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from memory.errors import BotMemoryError, IndexUnavailable
from memory.store.frames import Frames, ToldError, error_again
from memory.store.index_opening import CLOSE, LEFT_TO_THE_PARENT, Opening
from memory.store.worker_log import tell_log

_ROOT = Path(__file__).parents[2]
_START = """
import sys, types
root = sys.argv[1]
sys.path.insert(0, root)
package = sys.modules["memory"] = types.ModuleType("memory")  # without its front door, which loads all of the memory
package.__path__ = [root + "/memory"]
from memory.store.index_worker import main
main()
"""
_CLOSE_SECONDS = 4.0
_START_SECONDS = 60.0  # it waits for another one that is about to end, and reads two dozen megabytes of code
_WATCH_SECONDS = 1.0  # between two looks for calls that hang
_LONG_LIFE_SECONDS = 60.0  # a child that lived so long has not died of its start
_PAUSES = (0.0, 0.5, 2.0, 10.0, 30.0)  # before the next start, by how many short lives there were in a row
log = structlog.get_logger(__name__)


@dataclass(slots=True, kw_only=True)
class _Call:
    """A call in hand."""

    name: str
    seen: float  # when the child was last known to work on it
    done: threading.Event = field(default_factory=threading.Event)
    value: Any = None
    error: BotMemoryError | None = None


class IndexChild:
    """For several threads. One of its own starts the child and listens to it, another one looks for calls that hang."""

    def __init__(self, opening: Opening, *, hang_seconds: float, ready: Callable[[int, str], None]) -> None:
        """Begin to start the child; `wait` waits for it.

        `ready` is told the state of the index, as each answer brings it, when a child can be asked.
        """
        self._opening, self._hang_seconds, self._told_ready = opening, hang_seconds, ready
        self._changed = threading.Condition()
        self._calls: dict[int, _Call] = {}
        self._numbers = 0
        self._child: subprocess.Popen[bytes] | None = None
        self._frames: Frames | None = None  # where the child is ready
        self._away: BotMemoryError | None = None  # why there is none, and none is being started
        self._closing = False
        self._began = time.monotonic()  # when the present child was started
        self.state = (0, "")  # how many collections are open, and the identity, at the last answer
        self._keeper = threading.Thread(target=self._keep, name="index-process", daemon=True)
        self._keeper.start()
        threading.Thread(target=self._watch, name="index-watch", daemon=True).start()

    @property
    def pid(self) -> int | None:
        """Its process, None where there is none."""
        child = self._child
        return None if child is None else child.pid

    def wait(self) -> None:
        """Return when the child is ready.

        Raises:
            IndexUnavailable: it cannot be started, or cannot open the index.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._frames is not None or self._away is not None or self._closing)
            if self._frames is None:
                raise self._away or _died()

    def call(self, name: str, *arguments: object) -> Any:  # noqa: ANN401 - each caller knows what its call gives
        """Return what the child answers.

        Raises:
            IndexUnavailable: the child ended, hung, or is not there: nothing may be assumed about the call.
            BotMemoryError: whatever the child met.
        """
        if self._closing:
            msg = "The vector index was closed; open the memory again."
            raise IndexUnavailable(msg)
        self.wait()
        call = self._send(name, arguments)
        call.done.wait()
        if call.error is not None:
            raise call.error
        return call.value

    def close(self, *, gently: bool = True) -> None:
        """End the child: `gently`, after it closed its folders, else in whatever it does. Twice is fine."""
        ready = self._frames is not None
        with self._changed:
            first, self._closing = not self._closing, True
            self._changed.notify_all()
        if first and ready and gently:
            self._let_close()
        child = self._child
        if child is not None:
            child.kill()
        self._keeper.join(_CLOSE_SECONDS)

    def _let_close(self) -> None:
        child = self._child
        try:
            call = self._send(CLOSE, ())
            if call.done.wait(_CLOSE_SECONDS) and child is not None:
                child.wait(_CLOSE_SECONDS)
            if call.error is not None:
                raise call.error
        except (BotMemoryError, subprocess.TimeoutExpired) as error:
            log.warning("index_process_not_closed", error=str(error))

    def _send(self, name: str, arguments: tuple[object, ...]) -> _Call:
        call = _Call(name=name, seen=time.monotonic())
        with self._changed:
            frames = self._frames
            if frames is None:
                raise self._away or _died()
            self._numbers += 1
            number = self._numbers
            self._calls[number] = call
        try:
            frames.send((number, name, arguments))
        except (OSError, ValueError):  # it is dying: who listens to it ends the call
            call.done.wait()
        return call

    def _keep(self) -> None:
        """Start the child, listen to it until it ends, and start it again, until the index is closed."""
        signal.pthread_sigmask(signal.SIG_BLOCK, LEFT_TO_THE_PARENT)  # inherited: the child has them blocked from its birth
        short = 0
        while not self._closing:
            began = time.monotonic()
            reason = self._live()
            short = 0 if time.monotonic() - began > _LONG_LIFE_SECONDS else short + 1
            pause = _PAUSES[min(max(short, 1), len(_PAUSES)) - 1]
            self._end(reason or _died(), max(pause, _PAUSES[1]) if reason else pause)

    def _watch(self) -> None:
        """Kill a child that hangs in a call, or in its start: nothing else ends a native call."""
        while not self._closing:
            with self._changed:
                self._changed.wait_for(lambda: self._closing, min(_WATCH_SECONDS, self._hang_seconds / 2))
                child, now = self._child, time.monotonic()
                hung = [call.name for call in self._calls.values() if now - call.seen >= self._hang_seconds]
                if self._frames is None and now - self._began >= max(_START_SECONDS, self._hang_seconds):
                    hung.append("start")
            if child is not None and hung and not self._closing:
                log.error("index_process_hung", call=hung[0])
                child.kill()

    def _live(self) -> BotMemoryError | None:
        """Live through one life of the child; return why it could not begin, None where it just ended."""
        try:
            child = _start()
        except OSError as error:
            return IndexUnavailable(f"The process of the vector index cannot be started: {error}. Free some memory or handles.")
        self._child = child
        if self._closing:
            child.kill()
        heard = self._listen(child)
        child.kill()  # it let go of the pipe, so it is about to end
        code = child.wait()
        for pipe in (child.stdin, child.stdout):
            _shut(pipe)
        if not self._closing and heard is None:
            log.warning("index_process_died", returncode=code, calls=len(self._calls))
        return heard

    def _listen(self, child: "subprocess.Popen[bytes]") -> BotMemoryError | None:
        """Take what the child sends until it ends; return why it could not open the index, None where it just ended."""
        if child.stdin is None or child.stdout is None:
            return None
        frames = Frames(child.stdout, child.stdin)
        try:
            frames.send(self._opening)
            while True:
                kind, *told = frames.receive()
                if kind == "failed":
                    return error_again(told[1])
                self._take(frames, kind, told)
        except (EOFError, OSError, ValueError):
            return None

    def _take(self, frames: Frames, kind: str, told: Sequence[Any]) -> None:
        if kind == "ready":
            self._welcome(frames, (told[2], told[3]))
        elif kind == "answer":
            self.state = (told[2], told[3])
            self._finish(told[0], value=told[1])
        elif kind == "error":
            self._finish(told[0], error=told[1])
        elif kind == "beat":
            if (call := self._calls.get(told[0])) is not None:
                call.seen = time.monotonic()
        else:
            tell_log(kind, *told)

    def _welcome(self, frames: Frames, state: tuple[int, str]) -> None:
        self.state = state
        self._told_ready(*state)
        log.info("index_process_started", pid=self.pid)
        with self._changed:
            self._frames = frames
            self._changed.notify_all()

    def _finish(self, number: int, *, value: object = None, error: ToldError | None = None) -> None:
        with self._changed:
            call = self._calls.pop(number, None)
        if call is not None:
            call.value, call.error = value, None if error is None else error_again(error)
            call.done.set()

    def _end(self, reason: BotMemoryError, pause: float) -> None:
        """End every call in hand; those to come are refused for `pause` seconds, while nothing is started."""
        with self._changed:
            calls, self._calls = list(self._calls.values()), {}
            self._frames, self._child = None, None
            self._away = reason if pause or self._closing else None
            self._changed.notify_all()
        for call in calls:
            call.error = _died()
            call.done.set()
        with self._changed:
            self._changed.wait_for(lambda: self._closing, pause)
            self._away, self._began = reason if self._closing else None, time.monotonic()


def _start() -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}  # it needs no keys
    return subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-c", _START, str(_ROOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )


def _died() -> IndexUnavailable:
    return IndexUnavailable(
        "The process of the vector index ended; it is started again. Repeat the call: nothing of it may be assumed."
    )


def _shut(pipe: Any) -> None:  # noqa: ANN401 - of a process that is gone
    try:
        pipe.close()
    except OSError:
        return
