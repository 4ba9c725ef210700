"""The command line: `ricordo`. Everything the bot, the memory and the replays offer, as commands."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from bot.cli import config, jobs, memory, state
from bot.cli.backup import backup_command, restore_command
from bot.cli.beliefs import history_command, rollback_command, undo_command
from bot.cli.doctor import doctor_command
from bot.cli.forget import audit_command, correct_command, export_command, forget_command
from bot.cli.login import login_command, logout_command
from bot.cli.reindex import reindex_command
from bot.cli.setup import setup_command
from bot.cli.shell import clear_errors, short_tracebacks
from bot.cli.top import top_command
from replays.cli_benchmarks import locomo_command, longmemeval_command, precision_command, results_command
from replays.cli_eval import eval_command
from replays.cli_import import import_command
from replays.cli_replay import replay_command, run_command
from replays.cli_results import explain_command, report_command
from replays.errors import LogError
from replays.hurry import few_arenas

DEBUG = "--debug"
START, LOOK, CORRECT = "Start here", "Look", "Forget and put right"  # headings of `ricordo --help`
CARE, LOGS, MEASURE = "Take care of the memory", "Chat logs", "Measure"

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ricordo: a Twitch chat bot that remembers.",
    epilog="Exit codes: 0 fine, 1 a problem was met, 2 wrong arguments or configuration, 3 the data is in use, 4 log in again.",
)
memory.app.command("history")(history_command)
memory.app.command("undo")(undo_command)
memory.app.command("rollback")(rollback_command)
app.command("run", rich_help_panel=START)(run_command)
app.command("setup", rich_help_panel=START)(setup_command)
app.command("login", rich_help_panel=START)(login_command)
app.command("logout", rich_help_panel=START)(logout_command)
app.command("doctor", rich_help_panel=START)(doctor_command)
app.add_typer(config.app, name="config", rich_help_panel=START)
app.command("top", rich_help_panel=LOOK)(top_command)
app.add_typer(memory.app, name="memory", rich_help_panel=LOOK)
app.add_typer(state.app, name="state", rich_help_panel=LOOK)
app.command("export", rich_help_panel=LOOK)(export_command)
app.command("audit", rich_help_panel=LOOK)(audit_command)
app.command("forget", rich_help_panel=CORRECT)(forget_command)
app.command("correct", rich_help_panel=CORRECT)(correct_command)
app.command("backup", rich_help_panel=CARE)(backup_command)
app.command("restore", rich_help_panel=CARE)(restore_command)
app.command("reindex", rich_help_panel=CARE)(reindex_command)
app.add_typer(jobs.app, name="jobs", rich_help_panel=CARE)
app.command("import", rich_help_panel=LOGS)(import_command)
app.command("replay", rich_help_panel=LOGS)(replay_command)
app.command("eval", rich_help_panel=MEASURE)(eval_command)
app.command("explain", rich_help_panel=MEASURE)(explain_command)
app.command("report", rich_help_panel=MEASURE)(report_command)
app.command("eval-locomo", rich_help_panel=MEASURE)(locomo_command)
app.command("eval-longmemeval", rich_help_panel=MEASURE)(longmemeval_command)
app.command("eval-precision", rich_help_panel=MEASURE)(precision_command)
app.command("results", rich_help_panel=MEASURE)(results_command)


@app.callback()
def root(*, debug: Annotated[bool, typer.Option(DEBUG, help="Show tracebacks.")] = False) -> None:
    """Ricordo: a Twitch chat bot that remembers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; expected errors are one message and an exit code. `--debug` may stand anywhere."""
    few_arenas()
    given = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in given
    if not debug:
        short_tracebacks()
    with clear_errors(debug=debug, also=(LogError,)):
        # Not `app(…)`: typer would put its own hook for unexpected errors in place of ours.
        typer.main.get_command(app)(args=[argument for argument in given if argument != DEBUG], prog_name="ricordo")
