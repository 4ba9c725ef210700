"""Rankings made into one."""

from dataclasses import replace
from datetime import timedelta

import pytest
from builders_plan import NOW, a_document, a_request, texts

from memory.fuse import fuse
from memory.model import Candidate, Document, Ranking, SourceKind
from memory.recipes import FULL, Recipe

LEVEL = replace(FULL, fusion=replace(FULL.fusion, message_weights={"dense": 0.6, "lexical": 0.4}))
SUM = replace(LEVEL, fusion=replace(LEVEL.fusion, method="sum"))
RRF = replace(LEVEL, fusion=replace(LEVEL.fusion, method="rrf"))


def a_ranking(channel: str, *hits: tuple[Document, float], viewer: str = "2", kind: SourceKind = SourceKind.RECALL) -> Ranking:
    candidates = tuple(Candidate(document=d, channel=channel, score=s, rank=i) for i, (d, s) in enumerate(hits, start=1))
    return Ranking(request=a_request(kind, viewer), channel=channel, candidates=candidates)


A, B, C = (a_document(text, text) for text in "ABC")


def test_the_sum_normalises_each_channel_over_its_hits_and_weighs_it() -> None:
    fused = fuse([a_ranking("dense", (A, 0.9), (B, 0.6), (C, 0.5)), a_ranking("lexical", (B, 7.0), (A, 3.0))], SUM)
    # dense .6, lexical .4: A .6*1 + .4*0; B .6*.25 + .4*1; C 0
    assert texts(fused) == ["A", "B", "C"]
    assert [e.score for e in fused] == pytest.approx([0.6, 0.55, 0.0])
    assert fused[1].channels == {"dense": 0.6, "lexical": 7.0}


def test_by_level_each_channel_counts_as_it_measures() -> None:
    rankings = [a_ranking("dense", (A, 0.5)), a_ranking("lexical", (A, 6.0), (B, 24.0)), a_ranking("worth", (A, 0.5))]
    # A .6*.5 + .4*6/12 + .4*.5 + .1; B .4: more than the full measure is no more than full
    assert [e.score for e in fuse([*rankings, a_ranking("near", (A, 0.1))], LEVEL)] == pytest.approx([0.8, 0.4])


def test_rrf_adds_weighted_reciprocal_ranks() -> None:
    fused = fuse([a_ranking("dense", (A, 0.9), (B, 0.8)), a_ranking("lexical", (B, 9.0))], RRF)
    # A .6/61; B .6/62 + .4/61
    assert texts(fused) == ["B", "A"]
    assert [e.score for e in fused] == pytest.approx([0.6 / 62 + 0.4 / 61, 0.6 / 61])


def test_facts_have_weights_of_their_own() -> None:
    fact = replace(A, kind="fact")
    assert fuse([a_ranking("dense", (fact, 0.9))], SUM)[0].score == pytest.approx(0.8)


@pytest.mark.parametrize("recipe", [FULL, RRF])
def test_a_prior_lifts_no_item_that_no_main_channel_matched(recipe: Recipe) -> None:
    rankings = [a_ranking("recency", (C, 1.0), (A, 0.5)), a_ranking("worth", (B, 1.0)), a_ranking("dense", (A, 0.2))]
    assert texts(fuse(rankings, recipe)) == ["A"]


def test_a_prior_orders_what_is_otherwise_equal_and_evicts_nothing() -> None:
    newer = a_ranking("recency", (B, 1.0), (A, 0.1))
    assert texts(fuse([a_ranking("dense", (A, 0.5), (B, 0.5)), newer], FULL)) == ["B", "A"]
    assert texts(fuse([a_ranking("dense", (A, 0.9), (B, 0.5)), newer], FULL)) == ["A", "B"]


def test_ties_go_to_the_newer_document_then_to_the_id() -> None:
    new = replace(C, at=NOW)
    assert texts(fuse([a_ranking("dense", (B, 0.5), (new, 0.5), (A, 0.5))], FULL)) == ["C", "A", "B"]
    late = replace(B, at=B.at + timedelta(seconds=1))
    assert texts(fuse([a_ranking("dense", (A, 0.5), (late, 0.5))], RRF))[0] == "A"  # ranks differ: no tie


def test_sources_stay_apart_and_in_their_order() -> None:
    fused = fuse(
        [
            a_ranking("dense", (A, 0.1), viewer="3"),
            a_ranking("dense", (B, 0.9)),
            a_ranking("exact", (C, 1.0), kind=SourceKind.PROFILE),
        ],
        FULL,
    )
    assert [(e.request.name, e.section) for e in fused] == [
        ("viewer:3:recall", "recall"),
        ("viewer:2:recall", "recall"),
        ("viewer:2:profile", "profile"),
    ]


def test_an_auxiliary_channel_weighs_less_than_the_best_main_hit() -> None:
    assert texts(fuse([a_ranking("graph", (B, 9.0)), a_ranking("dense", (A, 0.9))], FULL)) == ["A", "B"]
    assert fuse([a_ranking("unheard_of", (A, 1.0))], FULL)[0].score == 0.0


def test_nothing_in_gives_nothing_out() -> None:
    assert fuse([], FULL) == ()
    assert fuse([a_ranking("dense")], FULL) == ()


def test_the_order_of_the_rankings_of_a_source_changes_no_score() -> None:
    one, two = a_ranking("dense", (A, 0.9), (B, 0.3)), a_ranking("lexical", (B, 2.0))
    assert fuse([one, two], FULL) == fuse([two, one], FULL)
