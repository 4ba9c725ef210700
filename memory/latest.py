"""Of two things a viewer said, the newer one that says something changed wins: what it replaces is no longer shown. Pure."""

from collections.abc import Sequence
from datetime import timedelta

from memory.model import Evidence, Plan, SourceKind
from memory.normalise import spaced
from memory.rules import Rules

AS_GOOD = 0.5  # of the older one's score, from which the newer answers the same question
APART = timedelta(hours=6)  # what is said in one sitting goes together


def newest_wins(evidence: Sequence[Evidence], plan: Plan, rules: Sequence[Rules]) -> tuple[Evidence, ...]:
    """Return the evidence without the messages that a newer one of the same viewer replaces.

    A message replaces an older one where it has words of change ("now", "I started"), answers a question after what holds until
    it changes about as well by its score, and was said on another occasion. A question about the past keeps everything. Facts
    have their own intervals and are not touched.
    """
    if plan.as_of is not None:
        return tuple(evidence)
    changing = [item for item in evidence if _personal(item) and _asked(item, rules) and _changes(item, rules)]
    return tuple(item for item in evidence if not any(_replaces(newer, item) for newer in changing))


def asks_of_the_past(query: str, rules: Sequence[Rules]) -> bool:
    """Return whether the question asks how something was."""
    plain = spaced(query)
    return any(table.found(plain) for rule in rules for table in (rule.before, rule.ago, rule.was, rule.episode.remote))


def _personal(item: Evidence) -> bool:
    return item.request.kind is SourceKind.RECALL and item.document.kind in {"message", "fact"}


def _asked(item: Evidence, rules: Sequence[Rules]) -> bool:
    """Whether the question is after something of a known kind, which holds until it changes."""
    plain = spaced(item.request.query)
    lasting = [slot.lasting for rule in rules for slot in rule.slot if slot.ask.found(plain)]
    return bool(lasting) and all(lasting) and not asks_of_the_past(item.request.query, rules)


def _changes(item: Evidence, rules: Sequence[Rules]) -> bool:
    plain = spaced(item.document.text)
    return any(rule.change.found(plain) for rule in rules)


def _replaces(newer: Evidence, older: Evidence) -> bool:
    same = newer.request.name == older.request.name and older.document.kind == "message"
    as_good = newer.score >= AS_GOOD * older.score
    return same and as_good and newer.document.at - older.document.at >= APART
