"""The gate."""

from dataclasses import replace

import pytest
from builders_plan import a_document, a_request, an_evidence, texts

from memory.abstain import gate
from memory.model import Evidence, Plan, SourceKind
from memory.recipes import FULL, Gate
from memory.rules import load_rules

RECIPE = replace(FULL, gate=Gate(dense_floor=0.15, lexical_floor=0.0, gap=0.4), fusion=replace(FULL.fusion, method="sum"))
LEVEL = replace(FULL, gate=Gate(gap=0.3))
RECALL, PROFILE = a_request(), a_request(SourceKind.PROFILE, query="")
PLAN = Plan(requests=(PROFILE, RECALL), asks_memory=True)


def test_weak_evidence_is_left_out_and_named() -> None:
    weak = an_evidence(a_document("debole", "w"), dense=0.1)
    kept, left = gate([weak], PLAN, RECIPE)
    assert kept == ()
    assert [(item.document_id, item.reason, item.source) for item in left] == [("w", "below_gate", "viewer:2:recall")]


def test_any_channel_can_vouch_but_a_prior() -> None:
    items = [
        an_evidence(a_document("d", "d"), dense=0.15),
        an_evidence(a_document("l", "l"), dense=0.0, lexical=0.5),
        an_evidence(a_document("x", "x"), exact=1.0),
        an_evidence(a_document("g", "g"), graph=0.1),
        an_evidence(a_document("r", "r"), recency=1.0),
        an_evidence(a_document("z", "z"), dense=0.1, lexical=0.0, recency=1.0),
    ]
    one_by_one = [item for item in items if gate([item], PLAN, RECIPE)[0]]
    assert texts(one_by_one) == ["d", "l", "x", "g"]


def test_a_fused_floor_holds_for_all() -> None:
    items = [an_evidence(a_document("a", "a"), score=0.5), an_evidence(a_document("b", "b"), score=0.4)]
    assert texts(gate(items, PLAN, replace(RECIPE, gate=Gate(fused_floor=0.45)))[0]) == ["a"]


def a_hit(name: str, **channels: float) -> Evidence:
    return replace(an_evidence(a_document(name, name)), channels=channels)


def test_one_item_stays_where_it_stands_out() -> None:
    kept, left = gate([a_hit("a", dense=0.9), a_hit("b", dense=0.5), a_hit("c", dense=0.4)], PLAN, RECIPE)
    assert texts(kept) == ["a"]
    assert [item.document_id for item in left] == ["b", "c"]


def test_hits_that_are_alike_stay_together_and_each_source_is_cut_by_itself() -> None:
    other = an_evidence(a_document("d", "d"), a_request(viewer_id="3"), dense=0.2)
    items = [a_hit("a", dense=0.9), a_hit("b", dense=0.8), a_hit("c", dense=0.3), other]
    assert texts(gate(items, PLAN, RECIPE)[0]) == ["a", "b", "d"]


def test_channels_are_compared_together_by_their_weights() -> None:
    # dense .6, lexical .4: a .6 + 0, b .6 * .5 + .4, c .6 * .5 + 0 of 1; at least .6 is needed
    items = [a_hit("a", dense=0.8), a_hit("b", dense=0.4, lexical=5.0), a_hit("c", dense=0.4)]
    assert texts(gate(items, PLAN, RECIPE)[0]) == ["a", "b"]
    assert texts(gate([a_hit("l", lexical=5.0), a_hit("k", lexical=2.0)], PLAN, RECIPE)[0]) == ["l"]


def test_what_an_auxiliary_channel_found_has_no_degrees_and_is_not_cut() -> None:
    assert texts(gate([a_hit("a", dense=0.8), a_hit("g", graph=0.1)], PLAN, RECIPE)[0]) == ["a", "g"]


def test_an_exact_look_up_is_not_cut_by_gaps() -> None:
    lore = a_request(SourceKind.LORE, None)
    items = [an_evidence(a_document(t, t, kind="lore"), lore, score=s, exact=s) for t, s in {"a": 1.0, "b": 0.0}.items()]
    assert texts(gate(items, PLAN, RECIPE)[0]) == ["a", "b"]


def test_an_open_question_is_not_cut_by_gaps() -> None:
    items = [a_hit("a", dense=0.9), a_hit("b", dense=0.2)]
    assert len(gate(items, replace(PLAN, explicit_recall=True), RECIPE)[0]) == 2


def test_a_profile_keeps_what_the_search_found_or_the_question_names() -> None:
    def a_fact(text: str, source: str) -> Evidence:
        return an_evidence(a_document(text, f"f-{source}", kind="fact", provenance=(source,)), PROFILE, exact=1.0)

    asked = replace(RECALL, query="quanti granchi allevo")
    plan = Plan(requests=(PROFILE, asked))
    hit = an_evidence(a_document("ne ho sette", "m1"), asked)
    evidence = [a_fact("Gigi ha sette chele", "m1"), a_fact("Gigi ama i granchi", "m2"), a_fact("Gigi vive a Bari", "m3"), hit]
    assert texts(gate(evidence, plan, RECIPE)[0]) == ["Gigi ha sette chele", "Gigi ama i granchi", "ne ho sette"]
    assert len(gate(evidence, replace(plan, explicit_recall=True), RECIPE)[0]) == 4
    assert len(gate(evidence[:3], plan, RECIPE)[0]) == 3  # the search gave nothing: the profile is all there is


def a_level(name: str, score: float, viewer_id: str = "2", **channels: float) -> Evidence:
    return an_evidence(a_document(name, name), a_request(viewer_id=viewer_id), score=score, **(channels or {"dense": 0.5}))


def test_by_level_a_weak_score_is_left_out_whatever_is_beside_it() -> None:
    assert texts(gate([a_level("a", 0.3), a_level("b", 0.29)], PLAN, LEVEL)[0]) == []


STERN = replace(LEVEL, gate=replace(LEVEL.gate, answer_floor=0.53, levels={"message": 0.45}))


def test_a_line_that_stands_out_needs_less_than_one_of_several_alike() -> None:
    assert texts(gate([a_level("a", 0.5), a_level("b", 0.4)], PLAN, STERN)[0]) == ["a"]
    assert texts(gate([a_level("a", 0.5), a_level("b", 0.5)], PLAN, STERN)[0]) == []
    assert texts(gate([a_level("a", 0.5)], PLAN, STERN)[0]) == ["a"]


def test_a_viewer_without_an_answer_does_not_silence_another() -> None:
    items = [a_level("a", 0.5), a_level("b", 0.5), a_level("x", 0.7, viewer_id="3")]
    assert texts(gate(items, PLAN, STERN)[0]) == ["x"]


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("how old is the parrot?", ["it turned eleven", "born in 2015"]),
        ("quanti anni ha?", ["it turned eleven", "born in 2015"]),
        ("what is the parrot like?", ["it turned eleven", "born in 2015", "it sings a song"]),
    ],
)
def test_how_old_somebody_is_takes_a_number(question: str, answers: list[str]) -> None:
    asked = a_request(query=question)
    said = ["it turned eleven", "born in 2015", "it sings a song"]
    items = [an_evidence(a_document(text, text), asked, score=0.8, dense=0.5) for text in said]
    plan = Plan(requests=(asked,), asks_memory=True)
    assert texts(gate(items, plan, LEVEL, load_rules(("it", "en")))[0]) == answers


def test_by_level_what_is_far_behind_the_best_of_its_viewer_goes() -> None:
    items = [a_level("a", 0.9), a_level("b", 0.7), a_level("c", 0.6), a_level("d", 0.5, viewer_id="3")]
    assert texts(gate(items, PLAN, LEVEL)[0]) == ["a", "b", "d"]


def test_each_viewer_shows_no_more_than_the_limit() -> None:
    items = [a_level(name, 0.8) for name in "abcd"] + [a_level("x", 0.8, viewer_id="3")]
    assert texts(gate(items, PLAN, LEVEL)[0]) == ["a", "b", "c", "x"]


def test_the_streams_of_one_question_compete_for_the_same_places() -> None:
    streams = [replace(a_request(SourceKind.EPISODE, None), stream_id=stream) for stream in ("s1", "s2")]
    items = [an_evidence(a_document(t, t, kind="turn"), streams[n], score=s, dense=0.4) for t, n, s in (
        ("a", 0, 0.5), ("b", 0, 0.45), ("c", 1, 0.9), ("d", 1, 0.8))]  # fmt: skip
    assert texts(gate(items, PLAN, LEVEL)[0]) == ["c", "d"]


def test_words_that_say_nothing_of_their_author_are_no_answer() -> None:
    assert texts(
        gate([a_level("boh", 0.9, dense=0.9, worth=0.0), a_level("b", 0.8, dense=0.5, worth=0.6)], PLAN, LEVEL)[0]
    ) == ["b"]


def test_an_open_question_shows_weaker_things_too() -> None:
    items = [a_level("a", 0.5, dense=0.0, worth=0.5), a_level("b", 0.32, dense=0.0, worth=0.5)]
    assert texts(gate(items, replace(PLAN, explicit_recall=True), LEVEL)[0]) == ["a", "b"]


def test_a_question_about_the_persona_looks_at_the_canon_however_far_it_is() -> None:
    entry = an_evidence(a_document("paure", "p", kind="lore"), a_request(SourceKind.LORE, None), score=0.05, dense=0.04)
    assert texts(gate([entry], PLAN, LEVEL)[0]) == ["paure"]


def test_without_weighing_the_floor_comes_down_by_the_usual_worth() -> None:
    unweighed = replace(LEVEL, channels=LEVEL.channels - {"worth"})
    assert texts(gate([a_level("a", 0.3)], PLAN, LEVEL)[0]) == []
    assert texts(gate([a_level("a", 0.3)], PLAN, unweighed)[0]) == ["a"]


def test_a_line_that_is_not_indexed_yet_is_found_by_its_words() -> None:
    assert texts(gate([a_level("new", 0.36, lexical=0.3, worth=0.5)], PLAN, LEVEL)[0]) == ["new"]
    assert texts(gate([a_level("far", 0.36, dense=0.0, lexical=0.3, worth=0.5)], PLAN, LEVEL)[0]) == []


def test_a_gate_that_is_off_bounds_the_number_of_hits_alone() -> None:
    items = [an_evidence(a_document(str(n), str(n)), score=0.01 * n, dense=-1.0, worth=0.0) for n in range(5)]
    recipe = replace(FULL, gate=Gate(off=True), limits=replace(FULL.limits, viewer_hits=2))
    assert texts(gate(items, PLAN, recipe)[0]) == ["3", "4"]
