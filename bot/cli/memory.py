"""`ricordo memory`: what is remembered, of whom, and from when. Works while the bot runs."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import minute, printable, styled
from config.settings import load_settings
from memory import Document, Figures, Found, Inspection, KnownViewer, WallClock, counted, inspect_memory

app = typer.Typer(no_args_is_help=True, help="Look into the memory, also while the bot runs.")
ViewerArgument = Annotated[str, typer.Argument(help="Id, login, display name or former name.", show_default=False)]
AsOfOption = Annotated[str | None, typer.Option("--as-of", help="What was true then: a date, or a time.", show_default=False)]
KnownAtOption = Annotated[
    str | None, typer.Option("--known-at", help="As it was believed then: a date, or a time.", show_default=False)
]
LimitOption = Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most so many.")]
_UNITS = ("bytes", "KiB", "MiB", "GiB")
_STEP = 1024


@app.command()
def show(
    viewer: ViewerArgument,
    *,
    as_of: AsOfOption = None,
    known_at: KnownAtOption = None,
    limit: LimitOption = 20,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what is remembered of one viewer: facts, claims and their own messages, with dates and message ids.

    With --as-of what was true then, with --known-at what was believed then; both together ask what was believed on one day
    about another, and show facts alone.

    Example: ricordo memory show gattomatto --as-of 2026-01-31 --data out/demo/memory
    """
    place = _place(config, data, channel)
    times = {
        "as_of": moment_of(as_of, "--as-of") if as_of is not None else None,
        "known_at": moment_of(known_at, "--known-at") if known_at is not None else None,
    }
    held = asyncio.run(_of_viewer(place.folder, viewer, limit, times))
    if as_json:
        print_json({name: value for name, value in asdict(held).items() if name != "names"})
        return
    out.print(styled(_heading(held.viewer), "bold"))
    asked = "".join(
        f", {word} {minute(at)}" for word, at in (("as of", times["as_of"]), ("as known at", times["known_at"])) if at
    )
    _print_documents(f"facts{asked}", held.facts)
    if asked:
        return
    for title, claims in (
        ("claims of others about them", held.claims_about),
        ("claims of theirs about others", held.claims_by),
    ):
        if claims:
            _print_documents(title, claims, held.names)
    _print_documents("messages remembered, newest first", held.messages)
    if held.more_messages:
        out.print(f"there are more: add --limit {limit * 10}")


@app.command()
def search(
    words: Annotated[list[str], typer.Argument(help="Words to look for.", show_default=False)],
    *,
    viewer: Annotated[str | None, typer.Option("--viewer", help="Look into this viewer's memory alone.")] = None,
    limit: LimitOption = 20,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find memories that hold these words: full text, without the model that finds by meaning.

    Example: ricordo memory search gatta --data out/demo/memory
    """
    place = _place(config, data, channel)
    found, names = asyncio.run(_search(place.folder, " ".join(words), viewer, limit))
    if as_json:
        print_json([{**asdict(hit.document), "score": hit.score} for hit in found])
        return
    if not found:
        out.print("nothing holds these words (full text; the bot itself also finds by meaning)")
    for hit in found:
        document = hit.document
        whose = names.get(document.author or document.subject or "", "the canon" if document.kind == "lore" else "the bot")
        out.print(_line(document, f"{whose}: {document.text}"))


@app.command()
def stats(
    *, data: DataOption = None, channel: ChannelOption = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """Count what is remembered.

    Example: ricordo memory stats --json
    """
    place = _place(config, data, channel)
    figures, settled = asyncio.run(_figures(place.folder))
    if as_json:
        print_json({**asdict(figures), "settled_conflicts": settled})
        return
    out.print(styled(f"memory of {place.title}, in {place.folder}", "bold"))
    for label, value in _told(figures):
        out.print(f"{label:<11} {value}", markup=False)
    out.print(f"{'conflicts':<11} {_shares(settled)}", markup=False)


def _place(config: Path | None, data: Path | None, channel: str | None) -> Place:
    return chosen_place(load_settings(config), data, channel)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    """What `show` tells of one viewer."""

    viewer: KnownViewer
    facts: list[Document]
    claims_about: list[Document]
    claims_by: list[Document]
    messages: list[Document]
    more_messages: bool
    names: dict[str, str]


async def _of_viewer(folder: Path, name: str, limit: int, times: Mapping[str, datetime | None]) -> _Held:
    async with inspect_memory(folder, WallClock()) as memory:
        known = await one_viewer(memory, name)
        messages = await memory.messages(known.id, limit + 1)
        claims = await memory.claims(known.id)
        return _Held(
            viewer=known,
            facts=await memory.facts(known.id, **times),
            claims_about=[one for one in claims if one.subject == known.id],
            claims_by=[one for one in claims if one.author == known.id],
            messages=messages[:limit],
            more_messages=len(messages) > limit,
            names={one.id: one.name for one in await memory.viewers()},
        )


def moment_of(text: str, option: str, *, begins: bool = False) -> datetime:
    """Return the moment that an option names: a time of RFC 3339, or a date (UTC): its end, or where it `begins`.

    Raises:
        CommandFailed: it is neither.
    """
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise CommandFailed(f"{option} {text!r} is no date: write 2026-03-01, or 2026-03-01T18:30:00Z", Exit.USAGE) from None
    if len(text.strip()) == len("2026-03-01") and not begins:
        at = at.replace(hour=23, minute=59, second=59)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


async def _search(folder: Path, words: str, viewer: str | None, limit: int) -> tuple[list[Found], dict[str, str]]:
    async with inspect_memory(folder, WallClock()) as memory:
        whom = (await one_viewer(memory, viewer)).id if viewer is not None else None
        found = await memory.search(words, viewer_id=whom, limit=limit)
        return found, {known.id: known.name for known in await memory.viewers()}


async def _figures(folder: Path) -> tuple[Figures, dict[str, int]]:
    async with inspect_memory(folder, WallClock()) as memory:
        return await memory.figures(), await memory.settled()


async def one_viewer(memory: Inspection, name: str) -> KnownViewer:
    """Return the one viewer that is meant.

    Raises:
        CommandFailed: nobody is called so, or several are.
    """
    found = await memory.named(name)
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(f"{viewer.id} ({viewer.login})" for viewer in found[:10])
        raise CommandFailed(f"several viewers are called {name!r}: name one by id: {ids}", Exit.USAGE)
    names = {label.casefold(): label for viewer in await memory.viewers() for label in (viewer.login, viewer.name)}
    close = [names[label] for label in get_close_matches(name.casefold(), list(names), n=3, cutoff=0.7)]
    meant = f"; did you mean {' or '.join(close)}?" if close else ""
    raise CommandFailed(f"nobody called {name!r} is remembered{meant}", Exit.FAILED)


def _heading(viewer: KnownViewer) -> str:
    parts = [viewer.name, f"login {viewer.login}", f"id {viewer.id}"]
    if viewer.former:
        parts.append(f"formerly {', '.join(viewer.former)}")
    if viewer.is_bot:
        parts.append("a bot")
    if viewer.last_seen:
        parts.append(f"last seen {minute(viewer.last_seen)}")
    return " · ".join(parts)


def _print_documents(title: str, documents: list[Document], names: Mapping[str, str] | None = None) -> None:
    """Print documents; with `names`, who said it of whom."""
    out.print(f"\n{title}: {len(documents) or 'none'}")
    for document in documents:
        who = [names.get(one or "", one or "?") for one in (document.author, document.subject)] if names is not None else []
        out.print(_line(document, f"{' of '.join(who)}: {document.text}" if who else document.text))


def _line(document: Document, told: str) -> Text:
    ids = printable(", ".join(document.provenance), 120)
    return Text.assemble(f"{minute(document.valid_at or document.at)}  ", printable(told), (f"  [{ids}]", "dim"))


def _told(figures: Figures) -> list[tuple[str, Any]]:
    kinds = ", ".join(f"{count:,} {kind}" for kind, count in figures.by_kind.items())
    jobs = ", ".join(f"{count:,} {state}" for state, count in figures.jobs.items() if count)
    period = f"{minute(figures.first_at)} to {minute(figures.last_at)}" if figures.first_at and figures.last_at else "-"
    return [
        ("viewers", f"{figures.viewers:,}"),
        ("streams", f"{figures.streams:,}"),
        ("messages", f"{figures.messages:,}, {period}"),
        ("turns", f"{figures.turns:,}"),
        ("documents", f"{figures.documents:,} ({kinds})" if kinds else "0"),
        ("not indexed", f"{figures.unindexed:,}"),
        ("removals", f"{figures.removals:,} remembered, so that nothing comes back"),
        ("jobs", f"{jobs or 'none'}; oldest waiting {figures.lag_seconds:.0f} s"),
        ("model", figures.embedder or "none yet"),
        ("database", size(figures.file_bytes)),
    ]


def _shares(settled: Mapping[str, int]) -> str:
    total = sum(settled.values())
    told = ", ".join(f"{step} {count:,} ({count / total:.0%})" for step, count in settled.items() if count) if total else ""
    return f"{total:,} settled" + (f": {told}" if told else "")


def size(count: int, language: str = "en") -> str:
    """Return a number of bytes for people."""
    amount, unit = float(count), 0
    while amount >= _STEP and unit + 1 < len(_UNITS):
        amount, unit = amount / _STEP, unit + 1
    if not unit:
        return counted("{count:byte|byte}" if language == "it" else "{count:byte|bytes}", language, count=count)
    return counted("{amount:,.1f} {unit}", language, amount=amount, unit=_UNITS[unit])
