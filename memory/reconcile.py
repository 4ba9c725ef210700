"""What a new statement does to what is known: a fact more, one confirmed, one that is past, or nothing. Pure.

Cheap first: the same slot of the same subject, then the order in time, then likeness of the words. What none of them can tell
stays as it is, both standing, and is named for a judge (`left_open`). Contradiction ends a fact
and never deletes it; only a single-valued slot is contradicted by another value, never across disjoint times, and never by
something that was true earlier.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from rapidfuzz import fuzz

from memory.normalise import same_key, words
from memory.statements import ENDED, Fact, Statement, Step

ALIKE = 92.0  # ratio (0 to 100) of two objects' words, sorted, from which they are the same: a slip of the pen
NEAR = 65.0  # … from which they may be the same, or bear on each other
MOST_OPEN = 3  # facts that one statement is compared with by a judge
_SHORTEST = 5  # letters below which every letter counts: "Roma" is not "Como"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assert:
    """A fact more. Where something newer is known already, it is past from the beginning."""

    statement: Statement
    valid_at: datetime | None
    invalid_at: datetime | None = None
    superseded_by: str | None = None
    step: Step = "new"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revise:
    """A fact said again: one source more, and more salience."""

    fact_id: str
    source: str
    step: Step = "repeat"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invalidate:
    """A fact that is true no longer, from `at` on; at its own beginning: it never was."""

    fact_id: str
    at: datetime
    step: Step = "slot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Nothing to do, and why."""

    reason: str


Action = Assert | Revise | Invalidate | Skip


def reconcile(statement: Statement, known: Sequence[Fact]) -> tuple[Action, ...]:
    """Return what is to be done, in order; what ends comes before what begins.

    Args:
        statement: what was said.
        known: every fact about the same subject, past ones too; facts about others are not looked at.
    """
    own = [fact for fact in known if fact.subject == statement.subject]
    held = [fact for fact in own if fact.predicate == statement.predicate]
    if any(statement.source in fact.sources and _same(fact.object, statement.object) for fact in held):
        return (Skip(reason="is known from this message"),)
    current = [fact for fact in own if fact.current(statement.at)]
    wrong = [f for f in current if f.predicate == statement.predicate and statement.corrects in f.sources]
    if statement.effect == "corrects" and wrong:
        return _corrected(statement, wrong, own)
    same = next((fact for fact in current if fact.predicate == statement.predicate and _says_it(fact, statement)), None)
    if same is not None:
        step: Step = "repeat" if same_key(same.object) == same_key(statement.object) else "similarity"
        return (Revise(fact_id=same.id, source=statement.source, step=step), *_ended_by(statement, current, same))
    if statement.effect == "ends":
        return (*_ended(statement, current), Assert(statement=statement, valid_at=statement.valid_at))
    return (*_ended_by(statement, current, None), *_asserted(statement, own))


def is_known(fact: Fact, statement: Statement) -> bool:
    """Whether a fact rests on what the message of a statement says of the same, in these words or in fuller ones."""
    return statement.source in fact.sources and fact.predicate == statement.predicate and _says_it(fact, statement)


def _corrected(statement: Statement, wrong: Sequence[Fact], held: Sequence[Fact]) -> tuple[Action, ...]:
    """The correction stands in the place of what it corrects, from the same moment on."""
    since = wrong[0].valid_at
    ends = tuple(Invalidate(fact_id=fact.id, at=fact.begins, step="correction") for fact in wrong)
    right = replace(statement, valid_at=since)
    others = [fact for fact in held if fact not in wrong]
    added = [replace(one, statement=statement, step="correction") for one in _asserted(right, others)]
    current = [fact for fact in others if fact.current(statement.at)]
    return (*ends, *_ended_by(right, current, None), *added)


def _asserted(statement: Statement, held: Sequence[Fact]) -> Iterator[Assert]:
    """Yield the new fact. In a single-valued slot it begins behind what is past, and ends where the next one known begins.

    What leaves it no time, or goes on behind it, stands in its place: the new one never was.
    """
    rivals = [fact for fact in held if fact.predicate == statement.predicate and _lasts(fact)] if statement.slot.single else []
    begins = _behind(statement, rivals)
    moved = begins > statement.begins
    within = next((fact for fact in rivals if _covers(fact, statement) or (moved and _holds(fact, begins))), None)
    later = [fact for fact in rivals if fact.begins > begins]
    after = min(later, key=lambda fact: (fact.begins, fact.id), default=None)
    end, by = statement.invalid_at, None
    if within is not None:
        end, by = begins, within.id
    elif after is not None and (end is None or end > after.begins):
        end, by = after.begins, after.id
    elif end is not None:
        end = max(begins, end)
    since = begins if moved else statement.valid_at
    yield Assert(statement=statement, valid_at=since, invalid_at=end, superseded_by=by, step="time" if by else "new")


def _behind(statement: Statement, rivals: Sequence[Fact]) -> datetime:
    """Return from when a statement can hold: what was true before and is past is left as it is."""
    begins = statement.begins
    for fact in sorted(rivals, key=lambda fact: (fact.begins, fact.id)):
        if fact.invalid_at is not None and not fact.current(statement.at) and _holds(fact, begins):
            begins = fact.invalid_at
    return begins


def _lasts(fact: Fact) -> bool:
    """Whether a fact ever was true, by what is believed now: one that was taken back was not."""
    return fact.invalid_at is None or fact.invalid_at > fact.begins


def _holds(fact: Fact, at: datetime) -> bool:
    return fact.begins <= at and (fact.invalid_at is None or fact.invalid_at > at)


def _covers(fact: Fact, statement: Statement) -> bool:
    """Whether what is stated for a while lies within the time of a fact, which goes on behind it."""
    until = statement.invalid_at
    return until is not None and _holds(fact, statement.begins) and (fact.invalid_at is None or fact.invalid_at > until)


def _ended_by(statement: Statement, current: Sequence[Fact], same: Fact | None) -> tuple[Action, ...]:
    """Return the facts that cannot be true beside the statement from its beginning on."""
    if statement.effect == "ends":
        return ()
    begins = statement.begins
    rivals = [fact for fact in current if fact is not same and _holds(fact, begins) and _excludes(statement, fact)]
    if statement.invalid_at is not None:  # for a while: only what is of the same slot, and does not go on behind it
        rivals = [fact for fact in rivals if fact.predicate == statement.predicate and not _covers(fact, statement)]
    return tuple(Invalidate(fact_id=fact.id, at=begins, step=_step(statement, fact)) for fact in rivals)


def _step(statement: Statement, fact: Fact) -> Step:
    """Return what tells that the two exclude each other: that it changed, the slot alone, or that their words are alike."""
    if statement.change or fact.predicate.startswith(ENDED) or statement.effect == "ends":
        return "time"
    if fact.predicate == statement.predicate or same_key(fact.object) == same_key(statement.object):
        return "slot"
    return "similarity"


def _excludes(statement: Statement, fact: Fact) -> bool:
    slot, predicate = statement.slot, fact.predicate
    if predicate == statement.predicate:
        return slot.single
    if predicate == f"{ENDED}{statement.predicate}":
        return slot.single or not fact.object or _same(fact.object, statement.object)
    if slot.contrary and predicate == slot.contrary:
        return _same(fact.object, statement.object)
    return False


def _ended(statement: Statement, current: Sequence[Fact]) -> tuple[Action, ...]:
    """Return the facts that a statement of ending ends: of its slot those of the same words, or all where it names none."""
    predicate = statement.predicate.removeprefix(ENDED)
    meant = [
        fact
        for fact in current
        if fact.predicate == predicate
        and _holds(fact, statement.begins)
        and (not statement.object or _same(fact.object, statement.object))
    ]
    return tuple(Invalidate(fact_id=fact.id, at=statement.begins, step="time") for fact in meant)


def changed_with(statement: Statement, known: Sequence[Fact]) -> tuple[Invalidate, ...]:
    """Return what else is past where a statement says that something changed: older facts of the slots that change with it."""
    if not statement.change:
        return ()
    others = statement.slot.group
    return tuple(
        Invalidate(fact_id=fact.id, at=statement.begins, step="time")
        for fact in known
        if fact.subject == statement.subject
        and fact.current(statement.at)
        and fact.predicate in others
        and _holds(fact, statement.begins)
        and statement.source not in fact.sources
    )


def left_open(statement: Statement, known: Sequence[Fact], actions: Sequence[Action]) -> tuple[str, ...]:
    """Return the facts that no step could tell from what was just stated, nearest first; both stand meanwhile.

    Words that are near and not alike, the same plan on another date, and an ending of what no fact is called, where there is
    one that it can mean. A slot of one value leaves nothing open: the newest word stands. Nor do claims.
    """
    if statement.speaker or not any(isinstance(action, Assert) and action.invalid_at is None for action in actions):
        return ()
    gone = {action.fact_id for action in actions if isinstance(action, Invalidate)}
    current = [fact for fact in known if fact.subject == statement.subject and fact.current(statement.at)]
    beside = [fact for fact in current if fact.id not in gone and statement.source not in fact.sources]
    if statement.effect == "ends":
        return () if gone or not statement.object else _meant(statement, beside)
    if statement.slot.single or statement.invalid_at is not None:
        return ()
    slots = {statement.predicate, statement.slot.contrary} - {""}
    near = [fact for fact in beside if fact.predicate in slots and _near(statement.object, fact.object)]
    return _nearest(statement, near)


def _meant(statement: Statement, beside: Sequence[Fact]) -> tuple[str, ...]:
    """Return what an ending may mean that names nothing there is: what is near, else the only thing there is."""
    predicate = statement.predicate.removeprefix(ENDED)
    held = [fact for fact in beside if fact.predicate == predicate and fact.begins <= statement.begins]
    near = [fact for fact in held if _near(statement.object, fact.object)]
    return _nearest(statement, near or (held if len(held) == 1 else []))


def _nearest(statement: Statement, near: Sequence[Fact]) -> tuple[str, ...]:
    ranked = sorted(near, key=lambda fact: (-_likeness(statement.object, fact.object), fact.id))
    return tuple(fact.id for fact in ranked[:MOST_OPEN])


def _near(one: str, other: str) -> bool:
    """Whether two objects may be one thing: other numbers are other things, and short words are near nothing."""
    numbers = [{word for word in words(said) if any(char.isdigit() for char in word)} for said in (one, other)]
    if numbers[0] != numbers[1]:
        return False
    if _within(one, other) or _within(other, one):
        return True
    return min(len(one), len(other)) >= _SHORTEST and _likeness(one, other) >= NEAR


def _likeness(one: str, other: str) -> float:
    """How near two objects are: by all their words, or by those that both have."""
    left, right = " ".join(words(one)), " ".join(words(other))
    return float(max(fuzz.token_sort_ratio(left, right), fuzz.token_set_ratio(left, right)))


def _says_it(fact: Fact, statement: Statement) -> bool:
    """Whether a fact holds what is stated, or more; another year's exam is another one."""
    if statement.slot.name == "plan" and fact.valid_at != statement.valid_at:
        return False
    return _same(fact.object, statement.object) or _within(statement.object, fact.object)


def _within(new: str, old: str) -> bool:
    said, held = set(words(new)), set(words(old))
    return bool(said) and said < held


def _same(one: str, other: str) -> bool:
    left, right = same_key(one), same_key(other)
    if left == right:
        return True
    if min(len(left), len(right)) < _SHORTEST or any(char.isdigit() for char in left + right):
        return False
    return fuzz.token_sort_ratio(" ".join(words(one)), " ".join(words(other))) >= ALIKE
