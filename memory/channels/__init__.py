"""Ways to look inside one source. Each ranks document ids within one collection; none of them knows another."""

from typing import Protocol


class Channel(Protocol):
    """A way to look: one collection, one question, ids with scores."""

    @property
    def name(self) -> str:
        """The channel's name in rankings, recipes and the trace."""
        ...

    async def find(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (document id, score) pairs of the collection, best first.

        Raises:
            BotMemoryError: the channel's store or model failed.
        """
        ...
