"""Consolidation: what viewers wrote becomes facts about themselves, in the background. The handler of `consolidate` jobs.

A message is read once however often its job runs: facts have ids made of their message, and what is known from a message is
skipped. Nothing slow runs while the database is open: the lines are read, then understood on a thread of their own, then
reconciled and written in one transaction.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid5

import structlog
from sqlalchemy import Connection, Row

from memory.clock import Clock
from memory.extract.rules import Spoken
from memory.normalise import same_key
from memory.reconcile import Assert, Invalidate, Revise, Skip, changed_with, reconcile
from memory.salience import salience
from memory.statements import Fact, Statement
from memory.store import facts, outbox
from memory.store.database import Database
from memory.store.rows import line_of
from memory.store.stamps import milliseconds, moment

TURNS = 16  # read and written together: a transaction of some milliseconds
GROUP = 64  # turns in one call of the handler
_JOBS = UUID("3c8f9f0e-6f0d-4a3e-9d0b-8f5f7f1f2a44")
log = structlog.get_logger(__name__)


class Extractor(Protocol):
    """Reads lines, oldest first, and returns what they say about their authors."""

    def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        """Return the statements, in the order of the lines."""
        ...


class Consolidator:
    """Makes facts of messages, reconciled with what is known."""

    def __init__(self, database: Database, extractor: Callable[[], Extractor], clock: Clock) -> None:
        """Read from and write to `database`, which stays the caller's; `extractor` is made when it is needed first."""
        self._database = database
        self._make = extractor
        self._clock = clock

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
        async with self._database.reading() as session:
            rows = await facts.lines_of(session, turns, ids)
            before = await facts.lines_before(session, rows)
            asked = await facts.texts_of(session, {row.reply_to for row in rows if row.reply_to})
        if not rows:
            return
        fresh = {row.id: row.stream_id for row in rows}
        lines = [_spoken(row, asked) for row in sorted((*before, *rows), key=lambda row: int(row.seq))]
        found = await asyncio.to_thread(self._extract, lines)
        stated = [statement for statement in found if statement.source in fresh]
        if stated:
            await self._database.write(lambda connection: self._write(connection, stated, fresh))

    def _extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        return self._make().extract(lines)

    def _write(self, connection: Connection, stated: Sequence[Statement], streams: Mapping[str, str]) -> None:
        known = _Known(connection, facts.held(connection, {one.subject for one in stated}), self._clock.now())
        sources = {one.source for one in stated}
        own, past = facts.remembered(connection, sources), facts.past(connection, sources)
        written: list[str] = []
        for said in stated:
            ends = said.invalid_at or past.get(said.source)  # a record changed meanwhile, and what was said is past with it
            statement = replace(said, invalid_at=ends)
            if statement.source in own:
                written += known.take(statement, streams[statement.source], own[statement.source])
        if written:
            name = uuid5(_JOBS, "\x1f".join(written))
            payload = {"documents": written}
            outbox.enqueue(connection, kind="index", key=f"index:facts:{name}", payload=payload, now=self._clock.now())
        log.info("facts_consolidated", statements=len(stated), written=len(written))


class _Known:
    """What is known of some viewers within one transaction, kept equal to the rows as they change."""

    def __init__(self, connection: Connection, held: Sequence[Fact], now: datetime) -> None:
        self._connection = connection
        self._facts = {fact.id: fact for fact in held}
        self._now = milliseconds(now)

    def take(self, statement: Statement, stream_id: str, sources: tuple[str, ...]) -> list[str]:
        """Reconcile one statement, which rests on `sources`, and write what follows; return the documents to index."""
        known = list(self._facts.values())
        actions = reconcile(statement, known)
        if isinstance(actions[0], Skip):
            return []
        own = facts.fact_id(statement.subject, statement.predicate, same_key(statement.object), statement.source)
        by = next((action.fact_id for action in actions if isinstance(action, Revise)), own)
        written: list[str] = []
        ended: list[Fact] = []
        for action in (*actions, *changed_with(statement, known)):
            match action:
                case Assert():
                    written += self._add(action, own, stream_id, sources)
                case Revise():
                    self._confirm(self._facts[action.fact_id], statement)
                case Invalidate():
                    ended.append(replace(self._facts[action.fact_id], invalid_at=action.at))
                case Skip():
                    pass
        for fact in ended:
            self._end(fact, by)
        if ended:
            begins = milliseconds(min(statement.begins, statement.at))
            facts.date_message(self._connection, statement.source, valid_at=begins)
        return written

    def _add(self, action: Assert, id_: str, stream_id: str, sources: tuple[str, ...]) -> list[str]:
        statement = action.statement
        fact = Fact(
            id=id_,
            subject=statement.subject,
            predicate=statement.predicate,
            object=statement.object,
            at=statement.at,
            sources=sources,
            valid_at=action.valid_at,
            invalid_at=action.invalid_at,
            expired_at=moment(self._now) if action.superseded_by else None,
            salience=_salience(statement, 1),
        )
        self._facts[id_] = fact
        written = facts.add(
            self._connection, fact, statement, now=self._now, stream_id=stream_id, superseded_by=action.superseded_by
        )
        if action.superseded_by:
            self._date_messages(fact)
        return written

    def _confirm(self, fact: Fact, statement: Statement) -> None:
        sources = (*fact.sources, statement.source)
        again = replace(fact, sources=sources, salience=_salience(statement, len(sources)))
        self._facts[fact.id] = again
        facts.confirm(self._connection, again)

    def _end(self, fact: Fact, by: str) -> None:
        ended = replace(fact, expired_at=moment(self._now))
        self._facts[fact.id] = ended
        facts.end(self._connection, ended, by, now=self._now)
        self._date_messages(ended)

    def _date_messages(self, fact: Fact) -> None:
        """Mark the messages behind a past fact as past, where nothing else that they say is true still."""
        for source in fact.sources:
            said = [other for other in self._facts.values() if source in other.sources]
            if all(other.invalid_at is not None for other in said):
                until = max(other.invalid_at for other in said if other.invalid_at is not None)
                facts.date_message(self._connection, source, invalid_at=milliseconds(until))


def _salience(statement: Statement, times: int) -> float:
    """What it weighs without its age, which is reckoned when it is asked for."""
    return salience(statement.slot.importance, at=statement.at, now=statement.at, repetitions=times)


def _spoken(row: Row[Any], asked: Mapping[str, str]) -> Spoken:
    line = line_of(row)
    detail = row.detail or {}
    return Spoken(
        id=row.id,
        author=row.viewer_id,
        at=line.at,
        text=row.text,
        emotes=frozenset(name for name, _, _ in detail.get("emotes", ())),
        is_action=bool(detail.get("is_action")),
        answers=asked.get(row.reply_to or "", ""),
    )
