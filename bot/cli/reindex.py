"""`ricordo reindex`: build the vector index anew from the database, also behind a running bot."""

import asyncio
import time
from collections.abc import Sequence
from typing import Annotated
from uuid import uuid4

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from bot.app import open_channel_memory
from bot.cli.asked import in_use, waited_for
from bot.cli.checks import check_embedder
from bot.cli.logs import set_up_logs
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place, whose
from bot.cli.shell import CommandFailed, ConfigOption, err, out
from bot.cli.terminal import styled
from config.settings import Settings, load_settings
from memory import JobRow, WallClock, counted, doubt_index, inspect_memory, job_desk

_COLUMNS = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())


def reindex_command(
    *,
    whole: Annotated[bool, typer.Option("--whole", help="Also what has its vector: the index was damaged.")] = False,
    wait: Annotated[bool, typer.Option(help="Wait until a running bot has done it; else it is only asked.")] = True,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
) -> None:
    """Build the index anew from the database, where vectors are missing or of another model.

    A bot that runs is asked to do it in the background, and goes on answering. After a change of the embedding model the bot
    must be stopped. A run that was broken off goes on where it stopped.

    Example: ricordo reindex --data out/demo/memory
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="error")
    place = chosen_place(settings, data, channel)
    began = time.perf_counter()
    running = in_use(place.folder)
    work = _asked(settings, place, whole=whole, wait=wait) if running else _reindexed(settings, place, whole=whole)
    documents = asyncio.run(work)
    if documents is None:
        out.print("the running bot has been asked: `ricordo jobs --kind reindex` shows how far it is")
        return
    taken = time.perf_counter() - began
    told = "{documents:document|documents} of {title} indexed anew in {taken:.1f} s"
    out.print(styled(counted(told, documents=documents, title=place.title, taken=taken)))


async def _reindexed(settings: Settings, place: Place, *, whole: bool) -> int | None:
    clock, channel = WallClock(), whose(place)
    if whole:
        await doubt_index(place.folder)
    async with open_channel_memory(settings, place.folder, channel=channel, clock=clock, any_model=True) as memory:
        total = (await memory.health()).documents
        with Progress(*_COLUMNS, console=err, transient=True, disable=not err.is_terminal) as progress:
            task = progress.add_task("building the index", total=total)
            return await memory.reindex(lambda passed: progress.advance(task, passed))


async def _asked(settings: Settings, place: Place, *, whole: bool, wait: bool) -> int | None:
    """Ask the running bot, and wait until it is done; None where nobody waits."""
    clock = WallClock()
    async with inspect_memory(place.folder, clock) as memory:
        built_by = (await memory.figures()).embedder
    _, model = await check_embedder(settings)
    if model and built_by and model != built_by:
        text = f"the running bot works with {built_by}, the configuration names {model}: stop it, then run this again"
        raise CommandFailed(text)
    run = uuid4().hex[:12]
    async with job_desk(place.folder, clock) as jobs:
        await jobs.order("reindex", f"reindex:{run}", {"run": run, "whole": whole})
        if not wait:
            return None
        rows = await waited_for(jobs, f"reindex:{run}", place.folder, ended=_ended, told=_told)
        return _done(rows)


def _ended(rows: Sequence[JobRow]) -> bool:
    return any(row.payload.get("end") for row in rows)


def _done(rows: Sequence[JobRow]) -> int:
    return max((int(row.payload.get("done", 0)) for row in rows), default=0)


def _told(rows: Sequence[JobRow]) -> str:
    return counted("the running bot has indexed {done:document|documents} anew", done=_done(rows))
