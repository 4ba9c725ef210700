"""How likely a candidate answers what is asked: a logistic regression over what the channels say of it and of its rivals. Pure.

Its weights (`relevance.toml`) are fitted by `python -m bench.fit_relevance` on the annotated chats of this project, one set
an embedding model, since cosines of different models are no common measure. A place is what competes with each other: one
viewer's memory, or all streams, or the canon.
"""

import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from memory.errors import RelevanceInvalid
from memory.model import Evidence

RELEVANCE_FILE = Path(__file__).with_name("relevance.toml")
BM25_FULL = 12.0  # BM25 score from which the words agree as well as they can
_SPREAD = 0.05  # added to the spread of a place's cosines: where all are alike, none is far ahead
_MANY = 100.0  # candidates that count as many


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The candidates of one place, and how near they are to the question altogether."""

    found: Sequence[Evidence]
    middle: float
    spread: float

    @classmethod
    def of(cls, found: Sequence[Evidence], nearness: str) -> Self:
        values = [one.channels.get(nearness, 0.0) for one in found]
        return cls(found=found, middle=float(np.mean(values)), spread=float(np.std(values)) + _SPREAD)


Feature = Callable[[Evidence, _Place], float]
FEATURES: Mapping[str, Feature] = {
    "dense": lambda one, _: one.channels.get("dense", 0.0),
    "ahead": lambda one, place: (one.channels.get("dense", 0.0) - place.middle) / place.spread,
    "lexical": lambda one, _: min(1.0, one.channels.get("lexical", 0.0) / BM25_FULL),
    "exchange": lambda one, _: one.channels.get("exchange", 0.0),
    "worth": lambda one, _: one.channels.get("worth", 0.0),
    "recent": lambda one, _: one.channels.get("recency", 0.0),
    "rivals": lambda _, place: math.log1p(len(place.found)) / math.log1p(_MANY),
    "hearsay": lambda one, _: float(one.request.hearsay),
    "reply": lambda one, _: float(one.document.kind == "reply"),
    "near": lambda one, _: one.channels.get("near", 0.0),
    "leads": lambda one, place: (one.channels.get("near", 0.0) - place.middle) / place.spread,
    "unasked": lambda one, _: float(one.request.strict),
}
RELEVANCE_FEATURES: Mapping[str, tuple[str, ...]] = {  # by kind of place: what tells there
    "recall": ("dense", "ahead", "lexical", "exchange", "worth", "recent", "rivals", "hearsay"),
    "episode": ("dense", "ahead", "lexical", "worth", "recent", "rivals", "reply"),
    "lore": ("near", "leads", "unasked"),
}
NEARNESS: Mapping[str, str] = {
    "recall": "dense",
    "episode": "dense",
    "lore": "near",
}  # without it nothing is told


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Fitted weights: by kind of place the constant, under `bias`, and one weight a feature."""

    weights: Mapping[str, Mapping[str, float]]

    def chances(self, found: Sequence[Evidence]) -> list[float] | None:
        """Return 0 to 1 for each candidate of one place; None where its kind has no weights, or nearness is not known."""
        kind = found[0].request.kind.value if found else ""
        weights = self.weights.get(kind)
        if weights is None or not any(NEARNESS[kind] in one.channels for one in found):
            return None
        odds = weights["bias"] + np.array(relevance_features(found, kind)) @ [
            weights[name] for name in RELEVANCE_FEATURES[kind]
        ]
        return [float(chance) for chance in 1 / (1 + np.exp(-odds))]


def relevance_features(found: Sequence[Evidence], kind: str) -> list[list[float]]:
    """Return one row a candidate, a column a feature of `RELEVANCE_FEATURES[kind]`."""
    place = _Place.of(found, NEARNESS[kind])
    return [[FEATURES[name](one, place) for name in RELEVANCE_FEATURES[kind]] for one in found]


def load_relevance(model: str, file: Path = RELEVANCE_FILE) -> Relevance | None:
    """Return the weights that were fitted for this embedding model, None where there are none.

    Raises:
        RelevanceInvalid: the file cannot be read, or lacks a weight.
    """
    try:
        fitted = tomllib.loads(file.read_text(encoding="utf-8")).get(model)
        if fitted is None:
            return None
        weights = {
            kind: {name: float(fitted[kind][name]) for name in ("bias", *names)}
            for kind, names in RELEVANCE_FEATURES.items()
            if kind in fitted
        }
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise RelevanceInvalid(f"{file.name} cannot be used: {error!r}; run `python -m bench.fit_relevance`") from error
    return Relevance(weights=weights)
