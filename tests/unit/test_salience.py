"""Importance x recency x repetition."""

from datetime import timedelta

import pytest
from builders_plan import NOW

from memory.salience import recency, salience


def test_salience_is_the_product_of_its_three_parts() -> None:
    month = NOW - timedelta(days=30)
    assert salience(1.0, at=NOW, now=NOW) == 0.5
    assert salience(0.8, at=month, now=NOW, repetitions=2) == pytest.approx(0.8 * 0.5 * 0.75)
    assert salience(1.0, at=month, now=NOW, half_life_days=15) == pytest.approx(0.25 * 0.5)


def test_repetition_saturates_and_importance_is_clipped() -> None:
    assert 0.99 < salience(7.0, at=NOW, now=NOW, repetitions=10) <= 1.0
    assert salience(-1.0, at=NOW, now=NOW) == 0.0


def test_a_memory_from_the_future_counts_as_of_now() -> None:
    assert recency(NOW + timedelta(days=9), NOW) == 1.0


@pytest.mark.parametrize(("repetitions", "half_life"), [(0, 30.0), (1, 0.0)])
def test_meaningless_parameters_are_refused(repetitions: int, half_life: float) -> None:
    with pytest.raises(ValueError, match="salience needs"):
        salience(1.0, at=NOW, now=NOW, repetitions=repetitions, half_life_days=half_life)
