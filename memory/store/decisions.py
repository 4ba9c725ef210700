"""Decisions about facts: appended with what they change, read back by fact and by what was decided together."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from memory.statements import CONFLICT_STEPS, Step
from memory.store.document_writes import IDS, chunks, packed
from memory.store.stamps import moment
from memory.store.tables import DecisionRow, table_of
from memory.timeline import Decision, Verb

DECISION = table_of(DecisionRow)
_D = DECISION.c
_OF_FACTS = select(DECISION).where(_D.fact_id.in_(IDS)).order_by(_D.seq)


class Ledger:
    """Decisions of one transaction, written together at its end: `act` opens a group, `note` adds to it, `write` stores all."""

    def __init__(self, connection: Connection, at: int) -> None:
        """Number acts behind those that there are; `at` is the moment of the transaction."""
        self._connection = connection
        self.at = at
        self._rows: list[dict[str, Any]] = []
        self.number = int(connection.scalar(select(func.coalesce(func.max(_D.act), 0))) or 0)

    def act(self) -> int:
        """Begin what is decided together next; return its number."""
        self.number += 1
        return self.number

    def note(self, fact_id: str, verb: Verb, step: Step, *, invalid_at: int | None = None, by: str | None = None) -> None:
        """Add a decision to the present act."""
        row = {"act": self.number, "fact_id": fact_id, "at": self.at, "verb": verb, "step": step}
        self._rows.append(row | {"invalid_at": invalid_at, "by_id": by})

    def write(self) -> None:
        """Store what was noted; the facts must be there."""
        if self._rows:
            self._connection.execute(insert(DECISION), self._rows)
        self._rows = []


def of_facts(connection: Connection, fact_ids: Iterable[str]) -> dict[str, list[Decision]]:
    """Return the decisions about these facts, by fact, oldest first."""
    found: dict[str, list[Decision]] = {}
    for row in connection.execute(_OF_FACTS, {"ids": packed(fact_ids)}):
        found.setdefault(row.fact_id, []).append(_decision(row))
    return found


def of_act(connection: Connection, act: int) -> list[Decision]:
    """Return what was decided together, in order; nothing where there is no such act."""
    return [_decision(row) for row in connection.execute(select(DECISION).where(_D.act == act).order_by(_D.seq))]


def _decision(row: Row[Any]) -> Decision:
    return Decision(
        seq=row.seq,
        act=row.act,
        fact_id=row.fact_id,
        at=moment(row.at),
        verb=row.verb,
        step=row.step,
        invalid_at=moment(row.invalid_at),
        by=row.by_id,
    )


def hand_on(connection: Connection, fact_id: str, gone: Iterable[str], heir: tuple[str, int] | None) -> None:
    """Take facts that are erased out of the decisions about another: what they ended never ended, or by `heir` (id, when)."""
    for piece in chunks(list(gone)):
        named = (_D.fact_id == fact_id, _D.by_id.in_(piece))
        if heir is not None:
            connection.execute(update(DECISION).where(*named).values(by_id=heir[0], invalid_at=heir[1]))
            continue
        connection.execute(delete(DECISION).where(*named, _D.verb != "assert"))
        connection.execute(update(DECISION).where(*named).values(by_id=None, invalid_at=None))


def shares(connection: Connection) -> dict[str, int]:
    """Return how many conflicts each step settled: what ended, came too late, or was told from what it is like.

    `open`: those that no step could tell and no judge was asked about yet.
    """
    settled = select(_D.step, func.count().label("number")).where(
        _D.step.in_(CONFLICT_STEPS), (_D.verb == "end") | (_D.by_id.is_not(None)) | (_D.verb == "confirm")
    )
    counted = {row.step: row.number for row in connection.execute(settled.group_by(_D.step))}
    counted["open"] = max(0, counted.get("open", 0) - counted.get("judge", 0))
    return {step: counted.get(step, 0) for step in CONFLICT_STEPS}
