"""Statements kept: each reconciled with what is known, and what follows from it written, within one transaction."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy import Connection

from memory.recipes import Quotas
from memory.relations import Who
from memory.retelling import Area, Retelling, add_with_edge, told_whole
from memory.statements import ENDED, Fact, Statement, Step
from memory.store import facts, order
from memory.store.decisions import Ledger
from memory.store.stamps import milliseconds, moment
from memory.taking import Change, Said, Told, take, tell
from memory.verdicts import Verdict


class Keeper:
    """What is known of some viewers within one transaction, kept equal to the rows as they change."""

    def __init__(self, connection: Connection, held: Sequence[Fact], now: datetime, *, quotas: Quotas, who: Who) -> None:
        """`held`: every fact and claim of the authors of what is to be taken; `who` says which viewer a name means."""
        self._connection = connection
        self._facts = {fact.id: fact for fact in held}
        self._now = milliseconds(now)
        self._quotas = quotas
        self._who = who
        self._told: Counter[tuple[str, str | None]] = Counter()
        for fact in held:
            self._count(fact)
        self.ledger = Ledger(connection, self._now)
        self._retold: list[tuple[Told, Mapping[str, Fact]]] = []  # with what stood before
        self.removed: dict[str, list[str]] = {}  # by collection: documents that went, since another fact says what they said
        self.refused = 0  # statements beyond their author's quota
        self.open: dict[str, list[tuple[str, str]]] = {}  # by stream: pairs of facts, the newer first, that no step could tell

    def take(self, said: Said) -> list[str]:
        """Reconcile one statement and write what follows; return the documents to index."""
        taken = take(said, self._facts.values(), moment(self._now))
        statement = said.statement
        if not all(self._may_tell(change.fact) for change in taken.changes if change.verb == "assert"):
            self.refused += 1
            return []
        if not taken.changes:
            return []
        self.ledger.act()
        written = [id_ for change in taken.changes for id_ in self._write(change, statement)]
        self._leave_open(said.fact_id, taken.open, said.stream_id)
        if taken.ends and statement.speaker is None:
            begins = milliseconds(min(statement.begins, statement.at))
            facts.date_message(self._connection, statement.source, valid_at=begins)
        return written

    def _write(self, change: Change, statement: Statement) -> list[str]:
        match change.verb:
            case "assert":
                return self._add(change, statement)
            case "confirm":
                return self._confirm(change, statement)
            case "end":
                self._end(change.fact, change.step, str(change.by))
                return []

    def within(self, area: Area) -> dict[str, Fact]:
        """Return what is known in an area, by id."""
        return {fact.id: fact for fact in self._facts.values() if area.holds(fact)}

    def retell(self, area: Area, said: Sequence[Said], resting: Collection[str]) -> list[str] | None:
        """Take all statements of an area anew, in the order of `said`; return the documents to index.

        None, and nothing is changed, where more had a say about what is known there than these statements. `resting`:
        the messages that it rests on.
        """
        old = self.within(area)
        told = tell(said, moment(self._now))
        if not told_whole(told, old, resting) or order.decided_otherwise(self._connection, old):
            return None
        added = [fact for fact in told.facts.values() if fact.id not in old]
        if len(told.facts) > len(old) and not all(map(self._may_tell, added)):
            self.refused += 1
            return []
        retelling = Retelling(self._connection, self.ledger, moment(self._now), self._who)
        written = retelling.write(told, old)
        self._replace(old, retelling.facts)
        for collection, ids in retelling.removed.items():
            self.removed.setdefault(collection, []).extend(ids)
        self._retold.append((told, old))
        streams = {one.fact_id: one.stream_id for one in said}
        for new, other in told.open:
            if new not in old and other in told.facts:
                self._leave_open(new, [other], streams[new])
        return written

    def _replace(self, old: Iterable[str], new: Mapping[str, Fact]) -> None:
        for id_ in old:
            self._count(self._facts.pop(id_), -1)
        for fact in new.values():
            self._facts[fact.id] = fact
            self._count(fact)

    def date_again(self) -> None:
        """Mark messages of what was told anew as past, or as what ended something, as they turned out; claims date none."""
        before = [fact for _, old in self._retold for fact in old.values() if fact.speaker is None]
        since = [fact for told, _ in self._retold for fact in told.facts.values() if fact.speaker is None]
        ends = {fact.invalid_at for fact in before if fact.invalid_at is not None}
        begun = {source: at for told, _ in self._retold for source, at in told.begun.items()}
        again = {fact.id for fact in since}
        for source in dict.fromkeys(source for fact in (*before, *since) for source in fact.sources):
            order.redate(self._connection, source, until=self._past_from(source), ends=ends)
            beside = [fact.id for fact in self._facts.values() if source in fact.sources and fact.id not in again]
            if source in begun or not order.end_anything(self._connection, beside):
                order.begin(self._connection, source, begun.get(source))

    def _leave_open(self, id_: str, others: Sequence[str], stream_id: str) -> None:
        for other in others:
            self.ledger.note(id_, "confirm", "open", invalid_at=milliseconds(self._facts[id_].invalid_at))
            self.open.setdefault(stream_id, []).append((id_, other))

    def settle(self, new_id: str, old_id: str, verdict: Verdict) -> list[str]:
        """Carry out what a judge said of two facts, if both stand; return the documents to index.

        An ending is never the same as what it may end, and ends nothing that began after it.
        """
        new, old = self._facts.get(new_id), self._facts.get(old_id)
        now = moment(self._now)
        if new is None or old is None or not (new.current(now) and old.current(now)):
            return []
        self.ledger.act()
        ending = new.predicate.startswith(ENDED)
        if verdict == "replaces" and not (ending and old.begins > new.begins):
            at = old.begins if old.predicate == "plan" else max(old.begins, new.begins)  # a plan that was moved never was
            self._end(self._past(old, at), "judge", new_id)
        elif verdict == "same" and not ending and new.predicate == old.predicate:
            return self._unite(new, old)
        else:
            self.ledger.note(new_id, "confirm", "judge")
        return []

    def _unite(self, new: Fact, old: Fact) -> list[str]:
        """Let an older fact rest on what a newer one rests on, which never was another one."""
        sources = tuple(dict.fromkeys((*old.sources, *new.sources)))
        self._facts[old.id] = again = replace(old, sources=sources, salience=max(old.salience, new.salience))
        self.ledger.note(old.id, "confirm", "repeat")
        written = facts.confirm(self._connection, again, at=milliseconds(new.at))
        self._end(self._past(new, new.begins), "judge", old.id)
        return written

    def _past(self, fact: Fact, at: datetime) -> Fact:
        return replace(self._facts[fact.id], invalid_at=at, expired_at=moment(self._now))

    def _may_tell(self, fact: Fact) -> bool:
        author = fact.speaker or fact.subject
        within = self._told[(author, fact.stream_id)] < self._quotas.per_stream
        return within and self._told[(author, None)] < self._quotas.total

    def _count(self, fact: Fact, number: int = 1) -> None:
        author = fact.speaker or fact.subject
        self._told[(author, None)] += number
        if fact.stream_id is not None:
            self._told[(author, fact.stream_id)] += number

    def _add(self, change: Change, statement: Statement) -> list[str]:
        fact, by = change.fact, change.by
        self._facts[fact.id] = fact
        self._count(fact)
        written = add_with_edge(self._connection, fact, statement, by=by, now=self._now, who=self._who)
        self.ledger.note(fact.id, "assert", change.step, invalid_at=milliseconds(fact.invalid_at), by=by)
        if by:
            self._date_messages(fact)
        return written

    def _confirm(self, change: Change, statement: Statement) -> list[str]:
        fact = self._facts[change.fact.id] = change.fact
        self.ledger.note(fact.id, "confirm", change.step, invalid_at=milliseconds(fact.invalid_at))
        return facts.confirm(self._connection, fact, at=milliseconds(statement.at))

    def _end(self, ended: Fact, step: Step, by: str) -> None:
        self._facts[ended.id] = ended
        facts.end(self._connection, ended, by, now=self._now)
        self.ledger.note(ended.id, "end", step, invalid_at=milliseconds(ended.invalid_at), by=by)
        self._date_messages(ended)

    def _date_messages(self, fact: Fact) -> None:
        """Mark the messages behind a past fact as past, where nothing else that they say is true still; claims date none."""
        if fact.speaker is not None:
            return
        for source in fact.sources:
            until = self._past_from(source)
            if until is not None:
                facts.date_message(self._connection, source, invalid_at=milliseconds(until))

    def _past_from(self, source: str) -> datetime | None:
        """Return from when on nothing is true any more that a message says, None where something is, or nothing ended."""
        said = [other for other in self._facts.values() if source in other.sources and other.speaker is None]
        ends = [other.invalid_at for other in said if other.invalid_at is not None]
        ended = any(other.expired_at is not None for other in said)  # a plan whose day has passed did not
        return max(ends) if ended and len(ends) == len(said) else None
