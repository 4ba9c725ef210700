import math

import pytest

from replays.benchmarks.ranking import ndcg, recall_all, recall_any, recall_at, reciprocal_rank
from replays.benchmarks.tally import tallied

RANKING = ("a", "x", "b", "y")


def test_recall_counts_the_share_of_gold_among_the_first() -> None:
    assert recall_at(RANKING, {"a", "b"}, 2) == 0.5
    assert recall_at(RANKING, {"a", "b"}, 3) == 1.0
    assert recall_at(RANKING, {"q"}, 4) == 0.0


def test_any_needs_one_and_all_needs_every_gold() -> None:
    assert (recall_any(RANKING, {"a", "b"}, 2), recall_all(RANKING, {"a", "b"}, 2)) == (1.0, 0.0)
    assert (recall_any(RANKING, {"a", "b"}, 3), recall_all(RANKING, {"a", "b"}, 3)) == (1.0, 1.0)
    assert recall_any(RANKING, {"q"}, 4) == 0.0


def test_reciprocal_rank_is_that_of_the_first_gold() -> None:
    assert reciprocal_rank(RANKING, {"b", "y"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(RANKING, {"q"}) == 0.0


def test_the_standard_ndcg_discounts_the_second_rank_and_the_official_one_does_not() -> None:
    assert ndcg(("x", "a"), {"a"}, 5, convention="standard") == pytest.approx(1 / math.log2(3))
    assert ndcg(("x", "a"), {"a"}, 5, convention="official") == 1.0
    assert ndcg(("x", "y", "a"), {"a"}, 5, convention="official") == pytest.approx(1 / math.log2(3))


def test_ndcg_compares_with_the_best_order_of_what_fits() -> None:
    assert ndcg(("a", "b", "c"), {"a", "b", "c"}, 2, convention="standard") == 1.0
    best = 1 + 1 / math.log2(3)
    assert ndcg(("a", "x", "b"), {"a", "b"}, 3, convention="standard") == pytest.approx((1 + 1 / 2) / best)
    assert ndcg(("a",), set(), 3, convention="standard") == 0.0


def test_a_tally_means_by_category_and_leaves_out_what_does_not_apply() -> None:
    rows = [
        {"category": "one", "systems": {"memory": {"recall": 1.0, "answer": None}}},
        {"category": "one", "systems": {"memory": {"recall": 0.0, "answer": 1.0}}},
        {"category": "trap", "systems": {"memory": {"recall": 0.0, "answer": None}}},
    ]
    found = tallied(rows, without=("trap",))["memory"]
    assert found["one"] == {"recall": {"value": 0.5, "count": 2}, "answer": {"value": 1.0, "count": 1}}
    assert found["trap"]["answer"] == {"value": None, "count": 0}
    assert (found["all"]["recall"]["value"], found["all"]["recall"]["count"]) == (0.5, 2)
    assert found["all"]["recall"]["low"] <= 0.5 <= found["all"]["recall"]["high"]
