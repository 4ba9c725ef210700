"""Fading: what nobody repeats and no answer uses leaves retrieval after a time, never the record. Handles `fade` jobs."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from sqlalchemy import Connection

from memory.clock import Clock
from memory.recipes import Fading
from memory.salience import recency
from memory.store import fading, outbox
from memory.store.database import Database
from memory.store.stamps import moment

_PAGE = 500  # facts a transaction: chat is stored in between
log = structlog.get_logger(__name__)


class Fader:
    """Takes faint facts and claims out of sight."""

    def __init__(self, database: Database, clock: Clock, limits: Fading) -> None:
        """Read from and write to `database`, which stays the caller's."""
        self._database = database
        self._clock = clock
        self._limits = limits

    async def fade(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Hide every present fact and claim whose weight is below the floor; doing it again changes nothing more.

        The weight is the salience (importance and repetition) x 2^(-age / half-life), the age counted from when it was last
        said or used. What is said again is back.

        Raises:
            StoreUnavailable: the file cannot be read or written; what was not written is done again.
        """
        if not payloads or self._limits.floor <= 0:
            return
        after, faded = 0, 0
        while True:
            last, hidden = await self._next(after)
            faded += hidden
            if last is None:
                break
            after = last
        log.info("memories_faded", faded=faded)

    async def _next(self, after: int) -> tuple[int | None, int]:
        return await self._database.write(lambda connection: self._page(connection, after))

    def _page(self, connection: Connection, after: int) -> tuple[int | None, int]:
        now, half_life = self._clock.now(), self._limits.half_life_days
        rows = fading.page(connection, after=after, limit=_PAGE)
        faint = [
            row
            for row in rows
            if row.salience * recency(moment(max(row.at, row.used_at or 0)), now, half_life_days=half_life) < self._limits.floor
        ]
        hidden = fading.hide(connection, faint, now)
        if hidden:
            key = f"purge:faded:{now.date().isoformat()}:{rows[0].seq}"
            outbox.enqueue(connection, kind="purge", key=key, payload={"documents": hidden}, now=now, again=True)
        return (rows[-1].seq if len(rows) == _PAGE else None), len(faint)
