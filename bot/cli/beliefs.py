"""`ricordo memory history`, `undo` and `rollback`: how facts came about, and taking decisions about them back."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.text import Text

from bot.app import open_channel_memory
from bot.cli.logs import set_up_logs
from bot.cli.memory import ViewerArgument, app, moment_of, one_viewer
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import minute, printable, styled
from config.settings import Settings, load_settings
from memory import Chronicle, Decision, KnownViewer, Receipt, RollbackRequest, UndoRequest, WallClock, counted, inspect_memory

_ACT = "act-"
_NOTHING = {
    "undo": (
        "there is nothing like that to take back: `ricordo memory history VIEWER` shows the ids of facts and claims, and the "
        "numbers of acts; what was taken back already, or decided anew since, is left alone"
    ),
    "rollback": (
        "the viewer stated nothing since then that still stands: `ricordo memory history VIEWER` shows what was stated and when"
    ),
}


@app.command("history")
def history_command(
    viewer: ViewerArgument,
    *,
    slot: Annotated[
        str | None, typer.Option("--slot", help="Only this kind of fact, such as home.", show_default=False)
    ] = None,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every fact and claim of one viewer, past ones too: when it was true, when it was believed, and what was decided.

    Example: ricordo memory history gattomatto --slot home --data out/demo/memory
    """
    place = chosen_place(load_settings(config), data, channel)
    chronicles, names = asyncio.run(_history(place, viewer))
    told = [one for one in chronicles if slot is None or slot in {_slot(one), one.predicate}]
    if as_json:
        print_json(told)
        return
    if not told:
        slots = ", ".join(sorted({_slot(one) for one in chronicles}))
        out.print(f"nothing of {slot!r}: there are {slots}" if slot and slots else "no facts yet", markup=False)
    for one in told:
        head, *more = _lines(one, names)
        out.print(styled(head, "bold"))
        for line in more:
            out.print(Text.assemble("    ", printable(line)))


@app.command("undo")
def undo_command(
    what: Annotated[str, typer.Argument(help="Id of a fact or claim, or how it begins; or act-N.", show_default=False)],
    *,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back the last decision about a fact or claim, or a whole act; stop the bot first. Messages stay as they are.

    Example: ricordo memory undo 5d0f3c1a --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    now, number = datetime.now(UTC), what.removeprefix(_ACT)
    if what.startswith(_ACT) and not number.isdecimal():
        raise CommandFailed(f"{what!r} is no act: `ricordo memory history` shows their numbers, such as act-12", Exit.USAGE)
    request = UndoRequest(at=now, act=int(number)) if what.startswith(_ACT) else UndoRequest(at=now, id=what)
    _report(asyncio.run(_undone(settings, place, request)), as_json=as_json)


@app.command("rollback")
def rollback_command(
    viewer: ViewerArgument,
    *,
    since: Annotated[str, typer.Option("--since", help="From when on: a date, or a time.", show_default=False)],
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back every fact and claim that a viewer stated since a moment; stop the bot first. Their messages stay.

    Example: ricordo memory rollback gattomatto --since 2026-03-01T18:00:00Z --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    at = moment_of(since, "--since", begins=True)
    _report(asyncio.run(_rolled_back(settings, place, viewer, at)), as_json=as_json)


def _place(config: ConfigOption, data: DataOption, channel: ChannelOption) -> tuple[Settings, Place]:
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    return settings, chosen_place(settings, data, channel)


async def _history(place: Place, name: str) -> tuple[list[Chronicle], dict[str, str]]:
    async with inspect_memory(place.folder, WallClock()) as memory:
        known = await one_viewer(memory, name)
        return await memory.history(known.id), {one.id: one.name for one in await memory.viewers()}


async def _undone(settings: Settings, place: Place, request: UndoRequest) -> Receipt:
    async with open_channel_memory(settings, place.folder, channel=place.known_channel(), clock=WallClock()) as memory:
        receipt = await memory.undo(request)
        await memory.run_jobs()
        return receipt


async def _rolled_back(settings: Settings, place: Place, name: str, since: datetime) -> Receipt:
    async with inspect_memory(place.folder, WallClock()) as looking:
        known: KnownViewer = await one_viewer(looking, name)
    async with open_channel_memory(settings, place.folder, channel=place.known_channel(), clock=WallClock()) as memory:
        receipt = await memory.rollback(RollbackRequest(at=datetime.now(UTC), viewer_id=known.id, since=since))
        await memory.run_jobs()
        return receipt


def _report(receipt: Receipt, *, as_json: bool) -> None:
    if as_json:
        print_json(receipt)
    elif receipt.documents:
        again = f"`ricordo memory undo {_ACT}{receipt.act}` takes this back"
        out.print(
            counted(
                "taken back: {count:fact or claim|facts and claims} changed; {again}", count=receipt.documents, again=again
            ),
            markup=False,
        )
    else:
        out.print("nothing was found: nothing was changed")
    if not receipt.documents:
        raise CommandFailed(_NOTHING[receipt.verb])


def _slot(one: Chronicle) -> str:
    return one.predicate.removeprefix("not:").split(":")[0]


def _lines(one: Chronicle, names: Mapping[str, str]) -> list[str]:
    """Return a fact as a head line, its times, and a line a decision."""
    said = one.text.split("\n")[0]
    speaker, subject = names.get(one.speaker or "", one.speaker), names.get(one.subject, one.subject)
    whose = f"claim of {speaker} about {subject}" if one.speaker else "fact"
    true = f"true {_time(one.valid_at, one.said_at)} to {_time(one.invalid_at)}"
    known = f"believed {minute(one.created_at)} to {_time(one.expired_at)}"
    sources = f"from {', '.join(one.provenance)}"
    by = f"; replaced by {one.superseded_by}" if one.superseded_by else ""
    faded = f"; faded {minute(one.faded_at)}" if one.faded_at else ""
    head = f"{one.id}  {whose}, {one.predicate}: {said}"
    return [head, f"{true}; {known}{by}{faded}; {sources}", *(_decided(each) for each in one.decisions)]


def _decided(decision: Decision) -> str:
    until = f", true until {minute(decision.invalid_at)}" if decision.invalid_at else ""
    by = f", by {decision.by}" if decision.by else ""
    return f"{minute(decision.at)}  {decision.verb} ({decision.step}){until}{by}  [{_ACT}{decision.act}]"


def _time(at: datetime | None, otherwise: datetime | None = None) -> str:
    return minute(at) if at else f"{minute(otherwise)} (said)" if otherwise else "now"
