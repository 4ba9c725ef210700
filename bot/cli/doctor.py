"""`ricordo doctor`: is everything there that the bot needs, and is the memory sound?"""

import asyncio
from pathlib import Path

import typer
from rich.text import Text

from bot.cli.checks import Finding, check_embedder, check_folder, check_llm, check_memory
from bot.cli.checks_twitch import check_twitch
from bot.cli.logs import set_up_logs
from bot.cli.place import DataOption, places
from bot.cli.shell import ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import styled
from config.errors import ConfigError
from config.settings import Settings, load_settings
from memory import WallClock

MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "wrong": ("WRONG", "bold red")}


def doctor_command(*, data: DataOption = None, config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Look at the configuration, the disk, the memory, the jobs, the models and Twitch; exit code 1 where something is wrong.

    Example: ricordo doctor
    """
    findings = examined(config, data)
    if as_json:
        print_json(findings)
    else:
        show(findings)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(Exit.FAILED)


def examined(config: Path | None, data: Path | None = None) -> list[Finding]:
    """Look at everything there is to look at."""
    try:
        settings = load_settings(config)
    except ConfigError as error:
        return [Finding(what="configuration", state="wrong", text=str(error), advice="then run `ricordo doctor` again")]
    set_up_logs(settings.log, default="error")
    return [Finding(what="configuration", state="ok", text="can be used"), *asyncio.run(_looked_at(settings, data))]


async def _looked_at(settings: Settings, data: Path | None) -> list[Finding]:
    folder = data or settings.storage.data_dir
    embedder, model = await check_embedder(settings)
    findings = check_folder(folder)
    for place in places(folder):
        findings += await check_memory(place, model)
    return [*findings, embedder, await check_llm(settings), *await check_twitch(settings, WallClock())]


def show(findings: list[Finding]) -> None:
    """Print a line a finding, and below it what to do."""
    for finding in findings:
        mark, style = MARKS[finding.state]
        out.print(Text(f"{mark:<5}", style=style), styled(f"{finding.what}: {finding.text}"))
        if finding.advice:
            out.print(Text("      → "), styled(finding.advice), sep="", style="dim")
