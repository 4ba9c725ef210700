"""How a running bot is told to end: one signal asks, a second one presses, and nothing keeps the program beyond its time."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

log = structlog.get_logger(__name__)
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_EXIT_SECONDS = 4.5  # what hangs then (a native call, a server) is left as a kill would leave it
_PRESSED_SECONDS = 1.0
_TELL_SECONDS = 0.25  # for last words: whoever reads them may have stopped, and a full pipe takes no more


class Stopping:
    """What was asked of the bot. `asked`: finish the turn in hand, store what was heard, end. `pressed`: only store it."""

    def __init__(self, leave: Callable[[int], None] | None = None) -> None:
        """Take what ends the process at once, with an exit code, where stopping takes too long."""
        self.asked = asyncio.Event()
        self.pressed = asyncio.Event()
        self.live = False  # somebody looks at `asked`; before that, the start is cut off
        self.stored = False  # everything that was heard is durable
        self.code = 0  # what a process that was pressed leaves with
        self._leave = leave or _leave
        self._timer: threading.Timer | None = None

    def ask(self, number: int) -> None:
        """Take a signal: the first asks, the second presses, a third ends the process there and then."""
        if self.pressed.is_set() or (self.asked.is_set() and self.stored):
            self._leave(128 + number)
        elif self.asked.is_set():
            self.code = 128 + number
            self.pressed.set()
            self._limit(_PRESSED_SECONDS)
        else:
            self.asked.set()
            self._limit(_EXIT_SECONDS)

    def leave_if_pressed(self) -> None:
        """End the process at once where it was pressed: everything is stored, and nothing else is worth a wait."""
        if self.pressed.is_set():
            self._leave(self.code)

    def _limit(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(seconds, self._out_of_time)
        self._timer.daemon = True
        self._timer.start()

    def _out_of_time(self) -> None:
        _briefly(lambda: log.warning("stopped_by_force", stored=self.stored))
        self._leave(self.code if self.stored else self.code or 1)


@contextmanager
def stopping_on_signals(stopping: Stopping) -> Iterator[None]:
    """Hear SIGTERM and SIGINT; their former handling returns afterwards. A start that is not over yet is cancelled."""
    running, task = asyncio.get_running_loop(), asyncio.current_task()

    def hear(number: int) -> None:
        stopping.ask(number)
        if not stopping.live and task is not None:
            task.cancel()

    for number in _SIGNALS:
        running.add_signal_handler(number, hear, number)
    try:
        yield
    finally:
        for number in _SIGNALS:
            running.remove_signal_handler(number)


def _leave(code: int) -> None:
    """End the process without waiting for its threads."""
    for stream in (sys.stdout, sys.stderr):
        _briefly(stream.flush)
    os._exit(code)


def _briefly(work: Callable[[], object]) -> None:
    """Do what may never end, and wait for a moment only."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(_TELL_SECONDS)
