"""The tables of an evaluation in the terminal."""

from collections.abc import Mapping
from typing import Any

from rich import box
from rich.table import Table

SHORT = {
    "evidence_recall": "recall",
    "out_of_history_recall": "beyond",
    "answer_coverage": "answer",
    "retrieval_precision": "prec",
    "irrelevant_share": "irrel",
    "misattribution_rate": "misattr",
    "stale_rate": "stale",
    "abstention_precision": "abs.p",
    "abstention_recall": "abs.r",
    "retrieval_rate": "asks",
    "block_tokens": "tokens",
}
LEGEND = (
    "recall, beyond: share of the gold found, overall and beyond the recent history. answer: the block holds it. prec, irrel: "
    "items that do and do not matter. abs.p, abs.r: precision and recall of admitting ignorance. asks: semantic memory was used"
)
NOTHING = "-"


def category_table(summary: Mapping[str, Any]) -> Table:
    """Return every metric of the judged recipe, overall with its interval, then by category."""
    table = _table(f"recipe {summary['recipe']}, {summary['probes']} probes", "", "n", *SHORT.values())
    overall = summary["overall"]
    table.add_row("all", str(overall["probes"]), *(_shown(overall, name) for name in SHORT), style="bold")
    table.add_row("from", "", *(_bound(overall, name, "low") for name in SHORT), style="dim")
    table.add_row("to", "", *(_bound(overall, name, "high") for name in SHORT), style="dim", end_section=True)
    for category, group in summary["by_category"].items():
        table.add_row(category, str(group["probes"]), *(_shown(group, name) for name in SHORT))
    return table


def recipe_table(summary: Mapping[str, Any]) -> Table | None:
    """Return the recipes beside each other, None where there is one alone."""
    if len(summary["recipes"]) == 1:
        return None
    table = _table("recipes", "", *SHORT.values(), "± answer", "p")
    for recipe, group in summary["recipes"].items():
        overall, pair = group["overall"], summary["pairs"].get(recipe)
        coverage = pair["answer_coverage"] if pair else None
        difference = coverage["difference"]["value"] if coverage else None
        table.add_row(
            recipe,
            *(_shown(overall, name) for name in SHORT),
            "" if difference is None else f"{difference:+.3f}",
            "" if coverage is None else f"{coverage['p']:.3f}",
        )
    return table


def reply_line(summary: Mapping[str, Any]) -> str | None:
    """Return how the language model's replies did, None where none was asked."""
    found, model = summary["overall"]["metrics"]["reply_coverage"], summary["versions"]["llm"]
    if model is None:
        return None
    held = NOTHING if found["value"] is None else f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    failed = summary["replies_failed"]
    return f"{model}: answer in the reply {held} of {found['count']}" + (f"; {failed} replies failed" if failed else "")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for column in columns:
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    return table


def _shown(group: Mapping[str, Any], name: str) -> str:
    return _number(group["metrics"][name]["value"], name)


def _bound(group: Mapping[str, Any], name: str, bound: str) -> str:
    return _number(group["metrics"][name][bound], name)


def _number(value: float | None, name: str) -> str:
    if value is None:
        return NOTHING
    return f"{value:.0f}" if name == "block_tokens" else f"{value:.2f}"


def latency_line(summary: Mapping[str, Any]) -> str:
    """Return how long the judged recipe took; the others are asked after it, with warm caches, and are not compared."""
    total = summary["overall"]["latency_ms"]["total"]
    spread = f"memory stage: p50 {total['p50']:.1f} ms, p95 {total['p95']:.1f} ms, at most {total['max']:.1f} ms"
    late = summary["over_deadline"]
    return f"{spread}; {late} answers took longer than the configured deadline" if late else spread
