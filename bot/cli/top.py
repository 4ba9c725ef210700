"""`ricordo top`: a running bot on a terminal: how fast chat comes, how far behind it is, and its last turns."""

import asyncio
import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.cli.jobs import lag_told
from bot.cli.look import SPANS, Look, Quote, TurnLook, looker
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import ConfigOption, JsonOption, out, print_json
from bot.cli.terminal import day, printable, styled
from config.settings import load_settings
from memory import WallClock

try:
    import termios
    import tty

    KEYS = True
except ImportError:  # pragma: no cover - not a POSIX system: Ctrl+C ends it there
    KEYS = False

_LONGEST = 160  # characters of one quote
_TURNS = 6
_STEPS = (("recall", "memory"), ("reply", "words"), ("send", "posting"), ("total", "whole turn"))
_QUIT = frozenset(b"qQ\x1b")


def top_command(
    *,
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two pictures.")] = 2.0,
    turns: Annotated[int, typer.Option("--turns", "-n", min=0, max=40, help="How many of the last turns are shown.")] = _TURNS,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch the bot while it runs: pace of the chat, background work, times, last replies and their memories. q ends it.

    Example: ricordo top
    """
    place = chosen_place(load_settings(config), data, channel)
    if as_json or once or not out.is_terminal:
        found = asyncio.run(_one(place, turns))
        if as_json:
            print_json(_told(found))
        else:
            out.print(picture(found, place.title), soft_wrap=False)
        return
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_watching(place, turns, every))


def _told(look: Look) -> dict[str, Any]:
    """Return a look for scripts."""
    return {
        "at": look.at,
        "messages_per_second": {f"{span}s": heard / span for heard, span in zip(look.present.heard, SPANS, strict=True)},
        "jobs": look.present.jobs,
        "lag_jobs": look.present.lag_jobs,
        "lag_seconds": round(look.present.lag_seconds, 3),
        "memory": look.sums,
        "turns": look.turns,
        "running": look.running,
    }


async def _one(place: Place, turns: int) -> Look:
    async with looker(place.folder, WallClock()) as looking:
        return await looking.look(turns)


async def _watching(place: Place, turns: int, every: float) -> None:
    stop = asyncio.Event()
    async with looker(place.folder, WallClock()) as looking:
        with _keys(stop), Live(console=out, screen=True, auto_refresh=False) as live:
            while not stop.is_set():
                live.update(picture(await looking.look(turns), place.title), refresh=True)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(every):
                        await stop.wait()


@contextmanager
def _keys(stop: asyncio.Event) -> Iterator[None]:
    """Set `stop` when q or Escape is pressed; the terminal is as before afterwards."""
    if not (KEYS and sys.stdin.isatty()):
        yield
        return
    keyboard, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(keyboard)

    def pressed() -> None:
        keys = os.read(keyboard, 64)
        if not keys or _QUIT.intersection(keys):
            loop.remove_reader(keyboard)
            stop.set()

    tty.setcbreak(keyboard)
    loop.add_reader(keyboard, pressed)
    try:
        yield
    finally:
        loop.remove_reader(keyboard)
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


def picture(look: Look, title: str) -> RenderableType:
    """Return one look as it is shown."""
    figures = Table.grid(padding=(0, 2))
    figures.add_column(style="dim")
    figures.add_column()
    for name, told in _figures(look):
        figures.add_row(name, told)
    turns = [part for turn in look.turns for part in _turn(turn)]
    nothing = Text("no reply yet", style="dim")
    return Group(_head(look, title), figures, Text(), *(turns or [nothing]))


def _head(look: Look, title: str) -> Text:
    name = printable(title, 40)
    if look.running is None:
        return Text.assemble((f"Ricordo · {name}  ", "bold"), ("no bot is running here: what its database says", "yellow"))
    began = datetime.fromisoformat(look.running["started_at"]).astimezone()
    return Text.assemble((f"Ricordo · {name}  ", "bold"), (f"running since {day(began)}, {began:%H:%M}", "green"))


def _figures(look: Look) -> Iterator[tuple[str, RenderableType]]:
    paces = zip(look.present.heard, SPANS, strict=True)
    chat = " · ".join(f"{heard / span:.1f} messages/s in {span} s" for heard, span in paces)
    running = look.running or {}
    waiting = running.get("waiting_events", 0)
    yield "chat", Text(f"{chat} · {waiting:,} not read yet" if waiting else chat)
    sums = look.sums
    yield "memory", f"{sums['viewers']:,} viewers · {sums['messages']:,} messages · {sums['documents']:,} documents"
    dead, lag = look.present.jobs.get("dead", 0), lag_told(look.present.lag_jobs, look.present.lag_seconds)
    yield (
        "jobs",
        Text(f"lag: {lag}" + (f" · {dead:,} dead: see `ricordo jobs`" if dead else ""), style="yellow" if dead else ""),
    )
    if look.running is not None:
        yield from _running(running)


def _running(running: Mapping[str, Any]) -> Iterator[tuple[str, RenderableType]]:
    counts = running["counts"]
    said = ", ".join(
        f"{count:,} {key.removeprefix('said_')}" for key, count in sorted(counts.items()) if key.startswith("said_")
    )
    failures = counts.get("failures", 0)
    yield "turns", f"{counts.get('turns', 0):,} ({said or 'none yet'})"
    times = running["milliseconds"]
    told = [f"{name} {times[step]['p50']:.0f} ms, slow {times[step]['p95']:.0f}" for step, name in _STEPS if step in times]
    yield "times", " · ".join(told) or "no turn yet"
    missing = ", ".join(f"{name} {count:,} times" for name, count in running["missing_sources"].items())
    degraded = running["degraded_turns"]
    text = (
        f"{degraded:,} turns: the memory was late or broken" + (f" ({missing})" if missing else "") if degraded else "no turn"
    )
    yield "degraded", Text(text, style="yellow" if degraded else "")
    tokens = running["tokens"]
    yield "tokens", f"{tokens['prompt']:,} read · {tokens['completion']:,} written"
    if failures:
        yield "failures", Text(f"{failures:,}: a bug, see the log", style="red")


def _turn(look: TurnLook) -> Iterator[RenderableType]:
    turn = look.turn
    clock = f"{turn.at.astimezone():%H:%M}  "
    for quote in look.asked:
        yield _row(Text(clock, style="dim"), Text.assemble((f"{_who(quote)}  ", "cyan"), printable(quote.text, _LONGEST)))
    took = look.running.get("milliseconds", {}).get("total", turn.reply_seconds * 1000)
    sent = turn.reply_state == "sent"
    reason = printable(turn.reply_reason, 60)
    words = printable(turn.reply, _LONGEST) if turn.reply else f"{turn.reply_state}{f': {reason}' if reason else ''}"
    told = Text.assemble((words, "bold" if sent else "yellow"), (f"  {took:,.0f} ms" if took >= 1 else "", "dim"))
    yield _row(Text("       ▸ " if sent else "       ✗ ", style="green" if sent else "yellow"), told)
    for quote in look.memories:
        yield _row(
            Text("       └ ", style="dim"), styled(f"{_who(quote)}, {day(quote.at)}: {quote.text}", "dim", limit=_LONGEST)
        )
    for id_ in look.also:
        kind, _, name = id_.partition(":")
        yield _row(Text("       └ ", style="dim"), styled(f"{'canon' if kind == 'lore' else 'note'} {name}", "dim", limit=60))
    if look.running.get("degraded"):
        yield Text(f"       └ degraded: without {', '.join(look.running['missing']) or 'a step'}", style="yellow")


def _who(quote: Quote) -> str:
    return printable(quote.who or "somebody", 25)


def _row(head: Text, body: Text) -> Table:
    row = Table.grid()
    row.add_column(no_wrap=True)
    row.add_column()
    row.add_row(head, body)
    return row
