"""Each metric on a case computed by hand; the arithmetic stands in the comments."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from memory import Item, Message, Viewer
from replays import metrics
from replays.cases import Case
from replays.metrics import METRICS, Result, Scored, folded

AT = datetime(2026, 3, 1, 20, tzinfo=UTC)
ANNA = Viewer(id="1", login="anna", name="Anna")
AUTHORS = {"m1": "1", "m2": "1", "m3": "2", "m4": "2"}


def an_item(section: str = "recall", provenance: tuple[str, ...] = ("m1",), **values: object) -> Item:
    keys: dict[str, Any] = {
        "section": section,
        "source": "viewer:1:recall",
        "subject": "1",
        "author": "1",
        "text": "abito a Vicenza",
        "provenance": provenance,
        "tokens": 6,
        "score": 0.5,
    }
    return Item(**{**keys, **values})


def scored(case: Mapping[str, Any], *items: Item, abstained: bool = False, degraded: bool = False, **result: object) -> Scored:
    question = Message(id="q1", at=AT, user=ANNA, text="?")
    keys: dict[str, Any] = {"plan": ("history",), "block": "\n".join(item.text for item in items), "block_tokens": 12}
    return Scored(
        case=Case(id="p1", at=AT, category="recall", batch=(question,), **case),
        result=Result(
            id="p1",
            category="recall",
            items=items,
            abstained=abstained,
            degraded=degraded,
            timed_out=(),
            latency_ms={},
            **{**keys, **result},
        ),
        authors=AUTHORS,
    )


def test_evidence_recall_is_the_share_of_gold_found_in_any_item_history_included() -> None:
    # gold {m1, m2, m3}: m1 in history, m3 in recall, m2 nowhere: 2 / 3
    case = {"gold": frozenset({"m1", "m2", "m3"})}
    got = metrics.evidence_recall(scored(case, an_item("history", ("m1",)), an_item("recall", ("m3", "m4"))))
    assert got is not None
    assert got == pytest.approx((2 / 3, 1))
    assert metrics.evidence_recall(scored({})) is None


def test_out_of_history_recall_leaves_out_probes_whose_gold_is_recent() -> None:
    case = {"gold": frozenset({"m1"})}
    assert metrics.out_of_history_recall(scored(case, an_item("history", ("m1",)))) is None
    assert metrics.out_of_history_recall(scored(case, an_item("history", ("m4",)))) == (0, 1)


def test_answer_coverage_wants_one_of_answers_and_all_of_answers_all() -> None:
    item = an_item(text="Vìcenza,  e il GATTO")
    assert metrics.answer_coverage(scored({"answers": ("Roma", "vicenza")}, item)) == (1.0, 1)
    assert metrics.answer_coverage(scored({"answers_all": ("vicenza", "gatto")}, item)) == (1.0, 1)
    assert metrics.answer_coverage(scored({"answers_all": ("vicenza", "cane")}, item)) == (0.0, 1)
    assert metrics.answer_coverage(scored({"answers": ("vicenza",), "answer_inferred": True}, item)) is None
    assert metrics.answer_coverage(scored({}, item)) is None


def test_precision_counts_items_and_irrelevant_share_counts_probes_without_gold_too() -> None:
    items = (an_item(provenance=("m1",)), an_item(provenance=("m3",)), an_item("history", ("m2",)))
    # two retrieved items, one meets gold: 1 / 2; without gold both are irrelevant: 2 / 2
    assert metrics.retrieval_precision(scored({"gold": frozenset({"m1"})}, *items)) == (1, 2)
    assert metrics.irrelevant_share(scored({"gold": frozenset({"m1"})}, *items)) == (1, 2)
    assert metrics.retrieval_precision(scored({}, *items)) is None
    assert metrics.irrelevant_share(scored({}, *items)) == (2, 2)
    assert metrics.irrelevant_share(scored({}, an_item("history"))) is None


def test_misattribution_counts_foreign_messages_and_forbidden_items_once() -> None:
    own, foreign, episode = an_item(), an_item(provenance=("m3",)), an_item("episode", ("m4",), subject=None)
    # personal items: own, foreign; wrong: foreign (by 2, about 1), and the forbidden episode: 2 / 2
    case = {"forbidden": frozenset({"m3", "m4"})}
    assert metrics.misattribution_rate(scored(case, own, foreign, episode)) == (2, 2)
    assert metrics.misattribution_rate(scored({}, own)) == (0, 1)
    assert metrics.misattribution_rate(scored({}, episode)) is None


def test_stale_rate_looks_at_current_items_outside_of_the_history() -> None:
    case = {"forbidden_text": ("vicenza",)}
    assert metrics.stale_rate(scored(case, an_item())) == (1.0, 1)
    assert metrics.stale_rate(scored(case, an_item(current=False))) == (0.0, 1)
    assert metrics.stale_rate(scored(case, an_item("history"))) == (0.0, 1)
    assert metrics.stale_rate(scored({}, an_item())) is None


def test_abstention_precision_and_recall_look_at_opposite_sides() -> None:
    assert metrics.abstention_precision(scored({"abstain": True}, abstained=True)) == (1.0, 1)
    assert metrics.abstention_precision(scored({}, abstained=True)) == (0.0, 1)
    assert metrics.abstention_precision(scored({"abstain": True})) is None
    assert metrics.abstention_recall(scored({"abstain": True})) == (0.0, 1)
    assert metrics.abstention_recall(scored({}, abstained=True)) is None


@pytest.mark.parametrize(
    ("plan", "queried"),
    [
        (("history",), 0.0),
        (("state",), 0.0),
        (("lore",), 1.0),
        (("archive",), 1.0),
        (("viewer:1:recall",), 1.0),
        (("stream:s:episode",), 1.0),
    ],
)
def test_retrieval_rate_counts_semantic_sources_alone(plan: tuple[str, ...], queried: float) -> None:
    assert metrics.retrieval_rate(scored({}, plan=plan)) == (queried, 1)


def test_a_baselines_archive_counts_as_retrieval() -> None:
    assert metrics.retrieval_rate(scored({}, plan=("history", "archive"))) == (1.0, 1)


def test_reply_coverage_looks_at_the_reply_alone() -> None:
    case = {"answers": ("vicenza",), "answers_all": ("tre",)}
    assert metrics.reply_coverage(scored(case, an_item())) is None
    assert metrics.reply_coverage(scored(case, reply="A VICENZA, da tre anni")) == (1.0, 1)
    assert metrics.reply_coverage(scored(case, an_item(), reply="boh, tre")) == (0.0, 1)
    assert metrics.reply_coverage(scored({}, reply="Vicenza")) is None
    assert metrics.reply_coverage(scored({**case, "answer_inferred": True}, reply="Vicenza, tre")) is None


def test_sizes_and_degradation_are_means_over_every_probe() -> None:
    assert metrics.block_tokens(scored({})) == (12, 1)
    assert metrics.degraded_rate(scored({}, degraded=True)) == (1.0, 1)


def test_every_metric_says_what_it_is() -> None:
    assert all(metric.__doc__ for metric in METRICS.values())
    assert folded("È  GIÀ\n là") == "e gia la"
