"""The chat goes first: background work is done in small pieces, and waits between them while the chat is served.

Python runs one thread at a time, and native calls keep the others out until they end. So a piece is short (some 10 ms), and
between two of them whoever answers the chat gets its turn. A chat that never rests cannot starve the background for ever.
"""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_SECONDS = 0.25  # the longest that one piece waits while the chat is served
_BEHIND_SECONDS = 1.0  # while lines of chat wait to be stored
_LOOK_SECONDS = 0.002


class Precedence:
    """Whether the chat is being served. Noted in the event loop, asked in any thread; nobody waits before `begin`."""

    def __init__(self) -> None:
        """Let everything run, as in a replay, which works in turns."""
        self._live = self._behind = False
        self._served = 0
        self._free = threading.Event()
        self._free.set()

    @property
    def live(self) -> bool:
        """Whether background work gives way at all."""
        return self._live

    def begin(self) -> None:
        """From now on background work gives way."""
        self._live = True

    def end(self) -> None:
        """Let background work run to its end, as it must when the memory closes."""
        self._live = self._behind = False
        self._free.set()

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Have background work wait while the chat is served within."""
        self._served += 1
        self._tell()
        try:
            yield
        finally:
            self._served -= 1
            self._tell()

    def behind(self, *, behind: bool) -> None:
        """Note whether more of the chat waits than can be served at once."""
        self._behind = behind
        self._tell()

    def give_way(self) -> None:
        """Return when nobody is served, or after the longest wait. For threads; between two pieces of work."""
        self._free.wait(self._longest)

    async def giving_way(self) -> None:
        """Do the same in the event loop."""
        until = time.monotonic() + self._longest
        while not self._free.is_set() and time.monotonic() < until:  # noqa: ASYNC110 - threads wait for the same event
            await asyncio.sleep(_LOOK_SECONDS)

    @property
    def _longest(self) -> float:
        return _BEHIND_SECONDS if self._behind else _LONGEST_SECONDS

    def _tell(self) -> None:
        if self._live and (self._served or self._behind):
            self._free.clear()
        else:
            self._free.set()
