"""The command line: `ricordo`. Everything the bot, the memory and the replays offer, as commands."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from bot.cli.shell import clear_errors, short_tracebacks
from replays.errors import LogError
from replays.hurry import few_arenas, loading

DEBUG = "--debug"
START, LOOK, CORRECT = "Start here", "Look", "Forget and put right"  # headings of `ricordo --help`
CARE, LOGS, MEASURE = "Take care of the memory", "Chat logs", "Measure"


class Entry(NamedTuple):
    """A command of `ricordo`, and where it is: its module is loaded when somebody asks for it."""

    name: str
    module: str
    heading: str
    function: str = ""  # empty: the module's `app`, a group of commands


ENTRIES = (
    Entry("run", "replays.cli_replay", START, "run_command"),
    Entry("setup", "bot.cli.setup", START, "setup_command"),
    Entry("login", "bot.cli.login", START, "login_command"),
    Entry("logout", "bot.cli.login", START, "logout_command"),
    Entry("doctor", "bot.cli.doctor", START, "doctor_command"),
    Entry("config", "bot.cli.config", START),
    Entry("top", "bot.cli.top", LOOK, "top_command"),
    Entry("memory", "bot.cli.beliefs", LOOK),
    Entry("state", "bot.cli.state", LOOK),
    Entry("export", "bot.cli.forget", LOOK, "export_command"),
    Entry("audit", "bot.cli.forget", LOOK, "audit_command"),
    Entry("forget", "bot.cli.forget", CORRECT, "forget_command"),
    Entry("correct", "bot.cli.forget", CORRECT, "correct_command"),
    Entry("backup", "bot.cli.backup", CARE, "backup_command"),
    Entry("restore", "bot.cli.backup", CARE, "restore_command"),
    Entry("reindex", "bot.cli.reindex", CARE, "reindex_command"),
    Entry("jobs", "bot.cli.jobs", CARE),
    Entry("import", "replays.cli_import", LOGS, "import_command"),
    Entry("replay", "replays.cli_replay", LOGS, "replay_command"),
    Entry("eval", "replays.cli_eval", MEASURE, "eval_command"),
    Entry("explain", "replays.cli_results", MEASURE, "explain_command"),
    Entry("report", "replays.cli_results", MEASURE, "report_command"),
    Entry("eval-locomo", "replays.cli_benchmarks", MEASURE, "locomo_command"),
    Entry("eval-longmemeval", "replays.cli_benchmarks", MEASURE, "longmemeval_command"),
    Entry("eval-precision", "replays.cli_benchmarks", MEASURE, "precision_command"),
    Entry("results", "replays.cli_benchmarks", MEASURE, "results_command"),
)


def command_line(wanted: str = "") -> typer.Typer:
    """Return the command `wanted` alone, which loads in half the time, or all of them where there is none of that name."""
    app = typer.Typer(
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        help="Ricordo: a Twitch chat bot that remembers.",
        epilog="Exit codes: 0 fine, 1 a problem was met, 2 wrong arguments or configuration, 3 data in use, 4 log in again.",
    )
    app.callback()(root)
    for entry in [entry for entry in ENTRIES if entry.name == wanted] or ENTRIES:
        module = import_module(entry.module)
        if entry.function:
            app.command(entry.name, rich_help_panel=entry.heading)(getattr(module, entry.function))
        else:
            app.add_typer(module.app, name=entry.name, rich_help_panel=entry.heading)
    return app


def root(*, debug: Annotated[bool, typer.Option(DEBUG, help="Show tracebacks.")] = False) -> None:
    """Ricordo: a Twitch chat bot that remembers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; expected errors are one message and an exit code. `--debug` may stand anywhere."""
    few_arenas()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in given
    if not debug:
        short_tracebacks()
    asked = [argument for argument in given if argument != DEBUG]
    with loading():
        app = command_line(*asked[:1])
    with clear_errors(debug=debug, also=(LogError,)):
        # Not `app(…)`: typer would put its own hook for unexpected errors in place of ours.
        typer.main.get_command(app)(args=asked, prog_name="ricordo")
