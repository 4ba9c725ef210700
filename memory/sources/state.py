"""Structured state: the canonical present of requests, notes, relations, jokes and the channel. Read fresh, never cached."""

from memory.channels.scoped import Asking
from memory.model import SourceRequest
from memory.ports import MemoryReader
from memory.sources import Found


class StateSource:
    """Answers from the live records of the domains asked for."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the live records, in the order of the store."""
        return Found(records=tuple(await self._reader.state(request.domains, request.viewer_ids, at=asking.at)))
