"""The plots of a report, as SVG text: no library, no network, every label escaped."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

Json = Mapping[str, Any]
WIDTH, ROW, LABELS, NUMBERS = 560, 22, 132, 96
LETTER = 6.6  # pixels of a letter, about
APART = 30  # pixels between points that get a label each


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value, kept inside."""
        low, high, value = (self._scaled(one) for one in (self.low, self.high, value))
        share = (value - low) / (high - low) if high > low else 0.0
        return round(self.start + min(1.0, max(0.0, share)) * (self.end - self.start), 1)

    def _scaled(self, value: float) -> float:
        return math.log10(max(value, 1e-9)) if self.logarithmic else value


def bars(groups: Mapping[str, Json], metric: str) -> str:
    """Return one bar a group, with its interval; a group to which the metric does not apply has none."""
    axis = Axis(low=0, high=1, start=LABELS, end=WIDTH - NUMBERS)
    height = ROW * len(groups) + 24
    parts = _grid(axis, (0, 0.25, 0.5, 0.75, 1), height)
    for row, (name, group) in enumerate(groups.items()):
        found, middle = group["metrics"][metric], row * ROW + ROW / 2
        parts.append(_text(LABELS - 8, middle + 4, name, anchor="end"))
        if found["value"] is None:
            parts.append(_text(axis.start + 6, middle + 4, "does not apply", soft=True))
            continue
        end = axis.at(found["value"])
        parts.append(f'<rect class="bar" x="{axis.start}" y="{middle - 7}" width="{end - axis.start:.1f}" height="14" rx="3"/>')
        parts.append(_whisker(axis, found, middle))
        parts.append(_text(WIDTH - NUMBERS + 10, middle + 4, f"{found['value']:.2f}  (n {found['count']})", soft=True))
    return _svg(height, parts, f"{metric.replace('_', ' ')} by category")


def differences(pairs: Mapping[str, Json], metric: str, first: str) -> str:
    """Return one point a recipe: its difference to the first recipe, with the interval."""
    found = {name: pair[metric]["difference"] for name, pair in pairs.items()}
    found = {name: one for name, one in found.items() if one["value"] is not None}
    widest = max([0.1, *(abs(one[key]) for one in found.values() for key in ("low", "high"))])
    edge = math.ceil(widest * 10) / 10
    axis = Axis(low=-edge, high=edge, start=LABELS, end=WIDTH - NUMBERS)
    height = ROW * len(found) + 24
    parts = _grid(axis, (-edge, -edge / 2, 0, edge / 2, edge), height, signed=True)
    parts.append(f'<line class="zero" x1="{axis.at(0)}" x2="{axis.at(0)}" y1="0" y2="{height - 22}"/>')
    for row, (name, one) in enumerate(found.items()):
        middle = row * ROW + ROW / 2
        parts.append(_text(LABELS - 8, middle + 4, name, anchor="end"))
        parts.append(_whisker(axis, one, middle))
        parts.append(f'<circle class="dot" cx="{axis.at(one["value"])}" cy="{middle}" r="4"/>')
        parts.append(_text(WIDTH - NUMBERS + 10, middle + 4, f"{one['value']:+.3f}", soft=True))
    return _svg(height, parts, f"{metric.replace('_', ' ')}: difference to {first}")


def recall_against_tokens(recipes: Mapping[str, Json]) -> str:
    """Return one point a recipe: evidence recall over the mean tokens of its block, on a logarithmic axis."""
    height = 340
    values = {name: _point(group) for name, group in recipes.items()}
    points = {name: point for name, point in values.items() if point is not None}
    most = max([100.0, *(tokens for tokens, _ in points.values())])
    least = max(1.0, min([10.0, *(tokens for tokens, _ in points.values())]))
    across = Axis(low=least, high=most * 2.2, start=44, end=WIDTH - 12, logarithmic=True)
    up = Axis(low=0, high=1, start=height - 36, end=10)
    parts = [_text(38, up.at(tick) + 4, f"{tick:g}", anchor="end", soft=True) for tick in (0, 0.25, 0.5, 0.75, 1)]
    parts += [f'<line class="axis" x1="44" x2="{WIDTH}" y1="{up.at(t)}" y2="{up.at(t)}"/>' for t in (0, 0.25, 0.5, 0.75, 1)]
    ticks = [10.0**power for power in range(6) if least <= 10.0**power <= most * 2.2]
    parts += [_text(across.at(tick), height - 18, f"{tick:g}", anchor="middle", soft=True) for tick in ticks]
    parts.append(_text(WIDTH - 12, height - 2, "tokens of the memory block, mean", anchor="end", soft=True))
    places = {name: (across.at(tokens), up.at(recall)) for name, (tokens, recall) in points.items()}
    parts += [
        f'<circle class="dot" cx="{x}" cy="{y}" r="4.5"><title>{escape(name)}</title></circle>'
        for name, (x, y) in places.items()
    ]
    parts += [_text(x, y, name) for name, (x, y) in _labelled(places).items()]
    return _svg(height, parts, "evidence recall against tokens")


def cumulative(values: Sequence[float], unit: str = "ms") -> str:
    """Return the share of values at or below each value, with p50 and p95 marked."""
    height, ordered = 240, sorted(values)
    if not ordered:
        return _svg(40, [_text(10, 24, "nothing was measured", soft=True)], "latency")
    across = Axis(low=0, high=ordered[-1] or 1.0, start=44, end=WIDTH - 16)
    up = Axis(low=0, high=1, start=height - 36, end=10)
    parts = [_text(38, up.at(tick) + 4, f"{tick:.0%}", anchor="end", soft=True) for tick in (0, 0.5, 0.95)]
    parts += [f'<line class="axis" x1="44" x2="{WIDTH}" y1="{up.at(t)}" y2="{up.at(t)}"/>' for t in (0, 0.5, 0.95)]
    steps = [f"M{across.at(0)} {up.at(0)}"]
    for rank, value in enumerate(ordered, start=1):
        steps.append(f"H{across.at(value)} V{up.at(rank / len(ordered))}")
    parts.append(f'<path class="curve" d="{" ".join(steps)}"/>')
    for share in (0.5, 0.95):
        value = ordered[max(0, math.ceil(share * len(ordered)) - 1)]
        parts.append(f'<circle class="dot" cx="{across.at(value)}" cy="{up.at(share)}" r="4"/>')
        parts.append(_text(across.at(value) + 8, up.at(share) + 16, f"{value:.1f} {unit}"))
    parts += [
        _text(across.at(t), height - 18, f"{t:.0f}", anchor="middle", soft=True) for t in (0, across.high / 2, across.high)
    ]
    parts.append(_text(WIDTH - 16, height - 2, f"{unit} of the memory stage", anchor="end", soft=True))
    return _svg(height, parts, "latency")


def _point(group: Json) -> tuple[float, float] | None:
    metrics = group["overall"]["metrics"]
    tokens, recall = metrics["block_tokens"]["value"], metrics["evidence_recall"]["value"]
    return None if tokens is None or recall is None else (tokens, recall)


def _labelled(places: Mapping[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return a place for the label of each point that stands apart; those beside a labelled one go without."""
    found: dict[str, tuple[float, float]] = {}
    for name, (x, y) in places.items():
        if all(math.dist((x, y), places[other]) > APART for other in found):
            wide = len(name) * LETTER
            found[name] = (round(x + 9 if x + 9 + wide < WIDTH else x - 9 - wide, 1), round(y + 4, 1))
    return found


def _grid(axis: Axis, ticks: Sequence[float], height: float, *, signed: bool = False) -> list[str]:
    parts = []
    for tick in ticks:
        x = axis.at(tick)
        parts.append(f'<line class="axis" x1="{x}" x2="{x}" y1="0" y2="{height - 22}"/>')
        parts.append(_text(x, height - 6, f"{tick:+.2g}" if signed and tick else f"{tick:.2g}", anchor="middle", soft=True))
    return parts


def _whisker(axis: Axis, found: Json, middle: float) -> str:
    low, high = axis.at(found["low"]), axis.at(found["high"])
    ends = "".join(f"M{x} {middle - 4}V{middle + 4}" for x in (low, high))
    return f'<path class="whisker" d="M{low} {middle}H{high}{ends}"/>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", soft: bool = False) -> str:
    style = ' class="soft"' if soft else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(text)}</text>'


def _svg(height: float, parts: Sequence[str], title: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{escape(title)}</title>{"".join(parts)}</svg>'
