"""Edges for facts that were kept before there were any: handles the `edges` job, which a memory has once at most."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import Connection

from memory.clock import Clock
from memory.relations import Who, edge_of
from memory.store import facts, graph, meta, outbox
from memory.store.database import Database

KIND = "edges"
_AT_ONCE = 500  # facts in one transaction
_DONE = "edges_made"
log = structlog.get_logger(__name__)


class Relater:
    """Gives old facts and claims the edges that new ones get when they are kept."""

    def __init__(self, database: Database, clock: Clock, who: Who) -> None:
        """`who` says which viewer a name means."""
        self._database = database
        self._clock = clock
        self._who = who

    async def order(self) -> None:
        """Have the job done, where this memory never had it and there are facts to relate.

        Raises:
            StoreUnavailable: the file cannot be read or written.
        """

        def write(connection: Connection) -> None:
            if meta.value_of(connection, _DONE) is not None:
                return
            if facts.unrelated(connection, after="", limit=1):
                outbox.enqueue(connection, kind=KIND, key=KIND, payload={}, now=self._clock.now())
            else:
                meta.store_value(connection, _DONE, "1")

        await self._database.write(write)

    async def relate(self, payloads: Sequence[Mapping[str, Any]]) -> None:  # noqa: ARG002 - a job of this kind has no more to say
        """Write the edges that are missing, some facts at a time.

        Raises:
            StoreUnavailable: what was not written is done again.
        """
        after, made = "", 0
        while (piece := await self._piece(after))[0]:
            after, made = piece[0], made + piece[1]
        await self._database.write(lambda connection: meta.store_value(connection, _DONE, "1"))
        log.info("edges_made", edges=made)

    async def _piece(self, after: str) -> tuple[str, int]:
        return await self._database.write(lambda connection: self._some(connection, after))

    def _some(self, connection: Connection, after: str) -> tuple[str, int]:
        """Relate the next facts behind an id; return the last one's id (empty: there was none) and how many edges were made."""
        found = facts.unrelated(connection, after=after, limit=_AT_ONCE)
        edges = [edge for fact in found if (edge := edge_of(fact, self._who)) is not None]
        for edge in edges:
            graph.add(connection, edge)
        return (found[-1].id if found else ""), len(edges)
