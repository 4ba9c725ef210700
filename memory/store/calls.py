"""Blocking calls on few threads, from a loop that may stop waiting for them. Abandoned ones are counted, and bounded."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from memory.errors import IndexUnavailable, MemoryClosed

T = TypeVar("T")


class Calls:
    """A pool of threads of its own. Belongs to one event loop."""

    def __init__(self, name: str, *, threads: int, waiting: int, patient: bool = False) -> None:
        """Run on `threads` threads, with at most `waiting` calls unfinished.

        `patient`: queue behind abandoned calls too; else a call is refused at once when they hold every thread.
        """
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._name, self._threads, self._waiting = name, threads, waiting
        self._unfinished = self._stuck = 0
        self._closed, self._patient = False, patient
        self._idle = asyncio.Event()
        self.abandoned = 0  # calls nobody waited for to the end, since the start

    @property
    def unfinished(self) -> int:
        """Calls that run or wait for a thread."""
        return self._unfinished

    async def run(self, work: Callable[[], T], *, late: Callable[[], None] | None = None) -> T:
        """Return what `work` returns, or raise what it raises.

        A cancelled call that already runs goes on alone; `late` is called, on the loop, once it ended (at once where it had
        not begun).

        Raises:
            IndexUnavailable: too many calls are unfinished, or every thread hangs in an abandoned one.
            MemoryClosed: after `close`.
        """
        self._admit()
        running = self._executor.submit(work)
        future = asyncio.wrap_future(running)
        self._unfinished += 1
        self._idle.clear()
        future.add_done_callback(self._finished)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if not running.cancel() and not running.done():
                self.abandoned += 1
                self._stuck += 1
                future.add_done_callback(self._freed)
            if late is not None:
                future.add_done_callback(lambda _: late())
            raise

    async def close(self, wait_seconds: float) -> bool:
        """Take no more calls; return whether the running ones ended within `wait_seconds`."""
        self._closed = True
        self._executor.shutdown(wait=False)
        if self._unfinished:
            try:
                await asyncio.wait_for(self._idle.wait(), wait_seconds)
            except TimeoutError:
                return False
        return True

    def _admit(self) -> None:
        if self._closed:
            msg = f"The {self._name} threads of the index are closed; open the memory again."
            raise MemoryClosed(msg)
        if self._stuck >= self._threads and not self._patient:
            msg = (
                f"Every {self._name} thread of the index hangs in a call nobody waits for; restart the program if this goes on."
            )
            raise IndexUnavailable(msg)
        if self._unfinished >= self._waiting:
            msg = f"{self._unfinished} {self._name} calls of the index are waiting already; ask again later."
            raise IndexUnavailable(msg)

    def _finished(self, _: object) -> None:
        self._unfinished -= 1
        if not self._unfinished:
            self._idle.set()

    def _freed(self, _: object) -> None:
        self._stuck -= 1
