"""SIGHUP: read the streamer's files anew, as `!reload` does, without a word in the chat."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bot.canon import Reload


@asynccontextmanager
async def reloading_on_hangup(reload: Reload | None) -> AsyncIterator[None]:
    """Reload at each SIGHUP until this is left; where there is no such signal (Windows), do nothing."""
    number = getattr(signal, "SIGHUP", None)
    if reload is None or number is None:
        yield
        return
    wanted = asyncio.Event()
    running = asyncio.get_running_loop()
    running.add_signal_handler(number, wanted.set)
    reloading = asyncio.create_task(_reload(reload, wanted), name="reload")
    try:
        yield
    finally:
        running.remove_signal_handler(number)
        reloading.cancel()
        await asyncio.wait({reloading})


async def _reload(reload: Reload, wanted: asyncio.Event) -> None:
    while True:
        await wanted.wait()
        wanted.clear()
        await reload()
