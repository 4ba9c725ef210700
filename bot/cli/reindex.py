"""`ricordo reindex`: build the vector index anew from the database."""

import asyncio
import time
from typing import Annotated

import typer

from bot.app import open_channel_memory
from bot.cli.logs import set_up_logs
from bot.cli.place import ChannelOption, DataOption, Place, chosen_place
from bot.cli.shell import CommandFailed, ConfigOption, out
from bot.cli.terminal import styled
from config.settings import Settings, load_settings
from memory import WallClock, doubt_index


def reindex_command(
    *,
    whole: Annotated[bool, typer.Option("--whole", help="Also what has its vector: the index was damaged.")] = False,
    data: DataOption = None,
    channel: ChannelOption = None,
    config: ConfigOption = None,
) -> None:
    """Build the index anew from the database, where vectors are missing or of another model; stop the bot first.

    Needed after a change of the embedding model. A run that was broken off goes on where it stopped.

    Example: ricordo reindex --data out/demo/memory
    """
    settings = load_settings(config)
    set_up_logs(settings.log, default="warning")
    place = chosen_place(settings, data, channel)
    began = time.perf_counter()
    documents = asyncio.run(_reindexed(settings, place, whole=whole))
    taken = time.perf_counter() - began
    out.print(styled(f"{documents:,} documents of {place.title} were indexed anew in {taken:.1f} s"))


async def _reindexed(settings: Settings, place: Place, *, whole: bool) -> int:
    if place.channel is None:
        raise CommandFailed(f"{place.folder} lacks its channel.json, which says whose memory it is: start the bot once")
    clock = WallClock()
    if whole:
        await doubt_index(place.folder)
    async with open_channel_memory(settings, place.folder, channel=place.channel, clock=clock, any_model=True) as memory:
        return await memory.reindex()
