"""The chance that a candidate answers: what makes it, how fusion and the gate use it, and when a doubt is admitted."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders_plan import a_document, a_request, an_evidence, texts

from memory.abstain import gate, nearest, unsure
from memory.embed.use import UseEmbedder
from memory.errors import RelevanceInvalid
from memory.fuse import fuse
from memory.model import Candidate, Document, Evidence, Plan, Ranking, SourceKind
from memory.recipes import FULL
from memory.relevance import (
    RELEVANCE_FEATURES,
    RELEVANCE_FILE,
    Relevance,
    load_relevance,
    relevance_features,
)

MODEL = "use-m3/0.2.1"
LEVEL = replace(FULL, fusion=replace(FULL.fusion, method="level"))
PLAN = Plan(requests=(a_request(),), asks_memory=True)
CANON = a_request(SourceKind.LORE, viewer_id=None)


def the_fitted() -> Relevance:
    fitted = load_relevance(MODEL)
    assert fitted is not None
    return fitted


def chances_of(found: list[Evidence]) -> list[float]:
    chances = the_fitted().chances(found)
    assert chances is not None
    return chances


def a_contender(name: str, *, kind: SourceKind = SourceKind.RECALL, **channels: float) -> Evidence:
    return Evidence(request=a_request(kind), section="recall", document=a_document(name, name), score=0.0, channels=channels)


def a_ranking(channel: str, *hits: tuple[Document, float], kind: SourceKind = SourceKind.RECALL) -> Ranking:
    candidates = tuple(Candidate(document=d, channel=channel, score=s, rank=i) for i, (d, s) in enumerate(hits, start=1))
    return Ranking(request=a_request(kind), channel=channel, candidates=candidates)


def a_chance(name: str, chance: float, **changes: object) -> Evidence:
    return replace(an_evidence(a_document(name, name), score=chance), calibrated=True, **changes)  # type: ignore[arg-type] # any field


A, B, C = (a_document(text, text) for text in "ABC")


@pytest.mark.parametrize("kind", [SourceKind.RECALL, SourceKind.EPISODE])
def test_chances_lie_between_none_and_certain_and_rise_with_nearness(kind: SourceKind) -> None:
    nearness = (-1.0, 0.1, 0.3, 0.6, 1.0)
    chances = chances_of([a_contender(str(value), kind=kind, dense=value, worth=0.5) for value in nearness])
    assert chances == sorted(chances)
    assert 0 < chances[0] < chances[-1] < 1


def test_an_entry_of_the_canon_that_is_nearer_has_the_higher_chance_and_less_where_nobody_asked_for_it() -> None:
    asked = [a_contender(str(near), kind=SourceKind.LORE, near=near) for near in (0.2, 0.5)]
    quiet = [replace(one, request=replace(one.request, strict=True)) for one in asked]
    far, near = chances_of(asked)
    assert near > far > chances_of(quiet)[0]


def test_the_same_words_and_what_stands_out_make_a_higher_chance() -> None:
    plain, worded = chances_of([a_contender("a", dense=0.4), a_contender("b", dense=0.4, lexical=6.0)])
    assert worded > plain
    ahead, *_ = chances_of([a_contender("a", dense=0.4), a_contender("b", dense=0.0)])
    alike, *_ = chances_of([a_contender("a", dense=0.4), a_contender("b", dense=0.4)])
    assert ahead > alike


def test_more_rivals_make_each_less_likely() -> None:
    few, many = ([a_contender(str(number), dense=0.4) for number in range(count)] for count in (2, 60))
    assert chances_of(few)[0] > chances_of(many)[0]


@pytest.mark.parametrize(
    "found",
    [
        [],
        [a_contender("a", kind=SourceKind.STATE, dense=0.9)],
        [a_contender("a", lexical=9.0), a_contender("b", worth=1.0)],
        [a_contender("a", kind=SourceKind.LORE, dense=0.9, exact=1.0)],
    ],
    ids=["nothing", "a kind without weights", "no dense", "a canon without near"],
)
def test_no_chance_is_told_without_weights_or_nearness(found: list[Evidence]) -> None:
    assert the_fitted().chances(found) is None


def test_a_row_has_a_column_for_every_feature() -> None:
    found = [a_contender("a", dense=0.4), a_contender("b", lexical=24.0)]
    rows = relevance_features(found, "recall")
    assert [len(row) for row in rows] == [len(RELEVANCE_FEATURES["recall"])] * 2
    told = dict(zip(RELEVANCE_FEATURES["recall"], rows[1], strict=True))
    assert (told["dense"], told["lexical"]) == (0.0, 1.0)  # not found by meaning; the words agree as well as they can


def test_the_file_has_every_weight_for_the_model_that_is_built_in() -> None:
    assert UseEmbedder().name == MODEL
    assert {kind: set(names) for kind, names in the_fitted().weights.items()} == {
        kind: {"bias", *names} for kind, names in RELEVANCE_FEATURES.items()
    }


def test_a_model_that_nothing_was_fitted_for_has_none() -> None:
    assert load_relevance("another/1") is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("rivals = ", "rival = ", "'rivals'"),
        ("bias = ", 'bias = "much" #', "much"),
        ("bias = ", "bias = = ", "TOMLDecodeError"),
        (f'["{MODEL}".recall]', f'["{MODEL}"]\nrecall = 3\n[rest]', "TypeError"),
    ],
    ids=["a weight is missing", "no number", "no TOML", "no table"],
)
def test_a_damaged_file_is_refused_with_what_is_wrong(tmp_path: Path, old: str, new: str, says: str) -> None:
    others, mark, own = RELEVANCE_FILE.read_text(encoding="utf-8").partition(f'["{MODEL}".recall]')
    assert old in mark + own
    (tmp_path / "weights.toml").write_text(others + (mark + own).replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RelevanceInvalid, match=rf"weights\.toml cannot be used.*{says}.*fit_relevance"):
        load_relevance(MODEL, tmp_path / "weights.toml")


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "weights.toml").write_bytes(content)
    with pytest.raises(RelevanceInvalid, match=r"weights\.toml cannot be used"):
        load_relevance(MODEL, tmp_path / "weights.toml")


def test_fusion_scores_by_chance_best_first() -> None:
    fused = fuse([a_ranking("dense", (A, 0.2), (B, 0.6)), a_ranking("recency", (A, 1.0))], FULL, the_fitted())
    assert texts(fused) == ["B", "A"]
    assert all(item.calibrated and 0 < item.score < 1 for item in fused)
    assert fused[1].channels == {"dense": 0.2, "recency": 1.0}


@pytest.mark.parametrize(
    "rankings",
    [
        [a_ranking("lexical", (A, 6.0), (B, 3.0)), a_ranking("worth", (B, 1.0))],
        [a_ranking("exact", (A, 1.0), (B, 1.0), kind=SourceKind.STATE)],
    ],
    ids=["no dense", "a kind without weights"],
)
def test_fusion_falls_back_to_the_level_where_no_chance_is_told(rankings: list[Ranking]) -> None:
    assert fuse(rankings, FULL, the_fitted()) == fuse(rankings, LEVEL)
    assert not any(item.calibrated for item in fuse(rankings, FULL, the_fitted()))


def test_fusion_without_weights_or_by_another_method_tells_no_chance() -> None:
    rankings = [a_ranking("dense", (A, 0.5), (B, 0.2))]
    assert fuse(rankings, FULL) == fuse(rankings, LEVEL) == fuse(rankings, LEVEL, the_fitted())


def test_all_streams_of_a_question_compete_with_each_other() -> None:
    first = a_ranking("dense", (A, 0.5), (B, 0.1), kind=SourceKind.EPISODE)
    alone = fuse([first], FULL, the_fitted())
    other = replace(first.request, stream_id="s1")
    rival = replace(a_ranking("dense", (C, 0.9), kind=SourceKind.EPISODE), request=other)
    together = fuse([first, rival], FULL, the_fitted())
    assert {item.document.text: item.score for item in together}["A"] < alone[0].score


def test_the_gate_keeps_what_is_likely_enough_and_names_the_rest() -> None:
    recipe = replace(FULL, gate=replace(FULL.gate, least_chance=0.2, answer_chance=0.3))
    kept, left = gate([a_chance("a", 0.3), a_chance("b", 0.2), a_chance("c", 0.19)], PLAN, recipe)
    assert texts(kept) == ["a", "b"]
    assert [(item.document_id, item.reason, item.score) for item in left] == [("c", "below_gate", 0.19)]


def test_a_place_whose_best_does_not_answer_gives_nothing() -> None:
    recipe = replace(FULL, gate=replace(FULL.gate, least_chance=0.2, answer_chance=0.3))
    elsewhere = a_request(viewer_id="3")
    items = [a_chance("a", 0.29), a_chance("b", 0.25), a_chance("c", 0.31, request=elsewhere)]
    assert texts(gate(items, PLAN, recipe)[0]) == ["c"]


def test_what_is_far_behind_a_likely_answer_stays_where_it_is_likely_enough_itself() -> None:
    assert texts(gate([a_chance("a", 0.9), a_chance("b", 0.1)], PLAN, FULL)[0]) == ["a", "b"]


def test_half_the_chance_is_enough_where_all_that_is_known_is_asked_for() -> None:
    least = FULL.gate.least_chance
    items = [a_chance("a", 0.6 * least), a_chance("b", 0.4 * least)]
    assert texts(gate(items, replace(PLAN, explicit_recall=True), FULL)[0]) == ["a"]
    assert gate(items, PLAN, FULL)[0] == ()


def test_a_worthless_message_is_kept_by_no_chance() -> None:
    assert gate([a_chance("a", 0.9, channels={"dense": 0.9, "worth": 0.0})], PLAN, FULL)[0] == ()


def test_it_is_unsure_where_it_is_likelier_than_allowed_that_nothing_answers() -> None:
    recipe = replace(FULL, gate=replace(FULL.gate, unsure_chance=0.33))
    assert unsure([a_chance("a", 0.6)], PLAN, recipe)  # .4 that nothing does
    assert not unsure([a_chance("a", 0.7)], PLAN, recipe)
    assert not unsure([a_chance("a", 0.5), a_chance("b", 0.5)], PLAN, recipe)  # .25: one of many may


def test_whatever_is_known_answers_an_open_question() -> None:
    weak = [a_chance("a", 0.05)]
    assert unsure(weak, PLAN, FULL)
    assert not unsure(weak, replace(PLAN, explicit_recall=True), FULL)


def test_it_is_not_unsure_where_memory_was_not_asked_or_the_history_holds_it() -> None:
    weak = [a_chance("a", 0.1)]
    assert unsure(weak, PLAN, FULL)
    assert not unsure(weak, replace(PLAN, asks_memory=False), FULL)
    assert not unsure(weak, replace(PLAN, covered=True), FULL)


def test_it_is_not_unsure_of_what_has_no_chance_or_is_named_in_the_canon() -> None:
    assert not unsure([], PLAN, FULL)
    assert not unsure([an_evidence(a_document("a", "a"), score=0.1)], PLAN, FULL)
    named = an_evidence(a_document("e", "e", kind="lore"), CANON, exact=1.0)
    assert not unsure([a_chance("a", 0.1), named], PLAN, FULL)


def test_the_nearest_is_the_likeliest_with_the_fact_drawn_from_it() -> None:
    best = a_chance("a", 0.3)
    fact = an_evidence(a_document("fact", "f", kind="fact", provenance=("a",)), score=0.9)
    kept, left = nearest([a_chance("b", 0.2), fact, best])
    assert texts(kept) == ["fact", "a"]
    assert [(item.document_id, item.reason) for item in left] == [("b", "below_gate")]


def test_without_chances_the_nearest_has_the_best_score_and_of_nothing_there_is_none() -> None:
    items = [an_evidence(a_document(name, name), score=score) for name, score in (("a", 0.4), ("b", 0.6))]
    assert texts(nearest(items)[0]) == ["b"]
    assert nearest([]) == ((), ())
