"""`ricordo jobs`: the background work, as it stands; try again or bury what gave up."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from bot.cli.place import ChannelOption, DataOption, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import minute, styled
from config.settings import load_settings
from memory import Figures, JobRow, WallClock, inspect_memory, job_desk

app = typer.Typer()
STATES = ("ready", "leased", "done", "dead")
IdsArgument = Annotated[list[int], typer.Argument(help="Ids of jobs, as `ricordo jobs` lists them.", show_default=False)]


@app.callback(invoke_without_command=True)
def listed(
    ctx: typer.Context,
    *,
    state: Annotated[str | None, typer.Option(help=f"Only jobs that are {', '.join(STATES)}.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind, such as index, purge, drift.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most so many, oldest first.")] = 100,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List background jobs, also while the bot runs; try again or bury what gave up.

    Example: ricordo jobs --state dead
    """
    if ctx.invoked_subcommand is not None:
        return
    if state is not None and state not in STATES:
        raise CommandFailed(f"--state is one of {', '.join(STATES)}, not {state!r}", Exit.USAGE)
    place = chosen_place(load_settings(config), data, channel)
    rows, figures = asyncio.run(_listed(place.folder, state, kind, limit))
    if as_json:
        print_json(rows)
        return
    if rows:
        out.print(_table(rows), soft_wrap=False)
    counted = ", ".join(f"{count:,} {name}" for name, count in figures.jobs.items())
    out.print(f"{counted}; oldest waiting {figures.lag_seconds:.0f} s")


@app.command()
def retry(ids: IdsArgument, *, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None) -> None:
    """Make dead or waiting jobs due now, with a clean record; the bot must not be running.

    Example: ricordo jobs retry 17 18
    """
    place = chosen_place(load_settings(config), data, channel)
    _told(asyncio.run(_retried(place.folder, ids)), ids, "due again; the bot works on them when it runs")


@app.command()
def bury(ids: IdsArgument, *, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None) -> None:
    """Give jobs up for good, with the record kept; the bot must not be running.

    Example: ricordo jobs bury 17
    """
    place = chosen_place(load_settings(config), data, channel)
    _told(asyncio.run(_buried(place.folder, ids)), ids, "buried")


async def _listed(folder: Path, state: str | None, kind: str | None, limit: int) -> tuple[list[JobRow], Figures]:
    async with inspect_memory(folder, WallClock()) as memory:
        return await memory.jobs(state=state, kind=kind, limit=limit), await memory.figures()


async def _retried(folder: Path, ids: list[int]) -> int:
    async with job_desk(folder, WallClock()) as jobs:
        return await jobs.retry(ids=ids)


async def _buried(folder: Path, ids: list[int]) -> int:
    async with job_desk(folder, WallClock()) as jobs:
        return await jobs.bury(ids)


def _told(changed: int, ids: list[int], what: str) -> None:
    if changed < len(set(ids)):
        raise CommandFailed(f"{changed} of {len(set(ids))} jobs {what}; the others are finished, or there are none of that id")
    out.print(f"{changed} jobs {what}")


def _table(rows: list[JobRow]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "kind", "state", "tries", "due", "last error"):
        table.add_column(heading, justify="right" if heading in {"id", "tries"} else "left", overflow="fold")
    for row in rows:
        tries = f"{row.attempts}+{row.crashes}" if row.crashes else str(row.attempts)
        table.add_row(
            str(row.id), row.kind, row.state, tries, minute(row.run_after), styled(row.last_error or "", limit=200)
        )  # fmt: skip
    return table
