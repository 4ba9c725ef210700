"""`ricordo eval`: annotated logs through the memory, measured."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, err, out, print_json
from config.settings import Settings, load_settings
from replays.cases import CaseError
from replays.errors import LogError
from replays.evaluate import Evaluation, Outcome, known_recipes, read_logs
from replays.results import SUMMARY, ResultFiles, write_json
from replays.summary import Run, summary_of
from replays.tables import LEGEND, category_table, latency_line, recipe_table


def eval_command(
    logs: Annotated[list[Path], typer.Argument(help="Annotated chat logs (JSON Lines with probes).", show_default=False)],
    *,
    recipes: Annotated[str, typer.Option(help="Names, comma between, the first being judged; or all.")] = "full",
    output: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("out/eval"),
    llm: Annotated[str, typer.Option(help="none, or configured: the configured model answers too.")] = "none",
    seed: Annotated[int, typer.Option(help="For the intervals.")] = 0,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the memory on annotated chat logs: what it finds, what it mixes up, what it costs.

    Example: ricordo eval chat.jsonl --recipes all --out out/eval
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="error")
    names = chosen_recipes(recipes, settings)
    use_llm = chosen_llm(llm, settings)
    began = perf_counter()
    with clear_log_errors():
        annotated = read_logs(logs, settings)
        evaluation = Evaluation(settings=settings, logs=annotated, recipes=names, llm=use_llm)
        with ResultFiles(output, names) as files:
            outcome = _with_bar(evaluation, files)
        again = _with_bar(Evaluation(settings=settings, logs=annotated, recipes=names[:1])) if len(names) > 1 else None
    run = Run(
        settings=settings, logs=annotated, recipes=names, seed=seed, seconds=perf_counter() - began, llm=use_llm, again=again
    )
    summary = summary_of(outcome, run)
    write_json(output / SUMMARY, summary)
    if as_json:
        print_json(summary)
    else:
        _show(summary, output)
    _leave(outcome)


def chosen_recipes(text: str, settings: Settings) -> list[str]:
    """Return the recipes that a person named.

    Raises:
        CommandFailed: there is none of that name.
    """
    known = list(known_recipes(settings))
    if text == "all":
        return known
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    wrong = [name for name in names if name not in known]
    if wrong or not names:
        raise CommandFailed(
            f"--recipes: {', '.join(wrong) or 'nothing'} is not known; there are {', '.join(known)}", Exit.USAGE
        )
    return names


def chosen_llm(text: str, settings: Settings) -> bool:
    """Return whether the configured model answers the probes too.

    Raises:
        CommandFailed: it is neither none nor configured, or no model is.
    """
    if text not in {"none", "configured"}:
        raise CommandFailed(f"--llm is none or configured, not {text!r}", Exit.USAGE)
    if text == "configured" and not (settings.llm.base_url and settings.llm.model):
        message = "--llm configured: no language model is configured; set llm.base_url and llm.model"
        raise CommandFailed(message, Exit.USAGE)
    return text == "configured"


@contextmanager
def clear_log_errors() -> Iterator[None]:
    """Turn what is wrong with a log into one message and an exit code.

    Raises:
        CommandFailed: a log, a probe or a file of results cannot be used.
    """
    try:
        yield
    except (LogError, CaseError) as error:
        raise CommandFailed(str(error), Exit.USAGE) from error


def _with_bar(evaluation: Evaluation, files: ResultFiles | None = None) -> Outcome:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        title = "asking the probes" if files else "once more, for the noise"
        task = progress.add_task(title, total=sum(len(annotated.cases) for annotated in evaluation.logs))
        evaluation.on_probe = lambda _: progress.advance(task)
        return asyncio.run(evaluation.run(files))


def _show(summary: dict[str, object], output: Path) -> None:
    out.print(category_table(summary))
    if table := recipe_table(summary):
        out.print(table)
    out.print(LEGEND, style="dim")
    out.print(latency_line(summary))
    out.print(f"every answer, its trace and the figures: {output}")


def _leave(outcome: Outcome) -> None:
    if outcome.complete:
        return
    for one in outcome.unasked:
        err.print(f"{one.log}, {one.id}: could not be asked: {one.reason}", markup=False)
    raise CommandFailed(f"{len(outcome.unasked)} probes could not be asked; the results hold the others")
