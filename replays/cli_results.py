"""`ricordo explain` and `ricordo report`: what an evaluation left, for a person to read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.shell import CommandFailed, Exit, JsonOption, out, print_json
from replays.cases import CaseError
from replays.errors import LogError
from replays.explain import NoSuchProbe, explained, find_answer
from replays.report import write_report
from replays.results import Folder


def explain_command(
    folder: Annotated[Path, typer.Argument(help="Folder of an evaluation.", show_default=False)],
    probe: Annotated[str, typer.Argument(help="Id of the probe.", show_default=False)],
    *,
    recipe: Annotated[str | None, typer.Option(help="Which recipe; by default the judged one.", show_default=False)] = None,
    as_json: JsonOption = False,
) -> None:
    """Tell how one probe was answered: what was wanted, where it was looked for, what was found, left out, and shown.

    Example: ricordo explain out/eval ost-p12
    """
    with clear_log_errors():
        answer = find_answer(Folder.read(folder), probe, recipe)
    if as_json:
        print_json(answer)
        return
    for line in explained(answer):
        out.print(line, markup=False)


def report_command(
    folder: Annotated[Path, typer.Argument(help="Folder of an evaluation.", show_default=False)],
) -> None:
    """Write one page about an evaluation, report.html, that opens in any browser without a network.

    Example: ricordo report out/eval
    """
    with clear_log_errors():
        page = write_report(folder)
    out.print(f"{page}: open it in a browser", markup=False)


@contextmanager
def clear_log_errors() -> Iterator[None]:
    """Turn what is wrong with a log, or with what an evaluation left, into one message and an exit code.

    Raises:
        CommandFailed: a log, a probe or a file of results cannot be used.
    """
    try:
        yield
    except (LogError, CaseError, NoSuchProbe) as error:
        raise CommandFailed(str(error), Exit.USAGE) from error
