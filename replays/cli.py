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

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ricordo: a Twitch chat bot that remembers.",
    epilog="Exit codes: 0 fine, 1 a problem was met, 2 wrong arguments or configuration, 3 the data is in use, 4 log in again.",
)
app.command("run")(run_command)
app.command("setup")(setup_command)
app.command("login")(login_command)
app.command("logout")(logout_command)
app.command("replay")(replay_command)
app.command("import")(import_command)
app.command("eval")(eval_command)
app.command("explain")(explain_command)
app.command("report")(report_command)
memory.app.command("history")(history_command)
memory.app.command("undo")(undo_command)
memory.app.command("rollback")(rollback_command)
app.add_typer(memory.app, name="memory")
app.add_typer(state.app, name="state")
app.add_typer(jobs.app, name="jobs")
app.command("forget")(forget_command)
app.command("correct")(correct_command)
app.command("export")(export_command)
app.command("audit")(audit_command)
app.command("reindex")(reindex_command)
app.command("backup")(backup_command)
app.command("restore")(restore_command)
app.command("doctor")(doctor_command)
app.command("top")(top_command)
app.add_typer(config.app, name="config")
app.command("eval-locomo")(locomo_command)
app.command("eval-longmemeval")(longmemeval_command)
app.command("eval-precision")(precision_command)
app.command("results")(results_command)


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
