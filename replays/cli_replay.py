"""`ricordo replay` and `ricordo run`: a chat log, or the live chat, through the bot."""

import asyncio
import shutil
import sys
import time
from collections.abc import Coroutine
from datetime import UTC, datetime
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from bot.app import can_go_live
from bot.cli.announce import Announcer
from bot.cli.logs import set_up_logs
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, err, out, print_json
from config.settings import Settings, load_settings
from memory import refuse_in_use
from replays.hurry import short_turns
from replays.log import LoggedEvent
from replays.runner import Replay, ReplayOptions, ReplaySummary, write_summary
from replays.show import Stage, summary_lines, zone_of

LIVE = "bot.going_live"  # imported only to go live: docs/decisions/0012
SAMPLE = "osteria.jsonl"
_BAR_SECONDS = 0.1  # between two changes of the progress bar: each looks through a thousand of its samples
NEXT = (
    ("memory show gattomatto --data out/demo/memory", "what it remembers of one viewer"),
    ("replay chat.jsonl --show", "play a chat log of your own"),
    ("setup", "connect the bot to Twitch, step by step"),
)


def replay_command(
    log: Annotated[Path, typer.Argument(help="Native chat log (JSON Lines).", show_default=False)],
    *,
    output: Annotated[Path, typer.Option("--out", "-o", help="Folder for turns.jsonl, summary.json and the memory.")] = Path(
        "out/replay"
    ),
    speed: Annotated[str, typer.Option(help="Times real time, or max.")] = "max",
    start: Annotated[datetime | None, typer.Option("--from", help="Pass over what came before (UTC).")] = None,
    end: Annotated[datetime | None, typer.Option("--to", help="Stop after this moment (UTC).")] = None,
    replies: Annotated[str, typer.Option(help="bot: the bot answers; log: the log's own replies are its words.")] = "bot",
    show: Annotated[bool, typer.Option("--show", help="Print the chat, the replies and the memories used.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Play a chat log through the real bot, on a virtual clock, in a folder of its own.

    Example: ricordo replay chat.jsonl --out out/chat
    """
    short_turns()
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    if replies not in {"bot", "log"}:
        raise CommandFailed(f"--replies is bot or log, not {replies!r}", Exit.USAGE)
    options = ReplayOptions(
        log=log,
        out=output,
        speed=_speed(speed),
        start=start.replace(tzinfo=UTC) if start else None,
        end=end.replace(tzinfo=UTC) if end else None,
        replies="log" if replies == "log" else "bot",
    )
    try:
        summary = _played(options, settings) if show else _with_bar(options, settings)
    except KeyboardInterrupt:
        msg = "interrupted; the same command goes on from here"
        raise CommandFailed(msg, Exit.INTERRUPTED) from None
    write_summary(output / "summary.json", summary)
    if as_json:
        print_json(summary.to_json())
    else:
        _print_lines(summary_lines(summary, output))


def run_command(
    *,
    demo: Annotated[bool, typer.Option("--demo", help="Play the bundled chat even where an account is configured.")] = False,
    config: ConfigOption = None,
) -> None:
    """Go live on Twitch; without an account, play the bundled chat through the same bot.

    Example: ricordo run
    """
    settings = load_settings(config)
    if not demo:
        _refuse_half_an_account(settings)
    if can_go_live(settings) and not demo:
        set_up_logs(settings.log)
        short_turns()
        asyncio.run(_run_bot(settings, Announcer(settings)))
        return
    set_up_logs(settings.log, default="warning")
    if not demo:
        out.print("[bold]No Twitch account is configured: playing the bundled chat. `ricordo setup` connects one.[/]")
    output = Path("out/demo")
    refuse_in_use(output / "memory")
    shutil.rmtree(output, ignore_errors=True)
    log = Path(str(files("replays").joinpath("samples", SAMPLE)))
    summary = _played(ReplayOptions(log=log, out=output), settings)
    write_summary(output / "summary.json", summary)
    _print_lines(summary_lines(summary, output))
    _print_lines(["", "try next:", *_next()])


def _refuse_half_an_account(settings: Settings) -> None:
    """Say what is missing where an account is configured but not connected: whoever set it up does not want a demo."""
    if settings.twitch.client_id and settings.twitch.channel and not can_go_live(settings):
        msg = "the bot's account is not connected: run `ricordo login` (or `ricordo run --demo`)"
        raise CommandFailed(msg, Exit.REFUSED)


def _next() -> list[str]:
    commands = [(f"{program()} {command}", why) for command, why in NEXT]
    width = max(len(command) for command, _ in commands)
    return [f"  {command:<{width}}   {why}" for command, why in commands]


def program() -> str:
    """Return how this program is called from here: `make run` does not put it on the path."""
    called = Path(sys.argv[0])
    if shutil.which("ricordo") or called.name != "ricordo":
        return "ricordo"
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else str(called)


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        out.print(line, markup=False)


def _played(options: ReplayOptions, settings: Settings) -> ReplaySummary:
    stage = Stage(out, zone_of(options.log))
    return asyncio.run(Replay(options, settings, on_event=stage.event, on_turn=stage.turn).run())


def _with_bar(options: ReplayOptions, settings: Settings) -> ReplaySummary:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"))
    with Progress(*columns, TimeRemainingColumn(), console=err, transient=True) as progress:
        task = progress.add_task("replaying", total=_lines(options.log), rate="")
        told = time.monotonic()

        def saw(logged: LoggedEvent) -> None:
            nonlocal told
            if time.monotonic() - told < _BAR_SECONDS:
                return
            told, speed = time.monotonic(), progress.tasks[0].speed
            progress.update(task, completed=logged.line, rate=f"{speed:,.0f} lines/s" if speed else "")

        return asyncio.run(Replay(options, settings, on_event=saw).run())


def _lines(path: Path) -> int | None:
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return None


def _speed(text: str) -> float | None:
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if speed <= 0:
        raise CommandFailed(f"--speed is a number above zero, or max, not {text!r}", Exit.USAGE)
    return speed


def _run_bot(settings: Settings, announce: Announcer) -> Coroutine[None, None, None]:
    going: Coroutine[None, None, None] = import_module(LIVE).run_bot(settings, announce)
    return going
