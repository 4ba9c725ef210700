"""The metrics of the evaluation contract. Each maps one probe to (numerator, denominator), None where it does not apply.

The value over probes is Σ numerators / Σ denominators: a mean where every denominator is 1, a ratio of counts otherwise.
"""

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory import Item
from replays.cases import Case

Fraction = tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the memory gave one probe, as `results.jsonl` holds it. `block` is the text of the prompt, history included."""

    id: str
    category: str
    plan: tuple[str, ...]
    items: tuple[Item, ...]
    block: str
    block_tokens: int  # of the memory block, the history aside
    abstained: bool
    degraded: bool
    timed_out: tuple[str, ...]
    latency_ms: Mapping[str, object]
    reply: str | None = None

    @property
    def retrieved(self) -> tuple[Item, ...]:
        """The items that are not recent history."""
        return tuple(item for item in self.items if item.section != "history")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """A probe, what it got, and who wrote which message."""

    case: Case
    result: Result
    authors: Mapping[str, str]


Metric = Callable[[Scored], Fraction | None]


def folded(text: str) -> str:
    """Return text as answers are compared: case folded, accents folded, white space collapsed."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(c))
    return " ".join(plain.split())


def evidence_recall(scored: Scored) -> Fraction | None:
    """|gold ∩ provenance of any item| / |gold|, on probes with gold."""
    if not scored.case.gold:
        return None
    found = {source for item in scored.result.items for source in item.provenance}
    return len(scored.case.gold & found) / len(scored.case.gold), 1


def out_of_history_recall(scored: Scored) -> Fraction | None:
    """Evidence recall on probes none of whose gold is in the recent history."""
    recent = {source for item in scored.result.items if item.section == "history" for source in item.provenance}
    return None if scored.case.gold & recent else evidence_recall(scored)


def answer_coverage(scored: Scored) -> Fraction | None:
    """1 where the block holds one of `answers` and all of `answers_all`, on probes that have either and are not inferred."""
    case = scored.case
    if case.answer_inferred or not (case.answers or case.answers_all):
        return None
    return _holds(scored.result.block, case), 1


def reply_coverage(scored: Scored) -> Fraction | None:
    """The same for the reply of the language model, where one answered."""
    case = scored.case
    if scored.result.reply is None or case.answer_inferred or not (case.answers or case.answers_all):
        return None
    return _holds(scored.result.reply, case), 1


def retrieval_precision(scored: Scored) -> Fraction | None:
    """Retrieved items whose provenance meets gold / retrieved items, on probes with gold."""
    return _precision(scored) if scored.case.gold else None


def irrelevant_share(scored: Scored) -> Fraction | None:
    """Retrieved items whose provenance misses gold / retrieved items, on all probes: without gold every item is irrelevant."""
    hits, items = _precision(scored)
    return (items - hits, items) if items else None


def misattribution_rate(scored: Scored) -> Fraction | None:
    """Personal items with a message their subject did not write, plus items that meet `forbidden`, over personal items."""
    retrieved = scored.result.retrieved
    personal = [item for item in retrieved if item.section in {"profile", "recall"}]
    wrong = [item for item in personal if _foreign(item, scored.authors)]
    forbidden = [item for item in retrieved if scored.case.forbidden & set(item.provenance) and item not in wrong]
    count = len(wrong) + len(forbidden)
    return (count, len(personal)) if personal or count else None


def stale_rate(scored: Scored) -> Fraction | None:
    """1 where a `forbidden_text` stands in a current item (history aside), on probes that have one."""
    if not scored.case.forbidden_text:
        return None
    current = folded("\n".join(item.text for item in scored.result.retrieved if item.current))
    return float(any(folded(text) in current for text in scored.case.forbidden_text)), 1


def abstention_precision(scored: Scored) -> Fraction | None:
    """Right abstentions / abstentions."""
    return (float(scored.case.abstain), 1) if scored.result.abstained else None


def abstention_recall(scored: Scored) -> Fraction | None:
    """Right abstentions / probes that ask for one."""
    return (float(scored.result.abstained), 1) if scored.case.abstain else None


def retrieval_rate(scored: Scored) -> Fraction | None:
    """1 where any semantic source (a viewer, a stream, lore, a baseline's archive) was queried."""
    return float(any(name.startswith(("viewer:", "stream:")) or name in {"lore", "archive"} for name in scored.result.plan)), 1


def block_tokens(scored: Scored) -> Fraction | None:
    """Tokens of the memory block, the history aside."""
    return scored.result.block_tokens, 1


def degraded_rate(scored: Scored) -> Fraction | None:
    """1 where a source was late or failed."""
    return float(scored.result.degraded), 1


METRICS: dict[str, Metric] = {
    "evidence_recall": evidence_recall,
    "out_of_history_recall": out_of_history_recall,
    "answer_coverage": answer_coverage,
    "reply_coverage": reply_coverage,
    "retrieval_precision": retrieval_precision,
    "irrelevant_share": irrelevant_share,
    "misattribution_rate": misattribution_rate,
    "stale_rate": stale_rate,
    "abstention_precision": abstention_precision,
    "abstention_recall": abstention_recall,
    "retrieval_rate": retrieval_rate,
    "block_tokens": block_tokens,
    "degraded_rate": degraded_rate,
}
LOWER_IS_BETTER = frozenset(
    {"irrelevant_share", "misattribution_rate", "stale_rate", "retrieval_rate", "block_tokens", "degraded_rate"}
)


def _holds(text: str, case: Case) -> float:
    words = folded(text)
    one = not case.answers or any(folded(answer) in words for answer in case.answers)
    return float(one and all(folded(answer) in words for answer in case.answers_all))


def _precision(scored: Scored) -> Fraction:
    items = scored.result.retrieved
    return sum(1 for item in items if scored.case.gold & set(item.provenance)), len(items)


def _foreign(item: Item, authors: Mapping[str, str]) -> bool:
    return any(source in authors and authors[source] != item.subject for source in item.provenance)
