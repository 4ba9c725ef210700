"""What a benchmark gives: figures with their goal and their baseline, as a table or as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One measured value."""

    bench: str
    name: str
    value: float
    unit: str
    goal: str = ""  # such as `>= 300`; empty: none was set
    baseline: float | None = None  # what the same costs without us
    against: str = ""  # what the baseline is

    def met(self) -> bool | None:
        """Return whether the goal was reached, None where there is none."""
        if not self.goal:
            return None
        sign, bound = self.goal.split()
        return self.value >= float(bound) if sign == ">=" else self.value <= float(bound)

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON types."""
        return {**asdict(self), "value": round(self.value, 3), "met": self.met()}


def percentiles(bench: str, name: str, seconds: Sequence[float], **goals: str) -> list[Figure]:
    """Return p50, p95, p99 and maximum of durations, in milliseconds; `goals` by `p50`, `p95`, `p99`."""
    values = np.array(seconds or [0.0]) * 1000
    found = [(f"p{share}", float(np.percentile(values, share))) for share in (50, 95, 99)]
    return [
        Figure(bench=bench, name=f"{name} {label}", value=value, unit="ms", goal=goals.get(label, ""))
        for label, value in [*found, ("max", float(values.max()))]
    ]


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as a Markdown table."""
    lines = ["| what | measured | goal | baseline | ratio |", "| --- | ---: | --- | --- | ---: |"]
    for figure in figures:
        met = {None: "", True: " met", False: " MISSED"}[figure.met()]
        baseline = f"{figure.baseline:,.2f} ({figure.against})" if figure.baseline is not None else ""
        ratio = f"{figure.value / figure.baseline:.1f}" if figure.baseline else ""
        measured = f"{figure.value:,.2f} {figure.unit}"
        lines.append(f"| {figure.bench}: {figure.name} | {measured} | {figure.goal}{met} | {baseline} | {ratio} |")
    return "\n".join(lines)
