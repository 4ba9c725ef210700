"""Facts that are told anew in the order of their messages: what must be known for it, and how their rows follow."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, case, func, select, update

from memory.statements import Fact, Statement, Step
from memory.store.decisions import DECISION
from memory.store.document_writes import DOCUMENT, HIDDEN, IDS, LINE, packed, put
from memory.store.episodes import derived_id
from memory.store.facts import FACT, document_for
from memory.store.scrub import clean
from memory.store.stamps import milliseconds

_OTHERS: tuple[Step, ...] = ("judge", "record", "undo", "rollback")  # what messages alone do not tell
_PLACES = select(LINE.c.id, LINE.c.seq).where(LINE.c.id.in_(IDS), LINE.c.deleted_at.is_(None))


def places(connection: Connection, lines: Iterable[str]) -> dict[str, int]:
    """Return where these lines stand in the order of writing; erased ones are missing."""
    return {row.id: row.seq for row in connection.execute(_PLACES, {"ids": packed(map(clean, lines))})}


def decided_otherwise(connection: Connection, facts: Iterable[str]) -> bool:
    """Return whether anything but messages had a say about these facts: a judge, a record of state, somebody's undoing.

    Or is about to have one: something that they rest on is to be forgotten.
    """
    ids = packed(facts)
    settled = select(DECISION.c.seq).where(DECISION.c.fact_id.in_(IDS), DECISION.c.step.in_(_OTHERS)).limit(1)
    hidden = select(HIDDEN.c.document_seq).join(DOCUMENT, DOCUMENT.c.seq == HIDDEN.c.document_seq).where(DOCUMENT.c.id.in_(IDS))
    return any(connection.scalar(found, {"ids": ids}) is not None for found in (settled, hidden.limit(1)))


def superseders(connection: Connection, facts: Iterable[str]) -> dict[str, str]:
    """Return which other fact ended each of these, of those that another one ended."""
    ended = select(FACT.c.id, FACT.c.superseded_by).where(FACT.c.id.in_(IDS), FACT.c.superseded_by.is_not(None))
    return {row.id: row.superseded_by for row in connection.execute(ended, {"ids": packed(facts)})}


def end_anything(connection: Connection, facts: Iterable[str]) -> bool:
    """Return whether any of these facts ended another."""
    return (
        connection.scalar(select(FACT.c.id).where(FACT.c.superseded_by.in_(IDS)).limit(1), {"ids": packed(facts)}) is not None
    )


def restate(connection: Connection, fact: Fact, statement: Statement, by: str | None) -> list[str]:
    """Let a fact that is stored stand as given; return its id where it must be indexed again."""
    changed = put(connection, [document_for(fact, statement)])
    values: dict[str, Any] = {
        "valid_at": milliseconds(fact.valid_at),
        "invalid_at": milliseconds(fact.invalid_at),
        "expired_at": milliseconds(fact.expired_at),
        "superseded_by": by,
        "salience": fact.salience,
    }
    seen: dict[str, Any] = {"faded_at": None} if changed else {}  # what was written anew is in sight
    connection.execute(update(FACT).where(FACT.c.id == fact.id).values(**values, **seen))
    return changed


def said_again(connection: Connection, fact_id: str, at: datetime | None) -> None:
    """Note when a fact was last confirmed (None: never), where no answer used it later."""
    said = milliseconds(at)
    used = func.max(func.coalesce(FACT.c.used_at, 0), func.coalesce(said, 0))
    kept = case((FACT.c.uses > 0, func.nullif(used, 0)), else_=said)
    connection.execute(update(FACT).where(FACT.c.id == fact_id).values(used_at=kept))


def hand_over(connection: Connection, gone: str, heir: str, *, whole: bool) -> None:
    """Let a fact stand for one that goes, which says the same: in what was decided for its sake, and, `whole`, about itself."""
    connection.execute(update(DECISION).where(DECISION.c.by_id == gone).values(by_id=heir))
    if not whole:
        return
    connection.execute(update(DECISION).where(DECISION.c.fact_id == gone).values(fact_id=heir))
    names = ("created_at", "uses", "used_at")
    row = connection.execute(select(*(FACT.c[name] for name in names)).where(FACT.c.id == gone)).one()
    connection.execute(update(FACT).where(FACT.c.id == heir).values({name: getattr(row, name) for name in names}))


def redate(connection: Connection, source: str, *, until: datetime | None, ends: Iterable[datetime]) -> None:
    """Let a message be past as all that it states is. One that is not is open again, if it ended with one of `ends`."""
    message = update(DOCUMENT).where(DOCUMENT.c.id == derived_id("message", source))
    if until is None:
        message = message.where(DOCUMENT.c.invalid_at.in_([milliseconds(one) for one in ends]))
    connection.execute(message.values(invalid_at=milliseconds(until)))


def begin(connection: Connection, source: str, at: datetime | None) -> None:
    """Note from when on a message is true as a statement that ended something; None: it ends nothing."""
    message = update(DOCUMENT).where(DOCUMENT.c.id == derived_id("message", source))
    connection.execute(message.values(valid_at=milliseconds(at)))
