"""Places to look. Each answers the requests of its kinds; none of them knows another."""

from typing import Protocol

from memory.channels.scoped import Asking
from memory.model import Ranking, SourceRequest


class Source(Protocol):
    """A place to look."""

    async def ask(self, request: SourceRequest, asking: Asking) -> list[Ranking]:
        """Return what each channel found, best first.

        Raises:
            BotMemoryError: the place cannot be read; the retrieval names it and goes on without it.
        """
        ...
