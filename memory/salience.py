"""How much a memory weighs before anybody asks: importance x recency x repetition. A prior, never evidence. Pure."""

import math
from datetime import datetime

HALF_LIFE_DAYS = 30.0
PRIORS = frozenset({"recency", "worth"})  # channels that rank what others found and find nothing


def salience(
    importance: float, *, at: datetime, now: datetime, repetitions: int = 1, half_life_days: float = HALF_LIFE_DAYS
) -> float:
    """Return a weight in 0 to 1: `importance · 2^(-age / half_life) · (1 - 2^(-repetitions))`; one mention counts half.

    Importance (0 to 1, clipped) and exponential recency are those of Park et al. 2023, "Generative Agents"; relevance, their
    third factor, is the search's. Repetition saturates: the tenth time somebody says it adds next to nothing. A memory from
    the future (clocks differ) counts as of now.

    Raises:
        ValueError: `repetitions` is below one or the half-life is not positive.
    """
    if repetitions < 1 or half_life_days <= 0:
        raise ValueError(f"salience needs repetitions >= 1 and a positive half-life, not {repetitions} and {half_life_days}")
    return min(1.0, max(0.0, importance)) * recency(at, now, half_life_days=half_life_days) * (1 - math.pow(2, -repetitions))


def recency(at: datetime, now: datetime, *, half_life_days: float = HALF_LIFE_DAYS) -> float:
    """Return `2^(-age / half_life)`: 1 for now, a half after one half-life."""
    age_days = max(0.0, (now - at).total_seconds() / 86400)
    return math.pow(2, -age_days / half_life_days)
