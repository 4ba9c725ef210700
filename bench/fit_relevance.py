"""Fits the weights of `memory.relevance` on annotated chats: `python -m bench.fit_relevance LOG… [--check]`.

Every probe is asked; each candidate that was found for it, before the gate, is an example: it answers if its provenance meets
the probe's gold. A logistic regression with a ridge, by Newton's method (Hastie et al., The Elements of Statistical Learning,
4.4.1). `--check` writes nothing, and tells how well each chat is foretold by weights fitted on the others.
"""

import argparse
import asyncio
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.app import embedder_of
from bot.cli.shell import CommandFailed, Exit, clear_errors
from config.settings import Settings, load_settings
from memory import RELEVANCE_FEATURES, RELEVANCE_FILE, Evidence, relevance_features
from replays.cli_results import clear_log_errors
from replays.evaluate import Evaluation, read_logs
from replays.results import Asked

_RIDGE = 5.0
_STEPS = 30
_DIGITS = 4
_TINY = 1e-6
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """The candidates of one place for one probe."""

    log: str
    kind: str
    rows: Floats  # (candidates, features)
    answers: Floats  # 1 where the candidate answers


def examples_of(asked: Asked) -> Iterator[Examples]:
    """Yield the examples that one probe gives, place by place."""
    places: dict[tuple[str, str], list[Evidence]] = {}
    for item in asked.candidates:
        kind = item.request.kind.value
        if kind in RELEVANCE_FEATURES and "exact" not in item.channels:
            places.setdefault((kind, item.request.place), []).append(item)
    gold = set(asked.case.gold)
    for (kind, _), items in places.items():
        answers = np.array([float(not gold.isdisjoint(one.document.provenance)) for one in items])
        yield Examples(log=asked.log, kind=kind, rows=np.array(relevance_features(items, kind)), answers=answers)


def fit(examples: Sequence[Examples]) -> Floats:
    """Return the constant and one weight a feature, for examples of one kind."""
    rows, answers = np.concatenate([one.rows for one in examples]), np.concatenate([one.answers for one in examples])
    middle, spread = rows.mean(axis=0), rows.std(axis=0) + _TINY
    design = np.column_stack([np.ones(len(rows)), (rows - middle) / spread])
    ridge = _RIDGE * np.eye(design.shape[1])
    ridge[0, 0] = 0.0
    weights = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-design @ weights))
        slope = design.T @ (chance - answers) + ridge @ weights
        bend = (design * (chance * (1 - chance))[:, None]).T @ design + ridge
        weights = weights - np.linalg.solve(bend, slope)
    plain = weights[1:] / spread
    return np.concatenate([[weights[0] - float(plain @ middle)], plain])


def surprise(weights: Floats, examples: Sequence[Examples]) -> float:
    """Return the mean negative log-likelihood of what these examples turned out to be: the smaller, the better foretold."""
    rows, answers = np.concatenate([one.rows for one in examples]), np.concatenate([one.answers for one in examples])
    chance = np.clip(1 / (1 + np.exp(-(weights[0] + rows @ weights[1:]))), _TINY, 1 - _TINY)
    return float(-np.mean(answers * np.log(chance) + (1 - answers) * np.log(1 - chance)))


def to_toml(weights: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Return the weights, by model and kind of place, as the file that `memory.relevance` reads."""
    lines = ["# Written by `python -m bench.fit_relevance`; do not edit. Weights of memory/relevance.py, by kind of place."]
    for model, places in sorted(weights.items()):
        for kind, values in places.items():
            lines += ["", f'["{model}".{kind}]', *(f"{name} = {value:.{_DIGITS}f}" for name, value in values.items())]
    return "\n".join(lines) + "\n"


def kept_by_kind(examples: Sequence[Examples], *, logs: int) -> Mapping[str, Sequence[Examples]]:
    """Return the examples of every kind of place.

    Raises:
        CommandFailed: fewer than `logs` chats have examples of some kind; says what to annotate.
    """
    kinds = {kind: [one for one in examples if one.kind == kind] for kind in RELEVANCE_FEATURES}
    for kind, own in kinds.items():
        if len({one.log for one in own}) < logs:
            raise CommandFailed(
                f"{kind}: something is found for the probes of {len({one.log for one in own})} logs, and {logs} are needed. "
                "Annotate probes that look there, or give more logs, those of replays/samples/apart among them.",
                Exit.USAGE,
            )
    return kinds


async def _asked(settings: Settings, logs: Sequence[Path]) -> list[Examples]:
    found: list[Examples] = []
    await Evaluation(
        settings=settings,
        logs=read_logs(logs, settings),
        recipes=("full",),
        on_asked=lambda asked: found.extend(examples_of(asked)),
    ).run()
    return found


def _checked(kinds: Mapping[str, Sequence[Examples]]) -> Iterator[str]:
    for kind, own in kinds.items():
        for log in sorted({one.log for one in own}):
            seen, unseen = [one for one in own if one.log != log], [one for one in own if one.log == log]
            answering = float(np.mean(np.concatenate([one.answers for one in unseen])))
            blind = np.array([np.log(max(_TINY, answering) / (1 - answering)), *np.zeros(unseen[0].rows.shape[1])])
            foretold, guessed = surprise(fit(seen), unseen), surprise(blind, unseen)
            yield f"{kind} {log}: {foretold:.4f}, knowing only how many answer: {guessed:.4f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit and write, or check; what is wrong with a log or a configuration is one message and an exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench.fit_relevance", description="Fit the weights of relevance.")
    parser.add_argument("logs", nargs="+", type=Path, help="annotated chats (docs/evaluation.md)")
    parser.add_argument("--config", type=Path, help="whose embedding model is fitted (default: ricordo.toml)")
    parser.add_argument("--check", action="store_true", help="write nothing; foretell each chat from the others")
    options = parser.parse_args(arguments)
    if options.check and len(options.logs) == 1:
        parser.error("--check foretells each chat from the others: give two or more")
    with clear_errors(debug=False), clear_log_errors():
        settings = load_settings(options.config)
        examples = asyncio.run(_asked(settings, options.logs))
        if options.check:
            print("\n".join(_checked(kept_by_kind(examples, logs=2))))
        else:
            _write(settings, kept_by_kind(examples, logs=1))


def _write(settings: Settings, kinds: Mapping[str, Sequence[Examples]]) -> None:
    weights = tomllib.loads(RELEVANCE_FILE.read_text(encoding="utf-8"))  # of other models, which stay
    weights[embedder_of(settings, Path.cwd()).name] = {
        kind: dict(zip(("bias", *RELEVANCE_FEATURES[kind]), map(float, fit(own)), strict=True)) for kind, own in kinds.items()
    }
    RELEVANCE_FILE.write_text(to_toml(weights), encoding="utf-8")


if __name__ == "__main__":
    main()
