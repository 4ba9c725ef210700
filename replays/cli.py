"""The command line: `ricordo`. Everything the bot, the memory and the replays offer, as commands."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from bot.cli import config
from bot.cli.shell import clear_errors
from replays.cli_import import import_command
from replays.cli_replay import replay_command, run_command

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Ricordo: a Twitch chat bot that remembers.",
    epilog="Exit codes: 0 fine, 1 a problem was met, 2 wrong arguments or configuration, 3 the data is in use.",
)
app.add_typer(config.app, name="config")
app.command("run")(run_command)
app.command("replay")(replay_command)
app.command("import")(import_command)


@app.callback()
def root(*, debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False) -> None:
    """Ricordo: a Twitch chat bot that remembers."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command; expected errors are one message and an exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    with clear_errors(debug="--debug" in given):
        app(args=given, prog_name="ricordo")
