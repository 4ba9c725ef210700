"""`ricordo backup` and `ricordo restore`: a memory in one file, and back."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.app import backup_plan, open_channel_memory, remember_channel
from bot.cli.logs import set_up_logs
from bot.cli.memory import size
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place, places
from bot.cli.shell import CommandFailed, ConfigOption, Exit, JsonOption, out, print_json
from bot.cli.terminal import minute, styled
from config.settings import Settings, load_settings
from memory import Channel, Kept, Restored, WallClock, back_up, counted, read_backup, restore

SUFFIX = ".ricordo"
MESSAGES = "{count:message|messages}"


def backup_command(
    file: Annotated[Path, typer.Argument(help="File to write, or a folder to put it into.", show_default=False)],
    *,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write everything a memory holds into one file, also while the bot runs. It holds chat: keep it to yourself.

    Example: ricordo backup ricordo-today.ricordo
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    place = chosen_place(settings, data, channel)
    now = datetime.now(UTC)
    target = _target(file, place, now)
    made = asyncio.run(back_up(place.folder, target, now))
    if as_json:
        print_json({"file": str(made.path), "bytes": made.size, "manifest": made.manifest})
        return
    out.print(styled(_told(made)))


def _target(file: Path, place: Place, now: datetime) -> Path:
    if not file.is_dir():
        return file
    name = place.channel.login if place.channel else place.folder.name
    return file / f"{name}-{now:%Y%m%dT%H%M%SZ}{SUFFIX}"


def _told(made: Kept) -> str:
    whose = made.manifest.name or made.manifest.channel_id or "the memory"
    return f"{made.path}: {counted(MESSAGES, count=made.manifest.messages)} of {whose}, {size(made.size)}"


def restore_command(
    file: Annotated[Path, typer.Argument(help="A backup that `ricordo backup` or the bot made.", show_default=False)],
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the memory that is there; a backup of it is made first.")
    ] = False,
    index: Annotated[
        bool, typer.Option(help="Build the vector index now; else the bot does it while it answers by words alone.")
    ] = True,
    data: DataOption = None,
    config: ConfigOption = None,
) -> None:
    """Make the memory of a channel that of a backup; the bot must not be running.

    What was forgotten, opted out or corrected since the backup stays so.

    Example: ricordo restore ricordo-today.ricordo
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="error")
    done = asyncio.run(_restored(settings, file, data, force=force, index=index))
    out.print(
        styled(f"{done.folder}: {counted(MESSAGES, count=done.manifest.messages)}, as of {minute(done.manifest.made_at)}")
    )
    if done.removed_again:
        told = "{count:line that was|lines that were} forgotten or corrected since then: that stays so"
        out.print(counted(told, count=done.removed_again))
    if done.before is not None:
        out.print(styled(f"the memory that was there is in {done.before}"))
    if done.damaged is not None:
        out.print(styled(f"the memory that was there could not be read: its files lie in {done.damaged}, remove them yourself"))
    if done.known_until is not None:
        out.print(styled(f"what was forgotten after {minute(done.known_until)} is not known: forget it again", "yellow"))
    if not index:
        out.print("the vector index is built when the bot runs, or by `ricordo reindex`")


async def _restored(settings: Settings, file: Path, data: Path | None, *, force: bool, index: bool) -> Restored:
    clock, manifest = WallClock(), read_backup(file)
    channel = Channel(id=manifest.channel_id, login=manifest.login, name=manifest.name)
    folder = _folder(data or settings.storage.data_dir, channel)
    done = await restore(file, folder, clock, force=force, keep=backup_plan(settings, folder).directory)
    remember_channel(folder, channel)
    if index:
        async with open_channel_memory(settings, folder, channel=channel, clock=clock, any_model=True) as memory:
            await memory.reindex()
            await memory.run_jobs()
    return done


def _folder(data: Path, channel: Channel) -> Path:
    """Return where the channel's memory is, or is to be."""
    if not channel.id:
        text = "the backup does not say whose memory it holds: it cannot be restored"
        raise CommandFailed(text, Exit.FAILED)
    found = [place.folder for place in places(data) if place.channel is None or place.channel.id == channel.id]
    return found[0] if len(found) == 1 else data / f"channel-{channel.id}"
