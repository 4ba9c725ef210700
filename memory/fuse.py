"""The channels' rankings of each source made into one list. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from memory.model import Candidate, Document, Evidence, Ranking, Section, SourceKind, SourceRequest
from memory.recipes import Fusion, Recipe
from memory.relevance import BM25_FULL, Relevance
from memory.salience import PRIORS

AUXILIARY: Mapping[str, float] = {"graph": 0.2, "exact": 1.0, "near": 1.0}  # weights of channels that the recipe does not name
_SHORT = frozenset({"fact", "claim", "lore"})  # kinds whose text is a short statement: the fact weights
SECTIONS: Mapping[SourceKind, Section] = {
    SourceKind.PROFILE: "profile",
    SourceKind.RECALL: "recall",
    SourceKind.CLAIMS: "episode",  # that somebody said it is what happened; the rest is hearsay
    SourceKind.GRAPH: "recall",
    SourceKind.EPISODE: "episode",
    SourceKind.LORE: "lore",
    SourceKind.STATE: "state",
}


def fuse(rankings: Sequence[Ranking], recipe: Recipe, relevance: Relevance | None = None) -> tuple[Evidence, ...]:
    """Return the evidence of every source, best first within each; sources in the order of their first ranking.

    `calibrated`: the chance that it answers, by `relevance`; where that has no weights for a place, or no channel told of
    nearness there, `level`.
    `level`: Σ_c w_c · m_c, the channel's own measure: cosine, BM25 / `BM25_FULL` (at most 1), and what is between 0 and 1 as it
    is, so that the same score means the same for every question and a floor can be set. `sum`: Σ_c w_c · (s - min_c) /
    (max_c - min_c), min and max over the channel's hits for this query (a channel whose hits
    are all equal gives 1); Shaw and Fox 1994, CombSUM, with weights. `rrf`: Σ_c w_c / (k + rank_c), Cormack et al. 2009.
    A document that a channel did not find gets nothing from it. Priors (recency, worth) add `prior · normalised` to what
    the other channels found, and a document that only they found is no evidence: it is left out. Ties: the newer document
    first, then the smaller id.
    """
    by_source: dict[str, list[Ranking]] = {}
    for ranking in rankings:
        by_source.setdefault(ranking.request.name, []).append(ranking)
    sources = [_fused(group, recipe.fusion) for group in by_source.values()]
    if recipe.fusion.method == "calibrated" and relevance:
        _calibrate(sources, relevance)
    return tuple(evidence for source in sources for evidence in source)


def _calibrate(sources: list[list[Evidence]], relevance: Relevance) -> None:
    """Give the evidence of each source, which has one request, chances for scores where there are any; best first as before."""
    places: dict[str, list[int]] = {}
    for number, source in enumerate(sources):
        if source:
            places.setdefault(source[0].request.place, []).append(number)
    for numbers in places.values():
        chances = relevance.chances([item for number in numbers for item in sources[number]])
        if chances is None:
            continue
        told = iter(chances)
        for number in numbers:
            scored = [replace(item, score=next(told), calibrated=True) for item in sources[number]]
            sources[number] = sorted(scored, key=_rank)


def _fused(group: Sequence[Ranking], fusion: Fusion) -> list[Evidence]:
    request = group[0].request
    documents = _documents(group)
    parts: dict[str, dict[str, float]] = {}
    raw: dict[str, dict[str, float]] = {}
    for ranking in group:
        share = _shares(ranking, fusion)
        for candidate in ranking.candidates:
            found = candidate.document.id
            parts.setdefault(found, {})[ranking.channel] = share(candidate)
            raw.setdefault(found, {})[ranking.channel] = candidate.score
    short, other = _weights(fusion)
    evidence = [
        _evidence(request, documents[found], _score(given, short if documents[found].kind in _SHORT else other), raw[found])
        for found, given in parts.items()
        if not PRIORS.issuperset(given)
    ]
    return sorted(evidence, key=_rank)


def _rank(item: Evidence) -> tuple[float, float, str]:
    return -item.score, -item.document.at.timestamp(), item.document.id


def _documents(group: Iterable[Ranking]) -> dict[str, Document]:
    return {candidate.document.id: candidate.document for ranking in group for candidate in ranking.candidates}


def _shares(ranking: Ranking, fusion: Fusion) -> Callable[[Candidate], float]:
    candidates = ranking.candidates
    if fusion.method in {"level", "calibrated"}:
        most = BM25_FULL if ranking.channel == "lexical" else 1.0
        return lambda candidate: min(1.0, candidate.score / most)
    if fusion.method == "rrf":
        return lambda candidate: 1.0 / (fusion.k + candidate.rank)
    scores = [candidate.score for candidate in candidates]
    low, high = min(scores, default=0.0), max(scores, default=0.0)
    return lambda candidate: (candidate.score - low) / (high - low) if high > low else 1.0


def _weights(fusion: Fusion) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Return the weight of every channel that is known, for short statements and for all else."""
    named = {
        "recency": fusion.recency_prior,
        "worth": fusion.worth_prior,
    }
    return {**AUXILIARY, **fusion.fact_weights, **named}, {**AUXILIARY, **fusion.message_weights, **named}


def _score(given: Mapping[str, float], weights: Mapping[str, float]) -> float:
    total = 0.0
    for channel in sorted(given):
        total += weights.get(channel, 0.0) * given[channel]
    return total


def _evidence(request: SourceRequest, document: Document, score: float, channels: Mapping[str, float]) -> Evidence:
    return Evidence(request=request, section=SECTIONS[request.kind], document=document, score=score, channels=dict(channels))
