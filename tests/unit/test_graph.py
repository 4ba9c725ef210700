"""Edges out of facts, and walking along them."""

import pytest
from builders_facts import GAME, HOME, held
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.channels.graph import around, between
from memory.relations import Edge, edge_of, entities_in
from memory.statements import Slot


def edge(head: str, tail: str) -> Edge:
    return Edge(fact_id=f"{head}>{tail}", head=head, relation="r", tail=tail, name=tail)


TOWN = [edge("viewer:a", "place:torino"), edge("viewer:b", "place:torino"), edge("viewer:b", "game:hades")]


@pytest.mark.parametrize(
    ("said", "slot", "tail"),
    [
        ("Torino", HOME, "place:torino"),
        ("Reggio nell'Emilia centro", HOME, "place:reggionellemiliacentro"),
        ("Hades", GAME, "game:hades"),
        ("cane di nome Fido", Slot(name="pet"), "pet:fido"),
        ("un gatto", Slot(name="pet"), "pet:ungatto"),
        ("Bruno", Slot(name="partner"), "viewer:202"),
        ("Anna", Slot(name="family"), "person:anna"),
    ],
)
def test_a_fact_relates_its_subject_to_what_it_names(said: str, slot: Slot, tail: str) -> None:
    found = edge_of(held(said, slot=slot), {"Bruno": "202"}.get)
    assert found is not None
    assert (found.head, found.tail, found.fact_id) == ("viewer:1001", tail, f"f-m1-{said}")


@pytest.mark.parametrize(("said", "predicate"), [("Torino", "not:home"), ("32", "age"), ("", "home"), ("🙂", "game")])
def test_what_ended_what_nobody_shares_and_what_has_no_words_relates_to_nothing(said: str, predicate: str) -> None:
    assert edge_of(held(said, predicate=predicate)) is None


def test_nobody_is_related_to_themselves() -> None:
    found = edge_of(held("Ale", slot=Slot(name="family")), {"Ale": "1001"}.get)
    assert found is not None
    assert found.tail == "person:ale"


def test_a_question_names_entities_by_runs_of_its_words() -> None:
    named = entities_in("chi altro gioca a Dark Souls?")
    assert "game:darksouls" in named
    assert "game:giocaadark" in named
    assert "viewer:darksouls" not in named


def test_who_shares_something_is_found_around_it() -> None:
    assert around(TOWN, {"place:torino"}) == [("viewer:a>place:torino", 1.0), ("viewer:b>place:torino", 1.0)]
    assert around(TOWN, {"place:lecce"}) == []


def test_what_links_two_viewers_is_the_shortest_way_between_them() -> None:
    assert [id_ for id_, _ in between(TOWN, "viewer:a", "viewer:b")] == ["viewer:a>place:torino", "viewer:b>place:torino"]
    assert between(TOWN, "viewer:a", "viewer:c") == []
    assert between(TOWN, "viewer:a", "game:hades", hops=2) == []
    assert len(between(TOWN, "viewer:a", "game:hades")) == 3


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20), st.integers(0, 6), st.integers(1, 4))
def test_a_way_is_never_longer_than_its_hops_and_hangs_together(pairs: list[tuple[int, int]], end: int, hops: int) -> None:
    edges = [edge(str(one), str(other)) for one, other in pairs]
    way = between(edges, "0", str(end), hops)
    assert len(way) <= hops
    place = "0"
    for fact_id, _ in way:
        one, other = fact_id.split(">")
        assert place in {one, other}
        place = other if place == one else one
    assert place == str(end) or not way
