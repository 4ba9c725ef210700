"""The live bot, put together: apart from `bot.app`, since TwitchIO takes half a second to import and few commands need it."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog

from bot.account import Account
from bot.app import Hooks, language_model, make_folder, make_loop, open_channel_memory, twitch_settings
from bot.canon import sync_canon
from bot.chosen import command_settings
from bot.commands import Commands
from bot.hangup import reloading_on_hangup
from bot.live import LiveSettings, Tally, run_live
from bot.recording import Recorder, RecordingSettings, expire, recording
from bot.speak import DryVoice
from bot.steady import pass_over_loaded
from bot.stopping import Stopping, stopping_on_signals
from bot.twitch import TwitchConnection
from bot.watch import Watch
from bot.watch_server import SOCKET, WatchSettings, watched
from config.settings import Settings
from memory import RECORDINGS, Clock, WallClock

log = structlog.get_logger(__name__)
Told = TypeVar("Told")


async def run_bot(settings: Settings, announce: Callable[[Account], None] = lambda _: None) -> None:
    """Go live with the configured account until SIGTERM or SIGINT; see `bot.stopping` for what these do.

    `announce` hears who is live, and where, once the chat is heard.

    Raises:
        LiveError: Twitch refuses what the bot cannot do without, or could not be heard again.
        BotMemoryError: the memory cannot be opened.
    """
    stopping = Stopping()
    try:
        with stopping_on_signals(stopping):
            await _evening(settings, stopping, announce)
    except asyncio.CancelledError:
        if not stopping.asked.is_set():
            raise
        log.info("stopped_while_starting")


async def _evening(settings: Settings, stopping: Stopping, announce: Callable[[Account], None]) -> None:
    clock, data_dir = WallClock(), settings.storage.data_dir
    make_folder(data_dir)
    async with TwitchConnection(twitch_settings(settings), clock) as twitch:
        account = await twitch.log_in()
        directory = data_dir / f"channel-{account.channel.id}"
        async with (
            open_channel_memory(settings, directory, channel=account.channel, clock=clock) as memory,
            language_model(settings) as model,
            AsyncExitStack() as stack,
        ):
            await sync_canon(memory, settings.persona.canon)
            await memory.start_worker()
            voice = DryVoice() if settings.manners.dry_run else twitch.voice()
            watch, recorder = Watch(clock, memory.health), recorder_of(settings, directory, clock)
            hooks = Hooks(voice=voice, model=model, live=True, on_turn=watch.turn)
            if recorder is not None:
                await stack.enter_async_context(recording(recorder))
                hooks = replace(hooks, on_event=recorder.heard, on_turn=_to_both(recorder.over, watch.turn))
            loop = make_loop(settings, memory=memory, clock=clock, channel=account.channel, bot=account.bot, hooks=hooks)
            tally = Tally(waiting=_to_both(memory.waiting, watch.waiting), live=partial(announce, account))
            watch.follow(lambda: {**loop.counts, **tally.counted})
            await stack.enter_async_context(reloading_on_hangup(loop.reload))
            await stack.enter_async_context(watched(watch, watch_settings(settings, directory)))
            pass_over_loaded()
            await run_live(
                loop,
                twitch,
                LiveSettings(watchdog_seconds=settings.twitch.watchdog_seconds),
                clock,
                stopping=stopping,
                first=account.stream,
                tally=tally,
            )


def watch_settings(settings: Settings, directory: Path) -> WatchSettings:
    """Return who may look at the bot whose memory lies in `directory`."""
    return WatchSettings(socket_path=directory / SOCKET, **settings.watch.model_dump())


def recorder_of(settings: Settings, directory: Path, clock: Clock) -> Recorder | None:
    """Return what records the chat, None where that is off. What was recorded before is kept no longer in either case."""
    chosen = RecordingSettings(directory=directory / RECORDINGS, days=settings.recording.days)
    expire(chosen, clock.now())
    if not settings.recording.enabled:
        return None
    commands = Commands(command_settings(settings))
    return Recorder(chosen, clock, verb_of=commands.verb_of)


def _to_both(first: Callable[[Told], None], second: Callable[[Told], None]) -> Callable[[Told], None]:
    def tell(told: Told) -> None:
        first(told)
        second(told)

    return tell
