"""What the planner must know besides the batch, held in memory so that planning waits for nothing: names, streams, canon."""

from collections.abc import Iterable
from datetime import UTC, datetime

from lore.entry import LoreEntry
from memory.absence import Absences
from memory.events import Message
from memory.model import Stream
from memory.names import NameIndex
from memory.ports import MemoryReader

MOST_STREAMS = 1000  # newest streams that a question can point to
_EVER = datetime(9999, 1, 1, tzinfo=UTC)


class Surroundings:
    """Read from SQL at the start, and again by whoever changes it. `viewers` and `lore` may be read at any time."""

    def __init__(self, reader: MemoryReader, viewers: NameIndex) -> None:
        self._reader = reader
        self._streams: dict[str, Stream] = {}
        self.viewers = viewers
        self.absences = Absences()
        self.lore: tuple[LoreEntry, ...] = ()

    async def load(self) -> None:
        """Read everything.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        for viewer in await self._reader.known_viewers():
            self.viewers.add(viewer)
        await self.load_lore()
        await self.load_streams()

    async def load_lore(self) -> None:
        """Read the canon."""
        self.lore = tuple(await self._reader.lore())

    async def load_streams(self) -> None:
        """Read the streams."""
        self._streams = {stream.id: stream for stream in await self._reader.streams(before=_EVER, limit=MOST_STREAMS)}

    def hear(self, messages: Iterable[Message]) -> None:
        """Note who writes, before it is stored: to know who was away until now."""
        self.absences.hear(messages, self._last_seen)

    def _last_seen(self, viewer_id: str) -> datetime | None:
        known = self.viewers.get(viewer_id)
        return known.last_seen if known is not None else None

    def known(self, stream_id: str) -> Stream | None:
        """Return a stream that is in memory."""
        return self._streams.get(stream_id)

    async def find(self, stream_id: str) -> Stream | None:
        """Return a stream that is not in memory: an old one, or for a temporary one that was joined, the real one.

        Raises:
            StoreUnavailable: the store cannot be read.
        """
        return await self._reader.stream(stream_id)

    def before(self, stream: Stream, moment: datetime) -> tuple[Stream, ...]:
        """Return the other streams that had begun by that moment, newest first."""
        return tuple(one for one in self._streams.values() if one.id != stream.id and one.started_at <= moment)

    def names(self, viewer_ids: Iterable[str | None]) -> dict[str, str]:
        """Return the display names of these viewers; who is unknown is missing."""
        known = {viewer_id: self.viewers.get(viewer_id) for viewer_id in viewer_ids if viewer_id is not None}
        return {viewer_id: viewer.name for viewer_id, viewer in known.items() if viewer is not None}
