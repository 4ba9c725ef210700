"""Two evaluations of the same probes: what changed in the block, and why."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replays.explain import REASONS
from replays.metrics import LOWER_IS_BETTER, METRICS
from replays.results import Answer

Json = dict[str, Any]
Key = tuple[str, str, tuple[str, ...]]  # section, source and provenance: the same piece of memory, however it is worded


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """An item that one of two blocks has and the other has not, and why."""

    item: Json
    why: str
    gold: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """How the answer to one probe differs between two evaluations."""

    id: str
    category: str
    question: str
    gained: tuple[Moved, ...] = ()  # only the second has it; `why` says why the first had not
    lost: tuple[Moved, ...] = ()
    reasons_gained: tuple[str, ...] = ()  # of the planner
    reasons_lost: tuple[str, ...] = ()
    verdicts: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)  # metrics that changed

    @property
    def better(self) -> int:
        """By how many metrics the second is better, those by which it is worse taken off."""
        return sum(_sign(name, *pair) for name, pair in self.verdicts.items())


def changes(first: Sequence[Answer], second: Sequence[Answer]) -> list[Change]:
    """Return the probes whose block, plan or verdict differs, in order; probes that only one has are left aside."""
    others = {answer.id: answer for answer in second}
    found = (_change(answer, others[answer.id]) for answer in first if answer.id in others)
    return [change for change in found if change is not None]


def _change(first: Answer, second: Answer) -> Change | None:
    before, after = _keyed(first), _keyed(second)
    gold = {one["id"] for one in first.case["gold"]}
    old, new = set(first.trace["reasons"]), set(second.trace["reasons"])
    change = Change(
        id=first.id,
        category=first.case["category"],
        question=" / ".join(line["text"] for line in first.case["batch"]),
        gained=tuple(_moved(item, first, gold) for key, item in after.items() if key not in before),
        lost=tuple(_moved(item, second, gold) for key, item in before.items() if key not in after),
        reasons_gained=tuple(reason for reason in second.trace["reasons"] if reason not in old),
        reasons_lost=tuple(reason for reason in first.trace["reasons"] if reason not in new),
        verdicts=_verdicts(first, second),
    )
    same = first.result["block"] == second.result["block"] and not (change.gained or change.lost or change.verdicts)
    return None if same else change


def _keyed(answer: Answer) -> dict[Key, Json]:
    return {(item["section"], item["source"], tuple(item["provenance"])): item for item in answer.result["items"]}


def _moved(item: Json, without: Answer, gold: set[str]) -> Moved:
    return Moved(item=item, why=_why_not(item, without), gold=bool(gold & set(item["provenance"])))


def _why_not(item: Json, answer: Answer) -> str:
    """Return why an answer has not got an item that the other one has."""
    if item["section"] == "history":
        return "the recent history is another one"
    for left in answer.trace["left_out"]:
        if left["source"] == item["source"] and left["provenance"] == item["provenance"]:
            return f"{REASONS.get(left['reason'], left['reason'])} ({left['score']:.3f})"
    if item["source"] in answer.result["timed_out"]:
        return f"{item['source']} was late"
    if item["source"] not in answer.result["plan"]:
        return f"{item['source']} was not asked"
    return f"not among the hits of {item['source']}"


def _verdicts(first: Answer, second: Answer) -> dict[str, tuple[float | None, float | None]]:
    pairs = {name: (_ratio(first.trace["verdict"][name]), _ratio(second.trace["verdict"][name])) for name in METRICS}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _ratio(fraction: list[float] | None) -> float | None:
    if fraction is None:
        return None
    above, below = fraction
    return round(above / below, 4) if below else None


def _sign(name: str, first: float | None, second: float | None) -> int:
    if name in {"block_tokens", "retrieval_rate"} or first is None or second is None:
        return 0  # dearer or cheaper, not better or worse
    return ((second > first) - (second < first)) * (-1 if name in LOWER_IS_BETTER else 1)


def told(change: Change) -> Iterator[str]:
    """Yield a change as a person would read it, a line each."""
    verdict = {1: "better", 0: "changed", -1: "worse"}[(change.better > 0) - (change.better < 0)]
    yield f"{change.id} · {change.category} · {verdict}: {' '.join(change.question.split())}"
    for sign, moved in [("+", one) for one in change.gained] + [("-", one) for one in change.lost]:
        mark = " (gold)" if moved.gold else ""
        other = "the first" if sign == "+" else "the second"
        yield f"  {sign}{mark} {moved.item['score']:.3f} {' '.join(moved.item['text'].split())}"
        yield f"      not in {other}: {moved.why}"
    yield from (f"  + plan: {reason}" for reason in change.reasons_gained)
    yield from (f"  - plan: {reason}" for reason in change.reasons_lost)
    for name, (before, after) in change.verdicts.items():
        yield f"    {name.replace('_', ' ')}: {_shown(before)} → {_shown(after)}"


def change_to_json(change: Change) -> Json:
    """Return a change as JSON types."""
    return {
        "id": change.id,
        "category": change.category,
        "question": change.question,
        "better": change.better,
        "gained": [{"item": one.item, "why": one.why, "gold": one.gold} for one in change.gained],
        "lost": [{"item": one.item, "why": one.why, "gold": one.gold} for one in change.lost],
        "reasons_gained": list(change.reasons_gained),
        "reasons_lost": list(change.reasons_lost),
        "verdicts": {name: list(pair) for name, pair in change.verdicts.items()},
    }


def _shown(value: float | None) -> str:
    return "does not apply" if value is None else f"{value:g}"
