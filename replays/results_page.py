"""`docs/results.md`: measured figures from summaries, and published ones of others in tables of their own, never mixed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replays.asked_how import ASKED
from replays.benchmarks.loading import BenchmarkError, read_json
from replays.published import PUBLISHED

TITLES = {"locomo": "LoCoMo", "longmemeval": "LongMemEval-S", "precision": "PrecisionMemBench"}
RANKED = {
    "locomo": ("recall@5", "recall@10", "mrr", "recall 1k", "recall 2k", "recall 4k", "answer 1k", "answer 2k", "answer 4k"),
    "longmemeval": (
        *(f"session {name}@{k}" for k in (5, 10) for name in ("recall_any", "recall_all", "ndcg", "official ndcg")),
        *(f"turn {name}" for name in ("recall_any@5", "recall_all@5", "recall_any@10", "recall_all@10", "ndcg@10")),
        *(f"{what} {size}" for what in ("sessions", "answer", "audited answer") for size in ("2k", "4.4k", "9.6k")),
    ),
}
BLOCK = ("recall", "sessions", "answer", "audited answer", "precision", "misattributed", "trap shown", "trap answer")
STATE = ("tokens", "abstained", "searched", "late")
BLOCK_ROW = "memory, the bot's block"
WHOLE = ("full context", "full history")
PRECISION = (
    *("active", "structural", "empty", "passed", "precision", "recall", "p50 ms"),
    *("session passed", "session drift", "session precision", "session recall", "session p50 ms"),
)
DEV = (
    *("evidence_recall", "out_of_history_recall", "answer_coverage", "retrieval_precision", "irrelevant_share"),
    *("misattribution_rate", "stale_rate", "abstention_precision", "abstention_recall", "block_tokens"),
)
HEAD = """\
# Results

Written by `ricordo results`; do not edit. Figures of this program are under *Measured*, with the 95 % interval of the bootstrap
over questions where it is given; what others published about their systems is under *Published*, copied with its caveats. The
two are never in one table: readers, keys, subsets and machines differ. No target is set here, and zeros are left as they are.
"""


def page(summaries: Sequence[Mapping[str, Any]]) -> str:
    """Return the page for these summaries, in their order."""
    return "\n".join([HEAD, *(_section(summary) for summary in summaries)])


def read_summary(path: Path) -> Mapping[str, Any]:
    """Return a summary that `ricordo eval…` wrote, given its file or its folder.

    Raises:
        BenchmarkError: it cannot be read, or is of another kind.
    """
    file = path / "summary.json" if path.is_dir() else path
    summary = read_json(file)
    if not isinstance(summary, dict) or not ("recipes" in summary or summary.get("benchmark") in TITLES):
        raise BenchmarkError(
            f"{file}: neither `benchmark` nor `recipes` says what was measured; give a folder of an evaluation"
        )
    return summary


def _section(summary: Mapping[str, Any]) -> str:
    if "recipes" in summary:
        return _dev(summary)
    name = summary["benchmark"]
    tables = [_precision(summary)] if name == "precision" else [*_ranked(summary, name)]
    published = f"### Published\n\n{PUBLISHED[name]}"
    return "\n".join(
        [
            f"## {TITLES[name]}\n",
            f"{ASKED[name]}",
            f"### Measured\n\n{_conditions(summary)}\n",
            *tables,
            *_answers(summary),
            published,
        ]
    )


def _conditions(summary: Mapping[str, Any]) -> str:
    cases = {key: summary[key] for key in ("conversations", "questions", "cases", "turns") if key in summary}
    counted = ", ".join(f"{value} {key}" for key, value in cases.items())
    keys = ", ".join(f"{what}: {count}" for what, count in summary.get("keys", {}).items())
    resumed = f" ({summary['resumed_questions']} answers were there already)" if summary.get("resumed_questions") else ""
    text = (
        f"{counted[:1].upper()}{counted[1:]}; embedder `{summary['embedder']}`, "
        f"fusion `{summary['fusion']}`; {summary['seconds']:,.0f} s, of which "
        f"{summary['cpu_seconds']:,.0f} s of processor time{resumed}. {summary['llm'][:1].upper()}{summary['llm'][1:]}."
    )
    return f"{text} Keys: {keys}." if keys else text


def _ranked(summary: Mapping[str, Any], name: str) -> list[str]:
    systems = summary["systems"]
    ranked = {system: groups for system, groups in systems.items() if system != BLOCK_ROW and system not in WHOLE}
    first: Mapping[str, Any] = next(iter(ranked.values()), {})
    columns = RANKED[name]
    tables = [_titled("All questions that can be answered", _columns(ranked, "all", columns))]
    if name == "locomo":
        tables += [_titled(group, _columns(ranked, group, columns[:6])) for group in first if group != "all"]
    else:
        tables += [
            _titled(f"{group} ({_most(first[group])} questions)", _columns(ranked, group, columns[:6]))
            for group in first
            if group not in {"all", "abstention"}
        ]
    whole = {system: systems[system] for system in WHOLE if system in systems}
    tables += [
        _titled("The newest lines, and everything", _present(groups.get("all", {}), whole, "all")) for groups in whole.values()
    ]
    return [*tables, _titled("The bot's block, by category", _block(systems.get(BLOCK_ROW, {})))]


def _columns(systems: Mapping[str, Any], group: str, columns: Sequence[str]) -> str:
    rows = [[system, *(_figure(groups.get(group, {}).get(column)) for column in columns)] for system, groups in systems.items()]
    if len(columns) <= len(rows) + 4:
        return _table(["system", *columns], rows)
    first: Mapping[str, Any] = systems[next(iter(systems))].get(group, {}) if systems else {}
    named = [f"{column}, n = {first[column]['count']}" if column in first else column for column in columns]
    return _turned(["metric", *systems], named, rows)


def _turned(head: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a wide table with its metrics as rows."""
    return _table(head, [[column, *(row[place] for row in rows)] for place, column in enumerate(columns, start=1)])


def _present(figures: Mapping[str, Any], systems: Mapping[str, Any], group: str) -> str:
    columns = [name for name, figure in figures.items() if figure.get("value") is not None]
    rows = [[system, *(_figure(groups.get(group, {}).get(column)) for column in columns)] for system, groups in systems.items()]
    return _turned(["metric", *systems], columns, rows)


def _block(groups: Mapping[str, Any]) -> str:
    names = [n for n in (*BLOCK, *STATE) if any(figures.get(n, {}).get("value") is not None for figures in groups.values())]
    rows = [[group, *(_figure(figures.get(name), short=True) for name in names)] for group, figures in groups.items()]
    return _table(["category", *names], rows)


def _answers(summary: Mapping[str, Any]) -> list[str]:
    """Return the share of a model's answers that its judge took for right, and how far the judge is to be trusted."""
    if "answers" not in summary:
        return []
    told = summary["answers"]
    groups = sorted({*told["right"], *told["judge_agreement"]})
    rows = [[group, *(_counted(told[what].get(group)) for what in ("judge_agreement", "right"))] for group in groups]
    cost = "no prices are configured" if told["cost"] is None else f"cost {told['cost']:,.4f} at the configured prices"
    spent = f"{told['prompt_tokens']:,} tokens read, {told['completion_tokens']:,} written; {cost}."
    mean = f"Right, mean over the types: {_figure(told['right_mean_over_types'])}. {spent}\n"
    return [_titled("Answers", _table(["type", "judge agrees with the calibration", "right answers"], rows)), mean]


def _counted(figure: Mapping[str, Any] | None) -> str:
    return "-" if figure is None else f"{figure['value']:.3f} of {figure['count']}"


def _precision(summary: Mapping[str, Any]) -> str:
    rows = [[system, *(_figure(figures.get(column)) for column in PRECISION)] for system, figures in summary["systems"].items()]
    return _turned(["metric", *summary["systems"]], PRECISION, rows) + "\n"


def _dev(summary: Mapping[str, Any]) -> str:
    logs = ", ".join(log["name"] for log in summary["logs"])
    rows = [
        [recipe, *(_figure(found["overall"]["metrics"].get(metric)) for metric in DEV)]
        for recipe, found in summary["recipes"].items()
    ]
    told = f"{summary['probes']} probes; embedder `{summary['versions']['embedder']}`. docs/evaluation.md explains each."
    table = _table(["recipe", *DEV], rows)
    return "\n".join([f"## Annotated chat: {logs}\n", f"### Measured\n\n{told}\n", table, *_settled(summary)])


def _settled(summary: Mapping[str, Any]) -> list[str]:
    """Return which share of the conflicts between statements each step settled, nothing where it was not counted."""
    settled: Mapping[str, int] = summary.get("settled_conflicts", {})
    total = sum(settled.values())
    if not total:
        return []
    rows = [[step, str(count), f"{count / total:.3f}"] for step, count in settled.items()]
    return [_titled(f"Conflicts between statements, {total} in all", _table(["settled by", "conflicts", "share"], rows))]


def _titled(title: str, table: str) -> str:
    return f"**{title}**\n\n{table}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _most(figures: Mapping[str, Any]) -> int:
    return max((figure["count"] for figure in figures.values()), default=0)


def _figure(figure: Any, *, short: bool = False) -> str:  # noqa: ANN401 a figure of a summary, or a plain number
    value = figure.get("value") if isinstance(figure, Mapping) else figure
    if value is None:
        return "-"
    if isinstance(value, int) or value >= 10:  # noqa: PLR2004 - counts, tokens and milliseconds, no shares
        return f"{value:,.0f}"
    low = figure.get("low") if isinstance(figure, Mapping) else None
    return f"{value:.3f}" if low is None or short else f"{value:.3f} ({low:.2f}-{figure['high']:.2f})"
