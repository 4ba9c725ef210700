"""The tables of an evaluation in the terminal."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.table import Table

from memory import counted

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
    "n: probes; from, to: 95 % interval. recall, beyond: share of the gold found, overall and beyond the recent history. "
    "answer: the block holds it. prec, irrel: items that do and do not matter. misattr: personal items that are somebody "
    "else's, or nobody's fact. stale: traps that show something outdated. abs.p, abs.r: precision and recall of admitting "
    "ignorance. asks: semantic memory was used. tokens: mean size of the block"
)
NOTHING = "-"
GAP = 2  # columns between two numbers: one of padding, one of the separator
INTERVAL_ROWS = 3
LABELS = 2  # columns that are repeated in each part: whose the row is, and how many probes


def category_tables(summary: Mapping[str, Any], width: int) -> list[Table]:
    """Return every metric of the judged recipe, overall with its interval, then by category.

    Where `width` has no room for all metrics, they are told in several tables: no number is ever cut.
    """
    overall = summary["overall"]
    rows = [
        ("all", str(overall["probes"]), *(_shown(overall, name) for name in SHORT)),
        ("from", "", *(_bound(overall, name, "low") for name in SHORT)),
        ("to", "", *(_bound(overall, name, "high") for name in SHORT)),
        *(
            (category, str(group["probes"]), *(_shown(group, name) for name in SHORT))
            for category, group in summary["by_category"].items()
        ),
    ]
    title = f"recipe {summary['recipe']}, {summary['probes']} probes"
    tables = [_table(title, part, marked=True) for part in _parts([("", "n", *SHORT.values()), *rows], width)]
    return _titled_once(tables)


def recipe_tables(summary: Mapping[str, Any], width: int) -> list[Table]:
    """Return the recipes beside each other, in as many tables as `width` asks for; nothing where there is one alone."""
    if len(summary["recipes"]) == 1:
        return []
    rows = [("", "n", *SHORT.values(), "± answer", "p")]
    for recipe, group in summary["recipes"].items():
        overall, pair = group["overall"], summary["pairs"].get(recipe)
        coverage = pair["answer_coverage"] if pair else None
        difference = coverage["difference"]["value"] if coverage else None
        rows.append(
            (
                recipe,
                str(overall["probes"]),
                *(_shown(overall, name) for name in SHORT),
                "" if difference is None else f"{difference:+.3f}",
                "" if coverage is None else f"{coverage['p']:.3f}",
            )
        )
    return _titled_once([_table("recipes", part) for part in _parts(rows, width)])


def reply_line(summary: Mapping[str, Any]) -> str | None:
    """Return how the language model's replies did, None where none was asked."""
    found, model = summary["overall"]["metrics"]["reply_coverage"], summary["versions"]["llm"]
    if model is None:
        return None
    held = NOTHING if found["value"] is None else f"{found['value']:.2f} ({found['low']:.2f} to {found['high']:.2f})"
    failed = summary["replies_failed"]
    return f"{model}: answer in the reply {held} of {found['count']}" + (
        counted("; {failed:reply|replies} failed", failed=failed) if failed else ""
    )


def _parts(rows: Sequence[Sequence[str]], width: int) -> Iterator[list[Sequence[str]]]:
    """Yield the rows with as many columns at a time as `width` holds, the labels in front of each part."""
    widths = [max(cell_len(row[index]) for row in rows) + GAP for index in range(len(rows[0]))]
    labels, at = sum(widths[:LABELS]), LABELS
    while at < len(widths):
        end, room = at + 1, width - labels - widths[at]
        while end < len(widths) and widths[end] <= room:
            room -= widths[end]
            end += 1
        yield [(*row[:LABELS], *row[at:end]) for row in rows]
        at = end


def _table(title: str, rows: Sequence[Sequence[str]], *, marked: bool = False) -> Table:
    """Return the rows, the first being the heading; `marked`: the next three are all probes together and their interval."""
    table = Table(
        title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, GAP - 1, 0, 0), pad_edge=False, show_edge=False
    )
    for index, column in enumerate(rows[0]):
        table.add_column(column, justify="right" if index else "left", no_wrap=True)
    for number, row in enumerate(rows[1:]):
        style = ("bold", "dim", "dim")[number] if marked and number < INTERVAL_ROWS else None
        table.add_row(*row, style=style, end_section=marked and number == INTERVAL_ROWS - 1)
    return table


def _titled_once(tables: list[Table]) -> list[Table]:
    for table in tables[1:]:
        table.title = None
    return tables


def _shown(group: Mapping[str, Any], name: str) -> str:
    return _number(group["metrics"][name]["value"], name)


def _bound(group: Mapping[str, Any], name: str, bound: str) -> str:
    return _number(group["metrics"][name][bound], name)


def _number(value: float | None, name: str) -> str:
    if value is None:
        return NOTHING
    return f"{value:.0f}" if name == "block_tokens" else f"{value:.2f}"


def conflicts_line(summary: Mapping[str, Any]) -> str:
    """Return how many conflicts between statements there were, and which share each step settled; empty: none counted."""
    settled: Mapping[str, int] = summary.get("settled_conflicts", {})
    total = sum(settled.values())
    shares = ", ".join(f"{step} {count} ({count / total:.0%})" for step, count in settled.items() if count) if total else ""
    return f"conflicts between statements: {total}, settled by {shares}" if total else ""


def latency_line(summary: Mapping[str, Any]) -> str:
    """Return how long the judged recipe took; the others are asked after it, with warm caches, and are not compared."""
    total = summary["overall"]["latency_ms"]["total"]
    spread = f"memory stage: p50 {total['p50']:.1f} ms, p95 {total['p95']:.1f} ms, at most {total['max']:.1f} ms"
    late = summary["over_deadline"]
    return f"{spread}; {late} answers took longer than the configured deadline" if late else spread
