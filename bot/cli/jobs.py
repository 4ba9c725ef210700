"""`ricordo jobs`: the background work, as it stands; try again, bury or work off what is there."""

import asyncio
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from bot.app import open_channel_memory
from bot.cli.login_texts import Language
from bot.cli.logs import set_up_logs
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place, whose
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, err, out, print_json
from bot.cli.terminal import minute, styled
from config.settings import Settings, load_settings
from memory import Figures, Health, JobRow, Outage, WallClock, counted, inspect_memory, job_desk

app = typer.Typer()
STATES = ("ready", "leased", "done", "dead")
AT_A_TIME = 500  # jobs between two looks at how many are left
_HOUR, _MINUTE, _DAY = 3600, 60, 86_400
_PIPED = 320  # columns
LAG: dict[Language, tuple[str, str]] = {
    "en": ("none, no job waits", "{jobs:job waits|jobs wait}, the oldest since {since}"),
    "it": ("nessuno, non aspetta nulla", "{jobs:lavoro|lavori} in attesa, il più vecchio da {since}"),
}
STATE_NAMES: dict[Language, dict[str, str]] = {
    "en": {"none": "none", "ready": "ready|ready", "leased": "leased|leased", "done": "done|done", "dead": "dead|dead"},
    "it": {
        "none": "nessuno",
        "ready": "pronto|pronti",
        "leased": "in corso|in corso",
        "done": "finito|finiti",
        "dead": "morto|morti",
    },
}
OUTAGE: dict[Language, str] = {
    "en": "{what}: out of order since {since}; {kinds} jobs wait for it, tried again from {until} on; {why}",
    "it": "{what}: non risponde da {since}; lo aspettano i lavori {kinds}, si riprova da {until} in poi; {why}",
}
IdsArgument = Annotated[list[int], typer.Argument(help="Ids of jobs, as `ricordo jobs` lists them.", show_default=False)]


@app.callback(invoke_without_command=True)
def listed(
    ctx: typer.Context,
    *,
    state: Annotated[str | None, typer.Option(help=f"Only jobs that are {', '.join(STATES)}.")] = None,
    kind: Annotated[str | None, typer.Option(help="Only jobs of this kind, such as index, purge, drift.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most so many.")] = 100,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List background jobs, also while the bot runs: under way, failing, dead, waiting, then finished ones.

    Example: ricordo jobs --state dead
    """
    if ctx.invoked_subcommand is not None:
        return
    if state is not None and state not in STATES:
        raise CommandFailed(f"--state is one of {', '.join(STATES)}, not {state!r}", Exit.USAGE)
    place = chosen_place(load_settings(config), data, channel)
    clock = WallClock()
    rows, figures, outages = asyncio.run(_listed(place.folder, clock, state, kind=kind, limit=limit))
    if as_json:
        print_json(rows)
        return
    if rows:
        wide = out if out.is_terminal else Console(file=out.file, width=_PIPED, highlight=False)  # a script reads no folds
        wide.print(_table(rows, clock.now()), soft_wrap=False)
    counted = ", ".join(f"{count:,} {name}" for name, count in figures.jobs.items())
    out.print(f"{counted}; lag: {lag_told(figures.lag_jobs, figures.lag_seconds)}")
    for outage in outages:
        out.print(styled(outage_told(outage), limit=300))


@app.command()
def retry(ids: IdsArgument, *, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None) -> None:
    """Make dead or waiting jobs due now, with a clean record, also while the bot runs.

    Example: ricordo jobs retry 17 18
    """
    place = chosen_place(load_settings(config), data, channel)
    _told(asyncio.run(_retried(place.folder, ids)), ids, "due again", "; the running bot takes up what is due")


@app.command()
def bury(ids: IdsArgument, *, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None) -> None:
    """Give jobs up for good, with the record kept, also while the bot runs.

    Example: ricordo jobs bury 17
    """
    place = chosen_place(load_settings(config), data, channel)
    _told(asyncio.run(_buried(place.folder, ids)), ids, "buried")


@app.command()
def drain(*, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None) -> None:
    """Work off every job that is due, without the bot, which must not be running; exit code 1 where some are left.

    Example: ricordo jobs drain
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="error")
    place = chosen_place(settings, data, channel)
    ran, health = asyncio.run(_drained(settings, place))
    left = {"waiting": health.lag_jobs, "dead": health.jobs["dead"]}
    out.print(counted("{ran:job|jobs} ran, {waiting:waits|wait}, {dead:is|are} dead", ran=ran, **left))
    if health.lag_jobs or health.jobs["dead"]:
        text = "some jobs are left: `ricordo jobs` says why, and when they are tried again"
        raise CommandFailed(text)


async def _listed(
    folder: Path, clock: WallClock, state: str | None, *, kind: str | None, limit: int
) -> tuple[list[JobRow], Figures, list[Outage]]:
    async with inspect_memory(folder, clock) as memory:
        rows = await memory.jobs(state=state, kind=kind, limit=limit)
        return rows, await memory.figures(), await memory.outages()


async def _retried(folder: Path, ids: list[int]) -> int:
    async with job_desk(folder, WallClock()) as jobs:
        return await jobs.retry(ids=ids)


async def _buried(folder: Path, ids: list[int]) -> int:
    async with job_desk(folder, WallClock()) as jobs:
        return await jobs.bury(ids)


async def _drained(settings: Settings, place: Place) -> tuple[int, Health]:
    ran, clock = 0, WallClock()
    async with open_channel_memory(settings, place.folder, channel=whose(place), clock=clock) as memory:
        with err.status("working") as status:
            while done := await memory.run_jobs(AT_A_TIME):
                ran += done
                waiting = (await memory.health()).lag_jobs
                status.update(counted("{ran:job|jobs} done, {waiting:,} left", ran=ran, waiting=waiting))
        return ran, await memory.health()


def _told(changed: int, ids: list[int], what: str, then: str = "") -> None:
    asked = len(set(ids))
    if changed < asked:
        told = "{changed:,} of {asked:job|jobs} {what}: what is left is finished, or there is no such id"
        raise CommandFailed(counted(told, changed=changed, asked=asked, what=what))
    out.print(counted("{changed:job|jobs} {what}{then}", changed=changed, what=what, then=then))


def outage_told(outage: Outage, language: Language = "en") -> str:
    """Return for people what does not answer, since when, what waits for it, and when it is tried again."""
    return OUTAGE[language].format(
        what=outage.what,
        since=minute(outage.since),
        kinds=", ".join(outage.kinds),
        until=minute(outage.until),
        why=outage.why,
    )


def lag_told(jobs: int, seconds: float, language: Language = "en") -> str:
    """Return for people how far behind the work is."""
    none, some = LAG[language]
    return counted(some, language, jobs=jobs, since=_lasting(seconds, language)) if jobs else none


def jobs_told(jobs: Mapping[str, int], language: Language = "en") -> str:
    """Return for people how many jobs are in which state."""
    names = STATE_NAMES[language]
    told = [counted(f"{{count:{names[state]}}}", language, count=count) for state, count in jobs.items() if count]
    return ", ".join(told) or names["none"]


def _lasting(seconds: float, language: Language) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds / _MINUTE:.0f} min"
    days = {"en": "{days:day|days}", "it": "{days:giorno|giorni}"}[language]
    return f"{seconds / _HOUR:.0f} h" if seconds < _DAY else counted(days, language, days=round(seconds / _DAY))


def _table(rows: list[JobRow], now: datetime) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("id", "kind", "what", "state", "tries", "since", "next try", "why"):
        table.add_column(heading, justify="right" if heading in {"id", "tries"} else "left", overflow="fold")
    for row in rows:
        tries = f"{row.attempts}+{row.crashes}" if row.crashes else str(row.attempts)
        why = f"{row.error_kind or 'error'}: {row.last_error}" if row.last_error else ""
        since = minute(row.created_at)
        shown = (str(row.id), row.kind, styled(_what(row), limit=80), row.state, tries, since, _next(row, now))
        table.add_row(*shown, styled(why, limit=200))
    return table


def _what(row: JobRow) -> str:
    """Return what a job is about: its payload holds ids and no words."""
    parts = []
    for name, value in row.payload.items():
        if isinstance(value, dict):
            parts.append(f"{sum(len(inner) for inner in value.values() if isinstance(inner, list))} {name}")
        elif isinstance(value, list):
            parts.append(f"{len(value)} {name}" if value else "")
        elif value and value is not True:
            parts.append(f"{name} {value}")
    return ", ".join(part for part in parts if part) or row.key


def _next(row: JobRow, now: datetime) -> str:
    if row.state == "leased":
        return f"under way, held until {minute(row.lease_until)}" if row.lease_until else "under way"
    if row.state == "ready":
        return "now" if row.run_after <= now else minute(row.run_after)
    return "never" if row.state == "dead" else "-"
