"""From scored probes to figures: every metric with its interval, overall and by category, and recipes compared in pairs."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from replays.metrics import METRICS, Metric, Scored, answer_coverage, evidence_recall
from replays.stats import Estimate, estimate, mcnemar_exact, minimum_detectable_effect, paired_difference, percentile

DIGITS = 4
Json = dict[str, Any]


def figures(scored: Sequence[Scored], *, seed: int) -> Json:
    """Return every metric, latencies and block sizes of one recipe: overall, and by category."""
    categories = list(dict.fromkeys(one.case.category for one in scored))
    return {
        "overall": _group(scored, seed),
        "by_category": {
            category: _group([one for one in scored if one.case.category == category], seed) for category in categories
        },
    }


def compared(ours: Sequence[Scored], theirs: Sequence[Scored], *, seed: int) -> Json:
    """Return how `theirs` does beside `ours` on the same probes.

    Exact McNemar on answer coverage, and the paired bootstrap of the differences theirs minus ours.
    """
    right_ours, right_theirs = _shared(answer_coverage, ours, theirs)
    found_ours, found_theirs = _shared(evidence_recall, ours, theirs)
    only_ours, only_theirs, p = mcnemar_exact([value > 0 for value in right_ours], [value > 0 for value in right_theirs])
    count = len(right_ours)
    share = (only_ours + only_theirs) / count if count else 0.0
    smallest = minimum_detectable_effect(count, share)
    return {
        "answer_coverage": {
            "probes": count,
            "only_first": only_ours,
            "only_second": only_theirs,
            "p": round(p, 6),
            "minimum_detectable_effect": None if smallest is None else round(smallest, DIGITS),
            "difference": told(paired_difference(right_theirs, right_ours, seed=seed)),
        },
        "evidence_recall": {"difference": told(paired_difference(found_theirs, found_ours, seed=seed))},
    }


def noise(first: Sequence[Scored], second: Sequence[Scored]) -> Json:
    """Return how far two identical runs are apart: differences smaller than these mean nothing."""
    apart = {}
    for name, metric in METRICS.items():
        pairs = [(metric(a), metric(b)) for a, b in zip(first, second, strict=True)]
        apart[name] = sum(a != b for a, b in pairs)
    blocks = sum(a.result.block != b.result.block for a, b in zip(first, second, strict=True))
    return {"probes": len(first), "blocks_that_differ": blocks, "probes_that_differ": apart}


def told(found: Estimate) -> Json:
    """Return an estimate as JSON."""
    rounded = {name: None if value is None else round(value, DIGITS) for name, value in _values(found).items()}
    return {**rounded, "count": found.count}


def _values(found: Estimate) -> Mapping[str, float | None]:
    return {"value": found.value, "low": found.low, "high": found.high}


def _group(scored: Sequence[Scored], seed: int) -> Json:
    metrics = {name: told(estimate(fractions_of(metric, scored), seed=seed)) for name, metric in METRICS.items()}
    tokens = [one.result.block_tokens for one in scored]
    return {
        "probes": len(scored),
        "metrics": metrics,
        "latency_ms": _latencies(scored),
        "block_size": {"mean": round(sum(tokens) / len(tokens), 1) if tokens else 0.0, "max": max(tokens, default=0)},
    }


def fractions_of(metric: Metric, scored: Sequence[Scored]) -> list[tuple[float, float]]:
    """Return what a metric says of the probes it applies to."""
    return [fraction for one in scored if (fraction := metric(one)) is not None]


def _shared(
    metric: Callable[[Scored], tuple[float, float] | None], ours: Sequence[Scored], theirs: Sequence[Scored]
) -> tuple[list[float], list[float]]:
    pairs = [(metric(a), metric(b)) for a, b in zip(ours, theirs, strict=True)]
    both = [(a[0] / a[1], b[0] / b[1]) for a, b in pairs if a and b]
    return [a for a, _ in both], [b for _, b in both]


def _latencies(scored: Sequence[Scored]) -> Json:
    times: dict[str, list[float]] = {"total": []}
    for one in scored:
        latency: Any = one.result.latency_ms
        times["total"].append(latency["total"])
        for name, value in latency["sources"].items():
            times.setdefault(name.rsplit(":", 1)[-1], []).append(value)
    return {name: _spread(values) for name, values in sorted(times.items(), key=lambda pair: (pair[0] != "total", pair[0]))}


def _spread(values: Sequence[float]) -> Json:
    shares = {f"p{share}": round(percentile(values, share / 100), 3) for share in (50, 95, 99)}
    mean = sum(values) / len(values) if values else 0.0
    return {"count": len(values), "mean": round(mean, 3), **shares, "max": round(max(values, default=0.0), 3)}
