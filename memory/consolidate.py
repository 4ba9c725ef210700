"""Consolidation: what viewers wrote becomes facts about themselves, in the background. The handler of `consolidate` jobs.

A message is read once however often its job runs: facts have ids made of their message, and what is known from a message is
skipped. Nothing slow runs while the database is open: the lines are read, then understood on a thread of their own, then
reconciled and written in one transaction. Jobs do not come in the order of the messages: what is older than something that
is known of the same is told anew with it, in a second transaction, as if it had come in time (`memory.retelling`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID, uuid5

import structlog
from sqlalchemy import Connection, Row

from memory.clock import Clock
from memory.extract.rules import Spoken
from memory.hearing import Hearing
from memory.hearsay import Hearsay
from memory.keeping import Keeper
from memory.normalise import fold
from memory.recipes import Quotas
from memory.relations import Who
from memory.retelling import Late, area_of
from memory.statements import Statement
from memory.store import facts, outbox
from memory.store.database import Database
from memory.store.rows import line_of
from memory.verdicts import Verdict

TURNS = 16  # read and written together: a transaction of some milliseconds
GROUP = 64  # turns in one call of the handler
_JOBS = UUID("3c8f9f0e-6f0d-4a3e-9d0b-8f5f7f1f2a44")
log = structlog.get_logger(__name__)


class Extractor(Protocol):
    """Reads lines, oldest first, and returns what they say about their authors, or, as claims, about others."""

    def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        """Return the statements, in the order of the lines."""
        ...


class SecondReader(Protocol):
    """Reads lines again, later, with more than rules."""

    def offer(self, lines: Sequence[Spoken]) -> list[str]:
        """Return the ids of the lines that are worth it."""
        ...

    def enqueue(self, connection: Connection, lines: Sequence[str]) -> None:
        """Have these lines read, in a job of their own."""
        ...


class OpenConflicts(Protocol):
    """Takes conflicts that no step could settle."""

    def enqueue(self, connection: Connection, open_pairs: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Have pairs of facts, the newer one first, by the stream of the newer one, judged."""
        ...


class Consolidator:
    """Makes facts of messages, reconciled with what is known."""

    def __init__(
        self,
        database: Database,
        extractor: Callable[[], Extractor],
        clock: Clock,
        *,
        hearsay: Hearsay | None = None,
        quotas: Quotas | None = None,
    ) -> None:
        """Read from and write to `database`, which stays the caller's; `extractor` is made when it is needed first.

        `hearsay` reads what lines say about others: claims, which are kept apart.
        """
        self._database = database
        self._make = extractor
        self._clock = clock
        self._hearsay = hearsay
        self._who: Who = hearsay.whom if hearsay is not None else lambda _: None
        self._quotas = quotas or Quotas()
        self.second: SecondReader | None = None
        self.judge: OpenConflicts | None = None

    async def consolidate(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Consolidate turns (`turn`) and single lines (`lines`); what is no viewer's own memory is passed over.

        Raises:
            StoreUnavailable: the file cannot be read or written; what was not written is done again.
        """
        for start in range(0, len(payloads), TURNS):
            await self._some(payloads[start : start + TURNS])

    async def _some(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        turns = [payload["turn"] for payload in payloads if "turn" in payload]
        ids = [line for payload in payloads for line in payload.get("lines", ())]
        fresh, lines = await self.lines_of(turns, ids)
        if not fresh:
            return
        found = await asyncio.to_thread(self._extract, lines)
        stated = [statement for statement in found if statement.source in fresh]
        again = await asyncio.to_thread(self._offered, [line for line in lines if line.id in fresh])
        if stated or again:
            late = await self._database.write(lambda connection: self._write(connection, stated, fresh, again))
            await self.retell(late, fresh)

    async def lines_of(self, turns: Sequence[str], ids: Sequence[str]) -> tuple[dict[str, str], list[Spoken]]:
        """Return the streams of the lines of these turns, and of those named, by id; and the lines, oldest first.

        Among them are those that their authors wrote just before, which have no stream here.
        """
        async with self._database.reading() as session:
            rows = await facts.lines_of(session, turns, ids)
            before = await facts.lines_before(session, rows)
            asked = await facts.words_of(session, {row.reply_to for row in rows if row.reply_to})
        fresh = {row.id: row.stream_id for row in rows}
        return fresh, [_spoken(row, asked) for row in sorted((*before, *rows), key=lambda row: int(row.seq))]

    def _offered(self, lines: Sequence[Spoken]) -> list[str]:
        return [] if self.second is None else self.second.offer(lines)

    def _extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        own = self._make().extract(lines)
        return own if self._hearsay is None else [*own, *self._hearsay.extract(lines)]

    def _write(
        self, connection: Connection, stated: Sequence[Statement], streams: Mapping[str, str], again: Sequence[str]
    ) -> Late:
        if again and self.second is not None:
            self.second.enqueue(connection, again)
        return self.keep(connection, stated, streams) if stated else Late()

    def keep(self, connection: Connection, stated: Sequence[Statement], streams: Mapping[str, str]) -> Late:
        """Reconcile statements with what is known and write what follows; `streams`: that of each source.

        Return those that are older than what is known of the same, for `retell`.

        Raises:
            StoreUnavailable: nothing was written.
        """
        known = self._opened(connection, stated)
        hearing = Hearing(connection, stated, streams)
        late = hearing.late(known)
        written = [id_ for said in hearing.said(set(late.statements)) for id_ in known.take(said)]
        self._end(connection, known, written, statements=len(stated) - len(late.statements))
        return late

    async def retell(self, late: Late, streams: Mapping[str, str]) -> None:
        """Take late statements as if they had come in time, with all that was said of the same before and since.

        Raises:
            StoreUnavailable: nothing was written.
        """
        if not late.statements:
            return
        more, lines = await self.lines_of((), sorted(late.sources))
        found = [said for said in await asyncio.to_thread(self._extract, lines) if said.source in more]
        both = {**more, **streams}
        await self._database.write(lambda connection: self._retell(connection, late.statements, found, both))

    def _retell(
        self, connection: Connection, late: Sequence[Statement], found: Sequence[Statement], streams: Mapping[str, str]
    ) -> None:
        known = self._opened(connection, late)
        # Both before anything is written: it would date the messages that they read.
        new, every = Hearing(connection, late, streams), Hearing(connection, [*late, *found], streams)
        written: list[str] = []
        for area in dict.fromkeys(map(area_of, late)):
            within = known.within(area)
            told = known.retell(area, every.in_order(area, within), every.resting(within))
            if told is None:  # not by these messages alone: then as what was heard last
                told = [id_ for said in new.said() if area_of(said.statement) == area for id_ in known.take(said)]
            written += told
        known.date_again()
        self._end(connection, known, written, statements=len(late))

    def _opened(self, connection: Connection, stated: Sequence[Statement]) -> Keeper:
        authors = {one.speaker or one.subject for one in stated}
        held = [*facts.held(connection, authors), *facts.claimed(connection, authors)]
        return Keeper(connection, held, self._clock.now(), quotas=self._quotas, who=self._who)

    def _end(self, connection: Connection, known: Keeper, written: Sequence[str], *, statements: int) -> None:
        known.ledger.write()
        self._index(connection, written)
        self._unindex(connection, known.removed)
        if known.open and self.judge is not None:
            self.judge.enqueue(connection, known.open)
        log.info("facts_consolidated", statements=statements, written=len(written), beyond_quota=known.refused)

    def settle(self, connection: Connection, subject: str, judged: Sequence[tuple[str, str, Verdict]]) -> None:
        """Carry out verdicts on pairs of facts (the newer one first) of one viewer.

        Raises:
            StoreUnavailable: nothing was written.
        """
        held = facts.held(connection, {subject})
        known = Keeper(connection, held, self._clock.now(), quotas=self._quotas, who=self._who)
        written = [id_ for new, old, verdict in judged for id_ in known.settle(new, old, verdict)]
        known.ledger.write()
        self._index(connection, written)

    def _index(self, connection: Connection, written: Sequence[str]) -> None:
        if written:
            name = uuid5(_JOBS, "\x1f".join(written))
            payload = {"documents": list(written)}
            outbox.enqueue(connection, kind="index", key=f"index:facts:{name}", payload=payload, now=self._clock.now())

    def _unindex(self, connection: Connection, removed: Mapping[str, Sequence[str]]) -> None:
        if removed:
            name = uuid5(_JOBS, "\x1f".join(id_ for ids in removed.values() for id_ in ids))
            payload = {"documents": dict(removed)}
            outbox.enqueue(
                connection, kind="purge", key=f"purge:facts:{name}", payload=payload, now=self._clock.now(), again=True
            )


def _spoken(row: Row[Any], asked: Mapping[str, tuple[str, str]]) -> Spoken:
    line = line_of(row)
    detail = row.detail or {}
    answers, whom = asked.get(row.reply_to or "", ("", ""))
    return Spoken(
        id=row.id,
        author=row.viewer_id,
        at=line.at,
        text=row.text,
        emotes=frozenset(name for name, _, _ in detail.get("emotes", ())),
        is_action=bool(detail.get("is_action")),
        answers=answers,
        answers_whom=whom,
        mentions={fold(one[key]): one["id"] for one in detail.get("mentions", ()) for key in ("login", "name")},
    )
