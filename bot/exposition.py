"""Figures as text that Prometheus reads: counters, gauges and histograms. Pure.

The format is that of https://prometheus.io/docs/instrumenting/exposition_formats/ (text, version 0.0.4).
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LABEL = re.compile(r"[a-z0-9_]{1,40}")
OTHER = "other"


class Histogram:
    """How many values lie at or below each bound, and their sum."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        """Count nothing yet; `bounds` ascend."""
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(self._bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """Count one value."""
        self._counts[bisect_left(self._bounds, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, int]]:
        """Return (bound, how many values are not above it), `+Inf` last."""
        total, found = 0, []
        for bound, count in zip((*map(_number, self._bounds), "+Inf"), self._counts, strict=True):
            total += count
            found.append((bound, total))
        return found


class Page:
    """What one look at `/metrics` returns, a family of figures after the other."""

    def __init__(self, prefix: str) -> None:
        """Every name begins with `prefix`."""
        self._prefix = prefix
        self._lines: list[str] = []

    def counter(self, name: str, told: str, value: float | Mapping[str, float], *, label: str = "") -> None:
        """Add what only grows; a mapping has a value for each value of `label`."""
        self._family(f"{name}_total", "counter", told)
        self._values(f"{name}_total", value, label)

    def gauge(self, name: str, told: str, value: float | Mapping[str, float], *, label: str = "") -> None:
        """Add what goes up and down."""
        self._family(name, "gauge", told)
        self._values(name, value, label)

    def histogram(self, name: str, told: str, values: Mapping[str, Histogram], *, label: str) -> None:
        """Add a histogram for each value of `label`."""
        self._family(name, "histogram", told)
        for key, histogram in values.items():
            of = f'{label}="{label_of(key)}"'
            cumulative = histogram.cumulative()
            for bound, count in cumulative:
                self._lines.append(f'{self._prefix}{name}_bucket{{{of},le="{bound}"}} {count}')
            self._lines.append(f"{self._prefix}{name}_sum{{{of}}} {_number(histogram.sum)}")
            self._lines.append(f"{self._prefix}{name}_count{{{of}}} {cumulative[-1][1]}")

    def text(self) -> str:
        """Return the page."""
        return "\n".join(self._lines) + "\n"

    def _family(self, name: str, kind: str, told: str) -> None:
        self._lines += [f"# HELP {self._prefix}{name} {told}", f"# TYPE {self._prefix}{name} {kind}"]

    def _values(self, name: str, value: float | Mapping[str, float], label: str) -> None:
        if not isinstance(value, Mapping):
            self._lines.append(f"{self._prefix}{name} {_number(value)}")
            return
        merged: dict[str, float] = {}
        for key, amount in value.items():
            merged[label_of(key)] = merged.get(label_of(key), 0) + amount
        self._lines += [f'{self._prefix}{name}{{{label}="{key}"}} {_number(amount)}' for key, amount in merged.items()]


def label_of(text: str) -> str:
    """Return `text` as the value of a label: a plain word of ours, or "other" for whatever else a platform may say."""
    return text if _LABEL.fullmatch(text) else OTHER


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
