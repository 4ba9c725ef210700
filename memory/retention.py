"""Retention: what was kept long enough goes, by kind of data, each after its own time. Handles `retain` jobs.

Times are counted from when a thing was said, a fact or claim from when it was last said or used. What was erased by anybody's
order is gone long before; its ids stay, so that it cannot come back.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeVar
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import Connection

from memory.clock import Clock
from memory.recipes import Retention
from memory.store import outbox, retention, tallies
from memory.store.database import Database
from memory.store.stamps import milliseconds

_PAGE = 500  # rows a transaction: chat is stored in between
_NEVER = -(1 << 62)
T = TypeVar("T")
log = structlog.get_logger(__name__)


class Retainer:
    """Lets go of what is older than the limits say."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        limits: Retention,
        *,
        backups: Callable[[datetime], Awaitable[int]] | None = None,
    ) -> None:
        """Read from and write to `database`, which stays the caller's; `backups` removes those made before a moment."""
        self._database = database
        self._clock = clock
        self._limits = limits
        self._backups = backups

    async def retain(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Delete what is older than its limit; doing it again changes nothing more. The index follows by `purge` jobs.

        Raises:
            StoreUnavailable: the file cannot be read or written; what was not done is done again.
        """
        if not payloads:
            return
        limits, gone = self._limits, dict[str, int]()
        gone["messages"] = await self._documents(("message",), limits.message_days)
        gone["episodes"] = await self._documents(("line", "turn", "reply"), limits.episode_days)
        gone["facts"] = await self._statements("fact", limits.fact_days)
        gone["claims"] = await self._statements("claim", limits.claim_days)
        gone["lines"] = await self._lines()
        await self._turns()
        gone["records"] = await self._at_once(retention.drop_closed_records, limits.closed_record_days)
        gone["audit"] = await self._at_once(retention.drop_audit, limits.audit_days)
        gone["viewers"] = await self._viewers()
        now = milliseconds(self._clock.now())
        gone["tallies"] = await self._database.write(lambda connection: tallies.drop_old(connection, now))
        if self._backups is not None and limits.backup_days > 0:
            gone["backups"] = await self._backups(self._clock.now() - timedelta(days=limits.backup_days))
        log.info("retention_applied", **gone)

    def _before(self, days: float) -> int:
        """Return the moment before which things go; never, where there is no limit."""
        return milliseconds(self._clock.now() - timedelta(days=days)) if days > 0 else _NEVER

    async def _documents(self, kinds: Sequence[str], days: float) -> int:
        before = self._before(days)
        return await self._each(
            lambda c, after: retention.old_documents(c, kinds, before=before, after=after, most=_PAGE), unlimited=days <= 0
        )

    async def _statements(self, kind: str, days: float) -> int:
        before = self._before(days)
        return await self._each(
            lambda c, after: retention.old_statements(c, kind, before=before, after=after, most=_PAGE), unlimited=days <= 0
        )

    async def _each(self, find: Callable[[Connection, int], Sequence[Any]], *, unlimited: bool) -> int:
        """Drop the documents that `find` finds, page by page; return how many went."""
        after, gone = 0, 0
        while not unlimited:
            rows = await self._read(lambda connection: find(connection, after))  # noqa: B023 - run before the next turn of the loop
            if not rows:
                break
            after = rows[-1].seq
            ids = [row.id for row in rows]
            gone += await self._database.write(lambda connection: self._drop(connection, ids))  # noqa: B023 - the same
        return gone

    def _drop(self, connection: Connection, ids: Sequence[str]) -> int:
        removed = retention.drop_documents(connection, ids)
        if removed:
            key = f"purge:retained:{uuid5(NAMESPACE_OID, ','.join(ids))}"
            payload = {"documents": removed}
            outbox.enqueue(connection, kind="purge", key=key, payload=payload, now=self._clock.now(), again=True)
        return sum(map(len, removed.values()))

    async def _lines(self) -> int:
        messages, episodes = self._before(self._limits.message_days), self._before(self._limits.episode_days)
        after, gone = 0, 0
        while True:
            seqs = await self._read(
                lambda c: retention.old_lines(c, messages=messages, episodes=episodes, after=after, most=_PAGE)  # noqa: B023 - the same
            )
            if not seqs:
                return gone
            after = seqs[-1]
            gone += await self._database.write(lambda connection: retention.drop_lines(connection, seqs))  # noqa: B023 - the same

    async def _turns(self) -> None:
        before = max(self._before(self._limits.message_days), self._before(self._limits.episode_days))
        after = 0
        while rows := await self._read(lambda c: retention.old_turns(c, before=before, after=after, most=_PAGE)):  # noqa: B023 - the same
            after = rows[-1].seq
            await self._database.write(lambda connection: retention.drop_turns(connection, rows))

    async def _viewers(self) -> int:
        """Drop the names of viewers of whom nothing is held, not seen for as long as anything is kept."""
        limits = self._limits
        days = (limits.message_days, limits.episode_days, limits.fact_days, limits.claim_days)
        after, gone = "", 0
        while min(days) > 0:
            before = self._before(max(days))
            ids = await self._read(lambda c: retention.unseen_viewers(c, before=before, after=after, most=_PAGE))  # noqa: B023 - the same
            if not ids:
                break
            after = ids[-1]
            gone += await self._database.write(lambda connection: retention.drop_viewers(connection, ids))  # noqa: B023 - the same
        return gone

    async def _at_once(self, drop: Callable[[Connection, int], int], days: float) -> int:
        before = self._before(days)
        return await self._database.write(lambda connection: drop(connection, before)) if days > 0 else 0

    async def _read(self, fn: Callable[[Connection], T]) -> T:
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: fn(reading.connection()))
