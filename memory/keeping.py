"""Statements kept: each reconciled with what is known, and what follows from it written, within one transaction."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from memory.normalise import same_key
from memory.recipes import Quotas
from memory.reconcile import Assert, Invalidate, Revise, Skip, changed_with, left_open, reconcile
from memory.relations import Who, edge_of
from memory.salience import salience
from memory.statements import ENDED, Fact, Statement
from memory.store import facts, graph
from memory.store.decisions import Ledger
from memory.store.stamps import milliseconds, moment
from memory.verdicts import Verdict

_DAY = timedelta(days=1)


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
        self.refused = 0  # statements beyond their author's quota
        self.open: dict[str, list[tuple[str, str]]] = {}  # by stream: pairs of facts, the newer first, that no step could tell

    def take(self, statement: Statement, stream_id: str, sources: tuple[str, ...]) -> list[str]:
        """Reconcile one statement, which rests on `sources`, and write what follows; return the documents to index."""
        known = [fact for fact in self._facts.values() if fact.speaker == statement.speaker]
        actions = reconcile(statement, known)
        if isinstance(actions[0], Skip):
            return []
        if any(isinstance(action, Assert) for action in actions) and not self._may_tell(statement, stream_id):
            self.refused += 1
            return []
        own = facts.fact_id(statement, same_key(statement.object))
        by = next((action.fact_id for action in actions if isinstance(action, Revise)), own)
        self.ledger.act()
        written: list[str] = []
        ended: list[Invalidate] = []
        for action in (*actions, *changed_with(statement, known)):
            match action:
                case Assert():
                    written += self._add(action, own, stream_id, sources)
                case Revise():
                    written += self._confirm(self._facts[action.fact_id], action, statement)
                case Invalidate():
                    ended.append(action)
                case Skip():
                    pass
        for action in ended:
            self._end(action, by)
        self._leave_open(own, left_open(statement, known, actions), stream_id)
        if ended and statement.speaker is None:
            begins = milliseconds(min(statement.begins, statement.at))
            facts.date_message(self._connection, statement.source, valid_at=begins)
        return written

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
            self._end(Invalidate(fact_id=old_id, at=at, step="judge"), new_id)
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
        self._end(Invalidate(fact_id=new.id, at=new.begins, step="judge"), old.id)
        return written

    def _may_tell(self, statement: Statement, stream_id: str) -> bool:
        author = statement.speaker or statement.subject
        within = self._told[(author, stream_id)] < self._quotas.per_stream
        return within and self._told[(author, None)] < self._quotas.total

    def _count(self, fact: Fact) -> None:
        author = fact.speaker or fact.subject
        self._told[(author, None)] += 1
        if fact.stream_id is not None:
            self._told[(author, fact.stream_id)] += 1

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
            invalid_at=action.invalid_at or _over(statement),
            expired_at=moment(self._now) if action.superseded_by else None,
            salience=_salience(statement, 1),
            stream_id=stream_id,
            speaker=statement.speaker,
        )
        self._facts[id_] = fact
        self._count(fact)
        by = action.superseded_by
        written = facts.add(self._connection, fact, statement, now=self._now, superseded_by=by)
        edge = edge_of(fact, self._who)
        if edge is not None:
            graph.add(self._connection, edge)
        self.ledger.note(id_, "assert", action.step, invalid_at=milliseconds(fact.invalid_at), by=by)
        if by:
            self._date_messages(fact)
        return written

    def _confirm(self, fact: Fact, action: Revise, statement: Statement) -> list[str]:
        sources = (*fact.sources, statement.source)
        again = replace(fact, sources=sources, salience=_salience(statement, len(sources)))
        self._facts[fact.id] = again
        self.ledger.note(fact.id, "confirm", action.step, invalid_at=milliseconds(fact.invalid_at))
        return facts.confirm(self._connection, again, at=milliseconds(statement.at))

    def _end(self, action: Invalidate, by: str) -> None:
        ended = replace(self._facts[action.fact_id], invalid_at=action.at, expired_at=moment(self._now))
        self._facts[ended.id] = ended
        facts.end(self._connection, ended, by, now=self._now)
        self.ledger.note(ended.id, "end", action.step, invalid_at=milliseconds(action.at), by=by)
        self._date_messages(ended)

    def _date_messages(self, fact: Fact) -> None:
        """Mark the messages behind a past fact as past, where nothing else that they say is true still; claims date none."""
        if fact.speaker is not None:
            return
        for source in fact.sources:
            said = [other for other in self._facts.values() if source in other.sources and other.speaker is None]
            if all(other.invalid_at is not None for other in said):
                until = max(other.invalid_at for other in said if other.invalid_at is not None)
                facts.date_message(self._connection, source, invalid_at=milliseconds(until))


def _over(statement: Statement) -> datetime | None:
    """Return when a plan is over: after the day, month or year that was named."""
    if statement.slot.name != "plan" or statement.valid_at is None or statement.effect == "ends":
        return None
    start = statement.valid_at
    match statement.precision:
        case "year":
            return start.replace(year=start.year + 1)
        case "month":
            return start.replace(year=start.year + start.month // 12, month=start.month % 12 + 1)
        case _:
            return start + _DAY


def _salience(statement: Statement, times: int) -> float:
    """What it weighs without its age, which is reckoned when it is asked for."""
    return salience(statement.slot.importance, at=statement.at, now=statement.at, repetitions=times)
