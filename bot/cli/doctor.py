"""`ricordo doctor`: is everything there that the bot needs, and is the memory sound?"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from bot.cli.checks import check_embedder, check_folder, check_llm, check_memory
from bot.cli.checks_twitch import check_twitch
from bot.cli.findings import Finding, State, found
from bot.cli.language import LanguageOption, chosen
from bot.cli.login_texts import Language
from bot.cli.logs import set_up_logs
from bot.cli.mending import check_drift, mend
from bot.cli.place import DataOption, Place, places
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import styled
from config.errors import ConfigError
from config.settings import Settings, load_settings
from memory import BotMemoryError, WallClock

SAMPLED, MOST_SAMPLED = 300, 1000
STYLES: dict[State, str] = {"ok": "green", "note": "yellow", "wrong": "bold red"}
MARKS: dict[Language, dict[State, str]] = {
    "en": {"ok": "ok", "note": "note", "wrong": "WRONG"},
    "it": {"ok": "ok", "note": "nota", "wrong": "MALE"},
}


def doctor_command(
    *,
    fix: Annotated[
        bool, typer.Option("--fix", help="Mend where the vector index or the full text are not what the database says.")
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            "--sample",
            min=0,
            max=MOST_SAMPLED,
            help="Embed so many documents anew, others each day, and compare their vectors: a few milliseconds each, "
            "and a request or two to an embeddings endpoint. 0: none.",
        ),
    ] = SAMPLED,
    data: DataOption = None,
    language: LanguageOption = "",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Look at the configuration, the disk, the memory, the jobs, the models and Twitch; exit code 1 where something is wrong.

    Works while the bot runs, `--fix` too: the bot is asked to mend, and goes on answering.

    Example: ricordo doctor --fix
    """
    spoken = chosen(language)
    try:
        settings = load_settings(config)
    except ConfigError as error:
        findings = [found("configuration.wrong", "wrong", reason=str(error))]
    else:
        spoken, findings = chosen(language, settings), examined(settings, data, fix=fix, sample=sample)
    if as_json:
        print_json([finding.told(spoken) for finding in findings])
    else:
        show(findings, spoken)
    if any(finding.state == "wrong" for finding in findings):
        raise typer.Exit(Exit.FAILED)


def examined(settings: Settings, data: Path | None = None, *, fix: bool = False, sample: int = SAMPLED) -> list[Finding]:
    """Look at everything there is to look at; with `fix` mend what has drifted apart. `sample` vectors are made anew."""
    set_up_logs(settings.log, default="error")
    return [found("configuration.fine"), *asyncio.run(_looked_at(settings, data, fix=fix, sample=sample))]


async def _looked_at(settings: Settings, data: Path | None, *, fix: bool, sample: int) -> list[Finding]:
    folder = data or settings.storage.data_dir
    embedder, model = await check_embedder(settings)
    findings = check_folder(folder)
    for place in places(folder):
        held = await check_memory(place, model)
        findings += held
        if not any(finding.name in {"index.other", "index.gone"} for finding in held):
            findings += await _drift(settings, place, model, fix=fix, sample=sample)
    return [*findings, embedder, await check_llm(settings), *await check_twitch(settings, WallClock())]


async def _drift(settings: Settings, place: Place, model: str | None, *, fix: bool, sample: int) -> list[Finding]:
    """Measure the drift, and mend it where asked: what was found, and how it is then."""
    finding, report = await check_drift(settings, place, model, sample=sample)
    if not (fix and report):
        return [finding]
    try:
        await mend(settings, place, report)
    except (BotMemoryError, CommandFailed) as error:
        return [replace(finding, instead=str(error))]
    after, _ = await check_drift(settings, place, model, sample=sample)
    return [replace(finding, name="drift.mended", state="note"), after]


def show(findings: list[Finding], language: Language) -> None:
    """Print a line a finding, and below it what to do."""
    for told in (finding.told(language) for finding in findings):
        mark, style = MARKS[language][told.state], STYLES[told.state]
        out.print(Text(f"{mark:<5}", style=style), styled(f"{told.what}: {told.text}"))
        if told.advice:
            out.print(Text("      → "), styled(told.advice), sep="", style="dim")
