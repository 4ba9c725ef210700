"""The live bot, put together: apart from `bot.app`, since TwitchIO takes half a second to import and few commands need it."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import structlog

from bot.app import Hooks, language_model, make_folder, make_loop, open_channel_memory, twitch_settings
from bot.canon import sync_canon
from bot.chosen import command_settings
from bot.commands import Commands
from bot.hangup import reloading_on_hangup
from bot.live import LiveSettings, run_live
from bot.recording import Recorder, RecordingSettings, expire, recording
from bot.speak import DryVoice
from bot.stopping import Stopping, stopping_on_signals
from bot.twitch import TwitchConnection
from config.settings import Settings
from memory import RECORDINGS, Clock, WallClock

log = structlog.get_logger(__name__)


async def run_bot(settings: Settings) -> None:
    """Go live with the configured account until SIGTERM or SIGINT; see `bot.stopping` for what these do.

    Raises:
        LiveError: Twitch refuses what the bot cannot do without, or could not be heard again.
        BotMemoryError: the memory cannot be opened.
    """
    stopping = Stopping()
    try:
        with stopping_on_signals(stopping):
            await _evening(settings, stopping)
    except asyncio.CancelledError:
        if not stopping.asked.is_set():
            raise
        log.info("stopped_while_starting")


async def _evening(settings: Settings, stopping: Stopping) -> None:
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
            hooks = Hooks(voice=voice, model=model, live=True)
            recorder = recorder_of(settings, directory, clock)
            if recorder is not None:
                await stack.enter_async_context(recording(recorder))
                hooks = Hooks(voice=voice, model=model, live=True, on_event=recorder.heard, on_turn=recorder.over)
            loop = make_loop(settings, memory=memory, clock=clock, channel=account.channel, bot=account.bot, hooks=hooks)
            await stack.enter_async_context(reloading_on_hangup(loop.reload))
            patience = LiveSettings(watchdog_seconds=settings.twitch.watchdog_seconds)
            await run_live(
                loop, twitch, patience, clock, stopping=stopping, first=account.stream, waiting=memory.waiting
            )  # fmt: skip


def recorder_of(settings: Settings, directory: Path, clock: Clock) -> Recorder | None:
    """Return what records the chat, None where that is off. What was recorded before is kept no longer in either case."""
    chosen = RecordingSettings(directory=directory / RECORDINGS, days=settings.recording.days)
    expire(chosen, clock.now())
    if not settings.recording.enabled:
        return None
    commands = Commands(command_settings(settings))
    return Recorder(chosen, clock, verb_of=commands.verb_of)
