"""The working history: the bounded tail of the current stream, in memory, read from SQL after a start or a deletion."""

from collections import deque
from collections.abc import Iterable

from memory.events import BotIdentity, BotReply, Line, Message, Viewer
from memory.model import HistoryLine, Window
from memory.ports import MemoryReader


def line_of(line: Line) -> HistoryLine:
    """Return a chat line as the history keeps it."""
    if isinstance(line, Message):
        return HistoryLine(id=line.id, at=line.at, kind="message", author=line.user, text=line.text, reply_to=line.reply_to)
    return HistoryLine(id=line.id, at=line.at, kind="notice", author=line.user, text=line.text or "")


def line_of_reply(reply: BotReply, bot: BotIdentity) -> HistoryLine | None:
    """Return the bot's own line; None where the reply has no id, since nothing could refer to it or remove it."""
    if reply.id is None:
        return None
    author = Viewer(id=bot.id, login=bot.login, name=bot.name)
    answered = reply.in_reply_to[-1] if reply.in_reply_to else None
    return HistoryLine(id=reply.id, at=reply.at, kind="reply", author=author, text=reply.text, reply_to=answered)


class History:
    """The newest lines of one stream. SQL is the truth: whatever is in doubt is read again from there."""

    def __init__(self, reader: MemoryReader, *, bound: int) -> None:
        self._reader = reader
        self._bound = bound
        self._stream_id: str | None = None
        self._lines: deque[HistoryLine] = deque(maxlen=bound)
        self._ids: set[str] = set()
        self._loaded = False
        self._doubts = 0

    def begin(self, stream_id: str) -> None:
        """Make this the current stream; its lines are read at the first look."""
        if stream_id != self._stream_id:
            self._stream_id = stream_id
            self.doubt()

    def add(self, stream_id: str, lines: Iterable[HistoryLine]) -> None:
        """Append lines that SQL holds by now; known ids change nothing."""
        if stream_id != self._stream_id:
            return
        for line in lines:
            if line.id in self._ids:
                continue
            if len(self._lines) == self._bound:
                self._ids.discard(self._lines[0].id)
            self._lines.append(line)
            self._ids.add(line.id)

    def doubt(self) -> None:
        """Forget every line: something was removed, and only SQL knows what is left."""
        self._lines.clear()
        self._ids.clear()
        self._loaded = False
        self._doubts += 1

    async def tail(self, stream_id: str, limit: int, *, without: frozenset[str] = frozenset()) -> Window:
        """Return the newest `limit` lines of a stream, oldest first, those of `without` (the batch itself) aside.

        Raises:
            StoreUnavailable: they had to be read from SQL, and it failed.
        """
        if stream_id != self._stream_id:
            lines = await self._reader.history(stream_id, limit + len(without))
        else:
            await self._load()
            lines = list(self._lines)
        kept = [line for line in lines if line.id not in without]
        return Window(stream_id=stream_id, lines=tuple(kept[-limit:] if limit > 0 else ()))

    async def _load(self) -> None:
        while not self._loaded and self._stream_id is not None:
            doubts, stream_id = self._doubts, self._stream_id
            stored = await self._reader.history(stream_id, self._bound)
            if doubts != self._doubts:
                continue  # something was removed while SQL was read: what was read may hold it
            arrived = list(self._lines)
            self._lines.clear()
            self._ids.clear()
            self._loaded = True
            self.add(stream_id, [*stored, *arrived])
