"""What kind of thing a question is after, against what is known to be stated: facts have a slot. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory.latest import APART, asks_of_the_past
from memory.model import Evidence, Plan, SourceKind
from memory.normalise import spaced
from memory.rules import Rules

KIND = "kind"  # marks a hit that is known to be of the kind asked for
_PERSONAL = frozenset({SourceKind.PROFILE, SourceKind.RECALL})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The slots of facts that answer a question; none: any fact may."""

    facts: frozenset[str] = frozenset()
    one: bool = False  # the question is after one kind of thing, as it is now


def wanted_by(query: str, rules: Sequence[Rules]) -> Wanted:
    """Return which facts answer a question: any, where it is after no known kind of thing, or after a date."""
    plain = spaced(query)
    asked: dict[str, set[str]] = {}
    for slot in (slot for rule in rules for slot in rule.slot if slot.ask.found(plain)):
        asked.setdefault(slot.name, set()).update(slot.facts)
    if not asked or not all(asked.values()):
        return Wanted()
    return Wanted(facts=frozenset[str]().union(*asked.values()), one=len(asked) == 1 and not asks_of_the_past(query, rules))


def known_kind(item: Evidence, rules: Sequence[Rules]) -> Evidence:
    """Return the item, marked where it is a fact of the kind that is asked for; one with a chance of its own needs no mark."""
    if item.calibrated or item.request.kind is not SourceKind.RECALL or item.document.kind != "fact":
        return item
    known = item.document.about in wanted_by(item.request.query, rules).facts
    return replace(item, channels={**item.channels, KIND: 1.0}) if known else item


def of_the_kind(evidence: Sequence[Evidence], rules: Sequence[Rules]) -> list[Evidence]:
    """Return the evidence without a viewer's facts that state something else than is asked of that viewer.

    Only where a fact of the kind asked for is known: without one, the question may be after what its words do not say.
    """
    wanted = _wanted(evidence, rules)
    answered = {
        item.request.viewer_id
        for item in evidence
        if item.request.kind in _PERSONAL and item.document.about in wanted.get(item.request.viewer_id, Wanted()).facts
    }
    return [
        item
        for item in evidence
        if item.request.viewer_id not in answered or not _of_another(item, wanted[item.request.viewer_id].facts)
    ]


def known_first(evidence: Sequence[Evidence], plan: Plan, rules: Sequence[Rules]) -> list[Evidence]:
    """Return the evidence without what only resembles an answer, where a viewer's search found one of the kind asked for.

    What scores better than that statement stays, and so does what was said later, on another occasion: it may be the
    change that no rule reads. All of it stays where the question is after several kinds of thing or after the past.
    """
    if plan.as_of is not None:
        return list(evidence)
    stated, wanted = _stated_in(evidence), _wanted(evidence, rules)
    known: dict[str | None, list[Evidence]] = {}
    for item in evidence:
        asked = wanted.get(item.request.viewer_id, Wanted())
        if item.request.kind is SourceKind.RECALL and asked.one and _said(item, stated) & asked.facts:
            known.setdefault(item.request.viewer_id, []).append(item)
    return [item for item in evidence if _holds_beside(item, known.get(item.request.viewer_id, ()))]


def _holds_beside(item: Evidence, known: Sequence[Evidence]) -> bool:
    if item.request.kind is not SourceKind.RECALL or not known or any(item is one for one in known):
        return True
    later = item.document.at - max(one.document.at for one in known) >= APART
    return later or item.score >= max(one.score for one in known)


def _wanted(evidence: Sequence[Evidence], rules: Sequence[Rules]) -> Mapping[str | None, Wanted]:
    asked = {item.request.viewer_id: item.request.query for item in evidence if item.request.kind is SourceKind.RECALL}
    return {viewer: wanted_by(query, rules) for viewer, query in asked.items()}


def _stated_in(evidence: Sequence[Evidence]) -> Mapping[str, frozenset[str]]:
    """Return the slots of the facts that rest on each message, by its id."""
    found: dict[str, frozenset[str]] = {}
    for item in evidence:
        if item.request.kind in _PERSONAL and item.document.about:
            for source in item.document.provenance:
                found[source] = found.get(source, frozenset()) | {item.document.about}
    return found


def _said(item: Evidence, stated: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if item.document.kind == "fact":
        return frozenset({item.document.about})
    return frozenset[str]().union(*(stated.get(source, frozenset()) for source in item.document.provenance))


def _of_another(item: Evidence, facts: frozenset[str]) -> bool:
    personal = item.request.kind in _PERSONAL and item.document.kind == "fact"
    return personal and bool(facts) and bool(item.document.about) and item.document.about not in facts
