"""Facts told anew: what statements amount to in the order in which they were said, put in the place of what stands.

Jobs are not carried out in the order of the messages: what a kill interrupted, or failed, comes later. So a statement that is
read behind later ones of its kind is taken together with them, from the beginning on, as if it had come in time.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from sqlalchemy import Connection

from memory.relations import Who, edge_of
from memory.statements import Fact, Statement, slot_of
from memory.store import facts, graph, order
from memory.store.decisions import Ledger
from memory.store.document_writes import remove
from memory.store.stamps import milliseconds
from memory.taking import Told, names_of


@dataclass(frozen=True, slots=True)
class Area:
    """What statements can bear on each other: of one speaker, about one subject, in slots that hang together."""

    subject: str
    speaker: str | None
    slots: frozenset[str]

    def holds(self, fact: Fact) -> bool:
        """Whether a fact lies in it."""
        return (fact.subject, fact.speaker) == (self.subject, self.speaker) and slot_of(fact.predicate) in self.slots


def area_of(statement: Statement) -> Area:
    """Return where a statement may change something."""
    return Area(statement.subject, statement.speaker, names_of(statement))


@dataclass(slots=True, kw_only=True)
class Late:
    """Statements that were read behind later ones, and the messages to be read again with them."""

    statements: list[Statement] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)


def told_whole(told: Told, old: Iterable[str], resting: Collection[str]) -> bool:
    """Whether all that the old facts say was told again: each stands, or is part of another one now, as are its messages.

    `resting` are these messages. What came from another reader than the rules is not told again.
    """
    heard = {source for fact in told.facts.values() for source in fact.sources}
    return all(id_ in told.facts or id_ in told.kept for id_ in old) and heard.issuperset(resting)


class Retelling:
    """Writes what was told anew, within one transaction and as one act."""

    def __init__(self, connection: Connection, ledger: Ledger, now: datetime, who: Who) -> None:
        """Note decisions in `ledger`, made at `now`; `who` says which viewer a name means."""
        self._connection = connection
        self._ledger = ledger
        self._now = milliseconds(now)
        self._who = who
        self.facts: dict[str, Fact] = {}  # as they stand afterwards
        self.removed: dict[str, list[str]] = {}  # by collection: documents of facts that became part of another

    def write(self, told: Told, old: Mapping[str, Fact]) -> list[str]:
        """Put `told` in the place of the old facts; return the documents to index."""
        gone = [id_ for id_ in old if id_ not in told.facts]
        forebears = {told.kept[id_]: id_ for id_ in reversed(gone) if told.kept[id_] not in old}
        before = order.superseders(self._connection, old)
        self._ledger.act()
        written: list[str] = []
        for fact in told.facts.values():
            known = old.get(fact.id)
            written += self._add(fact, told) if known is None else self._restate(fact, known, told, before.get(fact.id))
        for id_ in gone:
            heir = told.kept[id_]
            order.hand_over(self._connection, id_, heir, whole=forebears.get(heir) == id_)
        before = {id_: told.kept.get(by, by) for id_, by in before.items()}
        for fact in self.facts.values():
            forebear = forebears.get(fact.id, fact.id)
            self._decide(fact, told, old.get(forebear), before.get(forebear))
        self.removed = remove(self._connection, gone)
        for id_ in self.facts:
            order.said_again(self._connection, id_, told.confirmed.get(id_))
        return written

    def _add(self, fact: Fact, told: Told) -> list[str]:
        self.facts[fact.id] = fact
        return add_with_edge(self._connection, fact, told.basis[fact.id], by=_by(fact, told), now=self._now, who=self._who)

    def _restate(self, fact: Fact, known: Fact, told: Told, ended_by: str | None) -> list[str]:
        since = fact.expired_at and (known.expired_at or fact.expired_at)
        again = self.facts[fact.id] = replace(fact, expired_at=since)
        by = _by(fact, told)
        if known == again and ended_by == by:
            return []
        return order.restate(self._connection, again, told.basis[fact.id], by)

    def _decide(self, fact: Fact, told: Told, known: Fact | None, ended_by: str | None) -> None:
        """Note what is believed from now on that was not."""
        by, until = _by(fact, told), milliseconds(fact.invalid_at)
        if known is None:
            self._ledger.note(fact.id, "assert", told.steps[fact.id], invalid_at=until, by=by)
            return
        if known.id != fact.id or known.sources != fact.sources:
            self._ledger.note(fact.id, "confirm", "repeat", invalid_at=until)
        if (milliseconds(known.invalid_at), ended_by) != (until, by):
            step = told.ended[fact.id].step if by else "time"
            self._ledger.note(fact.id, "end" if by else "reopen", step, invalid_at=until, by=by)


def add_with_edge(connection: Connection, fact: Fact, statement: Statement, *, by: str | None, now: int, who: Who) -> list[str]:
    """Write a fact, ended by another one where `by` names it, and its edge of the graph; return the documents to index."""
    written = facts.add(connection, fact, statement, now=now, superseded_by=by)
    edge = edge_of(fact, who)
    if edge is not None:
        graph.add(connection, edge)
    return written


def _by(fact: Fact, told: Told) -> str | None:
    ended = told.ended.get(fact.id)
    return ended.by if ended else None
