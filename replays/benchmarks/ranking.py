"""Metrics of a ranking of ids against the right ones. Pure; the rank counts from 1."""

import math
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Literal


def recall_at(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """|gold ∩ first k| / |gold|; `gold` must not be empty."""
    return len(set(gold).intersection(islice(ranking, k))) / len(set(gold))


def recall_any(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 where at least one of `gold` is among the first k (LongMemEval, `recall_any@k`)."""
    return float(recall_at(ranking, gold, k) > 0)


def recall_all(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 where all of `gold` are among the first k (LongMemEval, `recall_all@k`)."""
    return float(recall_at(ranking, gold, k) == 1)


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    """1 / rank of the first of `gold`, 0 where none is found."""
    right = set(gold)
    return next((1 / rank for rank, found in enumerate(ranking, start=1) if found in right), 0.0)


def ndcg(ranking: Sequence[str], gold: Collection[str], k: int, *, convention: Literal["official", "standard"]) -> float:
    """Discounted cumulative gain of the first k over that of the best order, gains 0 or 1.

    `standard` divides the gain at rank r by log2(r + 1) (Järvelin, Kekäläinen 2002). `official`, as LongMemEval's own program
    computes it, divides by log2(r) from rank 2 on, so that rank 2 has no discount.
    """
    right = set(gold)
    gains = [1.0 if found in right else 0.0 for found in islice(ranking, k)]
    best = _gain([1.0] * min(k, len(right)), convention)
    return _gain(gains, convention) / best if best else 0.0


def _gain(gains: Sequence[float], convention: str) -> float:
    if convention == "official":
        return sum(gain / (math.log2(rank) if rank > 1 else 1.0) for rank, gain in enumerate(gains, start=1))
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
