"""`ricordo state`: requests, notes, relations, running jokes and values of the channel, listed and changed by hand."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from uuid import uuid4

import typer

from bot.app import open_channel_memory
from bot.cli.logs import set_up_logs
from bot.cli.memory import one_viewer
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import minute, printable, styled
from config.settings import Settings, load_settings
from memory import (
    DOMAINS,
    Domain,
    Inspection,
    InvalidRow,
    StateCall,
    StateOrder,
    StateReceipt,
    StateRecord,
    WallClock,
    inspect_memory,
)

app = typer.Typer(no_args_is_help=True, help="List and change what is noted; listing works while the bot runs.")
KindArgument = Annotated[Domain, typer.Argument(help="What it is.", show_default=False)]
IdArgument = Annotated[str, typer.Argument(help="The record's id, or how it begins.", show_default=False)]
Viewers = Annotated[
    list[str] | None,
    typer.Option("--viewer", help="Whom it is about: id, login or name. Jokes: repeat it.", show_default=False),
]
_REFUSED = {
    "opted_out": "somebody it is about opted out: nothing may be kept of them",
    "again": "this was done before",
}


@app.command("list")
def list_command(
    *,
    kind: Annotated[Domain | None, typer.Option("--kind", help="Only these.", show_default=False)] = None,
    viewer: Annotated[str | None, typer.Option("--viewer", help="Only those about this viewer.", show_default=False)] = None,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the records that hold now, newest first.

    Example: ricordo state list --kind request --data out/demo/memory
    """
    _, place = _place(config, data, channel)
    records, names = asyncio.run(_listed(place, (kind,) if kind else DOMAINS, viewer))
    if as_json:
        print_json(records)
        return
    for record in records:
        out.print(styled(_line(record, names)))
    if not records:
        out.print("nothing is noted")


@app.command()
def add(
    kind: KindArgument,
    *,
    text: Annotated[str, typer.Option("--text", help="Request, note or joke; of a relation what one is to the other.")] = "",
    viewer: Viewers = None,
    other: Annotated[str | None, typer.Option("--to", help="Relation: the other viewer.", show_default=False)] = None,
    until: Annotated[str | None, typer.Option("--until", help="Note: until when, RFC 3339 with a zone.")] = None,
    key: Annotated[str, typer.Option("--key", help="Channel: the name of the value.")] = "",
    value: Annotated[str, typer.Option("--value", help="Channel: the value.")] = "",
    id_: Annotated[str | None, typer.Option("--id", help="A record that there is, to be replaced.", show_default=False)] = None,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Note something; stop the bot first. A value of the channel takes the place of the one of its name.

    Example: ricordo state add request --viewer gattomatto --text "a basil tour" --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    whose = asyncio.run(_named(place, [*(viewer or []), *([other] if other else [])]))
    given: dict[str, Any] = {"text": text, "whose": whose, "until": until, "key": key, "value": value}
    tool, arguments = _call(kind, given, to=other is not None)
    if id_ is not None:
        arguments["id"] = id_
    _report(_changed(settings, place, tool, arguments), as_json=as_json)


@app.command()
def done(
    id_: IdArgument,
    *,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Mark a request as done; stop the bot first.

    Example: ricordo state done request-1f0c --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    _report(_changed(settings, place, "request_complete", {"id": id_}), as_json=as_json)


@app.command()
def delete(
    kind: Annotated[Literal["note", "relation", "joke"], typer.Argument(help="What it is.", show_default=False)],
    id_: IdArgument,
    *,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a note, a relation or a running joke; stop the bot first.

    Example: ricordo state delete note note-1f0c --data out/demo/memory
    """
    settings, place = _place(config, data, channel)
    _report(_changed(settings, place, f"{kind}_delete", {"id": id_}), as_json=as_json)


def _call(kind: Domain, given: Mapping[str, Any], *, to: bool) -> tuple[str, dict[str, Any]]:
    """Return the tool and its arguments.

    Raises:
        CommandFailed: an option is missing, or belongs to another kind.
    """
    whose, text = given["whose"], given["text"]
    needed = {"request": 1, "note": len(whose) and 1, "relation": 2, "joke": len(whose), "channel": 0}[kind]
    if len(whose) != needed or to != (kind == "relation") or bool(given["until"]) > (kind == "note"):
        msg = "request: --viewer; note: --viewer and --until, or neither; relation: --viewer and --to; joke: any --viewer"
        raise CommandFailed(msg, Exit.USAGE)
    match kind:
        case "request":
            return "request_open", {"viewer": whose[0], "text": text}
        case "note":
            return "note_set", {"viewer": whose[0] if whose else None, "text": text, "expires_at": given["until"]}
        case "relation":
            return "relation_set", {"subject": whose[0], "relation": text, "object": whose[1]}
        case "joke":
            return "joke_add", {"text": text, "participants": whose}
        case _:
            return "channel_set", {"key": given["key"], "value": given["value"]}


def _place(config: Path | None, data: Path | None, channel: str | None) -> tuple[Settings, Place]:
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    return settings, chosen_place(settings, data, channel)


async def _named(place: Place, names: list[str]) -> list[str]:
    async with inspect_memory(place.folder, WallClock()) as memory:
        return [(await one_viewer(memory, name)).id for name in names]


async def _listed(place: Place, domains: tuple[Domain, ...], name: str | None) -> tuple[list[StateRecord], dict[str, str]]:
    async with inspect_memory(place.folder, WallClock()) as memory:
        whose = [(await one_viewer(memory, name)).id] if name is not None else []
        return await memory.state(domains, viewer_ids=whose), await _names(memory)


async def _names(memory: Inspection) -> dict[str, str]:
    return {viewer.id: viewer.name for viewer in await memory.viewers()}


def _changed(settings: Settings, place: Place, tool: str, arguments: dict[str, Any]) -> StateReceipt:
    async def change() -> StateReceipt:
        if place.channel is None:
            raise CommandFailed(f"{place.folder} lacks its channel.json, which says whose memory it is: start the bot once")
        async with open_channel_memory(settings, place.folder, channel=place.channel, clock=WallClock()) as memory:
            call = StateCall(at=datetime.now(UTC), tool=tool, arguments=arguments)
            return await memory.change_state(StateOrder(call=call, key=f"hand:{uuid4()}"))

    try:
        return asyncio.run(change())
    except InvalidRow as error:
        raise CommandFailed(str(error), Exit.USAGE) from None


def _report(receipt: StateReceipt, *, as_json: bool) -> None:
    if receipt.refused:
        raise CommandFailed(_REFUSED.get(receipt.refused, receipt.refused))
    if as_json:
        print_json(receipt.record)
    elif receipt.record is not None:
        out.print(styled(_line(receipt.record, {})))


def _line(record: StateRecord, names: Mapping[str, str]) -> str:
    whom = ", ".join(names.get(viewer, viewer) for viewer in record.viewers)
    parts = [record.id, record.domain, whom, record.text, record.status if record.domain == "request" else ""]
    parts.append(f"until {minute(record.expires_at)}" if record.expires_at else "")
    return printable(" · ".join(part for part in parts if part))
