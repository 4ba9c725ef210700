"""The composition root: configuration in, a memory, a loop and a running bot out."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from typing import Literal

import structlog

from bot.account import TwitchSettings
from bot.addressing import Addressing
from bot.batching import BatchingSettings
from bot.commands import DEFAULT_WORDS, CommandSettings, meanings
from bot.live import LiveSettings, run_live
from bot.llm import LanguageModel
from bot.llm_values import LlmSettings
from bot.loop import ChatLoop
from bot.loop_settings import LoopSettings
from bot.manners import Manners, MannersSettings
from bot.persona import load_persona
from bot.prompt import PromptLimits
from bot.remembering import MemoryResponder
from bot.reply import LlmResponder
from bot.responder import Responder
from bot.speak import ConsoleVoice, DryVoice, Speaker, SpeakSettings, Voice
from bot.stopping import Stopping, stopping_on_signals
from bot.tombstones import Tombstones
from bot.turn import TurnOutcome, TurnParts
from bot.twitch import TwitchConnection
from config.settings import Settings
from lore.loader import load_canon
from memory import (
    Batch,
    BotIdentity,
    CachedEmbedder,
    Caches,
    Channel,
    Clock,
    Deadlines,
    E5Embedder,
    Embedder,
    EmbeddingCache,
    Fusion,
    Gate,
    JobLimits,
    Limits,
    Memory,
    MemorySettings,
    ModelUnavailable,
    OpenAIEmbedder,
    Recipe,
    StoreUnavailable,
    Turn,
    UseEmbedder,
    VirtualClock,
    WallClock,
    open_memory,
)

log = structlog.get_logger(__name__)
CHANNEL_FILE = "channel.json"
SHARED = ("state", "lore", "profile", "recall", "episode")  # sections that share the block


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a caller of the loop wants to do, or hear of."""

    voice: Voice | None = None  # None: lines are said to nobody
    model: LanguageModel | None = None  # None: replies come from the memory block alone
    before: Callable[[Batch], Awaitable[None]] | None = None
    drafted: Callable[[Turn, Mapping[str, float]], None] | None = None
    on_turn: Callable[[TurnOutcome], None] | None = None
    resume: bool = False
    recorded_turns: int = 0  # how many of the log's first turns an earlier run recorded
    said: Sequence[tuple[str, datetime]] = ()  # what that run said last, and when: it is not said again soon
    replies: Literal["bot", "log"] = "bot"


def recipe_of(settings: Settings) -> Recipe:
    """Return the recall recipe that the configuration describes."""
    retrieval, fusion, budget = settings.retrieval, settings.fusion, settings.budget
    return Recipe(
        sources=frozenset(retrieval.sources),
        channels=frozenset(retrieval.channels),
        viewer_ranking=settings.planner.viewer_ranking,
        coverage_check=settings.planner.coverage_check,
        dedup=budget.dedup,
        deadlines=Deadlines(
            source_seconds=retrieval.source_seconds,
            retrieve_seconds=retrieval.retrieve_seconds,
            recall_seconds=retrieval.recall_seconds,
        ),
        limits=Limits(
            history_messages=settings.history.messages,
            viewers=settings.planner.viewers,
            viewers_max=settings.planner.viewers_max,
            viewer_hits=retrieval.viewer_hits,
            episode_hits=retrieval.episode_hits,
            lore_hits=retrieval.lore_hits,
            state_hits=retrieval.state_hits,
            block_tokens=budget.block_tokens,
            section_shares={
                name: getattr(budget, f"{name}_share") for name in ("state", "lore", "profile", "recall", "episode")
            },
        ),
        fusion=Fusion(
            method=fusion.method,
            k=fusion.k,
            message_weights={"dense": fusion.message_dense, "lexical": fusion.message_lexical},
            fact_weights={"dense": fusion.fact_dense, "lexical": fusion.fact_lexical},
            recency_prior=fusion.recency_prior,
            salience_prior=fusion.salience_prior,
        ),
        gate=Gate(
            dense_floor=retrieval.dense_floor,
            lexical_floor=retrieval.lexical_floor,
            fused_floor=retrieval.fused_floor,
            gap=retrieval.gap,
        ),
    )


def memory_settings(settings: Settings, directory: Path) -> MemorySettings:
    """Return what `open_memory` needs for the memory in `directory`."""
    kept = settings.retention
    return MemorySettings(
        data_dir=directory,
        recipe=recipe_of(settings),
        caches=Caches(**settings.caches.model_dump()),
        jobs=JobLimits(**settings.jobs.model_dump(), keep_done_days=kept.done_job_days, keep_dead_days=kept.dead_job_days),
        synchronous=settings.storage.synchronous,
        block_language=settings.budget.language,
        languages=settings.persona.languages,
        ignored_bots=frozenset(settings.manners.ignored_bots),
    )


def embedder_of(settings: Settings, directory: Path) -> Embedder:
    """Return the configured embedding model; vectors of the slow ones are kept below `directory`, by content hash."""
    chosen = settings.embedding
    if chosen.kind == "use":
        return UseEmbedder()  # 2 ms a text: a cache would cost as much
    cache = EmbeddingCache(directory / "embeddings.db")
    if chosen.kind == "e5":
        return CachedEmbedder(E5Embedder(timeout_seconds=chosen.timeout_seconds), cache)
    endpoint = OpenAIEmbedder(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=chosen.api_key.get_secret_value(),
        dimension=chosen.dimension or None,
        timeout_seconds=chosen.timeout_seconds,
    )
    return CachedEmbedder(endpoint, cache, symmetric=True)


async def warm_up(embedder: Embedder, *, dimension_known: bool) -> None:
    """Have the model ready before the first question; where its dimension is known, a model that is away may come later.

    Raises:
        ModelUnavailable: it is away, and without it not even the dimension of the index is known.
    """
    try:
        await embedder.embed_query("ciao")
    except ModelUnavailable as error:
        if not dimension_known:
            raise
        log.warning("embedder_not_ready", degraded="no dense search until it answers", reason=str(error))


@asynccontextmanager
async def open_channel_memory(
    settings: Settings, directory: Path, *, channel: Channel, clock: Clock, any_model: bool = False
) -> AsyncIterator[Memory]:
    """Open the channel's memory in `directory` with the configured embedder; both are closed on leaving.

    Raises:
        BotMemoryError: the directory cannot be used; see `open_memory`.
    """
    make_folder(directory)
    embedder = embedder_of(settings, directory)
    try:
        await warm_up(embedder, dimension_known=settings.embedding.kind != "openai" or settings.embedding.dimension > 0)
        chosen = memory_settings(settings, directory)
        async with await open_memory(chosen, channel=channel, embedder=embedder, clock=clock, any_model=any_model) as memory:
            remember_channel(directory, channel)
            yield memory
    finally:
        await embedder.close()


def make_folder(directory: Path) -> None:
    """Make a folder where there is none.

    Raises:
        StoreUnavailable: it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(
            f"{directory} cannot be made: {error.strerror}. Choose another folder, or mend its rights"
        ) from None


def remember_channel(directory: Path, channel: Channel) -> None:
    """Write the channel's names beside its memory, so that the command line can say whose it is."""
    text = json.dumps({"id": channel.id, "login": channel.login, "name": channel.name}, ensure_ascii=False)
    (directory / CHANNEL_FILE).write_text(text + "\n", encoding="utf-8")


async def sync_canon(memory: Memory, folder: Path | None) -> int:
    """Make the memory's canon equal to the files of `folder` (None: the bundled ones); return how many entries changed."""
    return await memory.sync_lore(load_canon(folder or Path(str(files("lore").joinpath("canon")))))


@asynccontextmanager
async def language_model(settings: Settings) -> AsyncIterator[LanguageModel | None]:
    """Open the configured language model and close it on leaving; None, said in the log, where none is configured."""
    if not (settings.llm.base_url and settings.llm.model):
        log.info("llm_not_configured", replies="from the memory block alone")
        yield None
        return
    async with llm_of(settings) as model:
        yield model


def llm_of(settings: Settings) -> LanguageModel:
    """Return the configured language model; closing it is the caller's."""
    chosen = settings.llm
    return LanguageModel(
        LlmSettings(
            base_url=chosen.base_url,
            model=chosen.model,
            api_key=chosen.api_key.get_secret_value(),
            timeout_seconds=chosen.timeout_seconds,
            retries=chosen.retries,
            max_tokens=chosen.max_tokens,
            temperature=chosen.temperature,
            concurrency=chosen.concurrency,
        )
    )


def llm_responder(settings: Settings, model: LanguageModel, addressing: Addressing) -> LlmResponder:
    """Return the configured persona in front of a language model."""
    persona, limits = load_persona(settings.persona.file), PromptLimits(prompt_tokens=settings.llm.prompt_tokens)
    return LlmResponder(model, persona=persona, addressing=addressing, limits=limits)


def make_loop(
    settings: Settings, *, memory: Memory, clock: Clock, channel: Channel, bot: BotIdentity, hooks: Hooks
) -> ChatLoop:
    """Return the chat loop of one channel, ready to be started."""
    addressing = Addressing(replace(bot, aliases=tuple(dict.fromkeys((*bot.aliases, *settings.persona.aliases)))))
    responder: Responder | None = None
    if hooks.replies == "bot":
        responder = llm_responder(settings, hooks.model, addressing) if hooks.model else MemoryResponder(addressing)
    pace, pause = SpeakSettings(per_window=settings.manners.messages_per_window), asyncio.sleep
    speaker = Speaker(hooks.voice or ConsoleVoice(), pace, clock, pause=_at_once if isinstance(clock, VirtualClock) else pause)
    manners = Manners(_manners(settings), addressing)
    for text, at in hooks.said:
        manners.note_said(text, now=at)
        speaker.note_said(text, at)
    parts = TurnParts(
        memory=memory,
        responder=responder,
        speaker=speaker,
        manners=manners,
        clock=clock,
        deleted=Tombstones(),
        reply_seconds=settings.llm.timeout_seconds + 5,
        answer_known=hooks.resume,
        before=hooks.before,
        drafted=hooks.drafted,
    )
    on_stream = responder.meet if isinstance(responder, LlmResponder) else None
    return ChatLoop(parts, _loop_settings(settings, hooks), channel, on_turn=hooks.on_turn, on_stream=on_stream)


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
        ):
            await sync_canon(memory, settings.persona.canon)
            await memory.start_worker()
            hooks = Hooks(voice=DryVoice() if settings.manners.dry_run else twitch.voice(), model=model)
            loop = make_loop(settings, memory=memory, clock=clock, channel=account.channel, bot=account.bot, hooks=hooks)
            await run_live(
                loop, twitch, LiveSettings(), clock, stopping=stopping, first=account.stream, waiting=memory.waiting
            )  # fmt: skip


def twitch_settings(settings: Settings) -> TwitchSettings:
    """Return who connects to Twitch, as configured."""
    chosen = settings.twitch
    return TwitchSettings(
        client_id=chosen.client_id,
        channel=chosen.channel.lower().lstrip("#"),
        token_file=settings.storage.data_dir / chosen.token_file,
        client_secret=chosen.client_secret.get_secret_value(),
        access_token=chosen.access_token.get_secret_value(),
        refresh_token=chosen.refresh_token.get_secret_value(),
        aliases=settings.persona.aliases,
        notices=chosen.notices,
        moderation=chosen.moderation,
        api_url=chosen.api_url,
    )


def can_go_live(settings: Settings) -> bool:
    """Return whether an account and a channel are configured."""
    chosen = settings.twitch
    token = chosen.access_token.get_secret_value() or (settings.storage.data_dir / chosen.token_file).is_file()
    return bool(chosen.client_id and chosen.channel and token)


def _manners(settings: Settings) -> MannersSettings:
    manners = settings.manners
    return MannersSettings(
        answer=manners.answer,
        channel_cooldown_seconds=manners.channel_cooldown_seconds,
        viewer_cooldown_seconds=manners.viewer_cooldown_seconds,
        max_characters=manners.max_characters,
        repeat_seconds=manners.repeat_seconds,
        strip_links=manners.strip_links,
        blocked_words=manners.blocked_words,
        late_seconds=manners.late_seconds,
    )


def _loop_settings(settings: Settings, hooks: Hooks) -> LoopSettings:
    batching, commands = settings.batching, settings.commands
    return LoopSettings(
        batching=BatchingSettings(
            grace_seconds=batching.addressed_grace_seconds,
            quiet_seconds=batching.quiet_seconds,
            longest_wait_seconds=batching.longest_wait_seconds,
            max_lines=batching.size,
        ),
        commands=CommandSettings(
            prefix=commands.prefix,
            names=meanings({verb: getattr(commands, verb) for verb in DEFAULT_WORDS}),
            language=commands.language,
            confirm_seconds=commands.confirm_seconds,
            pause_seconds=commands.pause_seconds,
        ),
        replies=hooks.replies,
        ignored=frozenset(settings.manners.ignored_bots),
        resume=hooks.resume,
        recorded_turns=hooks.recorded_turns,
    )


async def _at_once(_: float) -> None:
    """On a virtual clock nobody waits."""
