"""Figures over the questions of a benchmark: each system's mean of each metric, by category and over all."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from replays.stats import estimate

ALL = "all"
Row = Mapping[str, Any]  # of the journal: `category` and `systems`, {system: {metric: value or None}}


def tallied(rows: Sequence[Row], *, seed: int = 0, without: Iterable[str] = ()) -> dict[str, Any]:
    """Return {system: {category or "all": {metric: {value, count, and for "all" low and high}}}}.

    Questions where a metric is None do not count for it. `without` are categories that do not enter "all".
    """
    groups: dict[str, list[Row]] = {}
    aside = set(without)
    for row in rows:
        groups.setdefault(row["category"], []).append(row)
        if row["category"] not in aside:
            groups.setdefault(ALL, []).append(row)
    systems = dict.fromkeys(system for row in rows for system in row["systems"])
    return {
        system: {name: _metrics(system, groups[name], seed, whole=name == ALL) for name in sorted(groups)} for system in systems
    }


def _metrics(system: str, rows: Sequence[Row], seed: int, *, whole: bool) -> dict[str, Any]:
    given = [row["systems"][system] for row in rows if system in row["systems"]]
    names = dict.fromkeys(name for metrics in given for name in metrics)
    return {name: _figure([m[name] for m in given if m.get(name) is not None], seed, whole=whole) for name in names}


def _figure(values: Sequence[float], seed: int, *, whole: bool) -> dict[str, Any]:
    if whole:
        return {
            key: round(v, 4) if isinstance(v, float) else v
            for key, v in asdict(estimate([(v, 1) for v in values], seed=seed)).items()
        }
    return {"value": round(sum(values) / len(values), 4) if values else None, "count": len(values)}
