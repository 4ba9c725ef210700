"""Which memory a command is about: `--data`, `--channel`, or the only one there is."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bot.app import CHANNEL_FILE
from bot.cli.shell import CommandFailed, Exit
from config.settings import Settings
from memory import DATABASE, Channel

DataOption = Annotated[
    Path | None,
    typer.Option("--data", "-d", help="Folder of the memory (default: data_dir of the configuration).", show_default=False),
]
ChannelOption = Annotated[
    str | None, typer.Option("--channel", help="Login or id of the channel, where there are several.", show_default=False)
]
DEMO = Path("out/demo/memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A memory on disk, and whose it is; the channel is None where no file says so."""

    folder: Path
    channel: Channel | None

    @property
    def title(self) -> str:
        """The channel's name, or the folder's."""
        return self.channel.name if self.channel else self.folder.name

    def known_channel(self) -> Channel:
        """Return whose memory it is, which must be known where something is to be changed.

        Raises:
            CommandFailed: no file says so.
        """
        if self.channel is None:
            raise CommandFailed(f"{self.folder} lacks its {CHANNEL_FILE}, which says whose memory it is: start the bot once")
        return self.channel


def places(folder: Path) -> list[Place]:
    """Return the memories in `folder`: itself, the one of a replay, or one a channel."""
    for single in (folder, folder / "memory"):
        if (single / DATABASE).is_file():
            return [Place(folder=single, channel=channel_of(single))]
    found = sorted(path.parent for path in folder.glob(f"channel-*/{DATABASE}"))
    return [Place(folder=path, channel=channel_of(path)) for path in found]


def chosen_place(settings: Settings, data: Path | None, channel: str | None) -> Place:
    """Return the memory that is meant.

    Raises:
        CommandFailed: there is none, or several and none is named.
    """
    folder = data or settings.storage.data_dir
    found = places(folder)
    if channel is not None:
        wanted = channel.strip().lstrip("#@").casefold()
        found = [place for place in found if place.channel and wanted in {place.channel.id, place.channel.login.casefold()}]
    if len(found) == 1:
        return found[0]
    if found:
        known = ", ".join(sorted(place.channel.login if place.channel else place.folder.name for place in found))
        raise CommandFailed(f"{folder} holds the memories of several channels ({known}): add --channel LOGIN", Exit.USAGE)
    of_whom = f" of channel {channel!r}" if channel else ""
    raise CommandFailed(f"{folder} holds no memory{of_whom} yet: {_advice(data)}", Exit.USAGE)


def _advice(data: Path | None) -> str:
    if data is None and places(DEMO):
        return f"the memory of the bundled chat is in {DEMO}: add --data {DEMO}"
    return "`ricordo run` makes one; --data FOLDER names another folder, such as the --out of a replay"


def channel_of(folder: Path) -> Channel | None:
    """Return the channel whose memory lies in `folder`, None where its file is missing or broken."""
    try:
        known = json.loads((folder / CHANNEL_FILE).read_text(encoding="utf-8"))
        return Channel(id=str(known["id"]), login=str(known["login"]), name=str(known["name"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def whose(place: Place) -> Channel:
    """Return the channel whose memory lies at a place.

    Raises:
        CommandFailed: no file says so.
    """
    if place.channel is None:
        raise CommandFailed(f"{place.folder} lacks its channel.json, which says whose memory it is: start the bot once")
    return place.channel
