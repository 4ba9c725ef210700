"""The configuration's sections about the chat, as the values that the bot's parts take."""

from bot.allowance import Allowance
from bot.batching import BatchingSettings
from bot.commands import DEFAULT_WORDS, CommandSettings, meanings
from bot.loop_settings import LoopSettings
from bot.manners import MannersSettings
from config.settings import Settings


def manners_settings(settings: Settings) -> MannersSettings:
    """Return when the bot speaks, as configured."""
    manners = settings.manners
    return MannersSettings(
        answer=manners.answer,
        channel_cooldown_seconds=manners.channel_cooldown_seconds,
        viewer_cooldown_seconds=manners.viewer_cooldown_seconds,
        max_characters=manners.max_characters,
        people_per_reply=manners.people_per_reply,
        repeat_seconds=manners.repeat_seconds,
        strip_links=manners.strip_links,
        blocked_words=manners.blocked_words,
        chance=manners.chance,
        events=frozenset(manners.events),
        online_only=manners.online_only,
        prefix=settings.commands.prefix,
        late_seconds=manners.late_seconds,
    )


def loop_settings(settings: Settings) -> LoopSettings:
    """Return how the loop treats what comes in, as configured."""
    batching = settings.batching
    return LoopSettings(
        batching=BatchingSettings(
            grace_seconds=batching.addressed_grace_seconds,
            quiet_seconds=batching.quiet_seconds,
            longest_wait_seconds=batching.longest_wait_seconds,
            max_lines=batching.size,
        ),
        commands=command_settings(settings),
        ignored=frozenset(settings.manners.ignored_bots),
        blocked=settings.manners.blocked_words_in,
        foreign_chat=settings.twitch.shared_chat,
    )


def allowance_of(settings: Settings) -> Allowance:
    """Return how much the language model may be asked, as configured."""
    llm = settings.llm
    return Allowance(
        calls_per_hour=llm.calls_per_hour,
        tokens_per_hour=llm.tokens_per_hour,
        calls_per_stream=llm.calls_per_stream,
        tokens_per_stream=llm.tokens_per_stream,
    )


def language_chosen(settings: Settings) -> str | None:
    """Return the language that the bot always speaks, None where it speaks that of the viewer."""
    chosen = settings.manners.language
    return None if chosen == "viewer" else chosen


def command_settings(settings: Settings) -> CommandSettings:
    """Return how commands look, as configured."""
    commands = settings.commands
    return CommandSettings(
        prefix=commands.prefix,
        names=meanings({verb: getattr(commands, verb) for verb in DEFAULT_WORDS}),
        language=commands.language,
        confirm_seconds=commands.confirm_seconds,
        pause_seconds=commands.pause_seconds,
    )
