"""One self-contained page about an evaluation: figures, plots, configuration, and every probe with what it missed."""

import json
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from replays.errors import LogUnreadable
from replays.report_plots import bars, cumulative, differences, recall_against_tokens
from replays.report_probes import probe_card
from replays.results import Answer, Folder
from replays.tables import NOTHING, SHORT

Json = dict[str, Any]
PAGE = "report.html"
TILES = {
    "evidence_recall": "of the evidence is in the prompt",
    "answer_coverage": "of the answers are in the prompt",
    "retrieval_precision": "of what was recalled matters",
    "misattribution_rate": "of personal items are somebody else's or void",
    "stale_rate": "of the traps show something outdated",
    "abstention_recall": "of what cannot be known is admitted",
    "block_tokens": "tokens of memory in a prompt, mean",
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"  # nothing is loaded, from nowhere


def write_report(path: Path) -> Path:
    """Write the page of the evaluation in a folder beside its results, and return its place.

    Raises:
        LogUnreadable: the folder holds no evaluation, or cannot be written.
    """
    folder = Folder.read(path)
    page = "".join(_page(folder, list(folder.answers())))
    target = path / PAGE
    try:
        target.write_text(page, encoding="utf-8", errors="replace")
    except OSError as error:
        raise LogUnreadable(f"{target} cannot be written ({error.strerror}); free some room") from None
    return target


def _page(folder: Folder, answers: Sequence[Answer]) -> Iterator[str]:
    summary = folder.summary
    names = ", ".join(one["name"] for one in summary["logs"])
    yield "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content='width=device-width'>"
    yield f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    yield f"<title>Evaluation: {escape(names)}</title><style>{_resource('report.css')}</style></head><body><main>"
    yield from _head(summary, names)
    yield from _tiles(summary)
    yield from _plots(summary, answers)
    yield f"<h2>By category</h2><div class=card>{_category_table(summary)}</div>"
    yield from _recipes(summary)
    yield from _probes(summary, answers)
    yield from _run(summary)
    yield f"</main><script>{_resource('report.js')}</script></body></html>\n"


def _head(summary: Json, names: str) -> Iterator[str]:
    versions = summary["versions"]
    model = escape(versions["llm"]) if versions["llm"] else "no language model"
    yield f"<h1>What the memory finds: {escape(names)}</h1>"
    yield f"<p class=lead>{summary['probes']} questions put to recipe <b>{escape(summary['recipe'])}</b>, each at its moment. "
    yield f"Ricordo {escape(versions['program'])}, embeddings {escape(versions['embedder'])}, {model}. "
    yield "Intervals are 95&nbsp;%, by bootstrap over the questions.</p>"
    if summary["unasked"]:
        yield f"<p class='tag bad'>{len(summary['unasked'])} questions could not be asked; see the end of the page.</p>"


def _tiles(summary: Json) -> Iterator[str]:
    yield "<div class=tiles>"
    for name, meaning in TILES.items():
        found = summary["overall"]["metrics"][name]
        yield f"<div class=tile><b>{_number(found['value'], name)}</b><span>{escape(meaning)}</span>"
        yield f"<span>{_interval(found, name)}</span></div>"
    yield "</div>"


def _plots(summary: Json, answers: Sequence[Answer]) -> Iterator[str]:
    groups, times = summary["by_category"], [answer.result["latency_ms"]["total"] for answer in answers]
    yield "<h2>At a glance</h2><div class=plots>"
    yield _plot("Evidence recall by category", "share of the messages that hold the answer", bars(groups, "evidence_recall"))
    yield _plot("Answers by category", "share of questions whose answer is in the prompt", bars(groups, "answer_coverage"))
    if summary["pairs"]:
        yield _plot(
            "Recall against tokens", "what a recipe finds, and what it costs", recall_against_tokens(summary["recipes"])
        )
        for metric, title in (("answer_coverage", "Answers"), ("evidence_recall", "Evidence recall")):
            plot = differences(summary["pairs"], metric, summary["recipe"])
            yield _plot(f"{title}: what each recipe changes", f"difference to {summary['recipe']}; left of zero is worse", plot)
    yield _plot("Latency", "share of questions answered within", cumulative(times))
    yield "</div>"


def _plot(title: str, words: str, svg: str) -> str:
    return f"<div class=card><h3>{escape(title)}</h3><p>{escape(words)}</p>{svg}</div>"


def _category_table(summary: Json) -> str:
    rows = [_row("all", summary["overall"], intervals=True)]
    rows += [_row(name, group) for name, group in summary["by_category"].items()]
    return _table(("", "probes", *SHORT.values()), rows)


def _recipes(summary: Json) -> Iterator[str]:
    if not summary["pairs"]:
        return
    yield "<h2>Recipes and baselines</h2><div class=card>"
    yield _table(("", "probes", *SHORT.values()), [_row(name, one["overall"]) for name, one in summary["recipes"].items()])
    yield "</div><h2>Pairs</h2><div class=card>"
    rows = []
    for name, pair in summary["pairs"].items():
        found = pair["answer_coverage"]
        effect = found["minimum_detectable_effect"]
        cells = [
            escape(name),
            f"{found['only_first']}",
            f"{found['only_second']}",
            f"{found['p']:.4f}",
            NOTHING if effect is None else f"{effect:.3f}",
            _difference(found["difference"]),
            _difference(pair["evidence_recall"]["difference"]),
        ]
        rows.append("".join(f"<td>{cell}</td>" for cell in cells))
    heads = (
        f"beside {summary['recipe']}",
        "only it answers",
        "only this",
        "p (McNemar)",
        "detectable",
        "answers ±",
        "recall ±",
    )
    yield _table(heads, rows)
    floor = summary["noise_floor"]
    if floor:
        yield f"<p class=soft>Two identical runs differ in {floor['blocks_that_differ']} of {floor['probes']} blocks: "
        yield "a difference smaller than that is noise. Many pairs are tested here: one p below 0.05 in twenty is chance.</p>"
    yield "</div>"


def _probes(summary: Json, answers: Sequence[Answer]) -> Iterator[str]:
    options = "".join(f"<option>{escape(name)}</option>" for name in summary["by_category"])
    yield "<h2>Every question</h2><div class=filters>"
    yield "<input id=words type=search placeholder='Words, an id, a name…' aria-label='Words'>"
    yield f"<select id=category aria-label=Category><option value=''>all categories</option>{options}</select>"
    yield "<select id=verdict aria-label=Verdict><option value=''>all verdicts</option><option value=fine>all is well</option>"
    yield "<option value=missed>evidence missed</option><option value=unanswered>answer missing</option>"
    yield "<option value=wrong>wrong or outdated</option><option value=silence>abstention wrong</option></select>"
    yield "<span class=soft id=count></span></div>"
    yield from (probe_card(answer) for answer in answers)


def _run(summary: Json) -> Iterator[str]:
    kept = {key: summary[key] for key in ("logs", "seed", "wall_seconds", "versions", "asked_as_of", "over_deadline")}
    yield f"<h2>How it was run</h2><pre>{_json(kept)}</pre>"
    if summary["unasked"]:
        yield f"<h2>Could not be asked</h2><pre>{_json(summary['unasked'])}</pre>"
    yield f"<details><summary>The whole configuration</summary><pre>{_json(summary['configuration'])}</pre></details>"


def _table(heads: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(one)}</th>" for one in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(name: str, group: Json, *, intervals: bool = False) -> str:
    cells = [f"<td>{escape(name)}</td><td>{group['probes']}</td>"]
    for metric in SHORT:
        found = group["metrics"][metric]
        small = f"<small>{_interval(found, metric)}</small>" if intervals else ""
        cells.append(f"<td>{_number(found['value'], metric)}{small}</td>")
    return "".join(cells)


def _number(value: float | None, name: str) -> str:
    if value is None:
        return NOTHING
    return f"{value:.0f}" if name == "block_tokens" else f"{value:.2f}"


def _interval(found: Json, name: str) -> str:
    if found["low"] is None:
        return "does not apply"
    return f"{_number(found['low'], name)} to {_number(found['high'], name)}"


def _difference(found: Json) -> str:
    if found["value"] is None:
        return NOTHING
    return f"{found['value']:+.3f} <small>{found['low']:+.3f} to {found['high']:+.3f}</small>"


def _json(value: object) -> str:
    return escape(json.dumps(value, ensure_ascii=False, indent=2))


def _resource(name: str) -> str:
    return files("replays").joinpath("page", name).read_text(encoding="utf-8")
