"""What is known, in memory alone, and how statements change it one after another: facts added, confirmed, ended. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from memory.reconcile import Assert, Invalidate, Revise, Skip, changed_with, left_open, reconcile
from memory.salience import salience
from memory.statements import Fact, Statement, Step

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A statement, and what becomes of its fact should it make one."""

    statement: Statement
    fact_id: str
    stream_id: str
    sources: tuple[str, ...]  # the message, and the command that put it right


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What one statement did to one fact, which is given as it is from there on."""

    verb: Literal["assert", "confirm", "end"]
    fact: Fact
    step: Step
    by: str | None = None  # the fact that it ended for


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one statement did, in order, and which facts no step could tell from the one that it made."""

    changes: tuple[Change, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether something is past."""
        return any(change.verb == "end" for change in self.changes)


def take(said: Said, held: Iterable[Fact], now: datetime) -> Taken:
    """Return what a statement does to what is held: facts of the same speaker are looked at alone."""
    statement = said.statement
    known = [fact for fact in held if fact.speaker == statement.speaker]
    actions = reconcile(statement, known)
    if isinstance(actions[0], Skip):
        return Taken()
    by = next((action.fact_id for action in actions if isinstance(action, Revise)), said.fact_id)
    facts = {fact.id: fact for fact in known}
    ended = [action for action in (*actions, *changed_with(statement, known)) if isinstance(action, Invalidate)]
    begun = [_begun(action, said, facts, now) for action in actions if isinstance(action, Assert | Revise)]
    ends = [_ended(action, facts[action.fact_id], by, now) for action in ended]
    return Taken(changes=(*begun, *ends), open=left_open(statement, known, actions))


def _begun(action: Assert | Revise, said: Said, facts: dict[str, Fact], now: datetime) -> Change:
    if isinstance(action, Revise):
        return _confirmed(facts[action.fact_id], action.step, said.statement)
    return _asserted(action, said, now)


def _confirmed(fact: Fact, step: Step, statement: Statement) -> Change:
    sources = tuple(dict.fromkeys((*fact.sources, statement.source)))
    again = replace(fact, sources=sources, salience=_salience(statement, len(sources)))
    return Change(verb="confirm", fact=again, step=step)


def _asserted(action: Assert, said: Said, now: datetime) -> Change:
    statement = action.statement
    fact = Fact(
        id=said.fact_id,
        subject=statement.subject,
        predicate=statement.predicate,
        object=statement.object,
        at=statement.at,
        sources=said.sources,
        valid_at=action.valid_at,
        invalid_at=action.invalid_at or _over(statement),
        expired_at=now if action.superseded_by else None,
        salience=_salience(statement, 1),
        stream_id=said.stream_id,
        speaker=statement.speaker,
    )
    return Change(verb="assert", fact=fact, step=action.step, by=action.superseded_by)


def _ended(action: Invalidate, fact: Fact, by: str, now: datetime) -> Change:
    return Change(verb="end", fact=replace(fact, invalid_at=action.at, expired_at=now), step=action.step, by=by)


@dataclass(slots=True, kw_only=True)
class Told:
    """What statements that are taken from the beginning amount to."""

    facts: dict[str, Fact] = field(default_factory=dict)
    basis: dict[str, Statement] = field(default_factory=dict)  # by fact: whose words it has
    ended: dict[str, Change] = field(default_factory=dict)  # by fact: what ended it
    begun: dict[str, datetime] = field(default_factory=dict)  # by message that ended something: from when on
    open: list[tuple[str, str]] = field(default_factory=list)  # pairs that no step could tell, the newer first
    steps: dict[str, Step] = field(default_factory=dict)  # by fact: what settled that it is one
    kept: dict[str, str] = field(default_factory=dict)  # by the fact that a statement would have made: the one it confirms
    confirmed: dict[str, datetime] = field(default_factory=dict)  # by fact: when it was said last


def tell(said: Sequence[Said], now: datetime) -> Told:
    """Take statements one after another, from nothing."""
    told = Told()
    for one in said:
        taken = take(one, told.facts.values(), now)
        for change in taken.changes:
            _apply(told, change, one)
        told.open += [(one.fact_id, other) for other in taken.open]
        if taken.ends and one.statement.speaker is None:
            told.begun[one.statement.source] = min(one.statement.begins, one.statement.at)
    return told


def _apply(told: Told, change: Change, said: Said) -> None:
    id_ = change.fact.id
    told.facts[id_] = change.fact
    match change.verb:
        case "assert":
            told.basis[id_], told.steps[id_] = said.statement, change.step
        case "confirm":
            told.kept[said.fact_id] = id_
            told.confirmed[id_] = max(said.statement.at, told.confirmed.get(id_, said.statement.at))
        case "end":
            pass
    if change.by is not None:
        told.ended[id_] = change


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


def names_of(statement: Statement) -> frozenset[str]:
    """Return the slots that a statement bears on: its own, what changes with it, and its contrary."""
    slot = statement.slot
    return frozenset({slot.name, *slot.group, slot.contrary} - {""})
