"""`summary.json`: every figure of a run, and everything needed to run it again."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from config.settings import Settings
from replays.cases import AnnotatedLog
from replays.evaluate import Outcome
from replays.figures import compared, figures, noise
from replays.metrics import Scored

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was run."""

    settings: Settings
    logs: Sequence[AnnotatedLog]
    recipes: Sequence[str]
    seed: int
    seconds: float
    llm: bool = False
    again: Outcome | None = None  # the first recipe in a second, identical run


def summary_of(outcome: Outcome, run: Run) -> Json:
    """Return the summary as JSON types. `metrics` and the like are those of the first recipe; `recipes` has all."""
    first, limit = run.recipes[0], run.settings.retrieval.recall_seconds
    by_recipe = {name: figures(outcome.asked[name], seed=run.seed) for name in run.recipes}
    return {
        "recipe": first,
        "probes": len(outcome.asked[first]),
        **by_recipe[first],
        "recipes": by_recipe,
        "pairs": {
            name: compared(outcome.asked[first], outcome.asked[name], seed=run.seed) for name in run.recipes if name != first
        },
        "noise_floor": noise(outcome.asked[first], run.again.asked[first]) if run.again else None,
        "unasked": [{"id": one.id, "log": one.log, "reason": one.reason} for one in outcome.unasked],
        "asked_as_of": sum(one.case.as_of is not None for one in outcome.asked[first]),
        "logs": [{"name": one.name, "file": one.path.name, "probes": len(one.cases)} for one in run.logs],
        "over_deadline": sum(_total_ms(one) > limit * 1000 for one in outcome.asked[first]),
        "settled_conflicts": dict(outcome.settled),
        "seed": run.seed,
        "wall_seconds": round(run.seconds, 1),
        "versions": {
            "program": program_version(),
            "embedder": outcome.embedder,
            "llm": run.settings.llm.model if run.llm else None,
        },
        "replies_failed": outcome.replies_failed,
        "configuration": run.settings.model_dump(mode="json"),
    }


def _total_ms(scored: Scored) -> float:
    latency: Any = scored.result.latency_ms
    return float(latency["total"])


def program_version() -> str:
    """Return the installed program's version."""
    try:
        return version("ricordo")
    except PackageNotFoundError:
        return "not installed"
