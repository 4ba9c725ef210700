"""The statistics on cases computed by hand or known in closed form."""

import pytest

from replays.stats import estimate, mcnemar_exact, minimum_detectable_effect, paired_difference, percentile


def test_estimate_is_the_ratio_of_sums_and_its_interval_holds_it() -> None:
    # (1 + 0 + 2) / (2 + 1 + 2) = 0.6
    got = estimate([(1, 2), (0, 1), (2, 2)], seed=7)
    assert got.value == pytest.approx(0.6)
    assert got.count == 3
    assert got.low is not None
    assert got.high is not None
    assert got.low <= 0.6 <= got.high


def test_estimate_of_nothing_is_unknown_not_zero() -> None:
    assert estimate([], seed=7).value is None
    assert estimate([(0, 0)], seed=7).value is None


def test_same_seed_gives_the_same_interval_and_another_one_does_not() -> None:
    data = [(float(i % 3 == 0), 1.0) for i in range(50)]
    assert estimate(data, seed=1) == estimate(data, seed=1)
    assert estimate(data, seed=1) != estimate(data, seed=2)


def test_bootstrap_interval_of_a_proportion_is_near_the_normal_one() -> None:
    # p = 0.5, n = 400: ± 1.96 · √(0.25 / 400) = ± 0.049
    got = estimate([(float(i % 2), 1.0) for i in range(400)], seed=3)
    assert got.low == pytest.approx(0.451, abs=0.01)
    assert got.high == pytest.approx(0.549, abs=0.01)


def test_mcnemar_counts_discordant_pairs_and_doubles_the_binomial_tail() -> None:
    ours, theirs = [True] * 5 + [False] + [True] * 4, [False] * 5 + [True] + [True] * 4
    # 5 against 1 of 6: 2 · (C(6,0) + C(6,1)) / 2⁶ = 14 / 64
    assert mcnemar_exact(ours, theirs) == pytest.approx((5, 1, 14 / 64))
    assert mcnemar_exact([True], [True]) == (0, 0, 1.0)
    with pytest.raises(ValueError, match="shorter"):
        mcnemar_exact([True, True], [True])


def test_paired_difference_is_the_mean_of_differences() -> None:
    got = paired_difference([1, 1, 0, 1], [1, 0, 0, 0], seed=1)
    assert got.value == pytest.approx(0.5)


def test_detectable_effect_shrinks_with_more_probes_and_agrees_with_the_formula() -> None:
    few, many = minimum_detectable_effect(100, 0.2), minimum_detectable_effect(400, 0.2)
    assert few is not None
    assert many is not None
    assert many < few
    # n = (1.96·√.2 + 0.8416·√(.2 − δ²))² / δ² at δ ≈ 0.1225 gives 100
    needed = (1.95996 * 0.2**0.5 + 0.84162 * (0.2 - few**2) ** 0.5) ** 2 / few**2
    assert needed == pytest.approx(100, rel=0.01)
    assert minimum_detectable_effect(3, 0.05) is None
    assert minimum_detectable_effect(0, 0.5) is None


def test_percentile_interpolates_and_knows_the_empty_list() -> None:
    assert percentile([1, 2, 3, 4], 0.5) == 2.5
    assert percentile([], 0.9) == 0.0
