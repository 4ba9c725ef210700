"""Figures over probes, computed by hand."""

from typing import Any

import pytest
from builders_eval import an_item, scored

from replays.figures import compared, figures, noise
from replays.metrics import METRICS, Scored

WANTED: dict[str, Any] = {"gold": frozenset({"m1"}), "answers": ("vicenza",)}


def hit(**more: Any) -> Scored:  # noqa: ANN401 keyword arguments of the builder
    return scored(an_item(), **WANTED, **more)


def miss(**more: Any) -> Scored:  # noqa: ANN401 keyword arguments of the builder
    return scored(an_item(("m3",), "boh"), **WANTED, **more)


def test_every_metric_stands_overall_and_in_every_category_with_count_and_interval() -> None:
    got = figures([hit(), miss(), miss(), scored(category="none")], seed=1)
    assert list(got["by_category"]) == ["recall", "none"]
    assert set(got["overall"]["metrics"]) == set(METRICS)
    recall = got["overall"]["metrics"]["evidence_recall"]
    assert (recall["value"], recall["count"]) == (pytest.approx(1 / 3, abs=1e-4), 3)
    assert recall["low"] <= recall["value"] <= recall["high"]
    nothing = got["by_category"]["none"]
    assert (nothing["probes"], nothing["metrics"]["evidence_recall"]["value"]) == (1, None)


def test_block_size_and_latency_are_spread_over_the_probes() -> None:
    got = figures([hit(tokens=10, total_ms=1.0), hit(tokens=20, total_ms=3.0), hit(tokens=60, total_ms=8.0)], seed=1)["overall"]
    assert got["block_size"] == {"mean": 30.0, "max": 60}
    total = got["latency_ms"]["total"]
    # p95 of 1, 3, 8 by linear interpolation: 3 + 0.9 · 5 = 7.5
    assert (total["count"], total["mean"], total["p50"], total["p95"], total["max"]) == (3, 4.0, 3.0, 7.5, 8.0)
    assert got["latency_ms"]["recall"]["mean"] == 4.0
    assert next(iter(got["latency_ms"])) == "total"


def test_figures_of_no_probe_are_unknown() -> None:
    got = figures([], seed=1)
    assert got["overall"]["block_size"] == {"mean": 0.0, "max": 0}
    assert got["by_category"] == {}


def test_pairs_are_compared_on_the_probes_where_both_say_something() -> None:
    ours, theirs = [hit(), hit(), hit(), miss(), scored()], [hit(), miss(), miss(), miss(), scored()]
    got = compared(ours, theirs, seed=1)
    coverage = got["answer_coverage"]
    # of 4 probes, ours alone 2, theirs alone 0: p = 2 · (1 / 4) = 0.5; difference (1 - 3) / 4
    assert (coverage["probes"], coverage["only_first"], coverage["only_second"], coverage["p"]) == (4, 2, 0, 0.5)
    assert coverage["difference"]["value"] == -0.5
    assert got["evidence_recall"]["difference"]["value"] == -0.5
    assert coverage["minimum_detectable_effect"] is None


def test_enough_probes_show_a_detectable_effect() -> None:
    ours, theirs = [hit()] * 60 + [miss()] * 60, [miss()] * 12 + [hit()] * 108
    effect = compared(ours, theirs, seed=1)["answer_coverage"]["minimum_detectable_effect"]
    assert 0 < effect < 0.6


def test_pairs_that_never_apply_compare_nothing() -> None:
    got = compared([scored()], [scored()], seed=1)["answer_coverage"]
    assert (got["probes"], got["p"], got["difference"]["value"]) == (0, 1.0, None)


def test_identical_runs_have_no_noise_and_others_are_counted() -> None:
    assert not any(noise([hit()], [hit()])["probes_that_differ"].values())
    apart = noise([hit(), hit()], [hit(), miss()])
    assert (apart["probes"], apart["blocks_that_differ"]) == (2, 1)
    assert apart["probes_that_differ"]["evidence_recall"] == 1
    assert apart["probes_that_differ"]["block_tokens"] == 0
