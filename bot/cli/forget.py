"""`ricordo forget`, `correct`, `export` and `audit`: what chat can order too, for people who cannot write there."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from bot.app import open_channel_memory
from bot.cli.export_page import export_page
from bot.cli.logs import set_up_logs
from bot.cli.memory import one_viewer
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, plain, print_json
from bot.cli.terminal import minute, printable, styled
from config.settings import Settings, load_settings
from memory import (
    AuditEntry,
    CorrectRequest,
    ForgetRequest,
    ForgetScope,
    KnownViewer,
    Memory,
    Receipt,
    WallClock,
    counted,
    inspect_memory,
)

ViewerOption = Annotated[
    str | None, typer.Option("--viewer", help="Whose: id, login, display name or former name.", show_default=False)
]
YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def forget_command(
    *,
    viewer: ViewerOption = None,
    words: Annotated[str | None, typer.Option("--words", help="Only what holds these words in a row.")] = None,
    id_: Annotated[str | None, typer.Option("--id", help="One message or memory, by its id or how it begins.")] = None,
    everything: Annotated[bool, typer.Option("--everything", help="All that chat has told, of everybody.")] = False,
    opt_out: Annotated[bool, typer.Option("--opt-out", help="And store nothing of this viewer any more.")] = False,
    yes: YesOption = False,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget for good what a viewer wrote, and all that came of it; stop the bot first. Every file is cleaned.

    Example: ricordo forget --viewer alice --words "via dei tigli" --data out/demo/memory
    """
    if sum((viewer is not None, id_ is not None, everything)) != 1 or (viewer is None and (words or opt_out)):
        msg = "name one of --viewer (with --words or --opt-out, or neither), --id, --everything"
        raise CommandFailed(msg, Exit.USAGE)
    if words and opt_out:
        msg = "--opt-out forgets everything of a viewer: leave --words out"
        raise CommandFailed(msg, Exit.USAGE)
    settings, place = _place(config, data, channel)
    known = asyncio.run(_named(place, viewer)) if viewer is not None else None
    if not (words or id_ or yes):
        whose = f"all that {known.name} ({known.id}) wrote" if known else "everything that was ever said here"
        typer.confirm(f"Forget {printable(whose)} for good?", abort=True)
    receipt = asyncio.run(_forgotten(settings, place, known, words=words, id_=id_, opt_out=opt_out))
    _report(receipt, known, as_json=as_json)


def correct_command(
    *,
    new: Annotated[str, typer.Option("--new", help="The right words.", show_default=False)],
    viewer: ViewerOption = None,
    old: Annotated[str, typer.Option("--old", help="The wrong words, as the viewer wrote them.")] = "",
    id_: Annotated[str | None, typer.Option("--id", help="One message or memory: gets the new words as its text.")] = None,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Put right what a viewer wrote; the old words are gone from every file. Stop the bot first.

    Example: ricordo correct --viewer alice --old "a induzione" --new "a gas" --data out/demo/memory
    """
    if (id_ is None) == (viewer is None) or (viewer is not None and not old):
        msg = "name either --viewer with --old, or --id"
        raise CommandFailed(msg, Exit.USAGE)
    settings, place = _place(config, data, channel)
    known = asyncio.run(_named(place, viewer)) if viewer is not None else None
    receipt = asyncio.run(_corrected(settings, place, known, old=old, new=new, id_=id_))
    _report(receipt, known, as_json=as_json)


def export_command(
    *,
    viewer: Annotated[str, typer.Option("--viewer", help="Id, login, display name or former name.", show_default=False)],
    output: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; else it is printed.")] = None,
    form: Annotated[Literal["json", "md"], typer.Option("--format", help="json for programs, md for people.")] = "json",
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
) -> None:
    """Write everything that is held of a viewer, as JSON or as a page to read; works while the bot runs.

    Example: ricordo export --viewer alice --out alice.json --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    held = asyncio.run(_exported(place, viewer))
    page = export_page(held, settings.commands.language) if form == "md" else None
    if output is None:
        print_json(held) if page is None else out.print(page, markup=False, end="")
        return
    try:
        output.write_text(page or _json(held), encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{output} cannot be written: {error.strerror}") from None
    counts = {"lines": len(held["lines"]), "memories": len(held["memories"])}
    out.print(styled(counted("wrote {output}: {lines:message|messages}, {memories:memory|memories}", output=output, **counts)))


def audit_command(
    *,
    viewer: ViewerOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Show at most so many.")] = 50,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show who erased, corrected or noted how much of whom, newest first; there is no content in it.

    Example: ricordo audit --data out/demo/memory
    """
    _, place = _place(config, data, channel)
    entries = asyncio.run(_audited(place, viewer, limit))
    if as_json:
        print_json(entries)
        return
    for entry in entries:
        out.print(styled(f"{minute(entry.at)}  {_told(entry)}"))
    if not entries:
        out.print("nothing was erased, corrected or noted yet")


def _place(config: Path | None, data: Path | None, channel: str | None) -> tuple[Settings, Place]:
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    return settings, chosen_place(settings, data, channel)


async def _named(place: Place, name: str) -> KnownViewer:
    async with inspect_memory(place.folder, WallClock()) as memory:
        return await one_viewer(memory, name)


async def _forgotten(
    settings: Settings, place: Place, known: KnownViewer | None, *, words: str | None, id_: str | None, opt_out: bool
) -> Receipt:
    now = datetime.now(UTC)
    scope: ForgetScope = "words" if words else "viewer" if known else "item" if id_ else "everything"

    async def work(memory: Memory) -> Receipt:
        if opt_out and known is not None:
            return await memory.opt_out(known.id, now)
        whose = known.id if known else None
        return await memory.forget(ForgetRequest(scope=scope, at=now, viewer_id=whose, words=words or "", id=id_))

    return await _in_memory(settings, place, work)


async def _corrected(
    settings: Settings, place: Place, known: KnownViewer | None, *, old: str, new: str, id_: str | None
) -> Receipt:
    request = CorrectRequest(at=datetime.now(UTC), new=new, old=old, viewer_id=known.id if known else None, id=id_)
    return await _in_memory(settings, place, lambda memory: memory.correct(request))


async def _in_memory(settings: Settings, place: Place, work: Callable[[Memory], Awaitable[Receipt]]) -> Receipt:
    """Do the work and the jobs that follow from it, so that the bytes are gone when this returns."""
    async with open_channel_memory(settings, place.folder, channel=place.known_channel(), clock=WallClock()) as memory:
        receipt = await work(memory)
        await memory.run_jobs()
        left = [job for state in ("ready", "dead") for job in await memory.jobs(state=state, kind="purge")]
        if left:
            failed = (
                "nothing of it can be recalled any more, but {count:cleaning|cleanings} of the files failed: "
                "see `ricordo jobs`, mend the disk, and start the bot, which tries again"
            )
            raise CommandFailed(counted(failed, count=len(left)))
        return receipt


async def _exported(place: Place, name: str) -> dict[str, Any]:
    async with inspect_memory(place.folder, WallClock()) as memory:
        return await memory.export((await one_viewer(memory, name)).id)


async def _audited(place: Place, name: str | None, limit: int) -> list[AuditEntry]:
    async with inspect_memory(place.folder, WallClock()) as memory:
        viewer_id = (await one_viewer(memory, name)).id if name is not None else None
        return await memory.audit(viewer_id, limit)


def _report(receipt: Receipt, known: KnownViewer | None, *, as_json: bool) -> None:
    found = bool(receipt.total) or receipt.verb == "opt_out"
    if as_json:
        print_json(receipt)
    elif found:
        whose = f" of {known.name}" if known else ""
        what = {"forget": "forgotten", "correct": "corrected", "opt_out": "opted out; forgotten"}[receipt.verb]
        out.print(styled(f"{what}{whose}: {_counts(receipt)}; every file was cleaned"))
    else:
        out.print("nothing was found: nothing was changed")
    if not found:
        raise CommandFailed(_NOT_FOUND[receipt.verb])


_NOT_FOUND = {
    "forget": (
        "there is nothing like that to forget: `ricordo memory show VIEWER` and `ricordo memory search WORDS` show what there "
        "is, with its ids"
    ),
    "correct": (
        "there is nothing like that to correct: --old must stand in what the viewer wrote, --id must be one viewer's message "
        "or memory; `ricordo memory show VIEWER` shows both"
    ),
}


def _told(entry: AuditEntry) -> str:
    whom = f" of {entry.viewer_id}" if entry.viewer_id else ""
    return printable(f"{entry.verb}{whom} by {entry.by or 'the administrator'}: {_counts(entry)}")


def _counts(done: Receipt | AuditEntry) -> str:
    told = "{lines:message|messages}, {replies:reply|replies}, {documents:memory|memories}, {records:record|records}"
    return counted(told, lines=done.lines, replies=done.replies, documents=done.documents, records=done.records)


def _json(held: dict[str, Any]) -> str:
    return json.dumps(plain(held), ensure_ascii=False, indent=2) + "\n"
