"""What a language model may cost in the background: tokens a stream, known across restarts, shared by all who ask it."""

from sqlalchemy import Connection

from memory.store import streams, tallies
from memory.store.database import Database


class Allotment:
    """The tokens that reading and judging may cost in one stream together."""

    def __init__(self, database: Database, tokens_per_stream: int) -> None:
        """Keep the count in `database`."""
        self._database = database
        self.tokens = tokens_per_stream

    async def affords(self, stream_id: str, cost: int) -> bool:
        """Return whether a stream has so many tokens left, after all that was or will be joined to it."""
        async with self._database.reading() as session:
            spent = await session.run_sync(lambda reading: _spent(reading.connection(), stream_id))
        return spent + cost <= self.tokens

    async def spend(self, stream_id: str, cost: int) -> None:
        """Count tokens that were spent.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        await self._database.write(lambda connection: _spend(connection, stream_id, cost))


def _spent(connection: Connection, stream_id: str) -> int:
    return sum(_own(connection, one) for one in streams.one_with(connection, stream_id))


def _spend(connection: Connection, stream_id: str, tokens: int) -> None:
    tallies.store_value(connection, tallies.READING, stream_id, str(_own(connection, stream_id) + tokens))


def _own(connection: Connection, stream_id: str) -> int:
    return int(tallies.value_of(connection, tallies.READING, stream_id) or 0)
