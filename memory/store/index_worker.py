"""The process in which Chroma runs: its native calls hold the interpreter for 5 to 15 ms each, and here nobody else needs it.

Started by `index_process` with pipes for stdin and stdout. It answers calls until the pipe ends, reads on three threads and
writes on one, and leaves signals to its parent: Ctrl-C in a terminal reaches both, and the parent closes it in order.
"""

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib import import_module
from types import TracebackType
from typing import Any, Protocol

from memory.store.frames import Frames, told_error
from memory.store.heap import ARENA_MAX, ask_allocator, overwrite_freed
from memory.store.index_opening import CLOSE, LEFT_TO_THE_PARENT, WRITES, Opening
from memory.store.sharded import ShardedCollections
from memory.store.worker_log import send_logs

READ_THREADS = 3
_CLIENT = "memory.store.chroma_client"
_ARENAS = 2  # eight a processor is the default, and each keeps what its threads once used
_TURN_SECONDS = 0.0005  # a thread that computes hands the interpreter over after this long
_LONGEST_SECONDS = 0.1  # the longest that one piece of a write waits for searches
_BEAT_SECONDS = 0.5
_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


class Store(Protocol):
    """What is served: `ShardedCollections`."""

    @property
    def touched(self) -> int:
        """How many collections are open."""
        ...

    @property
    def identity(self) -> str:
        """The name of the index."""
        ...

    def close(self) -> None:
        """Close it."""
        ...


class Courtesy:
    """Searches go first: a write waits between two of its pieces, and tells the parent that it is alive."""

    def __init__(self, beat: Callable[[], None]) -> None:
        """Call `beat` now and then while a write goes on."""
        self._beat, self._beaten = beat, 0.0
        self._reading = 0
        self._changed = threading.Condition()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Have writes wait while this lasts."""
        with self._changed:
            self._reading += 1
        try:
            yield
        finally:
            with self._changed:
                self._reading -= 1
                self._changed.notify_all()

    def give_way(self) -> None:
        """Return when nobody searches, or after the longest wait."""
        self.alive()
        with self._changed:
            self._changed.wait_for(lambda: not self._reading, _LONGEST_SECONDS)

    def alive(self) -> None:
        """Say that the write goes on."""
        now = time.monotonic()
        if now - self._beaten >= _BEAT_SECONDS:
            self._beaten = now
            self._beat()


class Server:
    """Answers the calls of one parent."""

    def __init__(self, frames: Frames) -> None:
        """Speak over `frames`."""
        self._frames = frames
        self._writing = 0  # the number of the write in hand
        self.courtesy = Courtesy(lambda: self._frames.send(("beat", self._writing)))
        self._reads = ThreadPoolExecutor(READ_THREADS, thread_name_prefix="read")
        self._writes = ThreadPoolExecutor(1, thread_name_prefix="write")

    def open(self, make: Callable[[], Store]) -> Store | None:
        """Return the store that `make` opens, and say so; None where it cannot be opened, which is said too."""
        store: list[Store] = []
        with _Said(self._frames, "failed", 0):
            store.append(make())
            self._frames.send(("ready", 0, None, *_state(store[0])))
        return store[0] if store else None

    def serve(self, store: Store) -> None:
        """Answer until the parent closes.

        Raises:
            EOFError: the parent is gone.
        """
        while True:
            number, name, arguments = self._frames.receive()
            if name == CLOSE:
                self._end()
                self._answer(store, number, store.close)
                return
            if name in WRITES:
                self._writes.submit(self._write, store, number, name, arguments)
            else:
                self._reads.submit(self._read, store, number, name, arguments)

    def _write(self, store: Store, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        self._writing = number
        self._answer(store, number, lambda: getattr(store, name)(*arguments))

    def _read(self, store: Store, number: int, name: str, arguments: tuple[Any, ...]) -> None:
        with self.courtesy.reading():
            self._answer(store, number, lambda: getattr(store, name)(*arguments))

    def _answer(self, store: Store, number: int, work: Callable[[], object]) -> None:
        with _Said(self._frames, "error", number):
            value = work()
            self._frames.send(("answer", number, value, *_state(store)))

    def _end(self) -> None:
        self._writes.shutdown(wait=True)
        self._reads.shutdown(wait=True)


class _Said:
    """Tells the parent of any error; where there is no parent any more, there is nothing to go on for."""

    def __init__(self, frames: Frames, kind: str, number: int) -> None:
        self._frames, self._kind, self._number = frames, kind, number

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> bool:
        if error is None:
            return False
        try:
            self._frames.send((self._kind, self._number, told_error(error)))
        except (OSError, ValueError):
            os._exit(1)
        return True


def main() -> None:
    """Serve the parent at the other end of stdin and stdout. What native code prints goes to stderr."""
    _leave_signals_to_the_parent()
    frames = _pipes()
    overwrite_freed()  # before any vector is held that may have to be forgotten
    ask_allocator(ARENA_MAX, _ARENAS)
    sys.setswitchinterval(_TURN_SECONDS)
    send_logs(frames)
    server = Server(frames)
    try:
        opening: Opening = frames.receive()
        store = server.open(lambda: _store(opening, server.courtesy))
        if store is not None:
            server.serve(store)
    except (EOFError, OSError):
        os._exit(1)  # the parent is gone: what is in hand ends as a kill would end it
    os._exit(store is None)  # everything is closed; taking the interpreter down would only take time


def _store(opening: Opening, courtesy: Courtesy) -> ShardedCollections:
    client = import_module(_CLIENT).ChromaClient
    return ShardedCollections(
        opening.root,
        client,
        limits=opening.limits,
        exact_rows=opening.exact_rows,
        give_way=courtesy.give_way,
        alive=courtesy.alive,
    )


def _state(store: Store) -> tuple[int, str]:
    return store.touched, store.identity


def _pipes() -> Frames:
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return Frames(incoming, outgoing)


def _leave_signals_to_the_parent() -> None:
    for number in LEFT_TO_THE_PARENT:
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":  # a native call that never ends would keep the end of the pipe from being seen
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)
