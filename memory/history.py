"""The working history: the bounded tail of the current stream, kept in memory and read again from SQL after every change."""

from collections.abc import Sequence

from memory.model import HistoryLine, Window
from memory.ports import MemoryReader


class History:
    """The newest lines of one stream. SQL is the truth: what was deleted, cleared or hidden there is not shown here."""

    def __init__(self, reader: MemoryReader, *, bound: int) -> None:
        self._reader = reader
        self._bound = bound
        self._stream_id: str | None = None
        self._lines: tuple[HistoryLine, ...] = ()
        self._fresh = False
        self._changes = 0

    def begin(self, stream_id: str) -> None:
        """Make this the current stream; its lines are read at the first look, so a restart loses nothing."""
        if stream_id != self._stream_id:
            self._stream_id = stream_id
            self.removed()

    def changed(self) -> None:
        """Read the lines again at the next look; until then, the ones known before stand."""
        self._fresh = False
        self._changes += 1

    def removed(self) -> None:
        """Forget every line at once: something was taken away, and only SQL knows what is left."""
        self._lines = ()
        self.changed()

    @property
    def changes(self) -> int:
        """How often the lines were changed behind this view: what `append` compares."""
        return self._changes

    def append(self, stream_id: str, lines: Sequence[HistoryLine] | None, *, since: int) -> bool:
        """Show lines that were just stored, the newest of their stream; return whether that could be done without reading.

        `since` is `changes` from before they were stored; `lines` is None where only SQL knows what stands where.
        """
        if lines is None or stream_id != self._stream_id or not self._fresh or since != self._changes:
            return False
        self._lines = (*self._lines, *lines)[-self._bound :]
        return True

    async def added(self) -> None:
        """Read the lines that were stored since.

        Raises:
            StoreUnavailable: they could not be read; the next look tries again.
        """
        self.changed()
        await self._load()

    def known(self, stream_id: str, limit: int, *, without: frozenset[str] = frozenset()) -> Window:
        """Return the window as far as it is in memory: the fallback where SQL does not answer in time."""
        lines = self._lines if stream_id == self._stream_id else ()
        return _window(stream_id, lines, limit, without)

    async def tail(self, stream_id: str, limit: int, *, without: frozenset[str] = frozenset()) -> Window:
        """Return the newest `limit` lines of a stream, oldest first, those of `without` (the batch itself) aside.

        Raises:
            StoreUnavailable: they had to be read from SQL, and it failed.
        """
        if stream_id != self._stream_id:
            return _window(stream_id, await self._reader.history(stream_id, limit + len(without)), limit, without)
        await self._load()
        return _window(stream_id, self._lines, limit, without)

    async def _load(self) -> None:
        while not self._fresh and self._stream_id is not None:
            changes = self._changes
            lines = await self._reader.history(self._stream_id, self._bound)
            if changes == self._changes:  # else what was read may hold what was removed, or lack what was added, meanwhile
                self._lines, self._fresh = tuple(lines), True


def _window(stream_id: str, lines: tuple[HistoryLine, ...] | list[HistoryLine], limit: int, without: frozenset[str]) -> Window:
    kept = [line for line in lines if line.id not in without]
    return Window(stream_id=stream_id, lines=tuple(kept[-limit:] if limit > 0 else ()))
