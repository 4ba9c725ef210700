"""Statistics of the evaluation, small and exact: bootstrap intervals, McNemar's test, detectable effects, percentiles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from replays.metrics import Fraction

RESAMPLES = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its 95 % interval and the number of probes behind it; all None and 0 where no probe says anything."""

    value: float | None
    low: float | None
    high: float | None
    count: int


def estimate(fractions: Sequence[Fraction], *, seed: int) -> Estimate:
    """Return Σ numerators / Σ denominators with the percentile bootstrap over probes (Efron, Tibshirani 1993)."""
    if not fractions:
        return Estimate(value=None, low=None, high=None, count=0)
    pairs = np.asarray(fractions, dtype=np.float64)
    total = pairs[:, 1].sum()
    if total == 0:
        return Estimate(value=None, low=None, high=None, count=len(fractions))
    sums = _resampled(pairs, seed)
    values = sums[:, 0][sums[:, 1] > 0] / sums[:, 1][sums[:, 1] > 0]
    low, high = np.percentile(values, [2.5, 97.5])
    return Estimate(value=float(pairs[:, 0].sum() / total), low=float(low), high=float(high), count=len(fractions))


def paired_difference(ours: Sequence[float], theirs: Sequence[float], *, seed: int) -> Estimate:
    """Return the mean of ours minus theirs over the same probes, with the paired bootstrap.

    Raises:
        ValueError: the lists differ in length.
    """
    differences = [(a - b, 1.0) for a, b in zip(ours, theirs, strict=True)]
    return estimate(differences, seed=seed)


def _resampled(pairs: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    generator = np.random.default_rng(seed)
    picks = generator.integers(0, len(pairs), size=(RESAMPLES, len(pairs)))
    sums: NDArray[np.float64] = pairs[picks].sum(axis=1)
    return sums


def mcnemar_exact(ours: Sequence[bool], theirs: Sequence[bool]) -> tuple[int, int, float]:
    """Return (only ours right, only theirs right, two-sided p) by the exact binomial test (McNemar 1947; Fagerland 2013).

    Raises:
        ValueError: the lists differ in length.
    """
    pairs = list(zip(ours, theirs, strict=True))
    only_ours = sum(1 for a, b in pairs if a and not b)
    only_theirs = sum(1 for a, b in pairs if b and not a)
    discordant = only_ours + only_theirs
    tail = sum(math.comb(discordant, k) for k in range(min(only_ours, only_theirs) + 1))
    return only_ours, only_theirs, min(1.0, 2 * tail / 2**discordant)


def minimum_detectable_effect(count: int, discordant_share: float, *, alpha: float = 0.05, power: float = 0.8) -> float | None:
    """Return the smallest paired difference d that `count` probes show with this power, None where they cannot show any.

    Solves n = (z_a √p + z_b √(p - d²))² / d² for d, p the share of discordant pairs (Connor 1987).
    """
    if count == 0 or discordant_share <= 0:
        return None
    z_alpha, z_beta = NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)
    low, high = 0.0, discordant_share
    for _ in range(60):
        middle = (low + high) / 2
        rest = max(0.0, discordant_share - middle**2)
        needed = (z_alpha * math.sqrt(discordant_share) + z_beta * math.sqrt(rest)) ** 2 / middle**2
        low, high = (middle, high) if needed > count else (low, middle)
    return high if high < discordant_share else None


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which `share` (0 to 1) of the values lie, by linear interpolation; 0.0 of none."""
    return float(np.percentile(values, share * 100)) if values else 0.0
