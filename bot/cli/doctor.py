"""`ricordo doctor`: is everything there that the bot needs, and is the memory sound?"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bot.cli.checks import check_embedder, check_folder, check_llm, check_memory
from bot.cli.checks_twitch import check_twitch
from bot.cli.findings import Finding
from bot.cli.logs import set_up_logs
from bot.cli.mending import check_drift, mend
from bot.cli.place import DataOption, Place, places
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import styled
from config.errors import ConfigError
from config.settings import Settings, load_settings
from memory import BotMemoryError, WallClock

MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "wrong": ("WRONG", "bold red")}


def doctor_command(
    *,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend where the vector index or the full text are not what the database says.")
    ] = False,
    data: DataOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at the configuration, the disk, the memory, the jobs, the models and Twitch; exit code 1 where something is wrong.

    Works while the bot runs, `--fix` too: the bot is asked to mend, and goes on answering.

    Example: ricordo doctor --fix
    """
    findings = examined(config, data, fix=fix)
    if as_json:
        print_json(findings)
    else:
        show(findings)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(Exit.FAILED)


def examined(config: Path | None, data: Path | None = None, *, fix: bool = False) -> list[Finding]:
    """Look at everything there is to look at; with `fix` mend what has drifted apart."""
    try:
        settings = load_settings(config)
    except ConfigError as error:
        return [Finding(what="configuration", state="wrong", text=str(error), advice="then run `ricordo doctor` again")]
    set_up_logs(settings.log, default="error")
    return [Finding(what="configuration", state="ok", text="can be used"), *asyncio.run(_looked_at(settings, data, fix=fix))]


async def _looked_at(settings: Settings, data: Path | None, *, fix: bool) -> list[Finding]:
    folder = data or settings.storage.data_dir
    embedder, model = await check_embedder(settings)
    findings = check_folder(folder)
    for place in places(folder):
        found = await check_memory(place, model)
        findings += found
        if not any(finding.state == "wrong" and "reindex" in finding.advice for finding in found):
            findings += await _drift(settings, place, model, fix=fix)
    return [*findings, embedder, await check_llm(settings), *await check_twitch(settings, WallClock())]


async def _drift(settings: Settings, place: Place, model: str | None, *, fix: bool) -> list[Finding]:
    """Measure the drift, and mend it where asked: what was found, and how it is then."""
    finding, report = await check_drift(settings, place, model)
    if not (fix and report):
        return [finding]
    try:
        await mend(settings, place, report)
    except (BotMemoryError, CommandFailed) as error:
        return [replace(finding, advice=str(error))]
    after, _ = await check_drift(settings, place, model)
    return [replace(finding, state="note", advice="mended"), after]


def show(findings: list[Finding]) -> None:
    """Print a line a finding, and below it what to do."""
    for finding in findings:
        mark, style = MARKS[finding.state]
        out.print(Text(f"{mark:<5}", style=style), styled(f"{finding.what}: {finding.text}"))
        if finding.advice:
            out.print(Text("      → "), styled(finding.advice), sep="", style="dim")
