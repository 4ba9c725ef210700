"""`ricordo eval-locomo`, `eval-longmemeval` and `eval-precision`: public benchmarks through the configured memory."""

import asyncio
import json
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column, Table

from bot.app import open_channel_memory, recipe_of
from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, err, out, print_json
from bot.llm import LanguageModel
from bot.llm_values import LlmSettings
from config.settings import Settings, load_settings
from memory import Clock, Memory, Recipe
from replays.benchmarks.feeding import CHANNEL
from replays.benchmarks.journal import Journal, digest_of
from replays.benchmarks.judging import WRITTEN, Judged, Judging, answer, calibrate, judged_summary, read_judge_cases
from replays.benchmarks.loading import BenchmarkError
from replays.benchmarks.locomo import LocomoRun, run_locomo
from replays.benchmarks.locomo_file import ADVERSARIAL, AUDIT, Conversation, Repairs, read_locomo
from replays.benchmarks.longmemeval import LongMemEvalRun, run_longmemeval
from replays.benchmarks.longmemeval_file import Listed, list_instances
from replays.benchmarks.precision import PrecisionRun, run_precision, summarised, systems
from replays.benchmarks.precision_file import CASES, SEED, SESSIONS, read_precision
from replays.benchmarks.spread import Rows, spread
from replays.benchmarks.tally import ALL, tallied
from replays.results_page import page, read_summary
from replays.stats import percentile

JUDGE_CASES = "judge_cases.jsonl"
SUMMARY = "summary.json"
NO_PRICES = "unknown; set llm.read_price and llm.written_price (of a million tokens) to see it"
NO_LLM = "no answers were written or judged: only retrieval is measured here"
_SECTIONS = ("embedding", "planner", "retrieval", "fusion", "budget", "history", "persona", "manners")
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Folder of the raw log and the summary.")]
LlmOption = Annotated[str, typer.Option(help="configured: answer and judge with the configured model; none: do not.")]
PathArgument = Annotated[Path, typer.Argument(help="The benchmark's file or folder.", show_default=False)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """One run of one benchmark from the command line."""

    name: str
    settings: Settings
    journal: Journal
    total: int


def locomo_command(
    path: PathArgument,
    *,
    output: OutOption = None,
    config: ConfigOption = None,
    llm: LlmOption = "configured",
    as_json: JsonOption = False,
) -> None:
    """Ask LoCoMo's questions (locomo10.json, or a part of it; errors.json beside it corrects the keys).

    With a model configured, it answers from the bot's block and judges the answers, by the rules for LongMemEval.

    Example: ricordo eval-locomo locomo10.json --out out/locomo
    """
    with _clear():
        repairs = Repairs()
        conversations = read_locomo(path, repairs)
        bench = _bench(
            "locomo",
            load_settings(config),
            output,
            files=(path, path.parent / AUDIT),
            total=sum(len(c.questions) for c in conversations),
        )

        def work(done: Callable[[str], None]) -> None:
            spread(partial(_converse, bench.settings), conversations, bench.journal, heard=done)

        extra = {"conversations": len(conversations), "keys": dict(sorted(repairs.counts.items()))}
        summary = _run(bench, work, extra=extra, table=lambda rows: tallied(rows, without=(ADVERSARIAL,)))
        summary |= _with_answers(bench, llm)
    show_summary(
        summary, as_json=as_json, columns=("recall@5", "recall@10", "mrr", "recall 1k", "recall 2k", "recall 4k", "answer 4k")
    )


def longmemeval_command(
    path: PathArgument,
    *,
    output: OutOption = None,
    config: ConfigOption = None,
    llm: LlmOption = "configured",
    as_json: JsonOption = False,
) -> None:
    """Ask LongMemEval's questions (a folder with questions.json and instances, or one file in the official schema).

    With a model configured, it answers from the bot's block and judges the answers; its agreement with judge_cases.jsonl, where
    that stands in the folder, is told first.

    Example: ricordo eval-longmemeval longmemeval_s.json --out out/longmemeval
    """
    with _clear():
        listed = list_instances(path)
        files = [entry.file for entry in listed] if path.is_dir() else [path]
        bench = _bench("longmemeval", load_settings(config), output, files=dict.fromkeys(files), total=len(listed))

        def work(done: Callable[[str], None]) -> None:
            spread(partial(_recall_history, bench.settings), listed, bench.journal, heard=done)

        summary = _run(bench, work, extra={"questions": len(listed)}, table=lambda rows: tallied(rows, without=("abstention",)))
        summary |= _with_answers(bench, llm, cases=path / JUDGE_CASES)
    columns = ("session recall_any@5", "session recall_all@5", "session recall_all@10", "session ndcg@10", "answer 9.6k")
    show_summary(summary, as_json=as_json, columns=columns)


def precision_command(
    path: PathArgument,
    *,
    output: OutOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Ask PrecisionMemBench's cases and sessions (a folder with its three files).

    Example: ricordo eval-precision precisionmembench --out out/precision
    """
    with _clear():
        read = read_precision(path)
        files = [path / name for name in (SEED, CASES, SESSIONS)]
        asked = len(read.cases) + sum(len(session) for session in read.sessions)
        rows = len(systems(Recipe())) * asked  # a line of the log a system
        bench = _bench("precision", load_settings(config), output, files=files, total=rows)

        def work(done: Callable[[str], None]) -> None:  # in one process: its times are figures of the benchmark
            chosen, opener = systems(recipe_of(bench.settings)), partial(_open, bench.settings)
            run = PrecisionRun(opener=opener, systems=chosen, journal=bench.journal, on_question=done)
            asyncio.run(run_precision(read, run))

        extra = {"cases": len(read.cases), "turns": asked - len(read.cases)}
        summary = _run(bench, work, extra=extra, table=lambda rows: summarised(rows, lambda ms: percentile(ms, 0.5)))
    columns = ("active", "passed", "precision", "recall", "p50 ms", "session passed", "session drift", "session precision")
    show_summary(summary, as_json=as_json, columns=columns)


def results_command(
    summaries: Annotated[list[Path], typer.Argument(help="Folders of evaluations, in the page's order.", show_default=False)],
    *,
    output: Annotated[Path, typer.Option("--out", "-o", help="The page.")] = Path("docs/results.md"),
) -> None:
    """Write the page of results from the summaries of evaluations.

    Example: ricordo results out/locomo out/longmemeval out/precision
    """
    with _clear():
        text = page([read_summary(path) for path in summaries])
    output.write_text(text, encoding="utf-8")
    out.print(f"{output} written from {len(summaries)} summaries")


def _bench(name: str, settings: Settings, output: Path | None, *, files: Iterable[Path], total: int) -> Bench:
    set_up_logs(settings.log, default="warning")
    chosen = settings.model_dump(mode="json", include=set(_SECTIONS), exclude={"embedding": {"api_key"}})
    run = {
        "benchmark": name,
        "files": digest_of(*(file.read_bytes() for file in files if file.exists())),
        "settings": digest_of(json.dumps(chosen, sort_keys=True).encode()),
        "embedder": settings.embedding.kind,
    }
    return Bench(name=name, settings=settings, journal=Journal(output or Path("out") / name, run), total=total)


def _open(settings: Settings, folder: Path, clock: Clock) -> AbstractAsyncContextManager[Memory]:
    """Open the configured memory in a folder of its own; its index here: a process for each question costs a second."""
    here = settings.index.model_copy(update={"own_process": False})
    return open_channel_memory(settings.model_copy(update={"index": here}), folder, channel=CHANNEL, clock=clock)


def _converse(settings: Settings, conversation: Conversation, rows: Rows) -> None:
    """Ask the questions of one conversation of LoCoMo, in whatever process this is."""
    set_up_logs(settings.log, default="warning")
    run = LocomoRun(opener=partial(_open, settings), recipe=recipe_of(settings), journal=rows)
    asyncio.run(run_locomo([conversation], run))


def _recall_history(settings: Settings, listed: Listed, rows: Rows) -> None:
    """Ask one question of LongMemEval, in whatever process this is."""
    set_up_logs(settings.log, default="warning")
    run = LongMemEvalRun(opener=partial(_open, settings), recipe=recipe_of(settings), journal=rows)
    asyncio.run(run_longmemeval([listed], run))


def _run(
    bench: Bench,
    work: Callable[[Callable[[str], None]], None],
    *,
    extra: Mapping[str, Any],
    table: Callable[[Sequence[dict[str, Any]]], dict[str, Any]],
) -> dict[str, Any]:
    resumed = len(bench.journal.rows)
    began, cpu = time.perf_counter(), _cpu_seconds()
    with _progress(bench.name, bench.total, resumed) as done:
        work(done)
    rows = sorted(bench.journal.rows.values(), key=lambda row: str(row["id"]))
    summary = {
        "benchmark": bench.name,
        **extra,
        "embedder": bench.settings.embedding.kind,
        "fusion": bench.settings.fusion.method,
        "llm": NO_LLM,
        "resumed_questions": resumed,
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(_cpu_seconds() - cpu, 1),
        "systems": table(rows),
    }
    _keep(bench, summary)
    return summary


def _keep(bench: Bench, summary: Mapping[str, Any]) -> None:
    path = bench.journal.path.with_name(SUMMARY)
    path.write_text(json.dumps(summary, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")


def _with_answers(bench: Bench, llm: str, *, cases: Path | None = None) -> dict[str, Any]:
    """Return what the summary says of the model's answers, and write it there; nothing where no model is to answer."""
    if llm not in {"none", "configured"}:
        raise CommandFailed(f"--llm is none or configured, not {llm!r}", Exit.USAGE)
    if llm == "none" or not (bench.settings.llm.base_url and bench.settings.llm.model):
        return {}
    told = asyncio.run(_judged(bench, read_judge_cases(cases) if cases is not None and cases.is_file() else []))
    _keep(bench, {**json.loads(bench.journal.path.with_name(SUMMARY).read_text(encoding="utf-8")), **told})
    return told


async def _judged(bench: Bench, cases: Sequence[Judged]) -> dict[str, Any]:
    """Return the judge's agreement, the answers' figures and the tokens; every word is in `answers/questions.jsonl`."""
    chosen = bench.settings.llm
    run = {"benchmark": f"{bench.name} answers", "writer": chosen.model, "block": bench.journal.run}
    journal = Journal(bench.journal.path.parent / "answers", run)
    rows = sorted(bench.journal.rows.values(), key=lambda row: str(row["id"]))
    async with _model(bench.settings, chosen.temperature) as writer, _model(bench.settings, 0.0) as judge:
        judged = sum(not id_.startswith(WRITTEN) for id_ in journal.rows)
        with _progress("judging", len(cases) + len(rows), judged) as done:
            judging = Judging(writer=writer, judge=judge, journal=journal, on_question=done)
            await calibrate(cases, judging)
            await answer(rows, judging)
    answers = judged_summary(journal, prices=(chosen.read_price, chosen.written_price))
    return {"llm": f"answers from the bot's block, and verdicts, by {chosen.model}", "answers": answers}


def _model(settings: Settings, temperature: float) -> LanguageModel:
    return LanguageModel(
        LlmSettings(
            base_url=settings.llm.base_url,
            model=settings.llm.model,
            api_key=settings.llm.api_key.get_secret_value(),
            timeout_seconds=settings.llm.timeout_seconds,
            retries=settings.llm.retries,
            max_tokens=settings.llm.max_tokens,
            temperature=temperature,
            concurrency=settings.llm.concurrency,
        )
    )


def _cpu_seconds() -> float:
    """Return the seconds that this program and its ended children have computed, all threads together."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@contextmanager
def _progress(name: str, total: int, done: int) -> Iterator[Callable[[str], None]]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(name, total=total, completed=done)
        yield lambda _: progress.advance(task)


@contextmanager
def _clear() -> Iterator[None]:
    try:
        yield
    except BenchmarkError as error:
        raise CommandFailed(str(error), Exit.USAGE) from None


def show_summary(summary: Mapping[str, Any], *, as_json: bool, columns: Sequence[str]) -> None:
    """Print the figures of every system, then how they came about."""
    if as_json:
        print_json(summary)
        return
    table = Table(
        Column("system", overflow="fold", min_width=10),
        title=summary["benchmark"],
        title_justify="left",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        table.add_column(column, justify="right", min_width=max(map(len, column.split())))  # a figure's name is never cut
    for system, categories in summary["systems"].items():
        figures = categories.get(ALL, categories)
        table.add_row(system, *(shown(figures.get(column)) for column in columns))
    out.print(table)
    told = str(summary["llm"])
    out.print(f"{summary['seconds']:.0f} s, {summary['cpu_seconds']:.0f} s of processor time. {told[:1].upper()}{told[1:]}.")
    if "answers" in summary:
        out.print(*answer_lines(summary["answers"]), sep="\n")


def answer_lines(answers: Mapping[str, Any]) -> Iterator[str]:
    """Yield the judge's agreement with its calibration first, then the share of right answers, then the tokens."""
    for what, title in (("judge_agreement", "judge agrees with the calibration"), ("right", "right answers")):
        figures = ", ".join(f"{name} {figure['value']:.3f} of {figure['count']}" for name, figure in answers[what].items())
        yield f"{title}: {figures or 'no cases'}"
    yield f"right, mean over the types: {shown(answers['right_mean_over_types'])}"
    yield f"tokens: {answers['prompt_tokens']:,} read, {answers['completion_tokens']:,} written"
    cost = answers["cost"]
    yield f"cost: {NO_PRICES if cost is None else f'{cost:,.4f} at the configured prices'}"


def shown(figure: Mapping[str, Any] | float | None) -> str:
    """Return a figure as a table shows it; a dash where there is none."""
    value = figure.get("value") if isinstance(figure, Mapping) else figure
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
