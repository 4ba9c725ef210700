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
from bot.cli.language import LanguageOption, chosen
from bot.cli.login_texts import Language
from bot.cli.look import SPANS, Look, Quote, TurnLook, looker
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import ConfigOption, JsonOption, out, print_json
from bot.cli.terminal import day, printable, styled
from bot.cli.top_texts import TOP
from config.settings import load_settings
from memory import WallClock, counted

try:
    import termios
    import tty

    KEYS = True
except ImportError:  # pragma: no cover - not a POSIX system: Ctrl+C ends it there
    KEYS = False

_LONGEST = 160  # characters of one quote
_TURNS = 6
_NUMBERED = "{n:,} {name}"
_QUIT = frozenset(b"qQ\x1b")


def top_command(
    *,
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end.")] = False,
    every: Annotated[float, typer.Option("--every", min=0.2, help="Seconds between two pictures.")] = 2.0,
    turns: Annotated[int, typer.Option("--turns", "-n", min=0, max=40, help="How many of the last turns are shown.")] = _TURNS,
    data: DataOption = None,
    channel: ChannelOption = None,
    language: LanguageOption = "",
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Watch the bot while it runs: pace of the chat, background work, times, last replies and their memories. q ends it.

    Example: ricordo top
    """
    settings = load_settings(config)
    place, spoken = chosen_place(settings, data, channel), chosen(language, settings)
    if as_json or once or not out.is_terminal:
        found = asyncio.run(_one(place, turns))
        if as_json:
            print_json(_told(found))
        else:
            out.print(picture(found, place.title, spoken), soft_wrap=False)
        return
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_watching(place, turns, every, spoken))


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


async def _watching(place: Place, turns: int, every: float, language: Language) -> None:
    stop = asyncio.Event()
    async with looker(place.folder, WallClock()) as looking:
        with _keys(stop), Live(console=out, screen=True, auto_refresh=False) as live:
            while not stop.is_set():
                live.update(picture(await looking.look(turns), place.title, language), refresh=True)
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


def picture(look: Look, title: str, language: Language = "en") -> RenderableType:
    """Return one look as it is shown."""
    words = TOP[language]
    figures = Table.grid(padding=(0, 2))
    figures.add_column(style="dim")
    figures.add_column()
    for name, told in _figures(look, language):
        figures.add_row(name, told)
    turns = [part for turn in look.turns for part in _turn(turn, language)]
    nothing = Text(words.no_reply_yet, style="dim")
    return Group(_head(look, title, language), figures, Text(), *(turns or [nothing]))


def _head(look: Look, title: str, language: Language) -> Text:
    name, words = printable(title, 40), TOP[language]
    if look.running is None:
        return Text.assemble((f"Ricordo · {name}  ", "bold"), (words.idle, "yellow"))
    began = datetime.fromisoformat(look.running["started_at"]).astimezone()
    since = words.since.format(day=day(began, language=language), time=f"{began:%H:%M}")
    return Text.assemble((f"Ricordo · {name}  ", "bold"), (since, "green"))


def _figures(look: Look, language: Language) -> Iterator[tuple[str, RenderableType]]:
    words, running = TOP[language], look.running or {}
    paces = zip(look.present.heard, SPANS, strict=True)
    chat = [counted(words.pace, language, pace=heard / span, span=span) for heard, span in paces]
    if waiting := running.get("waiting_events", 0):
        chat.append(counted(words.unread, language, count=waiting))
    yield words.chat, Text(" · ".join(chat))
    yield words.memory, counted(words.sums, language, **look.sums)
    dead = look.present.jobs.get("dead", 0)
    lag = words.lag.format(lag=lag_told(look.present.lag_jobs, look.present.lag_seconds, language))
    buried = f" · {counted(words.dead, language, count=dead)}" if dead else ""
    yield words.jobs, Text(lag + buried, style="yellow" if dead else "")
    if look.running is not None:
        yield from _running(running, language)


def _running(running: Mapping[str, Any], language: Language) -> Iterator[tuple[str, RenderableType]]:
    words, counts = TOP[language], running["counts"]
    said = ", ".join(
        counted(_NUMBERED, language, n=count, name=words.said.get(state, state)) for state, count in _with(counts, "said_")
    )
    yield words.turns, counted("{turns:,} ({said})", language, turns=counts.get("turns", 0), said=said or words.none_yet)
    times = running["milliseconds"]
    told = [
        counted(words.slow, language, name=name, usual=times[step]["p50"], slow=times[step]["p95"])
        for step, name in words.steps.items()
        if step in times
    ]
    yield words.times, " · ".join(told) or words.no_turn_yet
    if lost := _lost(counts, language):
        yield words.hearing, Text(" · ".join(lost), style="yellow")
    missing = ", ".join(
        counted(words.missing, language, name=name, count=count) for name, count in running["missing_sources"].items()
    )
    degraded = running["degraded_turns"]
    text = (
        counted(words.degraded_turns, language, count=degraded) + (f" ({missing})" if missing else "")
        if degraded
        else words.no_turn
    )
    yield words.degraded, Text(text, style="yellow" if degraded else "")
    tokens = running["tokens"]
    yield words.tokens, counted(words.tokens_told, language, read=tokens["prompt"], written=tokens["completion"])
    if failures := counts.get("failures", 0):
        yield words.failures, Text(counted(words.failures_told, language, count=failures), style="red")


def _lost(counts: Mapping[str, int], language: Language) -> list[str]:
    """Return what was not heard and what was not said, none of it where all is well."""
    words = TOP[language]
    told = {"dropped": words.dropped, "repaired": words.repaired, "repairs_failed": words.unrepaired}
    lost = [counted(text, language, count=counts[name]) for name, text in told.items() if counts.get(name)]
    if unsaid := _with(counts, "unsaid_"):
        reasons = ", ".join(counted(_NUMBERED, language, n=count, name=printable(reason, 40)) for reason, count in unsaid)
        lost.append(counted(words.unsaid, language, count=sum(count for _, count in unsaid), reasons=reasons))
    return lost


def _with(counts: Mapping[str, int], prefix: str) -> list[tuple[str, int]]:
    return sorted((name.removeprefix(prefix), count) for name, count in counts.items() if name.startswith(prefix))


def _turn(look: TurnLook, language: Language) -> Iterator[RenderableType]:
    turn, words = look.turn, TOP[language]
    clock = f"{turn.at.astimezone():%H:%M}  "
    for quote in look.asked:
        yield _row(Text(clock, style="dim"), Text.assemble((f"{_who(quote)}  ", "cyan"), printable(quote.text, _LONGEST)))
    took = look.running.get("milliseconds", {}).get("total", turn.reply_seconds * 1000)
    sent = turn.reply_state == "sent"
    reason = printable(turn.reply_reason, 60)
    state = words.gone if sent else words.said_once.get(turn.reply_state, turn.reply_state)
    shown = printable(turn.reply, _LONGEST) if turn.reply else f"{state}{f': {reason}' if reason else ''}"
    lasted = counted("  {took:,.0f} ms", language, took=took) if took >= 1 else ""
    told = Text.assemble((shown, "bold" if sent else "yellow"), (lasted, "dim"))
    yield _row(Text("       ▸ " if sent else "       ✗ ", style="green" if sent else "yellow"), told)
    for quote in look.memories:
        yield _row(
            Text("       └ ", style="dim"),
            styled(f"{_who(quote)}, {day(quote.at, language=language)}: {quote.text}", "dim", limit=_LONGEST),
        )
    for id_ in look.also:
        kind, _, name = id_.partition(":")
        yield _row(
            Text("       └ ", style="dim"), styled(f"{words.canon if kind == 'lore' else words.note} {name}", "dim", limit=60)
        )
    if look.running.get("degraded"):
        yield Text(f"       └ {words.without.format(names=', '.join(look.running['missing']) or words.a_step)}", style="yellow")


def _who(quote: Quote) -> str:
    return printable(quote.who or "somebody", 25)


def _row(head: Text, body: Text) -> Table:
    row = Table.grid()
    row.add_column(no_wrap=True)
    row.add_column()
    row.add_row(head, body)
    return row
