"""What a new statement does to what is known."""

from dataclasses import replace
from datetime import datetime

import pytest
from builders_facts import DISLIKE, GAME, HOME, LIKE, OWN, PLAN, PROFESSION, WORKPLACE, held, on, stated
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.reconcile import Action, Assert, Invalidate, Revise, Skip, changed_with, left_open, reconcile
from memory.statements import Fact, Slot, Statement


def ended(actions: tuple[Action, ...]) -> dict[str, datetime]:
    return {action.fact_id: action.at for action in actions if isinstance(action, Invalidate)}


def asserted(actions: tuple[Action, ...]) -> Assert:
    (one,) = [action for action in actions if isinstance(action, Assert)]
    return one


def test_something_new_is_one_fact_more() -> None:
    one = stated("Torino")
    assert reconcile(one, ()) == (Assert(statement=one, valid_at=None),)


def test_a_newer_value_of_a_single_valued_slot_ends_the_older_from_its_own_beginning_on() -> None:
    old = held("Torino")
    actions = reconcile(stated("Bologna", valid_at=on(5)), [old])
    assert ended(actions) == {old.id: on(5)}
    assert asserted(actions).invalid_at is None


def test_values_of_other_slots_and_of_other_people_are_left_alone() -> None:
    known = [held("Torino", slot=Slot(name="origin", single=True)), held("Torino", subject="1002")]
    assert ended(reconcile(stated("Bologna"), known)) == {}


def test_what_was_true_earlier_does_not_supersede_and_ends_where_the_newer_begins() -> None:
    new = held("Bologna", day=8)
    actions = reconcile(stated("Torino", day=10, valid_at=on(2)), [new])
    assert ended(actions) == {}
    assert (asserted(actions).invalid_at, asserted(actions).superseded_by) == (on(8), new.id)


def test_disjoint_times_do_not_touch() -> None:
    new = held("Bologna", day=8)
    past = stated("Torino", day=10, valid_at=on(1), invalid_at=on(3))
    actions = reconcile(past, [new])
    assert ended(actions) == {}
    assert (asserted(actions).invalid_at, asserted(actions).superseded_by) == (on(3), None)


def test_what_is_past_already_is_not_ended_again() -> None:
    past = held("Torino", invalid_at=on(3), expired_at=on(3))
    assert ended(reconcile(stated("Bologna"), [past])) == {}


def test_values_of_a_many_valued_slot_add_up() -> None:
    actions = reconcile(stated("Factorio", slot=GAME), [held("Hades", slot=GAME)])
    assert ended(actions) == {}
    assert asserted(actions).statement.object == "Factorio"


@pytest.mark.parametrize("again", ["Torino", "TORINO!", "torinò", "Tórino"])
def test_the_same_again_confirms_and_adds_no_row(again: str) -> None:
    old = held("Torino")
    assert reconcile(stated(again), [old]) == (Revise(fact_id=old.id, source="m9"),)


def test_less_than_what_is_known_confirms_it_and_more_supersedes_it() -> None:
    old = held("Bologna", slot=HOME)
    fuller = stated("Bologna vicino alla stazione")
    assert ended(reconcile(fuller, [old])) == {old.id: fuller.at}
    assert reconcile(stated("Bologna"), [held("Bologna vicino alla stazione")])[0] == Revise(
        fact_id="f-m1-Bologna vicino alla stazione", source="m9", step="similarity"
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [("Lisbona", "Lisbonna", True), ("Roma", "Como", False), ("RTX 3060", "RTX 3070", False), ("il mare", "mare, il", True)],
)
def test_a_slip_of_the_pen_is_the_same_and_another_short_word_is_not(one: str, other: str, same: bool) -> None:
    actions = reconcile(stated(other, slot=GAME), [held(one, slot=GAME)])
    assert isinstance(actions[0], Revise) is same


def test_the_same_message_again_changes_nothing_even_after_its_fact_ended() -> None:
    past = held("Torino", source="m9", invalid_at=on(3), expired_at=on(3))
    assert isinstance(reconcile(stated("Torino", source="m9"), [past])[0], Skip)


def test_a_correction_was_true_from_where_the_wrong_one_was_said_to_be() -> None:
    wrong = held("Torino", valid_at=on(0))
    actions = reconcile(stated("Trento", effect="corrects", corrects="m1"), [wrong])
    assert ended(actions) == {wrong.id: on(0)}  # it never was
    assert asserted(actions).valid_at == on(0)


def test_a_correction_of_nothing_known_is_a_statement() -> None:
    assert asserted(reconcile(stated("Trento", effect="corrects", corrects="m0"), [held("Torino")])).valid_at is None


def test_an_end_names_what_ends_or_ends_all_of_the_slot() -> None:
    hades, factorio = held("Hades", slot=GAME), held("Factorio", slot=GAME)
    gone = stated("Hades", slot=GAME, predicate="not:game", effect="ends")
    assert ended(reconcile(gone, [hades, factorio])) == {hades.id: gone.at}
    job = held("cuoco", slot=PROFESSION)
    quit_ = stated("", slot=PROFESSION, predicate="not:profession", effect="ends", valid_at=on(4))
    actions = reconcile(quit_, [job])
    assert ended(actions) == {job.id: on(4)}
    assert asserted(actions).statement == quit_


def test_what_ended_and_begins_again_is_no_longer_over() -> None:
    over = held("Hades", slot=GAME, predicate="not:game")
    assert set(ended(reconcile(stated("Hades", slot=GAME), [over]))) == {over.id}
    assert ended(reconcile(stated("Factorio", slot=GAME), [over])) == {}
    jobless = held("", slot=PROFESSION, predicate="not:profession")
    assert set(ended(reconcile(stated("cuoco", slot=PROFESSION), [jobless]))) == {jobless.id}


def test_the_same_thing_cannot_be_liked_and_disliked() -> None:
    liked = held("olive", slot=LIKE)
    assert set(ended(reconcile(stated("olive", slot=DISLIKE), [liked]))) == {liked.id}
    assert ended(reconcile(stated("capperi", slot=DISLIKE), [liked])) == {}


def test_a_plan_of_another_day_is_another_plan() -> None:
    exam = held("esame", slot=PLAN, valid_at=on(3))
    assert isinstance(reconcile(stated("esame", slot=PLAN, valid_at=on(20)), [exam])[0], Assert)
    assert isinstance(reconcile(stated("esame", slot=PLAN, valid_at=on(3)), [exam])[0], Revise)


def test_a_change_ends_what_changes_with_it_and_a_plain_statement_does_not() -> None:
    place, later = held("libreria", slot=WORKPLACE), held("forno", slot=WORKPLACE, day=30, source="m2")
    change = stated("cuoco", slot=PROFESSION, change=True)
    assert [action.fact_id for action in changed_with(change, [place, later])] == [place.id]
    assert changed_with(replace(change, change=False), [place]) == ()
    assert changed_with(change, [replace(place, sources=("m9",))]) == ()  # the same message says both


FACTS = st.builds(
    lambda said, day, source, past: held(said, day=day, source=source, invalid_at=on(day + 1) if past else None),
    st.sampled_from(["Torino", "Bologna", "Lecce", "Udine"]),
    st.integers(0, 40),
    st.sampled_from([f"m{n}" for n in range(12)]),
    st.booleans(),
)
STATED = st.builds(
    lambda said, day, since, source: stated(said, day=day, source=source, valid_at=on(since) if since >= 0 else None),
    st.sampled_from(["Torino", "Bologna", "Lecce", "Udine"]),
    st.integers(0, 40),
    st.integers(-1, 40),
    st.sampled_from([f"m{n}" for n in range(20, 32)]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(FACTS, max_size=6, unique_by=lambda fact: fact.id), STATED)
def test_nothing_is_ended_by_something_older_nor_outside_its_slot(known: list[Fact], statement: Statement) -> None:
    by_id = {fact.id: fact for fact in known}
    for identity, at in ended(reconcile(statement, known)).items():
        fact = by_id[identity]
        assert fact.current(statement.at)
        assert fact.predicate == statement.predicate
        assert fact.begins <= at == statement.begins


@settings(max_examples=200, deadline=None)
@given(st.lists(STATED, max_size=8))
def test_however_statements_come_one_value_of_a_single_slot_is_current(statements: list[Statement]) -> None:
    facts: dict[str, Fact] = {}
    for number, statement in enumerate(statements):
        for action in reconcile(statement, list(facts.values())):
            if isinstance(action, Assert):
                one = held(statement.object, source=f"{statement.source}.{number}", valid_at=action.valid_at)
                past = statement.at if action.superseded_by else None
                one = replace(one, at=statement.at, sources=(statement.source,), invalid_at=action.invalid_at, expired_at=past)
                facts[one.id] = one
            elif isinstance(action, Invalidate):
                facts[action.fact_id] = replace(facts[action.fact_id], invalid_at=action.at, expired_at=statement.at)
            elif isinstance(action, Revise):
                known = facts[action.fact_id]
                facts[action.fact_id] = replace(known, sources=(*known.sources, action.source))
    current = [fact for fact in facts.values() if fact.current(on(99))]
    assert len(current) == (1 if statements else 0)
    for fact in facts.values():
        assert fact.invalid_at is None or fact.invalid_at >= fact.begins


@pytest.mark.parametrize(
    ("statement", "known", "expected"),
    [
        (stated("chitarre antiche", slot=OWN), held("chitarre vecchie", slot=OWN), True),
        (stated("gatti neri", slot=LIKE), held("gatti", slot=LIKE), True),  # more than was said, or something else
        (stated("gatti neri", slot=LIKE), held("gatti", slot=DISLIKE), True),
        (stated("PS5 bianca", slot=OWN), held("PS4 bianca", slot=OWN), False),  # another number, another thing
        (stated("batteria", slot=OWN), held("basso", slot=OWN), False),
        (stated("Roma", slot=OWN), held("Rom", slot=OWN), False),  # too short to be near anything
        (stated("CS", slot=GAME, predicate="not:game", effect="ends"), held("Counter Strike", slot=GAME), True),  # the only one
        (stated("Hades", slot=GAME, predicate="not:game", effect="ends"), held("Hades", slot=GAME), False),  # settled
        (stated("Como"), held("Comune di Como"), False),  # one value: the newest stands
        (stated("chitarre antiche", slot=OWN, speaker="7"), held("chitarre vecchie", slot=OWN), False),  # a claim
        (stated("chitarre antiche", slot=OWN), held("chitarre vecchie", slot=OWN, invalid_at=on(5), expired_at=on(5)), False),
    ],
    ids=range(11),
)
def test_what_no_step_can_tell_is_named(statement: Statement, known: Fact, expected: bool) -> None:
    actions = reconcile(statement, [known])
    assert left_open(statement, [known], actions) == ((known.id,) if expected else ())


def test_the_same_plan_on_another_date_is_left_open() -> None:
    first = held("esame di guida", slot=PLAN, valid_at=on(20), invalid_at=on(21))
    moved = stated("esame di guida", slot=PLAN, valid_at=on(30))
    assert left_open(moved, [first], reconcile(moved, [first])) == (first.id,)


def test_of_several_things_an_ending_means_what_is_near_or_nothing() -> None:
    known = [held("Counter Strike", slot=GAME), held("Rocket League", slot=GAME, source="m2")]
    for said, meant in (("CS", ()), ("Rocket", (known[1].id,))):
        ending = stated(said, slot=GAME, predicate="not:game", effect="ends")
        assert left_open(ending, known, reconcile(ending, known)) == meant


def test_no_more_than_three_are_named_the_nearest_first() -> None:
    known = [
        held(f"gatti {kind}", slot=LIKE, source=f"m{n}")
        for n, kind in enumerate(("neri", "rossi", "bianchi", "persiani", "grigi"))
    ]
    said = stated("gatti nerissimi", slot=LIKE)
    found = left_open(said, known, reconcile(said, known))
    assert (len(found), found[0]) == (3, known[0].id)


_DAYS = st.integers(min_value=0, max_value=40)
_SAID = st.tuples(
    st.sampled_from(["Torino", "Como", "Varese", "Lecce"]),
    st.sampled_from(["is", "is", "is", "ends", "corrects"]),
    st.booleans(),  # says that it changed
    st.none() | _DAYS,  # since when
    st.none() | st.integers(min_value=1, max_value=20),  # for so many days
)


def _next(facts: dict[str, Fact], said: Statement) -> dict[str, Fact]:
    """What is believed after a statement, as the keeper of facts has it."""
    after = dict(facts)
    id_ = f"{said.predicate}-{said.object}-{said.source}"
    actions = reconcile(said, list(facts.values()))
    for action in (*actions, *changed_with(said, list(facts.values()))):
        if isinstance(action, Assert):
            after[id_] = Fact(
                id=id_,
                subject=said.subject,
                predicate=said.predicate,
                object=said.object,
                at=said.at,
                sources=(said.source,),
                valid_at=action.valid_at,
                invalid_at=action.invalid_at,
                expired_at=said.at if action.superseded_by else None,
            )
        elif isinstance(action, Revise):
            fact = after[action.fact_id]
            after[fact.id] = replace(fact, sources=(*fact.sources, said.source))
        elif isinstance(action, Invalidate):
            after[action.fact_id] = replace(after[action.fact_id], invalid_at=action.at, expired_at=said.at)
    return after


@settings(max_examples=400, deadline=None)
@given(st.lists(_SAID, max_size=9))
def test_at_any_instant_as_known_at_any_time_a_slot_of_one_value_has_one(
    told: list[tuple[str, str, bool, int | None, int | None]],
) -> None:
    facts: dict[str, Fact] = {}
    for n, (town, effect, change, since, days) in enumerate(told):
        begins = on(since) if since is not None else None
        said = stated(
            town,
            day=10 + n,
            source=f"m{n}",
            predicate="not:home" if effect == "ends" else "home",
            effect=effect,
            change=change,
            valid_at=begins,
            invalid_at=begins + (on(days) - on(0)) if begins and days and effect == "is" else None,
            corrects=f"m{n - 1}" if effect == "corrects" else "",
        )
        before, facts = facts, _next(facts, said)
        homes = [fact for fact in facts.values() if fact.predicate == "home"]
        for day in range(60):
            at = on(day + 0.5)
            held_then = [fact.id for fact in homes if fact.begins <= at and (fact.invalid_at is None or fact.invalid_at > at)]
            assert len(held_then) <= 1, (day, held_then)
        for id_, fact in before.items():  # nothing that had ended goes on after all
            if fact.invalid_at is not None:
                end = facts[id_].invalid_at
                assert end is not None
                assert end <= fact.invalid_at


def test_what_is_past_is_left_as_it_is_and_what_holds_now_begins_behind_it() -> None:
    torino = held("Torino", day=1, invalid_at=on(8))
    actions = reconcile(stated("Varese", day=20, valid_at=on(4)), [torino])
    assert ended(actions) == {}
    assert (asserted(actions).valid_at, asserted(actions).invalid_at) == (on(8), None)


def test_what_is_told_of_a_past_that_is_known_never_was() -> None:
    torino = held("Torino", day=1, invalid_at=on(8), expired_at=on(8))
    como = held("Como", day=8, source="m2")
    actions = reconcile(stated("Varese", day=20, valid_at=on(4)), [torino, como])
    assert ended(actions) == {}
    assert (asserted(actions).valid_at, asserted(actions).invalid_at) == (on(8), on(8))
    assert asserted(actions).superseded_by == como.id


def test_a_while_within_the_time_of_another_value_never_was() -> None:
    torino = held("Torino", day=1)
    actions = reconcile(stated("Varese", day=20, valid_at=on(4), invalid_at=on(6)), [torino])
    assert ended(actions) == {}
    assert (asserted(actions).invalid_at, asserted(actions).superseded_by) == (on(4), torino.id)
