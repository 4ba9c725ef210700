"""Fits the projection of questions; `python -m bench.fit_projection` runs it, the bot never does.

The pairs (`pairs/*.jsonl`) hold a question (`q`), a line that answers it (`a`) and lines of the same person that only look like
it (`n`). The question is drawn to its answer and away from those lines and from the answers of the other pairs of its batch:
the loss is that of van den Oord et al. 2018 (InfoNCE), with a ridge that keeps the matrix near the identity, minimised by Adam
(Kingma and Ba 2015) with a rate that falls along a half cosine.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.embed.projection import Projection
from memory.errors import PairsInvalid
from memory.ports import Embedder, Vectors

PAIRS = Path(__file__).parent / "pairs"
_STEPS, _BATCH, _RATE, _RIDGE, _SHARPNESS = 600, 256, 1e-3, 0.02, 12.0
_DECAYS = (0.9, 0.999)  # of Adam's means
_TINY = 1e-8
_PARTS = 5  # of the cross-validation
_OTHERS = 14  # lines of other people among which an answer is looked for
_LEAST = _PARTS * (_OTHERS + 1)
_FIRST, _FEW = 1, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A question, a line that answers it, and lines of the same person that do not."""

    question: str
    answer: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Pairs as vectors; `owner` tells of each of the other lines whose it is."""

    questions: Vectors
    answers: Vectors
    others: Vectors
    owner: NDArray[np.intp]

    def part(self, places: NDArray[np.intp]) -> "Embedded":
        """Return the pairs at these places."""
        new = {int(old): number for number, old in enumerate(places)}
        kept = [row for row, owner in enumerate(self.owner) if int(owner) in new]
        return Embedded(
            questions=self.questions[places],
            answers=self.answers[places],
            others=self.others[kept],
            owner=np.array([new[int(self.owner[row])] for row in kept], dtype=np.intp),
        )


def read_pairs(folder: Path = PAIRS) -> list[Pair]:
    """Return every pair, in the order of the files' names.

    Raises:
        PairsInvalid: there are too few for a fit, or a line is no pair; names file and line.
    """
    pairs = [pair for file in sorted(folder.glob("*.jsonl")) for pair in _pairs_of(file)]
    if len(pairs) < _LEAST:
        raise PairsInvalid(f"{folder} has {len(pairs)} pairs, and a fit needs {_LEAST}: restore its files, or write more")
    return pairs


def _pairs_of(file: Path) -> Iterator[Pair]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PairsInvalid(f"{file} cannot be read: {error}. Restore or remove it.") from error
    for number, line in enumerate(lines, start=1):
        try:
            yield _pair_of(json.loads(line))
        except (ValueError, KeyError, TypeError) as error:
            shape = '{"q": "…", "a": "…", "n": ["…", …]}'
            raise PairsInvalid(f"{file}:{number} is no pair, which is {shape}. Mend or remove the line.") from error


def _pair_of(row: Any) -> Pair:  # noqa: ANN401 - whatever stands in the file
    texts = [row["q"], row["a"], *row["n"]]
    if not isinstance(row["n"], list) or not all(isinstance(text, str) for text in texts):
        raise TypeError
    return Pair(question=texts[0], answer=texts[1], others=tuple(texts[2:]))


async def embedded(pairs: Sequence[Pair], embedder: Embedder) -> Embedded:
    """Return the pairs as vectors, all made as stored texts are."""
    return Embedded(
        questions=await embedder.embed([pair.question for pair in pairs]),
        answers=await embedder.embed([pair.answer for pair in pairs]),
        others=await embedder.embed([other for pair in pairs for other in pair.others]),
        owner=np.array([place for place, pair in enumerate(pairs) for _ in pair.others], dtype=np.intp),
    )


def fit(pairs: Embedded, *, model: str, seed: int = 0) -> Projection:
    """Return the projection that draws the questions of these pairs to their answers."""
    dimension = pairs.questions.shape[1]
    identity = np.eye(dimension, dtype=np.float32)
    weights = np.vstack([identity, np.zeros((1, dimension), dtype=np.float32)])  # the offset is the last row
    means = [np.zeros_like(weights), np.zeros_like(weights)]
    for step, chosen in enumerate(_batches(len(pairs.questions), np.random.default_rng(seed)), start=1):
        gradient = _gradient(pairs, chosen, weights)
        gradient[:-1] += _RIDGE * (weights[:-1] - identity)
        gradient[-1] += _RIDGE * weights[-1]
        rate = _RATE * (1 + np.cos(np.pi * step / _STEPS)) / 2
        means = [
            decay * mean + (1 - decay) * gradient**power
            for power, (decay, mean) in enumerate(zip(_DECAYS, means, strict=True), start=1)
        ]
        first, second = (mean / (1 - decay**step) for decay, mean in zip(_DECAYS, means, strict=True))
        weights = weights - rate * first / (np.sqrt(second) + _TINY)
    return Projection(model=model, matrix=weights[:-1], offset=weights[-1])


def _batches(count: int, chance: np.random.Generator) -> Iterator[NDArray[np.intp]]:
    """Yield the places of each step's pairs; all pairs have their turn before one comes again."""
    waiting = np.array([], dtype=np.intp)
    for _ in range(_STEPS):
        if len(waiting) < min(_BATCH, count):
            waiting = chance.permutation(count)
        yield waiting[:_BATCH]
        waiting = waiting[_BATCH:]


def _gradient(pairs: Embedded, chosen: NDArray[np.intp], weights: NDArray[np.float32]) -> NDArray[np.float32]:
    asked = np.hstack([pairs.questions[chosen], np.ones((len(chosen), 1), dtype=np.float32)])
    lines = np.vstack([pairs.answers[chosen], pairs.others[np.isin(pairs.owner, chosen)]])
    scores = _SHARPNESS * (asked @ weights) @ lines.T
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    shares[np.arange(len(chosen)), np.arange(len(chosen))] -= 1
    return np.asarray(asked.T @ (shares @ lines) * (_SHARPNESS / len(chosen)), dtype=np.float32)


def found_among(pairs: Embedded, questions: Vectors, *, seed: int = 1) -> tuple[float, float]:
    """Return how often the answer is first, and among the first three, of its own `others` and some answers of other pairs."""
    chance, places = np.random.default_rng(seed), []
    for row, question in enumerate(questions):
        foreign = [other for other in chance.choice(len(questions), _OTHERS + 1, replace=False) if other != row][:_OTHERS]
        rivals = np.vstack([pairs.others[pairs.owner == row], pairs.answers[foreign]])
        places.append(int(np.sum(rivals @ question > pairs.answers[row] @ question)))
    ranks = np.array(places)
    return float(np.mean(ranks < _FIRST)), float(np.mean(ranks < _FEW))


def cross_validated(pairs: Embedded, *, model: str) -> tuple[float, float]:
    """Return `found_among` of questions that the fit did not see, the mean of five parts."""
    order = np.random.default_rng(0).permutation(len(pairs.questions))
    results = []
    for held_out in np.array_split(order, _PARTS):
        fitted = fit(pairs.part(np.setdiff1d(order, held_out)), model=model)
        unseen = pairs.part(held_out)
        results.append(found_among(unseen, fitted.of(unseen.questions)))
    first, few = np.mean(results, axis=0)
    return float(first), float(few)
