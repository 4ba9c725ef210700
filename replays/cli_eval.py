"""`ricordo eval`: annotated logs through the memory, measured."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, err, out, print_json
from config.settings import Settings, load_settings
from memory import counted
from replays.cli_results import clear_log_errors
from replays.compare import Change, change_to_json, changes, told
from replays.evaluate import Evaluation, Outcome, known_recipes, read_logs
from replays.results import SUMMARY, Folder, ResultFiles, write_json
from replays.summary import Run, summary_of
from replays.tables import LEGEND, category_tables, conflicts_line, latency_line, recipe_tables, reply_line

Json = dict[str, Any]
AGAINST, CHANGES = "against", "changes.json"


def eval_command(
    logs: Annotated[list[Path], typer.Argument(help="Annotated chat logs (JSON Lines with probes).", show_default=False)],
    *,
    recipes: Annotated[str, typer.Option(help="Names, comma between, the first being judged; or all.")] = "full",
    output: Annotated[Path, typer.Option("--out", "-o", help="Folder for the results.")] = Path("out/eval"),
    llm: Annotated[str, typer.Option(help="none, or configured: the configured model answers too.")] = "none",
    seed: Annotated[int, typer.Option(help="For the intervals.")] = 0,
    config: ConfigOption = None,
    against: Annotated[
        Path | None, typer.Option(help="A second configuration: show probe by probe what it changes.", show_default=False)
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure the memory on annotated chat logs: what it finds, what it mixes up, what it costs.

    Example: ricordo eval chat.jsonl --recipes all --out out/eval
    """
    settings = load_settings(config)
    other = load_settings(against) if against else None
    set_up_logs(settings.log, default="error")
    names = chosen_recipes(recipes, settings)
    measuring = Measuring(paths=logs, seed=seed, llm=chosen_llm(llm, settings))
    with clear_log_errors():
        outcome, summary = measuring.measure(settings, names, output)
        found = measuring.compare(other, names[0], output) if other else None
    if as_json:
        print_json(summary if found is None else {**summary, "changes": [change_to_json(change) for change in found]})
    else:
        _show(summary, output)
        _show_changes(found, output)
    _leave(outcome)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """What is measured, and how, whatever the configuration."""

    paths: Sequence[Path]
    seed: int
    llm: bool

    def measure(self, settings: Settings, names: Sequence[str], folder: Path) -> tuple[Outcome, Json]:
        """Ask every probe, write everything into `folder`, and return the outcome with its summary."""
        began = perf_counter()
        logs = read_logs(self.paths, settings)
        with ResultFiles(folder, names) as files:
            outcome = _with_bar(Evaluation(settings=settings, logs=logs, recipes=names, llm=self.llm), files)
        again = _with_bar(Evaluation(settings=settings, logs=logs, recipes=names[:1])) if len(names) > 1 else None
        seconds = perf_counter() - began
        run = Run(settings=settings, logs=logs, recipes=names, seed=self.seed, seconds=seconds, llm=self.llm, again=again)
        summary = summary_of(outcome, run)
        write_json(folder / SUMMARY, summary)
        return outcome, summary

    def compare(self, settings: Settings, recipe: str, folder: Path) -> list[Change]:
        """Measure another configuration and return how its answers differ; they are kept below `folder`."""
        self.measure(settings, [recipe], folder / AGAINST)
        first, second = Folder.read(folder), Folder.read(folder / AGAINST)
        found = changes(list(first.answers(recipe)), list(second.answers(recipe)))
        write_json(folder / CHANGES, {"changes": [change_to_json(change) for change in found]})
        return found


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


def _with_bar(evaluation: Evaluation, files: ResultFiles | None = None) -> Outcome:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        title = "asking the probes" if files else "once more, for the noise"
        task = progress.add_task(title, total=sum(len(annotated.cases) for annotated in evaluation.logs))
        evaluation.on_probe = lambda _: progress.advance(task)
        return asyncio.run(evaluation.run(files))


def _show(summary: Json, output: Path) -> None:
    for table in (*category_tables(summary, out.width), *recipe_tables(summary, out.width)):
        out.print(table)
        out.print()
    out.print(LEGEND, style="dim")
    out.print(latency_line(summary))
    if conflicts := conflicts_line(summary):
        out.print(conflicts, markup=False)
    if replies := reply_line(summary):
        out.print(replies, markup=False)
    out.print(f"every answer, its trace and the figures: {output}")


def _show_changes(found: Sequence[Change] | None, folder: Path) -> None:
    if found is None:
        return
    better, worse = sum(change.better > 0 for change in found), sum(change.better < 0 for change in found)
    out.print(f"\n{len(found)} probes are answered differently by the second: {better} better, {worse} worse", style="bold")
    for change in found:
        for line in told(change):
            out.print(line, markup=False)
    out.print(f"the second evaluation: {folder / AGAINST}, what it changes: {folder / CHANGES}")


def _leave(outcome: Outcome) -> None:
    if outcome.complete:
        return
    for one in outcome.unasked:
        err.print(f"{one.log}, {one.id}: could not be asked: {one.reason}", markup=False)
    count = len(outcome.unasked)
    raise CommandFailed(counted("{count:probe|probes} could not be asked; the results hold the others", count=count))
