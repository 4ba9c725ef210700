"""The gate: evidence that is too weak, or far behind the best, does not go on. Returning nothing is an answer. Pure."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from memory.kinds import KIND, known_first, known_kind, of_the_kind
from memory.language import content_stems
from memory.latest import newest_wins
from memory.model import Evidence, LeftOut, Plan, SourceKind, SourceRequest
from memory.normalise import spaced, words
from memory.recipes import Gate, Limits, Recipe
from memory.rules import Rules
from memory.salience import PRIORS

NO_OTHER = 0.3  # level of the next best line of a viewer who has none
LEVELS = frozenset({"level", "calibrated"})  # methods of fusion whose scores are no matter of the other hits
OPEN_SHARE = 0.5  # of the chance that is enough where all that is known is asked for
OPEN_EASE = 0.15  # how much less anything needs where all that is known is asked for
USUAL_WORTH = 0.7  # of what is remembered: floors come down by it where the recipe does not weigh
USUAL_MEANING = 0.35  # what meaning adds to a right answer: missing where a line is not indexed yet, or the index failed
NEAR_UNASKED = 0.6  # nearness of an entry of the canon that nobody asked for outright
_LOOKED_UP = frozenset({"exact", "graph", KIND})  # channels that find or do not, without degrees
_MEASURED = PRIORS | {"dense", "lexical"}
SHARED_START, LONG_WORD = 4, 5  # letters in which a word of a fact and one of the question agree, and those it must have


def gate(
    evidence: Sequence[Evidence], plan: Plan, recipe: Recipe, rules: Sequence[Rules] = ()
) -> tuple[tuple[Evidence, ...], tuple[LeftOut, ...]]:
    """Return the evidence that is good enough, in its order, and what was left out (`below_gate`).

    Where the score is the chance that a hit answers (`memory.relevance`), it stays from `least_chance` on, in a place whose
    best one reaches `answer_chance`. Elsewhere it stays if one channel vouches for it: an exact look-up, a dense cosine from
    `dense_floor` on, or a lexical score above `lexical_floor`; if it holds a number where the question is after one; and if its
    fused score reaches `fused_floor`; a fact of the very kind that is asked for needs no floor there.
    A viewer's memory gives nothing at all where its best hit, `lead` times what it is ahead of the next one added, does not
    reach `answer_floor`: what stands out needs less. Then each item is compared with the best of its
    source: the mean of s_c / max s_c over the channels that found something, weighted as messages are in fusion, must be at
    least 1 - `gap`, so that one item is left where one stands out. Raw scores are compared, since fused ones are stretched to
    0..1 even where all hits are alike. What an exact look-up found has no degrees and is not cut, nor is the answer to an
    open question ("what do you know about me?"). A profile is not searched: of its facts those stay that the same viewer's
    search found too or that share a word with the question, and all of them where the question is open or the search gave
    nothing.
    """
    limits = recipe.gate
    if limits.off:
        return tuple(_first(evidence, recipe.limits)), ()
    evidence = [known_kind(item, rules) for item in evidence]
    vouched = [item for item in evidence if plan.explicit_recall or (_vouched(item, limits) and _fitting(item, rules))]
    if not plan.explicit_recall:
        vouched = _answering(of_the_kind(vouched, rules), recipe)
    strong = [item for item in vouched if item.score >= _floor(item, recipe, explicit=plan.explicit_recall)]
    kept = _first(strong if plan.explicit_recall else _near_the_best(strong, recipe), recipe.limits)
    kept = list(newest_wins(kept, plan, rules))
    if not plan.explicit_recall:
        kept = known_first(kept, plan, rules)
        answered = {item.request.name for item in evidence}
        searched = [r for r in plan.requests if r.kind is SourceKind.RECALL and r.name in answered]
        kept = [item for item in kept if item.request.kind is not SourceKind.PROFILE or _asked_for(item, kept, searched)]
    kept = _hearsay_last(kept, plan, rules)
    held = {id(item) for item in kept}
    left = [item for item in evidence if id(item) not in held]
    return tuple(kept), tuple(_left_out(item) for item in left)


def unsure(evidence: Sequence[Evidence], plan: Plan, recipe: Recipe) -> bool:
    """Return whether memory was asked and, by what was found, it is more likely than `unsure_chance` that nothing answers.

    The chance is Π (1 - p) over everything that was found, each with its own chance p. What the canon names outright is sure,
    and whatever is known of somebody answers an open question ("what do you know about me?").
    """
    asked = plan.asks_memory and not plan.explicit_recall and not plan.covered
    named = any(item.request.kind is SourceKind.LORE and "exact" in item.channels for item in evidence)
    chances = [item.score for item in evidence if item.calibrated]
    return asked and not named and bool(chances) and math.prod(1 - chance for chance in chances) > recipe.gate.unsure_chance


def nearest(kept: Sequence[Evidence]) -> tuple[tuple[Evidence, ...], tuple[LeftOut, ...]]:
    """Return what comes nearest to an answer, and the rest as left out; a fact and the message behind it are one thing."""
    if not kept:
        return (), ()
    best = max(kept, key=lambda item: (item.calibrated, item.score))
    same = tuple(
        item for item in kept if item is best or not set(item.document.provenance).isdisjoint(best.document.provenance)
    )
    return same, tuple(_left_out(item) for item in kept if not any(item is one for one in same))


def _left_out(item: Evidence) -> LeftOut:
    return LeftOut(
        source=item.request.name,
        document_id=item.document.id,
        reason="below_gate",
        score=item.score,
        provenance=item.document.provenance,
    )


def _vouched(item: Evidence, limits: Gate) -> bool:
    given = item.channels
    if item.calibrated:
        return item.document.kind != "message" or given.get("worth", 1.0) > 0
    if item.request.strict:  # what nothing speaks for but nearness itself, in a measure that no chance is known of
        return given.get("near", 0.0) >= NEAR_UNASKED
    if item.request.kind is SourceKind.LORE or any(channel not in _MEASURED for channel in given):
        return True
    if item.document.kind == "message" and given.get("worth", 1.0) <= 0:
        return False
    personal = item.request.kind is SourceKind.RECALL
    lexical = limits.lexical_floor if personal and "dense" in given else 0.0
    return given.get("dense", -1.0) >= limits.dense_floor or given.get("lexical", 0.0) > lexical


def _fitting(item: Evidence, rules: Sequence[Rules]) -> bool:
    """Whether the message can answer what is asked: how old somebody is takes a number."""
    if item.request.kind is not SourceKind.RECALL or item.document.kind != "message":
        return True
    plain = spaced(item.request.query)
    asked = any(slot.number and slot.ask.found(plain) for rule in rules for slot in rule.slot)
    return not asked or any(word.isdigit() or _numeral(word, rules) for word in words(item.document.text))


def _numeral(word: str, rules: Sequence[Rules]) -> bool:
    return any(rule.numbers.get(word, 0) > 1 for rule in rules)  # "one" is an article too


def _answering(evidence: Sequence[Evidence], recipe: Recipe) -> list[Evidence]:
    """Return the evidence without the viewers whose best line does not answer."""
    if recipe.fusion.method not in LEVELS:
        return list(evidence)
    places: dict[str, list[Evidence]] = {}
    for item in evidence:
        if item.calibrated or item.request.kind is SourceKind.RECALL:
            places.setdefault(item.request.place, []).append(item)
    silent = {place for place, items in places.items() if not _answers(items, recipe)}
    return [item for item in evidence if item.request.place not in silent]


def _answers(items: Sequence[Evidence], recipe: Recipe) -> bool:
    best, *others = sorted(items, key=lambda item: -item.score)
    if best.calibrated:
        return best.score >= recipe.gate.answer_chance
    ahead = best.score - (others[0].score if others else NO_OTHER)
    looked_up = any(not _LOOKED_UP.isdisjoint(item.channels) for item in items)
    return looked_up or best.score + recipe.gate.lead * ahead >= recipe.gate.answer_floor - _ease(best, recipe)


def _floor(item: Evidence, recipe: Recipe, *, explicit: bool) -> float:
    limits = recipe.gate
    if item.calibrated:
        return limits.least_chance * (OPEN_SHARE if explicit else 1.0)
    if recipe.fusion.method not in LEVELS or not _LOOKED_UP.isdisjoint(item.channels):
        return limits.fused_floor
    ease = _ease(item, recipe) + (OPEN_EASE if explicit else 0.0)
    return max(limits.fused_floor, limits.levels.get(item.document.kind, 0.0) - ease)


def _ease(item: Evidence, recipe: Recipe) -> float:
    """Return how much less is needed where a channel is missing."""
    meaning = 0.0 if "dense" in item.channels else USUAL_MEANING
    return meaning + (0.0 if "worth" in recipe.channels else USUAL_WORTH * recipe.fusion.worth_prior)


def _first(evidence: Sequence[Evidence], limits: Limits) -> list[Evidence]:
    """Return as many of each source as it may show."""
    most = {
        SourceKind.RECALL: limits.viewer_hits,
        SourceKind.CLAIMS: limits.claim_hits,
        SourceKind.GRAPH: limits.viewers_max,
        SourceKind.EPISODE: limits.episode_hits,
        SourceKind.LORE: limits.lore_hits,
    }
    taken: Counter[str] = Counter()
    kept = []
    seen: set[tuple[str, tuple[str, ...]]] = set()
    for item in sorted(evidence, key=lambda one: -one.score):
        said = (item.request.place, item.document.provenance)
        taken[item.request.place] += said not in seen  # a fact and the message behind it are one thing
        seen.add(said)
        if taken[item.request.place] <= most.get(item.request.kind, len(evidence)):
            kept.append(item)
    return [item for item in evidence if any(item is one for one in kept)]


def _best(evidence: Sequence[Evidence]) -> dict[str, Evidence]:
    """Return the best item of each place."""
    best: dict[str, Evidence] = {}
    for item in evidence:
        if item.request.place not in best or item.score > best[item.request.place].score:
            best[item.request.place] = item
    return best


def _near_the_best(evidence: Sequence[Evidence], recipe: Recipe) -> list[Evidence]:
    if recipe.fusion.method in LEVELS:
        least = {place: (1 - recipe.gate.gap) * item.score for place, item in _best(evidence).items()}
        uncut = _LOOKED_UP.isdisjoint
        return [i for i in evidence if i.calibrated or not uncut(i.channels) or i.score >= least[i.request.place]]
    weights = recipe.fusion.message_weights
    best: dict[str, dict[str, float]] = {}
    for item in evidence:
        tops = best.setdefault(item.request.name, {})
        for channel in weights:
            tops[channel] = max(tops.get(channel, 0.0), item.channels.get(channel, 0.0))
    return [item for item in evidence if _share(item, best[item.request.name], weights) >= 1 - recipe.gate.gap]


def _share(item: Evidence, best: Mapping[str, float], weights: Mapping[str, float]) -> float:
    """Return how near the item comes to the best of its source, 0 to 1; 1 where no channel has degrees to compare."""
    compared = {channel: weight for channel, weight in weights.items() if best[channel] > 0}
    if not compared or item.channels.keys().isdisjoint(weights):
        return 1.0
    near = sum(weight * max(0.0, item.channels.get(channel, 0.0)) / best[channel] for channel, weight in compared.items())
    return near / sum(compared.values())


def _asked_for(item: Evidence, kept: Sequence[Evidence], searched: Sequence[SourceRequest]) -> bool:
    own = [request for request in searched if request.viewer_id == item.request.viewer_id]
    if not own:
        return True
    names = {request.name for request in own}
    found = {source for hit in kept if hit.request.name in names for source in (*hit.document.provenance, hit.document.id)}
    if found.intersection((*item.document.provenance, item.document.id)):
        return True
    asked = {start for request in own for start in _starts(request.query)}
    return not asked.isdisjoint(_starts(item.document.text))


def _hearsay_last(evidence: Sequence[Evidence], plan: Plan, rules: Sequence[Rules]) -> list[Evidence]:
    """Return the evidence without claims about a viewer whose own memory answers, and without those that nobody asks for."""
    own = {item.request.viewer_id for item in evidence if item.request.kind in {SourceKind.RECALL, SourceKind.PROFILE}}
    return [
        item
        for item in evidence
        if item.request.kind is not SourceKind.CLAIMS
        or (item.request.viewer_id not in own and (plan.explicit_recall or _is_after(item, rules)))
    ]


def _is_after(item: Evidence, rules: Sequence[Rules]) -> bool:
    """Return whether the question is after the kind of thing that is claimed: the second line of its text says which."""
    about = item.document.text.partition("\n")[2]
    return not content_stems(item.request.query, rules).isdisjoint(content_stems(about, rules))


def _starts(text: str) -> set[str]:
    return {word[:SHARED_START] for word in words(text) if len(word) >= LONG_WORD}
