"""What was believed, and when: both axes of time over random courses of statements, corrections and reversals."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from builders_facts import DAY0, HOME, LIKE, on, stated
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.reconcile import Assert, Invalidate, Revise, reconcile
from memory.statements import Fact, Statement
from memory.timeline import Chronicle, Decision, believed, latest

PLACES = ("Torino", "Bologna", "Lecce")


@dataclass
class Course:
    """A memory in small: facts with their decisions, and a copy of what stood after each step."""

    chronicles: dict[str, Chronicle] = field(default_factory=dict)
    snapshots: list[tuple[datetime, dict[str, Chronicle]]] = field(default_factory=list)
    seq: int = 0

    def decide(self, at: datetime, fact_id: str, verb: str, **values: object) -> None:
        self.seq += 1
        decision = Decision(seq=self.seq, act=self.seq, fact_id=fact_id, at=at, verb=verb, step="new", **values)  # type: ignore[arg-type] # one of the verbs
        held = self.chronicles[fact_id]
        self.chronicles[fact_id] = replace(held, decisions=(*held.decisions, decision))

    def known(self) -> list[Fact]:
        found = []
        for one in self.chronicles.values():
            last = latest(one.decisions)
            assert last is not None
            over = last.by is not None or not last.stands
            fact = Fact(id=one.id, subject=one.subject, predicate=one.predicate, object=one.object, at=one.said_at, sources=())
            ends = last.invalid_at if last.stands else one.begins
            fact = replace(fact, valid_at=one.valid_at, invalid_at=ends, expired_at=last.at if over else None)
            found.append(replace(fact, sources=one.provenance))
        return found

    def take(self, statement: Statement, now: datetime) -> None:
        own = f"f{len(self.chronicles)}"
        for action in reconcile(statement, self.known()):
            match action:
                case Assert():
                    self.chronicles[own] = chronicle(own, statement, now, valid_at=action.valid_at)
                    self.decide(now, own, "assert", invalid_at=action.invalid_at, by=action.superseded_by)
                case Revise():
                    again = self.chronicles[action.fact_id]
                    sources = (*again.provenance, statement.source)
                    self.chronicles[again.id] = replace(again, provenance=sources)
                    self.decide(now, action.fact_id, "confirm")
                case Invalidate():
                    self.decide(now, action.fact_id, "end", invalid_at=action.at, by=own)
        self.snapshots.append((now, dict(self.chronicles)))


def chronicle(id_: str, statement: Statement, now: datetime, *, valid_at: datetime | None) -> Chronicle:
    return Chronicle(
        id=id_,
        subject=statement.subject,
        speaker=None,
        predicate=statement.predicate,
        object=statement.object,
        text=statement.text,
        said_at=statement.at,
        provenance=(statement.source,),
        valid_at=valid_at,
        invalid_at=None,
        created_at=now,
        expired_at=None,
        superseded_by=None,
    )


STEP = st.tuples(st.sampled_from(PLACES), st.sampled_from([HOME, LIKE]), st.integers(-1, 40), st.booleans())


def a_course(steps: list[tuple[str, object, int, bool]]) -> Course:
    course = Course()
    before = ""
    for number, (place, slot, since, corrects) in enumerate(steps):
        now, source = on(number), f"m{number}"
        changes: dict[str, object] = {"valid_at": on(since) if since >= 0 else None}
        if corrects and before:
            changes |= {"effect": "corrects", "corrects": before}
        course.take(stated(place, slot=slot, day=number, source=source, **changes), now)  # type: ignore[arg-type] # a slot
        before = source
    return course


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=8), st.integers(-2, 45))
def test_what_was_known_then_is_what_stood_then_whatever_came_after(
    steps: list[tuple[str, object, int, bool]], day: int
) -> None:
    course = a_course(steps)
    for now, then in course.snapshots:
        for as_of in (None, on(day)):
            told = {id_ for id_, one in course.chronicles.items() if believed(one, as_of=as_of, known_at=now)}
            assert told == {id_ for id_, one in then.items() if believed(one, as_of=as_of, known_at=now)}
            assert told <= then.keys()


@settings(max_examples=150, deadline=None)
@given(st.lists(STEP, min_size=1, max_size=8), st.integers(-1, 9))
def test_at_no_moment_were_two_values_of_a_single_slot_taken_for_the_present_one(
    steps: list[tuple[str, object, int, bool]], known: int
) -> None:
    course = a_course(steps)
    homes = [one for one in course.chronicles.values() if one.predicate == "home"]
    assert sum(believed(one, as_of=None, known_at=on(known)) for one in homes) == (
        1 if homes and homes[0].created_at <= on(known) else 0
    )


def test_before_it_was_said_nothing_was_known_of_it() -> None:
    course = a_course([("Torino", HOME, 0, False)])
    (one,) = course.chronicles.values()
    assert not believed(one, as_of=on(5), known_at=DAY0 - timedelta(seconds=1))
    assert believed(one, as_of=on(5), known_at=DAY0)
    assert not believed(one, as_of=on(-1), known_at=DAY0)


def test_an_end_is_known_from_the_moment_it_was_said_and_holds_from_the_moment_it_names() -> None:
    course = a_course([("Torino", HOME, -1, False), ("Lecce", LIKE, -1, False), ("Bologna", HOME, 1, False)])
    old = course.chronicles["f0"]
    assert believed(old, as_of=on(1.5), known_at=on(1.5))  # nobody knew yet
    assert not believed(old, as_of=on(1.5), known_at=on(2))
    assert believed(old, as_of=on(0.5), known_at=on(2))  # it was true before
    assert believed(old, as_of=None, known_at=on(1.5))
    assert not believed(old, as_of=None, known_at=None)


def test_what_was_taken_back_was_believed_before_and_not_after() -> None:
    course = a_course([("Torino", HOME, -1, False)])
    course.decide(on(3), "f0", "retract")
    course.decide(on(5), "f0", "reopen")
    one = course.chronicles["f0"]
    assert [believed(one, as_of=on(1), known_at=on(day)) for day in (2, 4, 6)] == [True, False, True]


def test_a_confirmation_says_nothing_about_an_end() -> None:
    course = a_course([("Torino", HOME, -1, False), ("Bologna", HOME, -1, False)])
    course.decide(on(4), "f0", "confirm")
    last = latest(course.chronicles["f0"].decisions)
    assert last is not None
    assert last.verb == "end"
