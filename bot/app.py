"""The composition root: configuration in, a memory, a loop and a running bot out."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

import structlog

from bot.account import TwitchSettings
from bot.addressing import Addressing
from bot.allowance import MeteredChat
from bot.canon import reloading
from bot.channel_folder import CHANNEL_FILE as CHANNEL_FILE
from bot.channel_folder import make_folder as make_folder
from bot.channel_folder import remember_channel as remember_channel
from bot.chosen import allowance_of, command_settings, language_chosen, loop_settings, manners_settings
from bot.commands import Commands
from bot.fact_model import FactModel
from bot.llm import LanguageModel
from bot.llm_values import Chat, LlmSettings
from bot.loop import ChatLoop
from bot.manners import Manners, MannersSettings
from bot.persona import load_persona
from bot.prompt import PromptLimits
from bot.remembering import MemoryResponder
from bot.reply import LlmResponder
from bot.responder import Responder
from bot.speak import ConsoleVoice, Speaker, SpeakSettings, Voice
from bot.tombstones import Tombstones
from bot.tool_rounds import ToolLimits
from bot.tools import Toolbox
from bot.turn import TurnOutcome, TurnParts
from config.settings import Settings
from memory import (
    BackupPlan,
    Batch,
    BotIdentity,
    Caches,
    Channel,
    Clock,
    Deadlines,
    Embedder,
    Event,
    Fading,
    Fusion,
    Gate,
    IndexRun,
    JobLimits,
    Limits,
    Memory,
    MemorySettings,
    ModelUnavailable,
    Quotas,
    Reading,
    Recipe,
    Retention,
    Turn,
    VirtualClock,
    make_embedder,
    open_memory,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hooks:
    """What a caller of the loop wants to do, or hear of."""

    voice: Voice | None = None  # None: lines are said to nobody
    model: LanguageModel | None = None  # None: replies come from the memory block alone
    before: Callable[[Batch], Awaitable[None]] | None = None
    searched: Callable[[], Awaitable[bool]] | None = None
    drafted: Callable[[Turn, Mapping[str, float]], None] | None = None
    on_turn: Callable[[TurnOutcome], None] | None = None
    on_event: Callable[[Event, datetime], None] | None = None  # what is taken in, and when it came
    resume: bool = False
    recorded_turns: int = 0  # how many of the log's first turns an earlier run recorded
    said: Sequence[tuple[str, datetime]] = ()  # what that run said last, and when: it is not said again soon
    replies: Literal["bot", "log"] = "bot"
    live: bool = False  # the canon is that of the configuration, and `!reload` may read it anew


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
        limits=_limits(settings),
        fusion=Fusion(
            method=fusion.method,
            k=fusion.k,
            message_weights={"dense": fusion.message_dense, "lexical": fusion.message_lexical},
            fact_weights={"dense": fusion.fact_dense, "lexical": fusion.fact_lexical},
            recency_prior=fusion.recency_prior,
            worth_prior=fusion.worth_prior,
        ),
        gate=Gate(
            dense_floor=retrieval.dense_floor,
            lexical_floor=retrieval.lexical_floor,
            fused_floor=retrieval.fused_floor,
            least_chance=retrieval.least_chance,
            answer_chance=retrieval.answer_chance,
            unsure_chance=retrieval.unsure_chance,
            answer_floor=retrieval.answer_floor,
            lead=retrieval.lead,
            gap=retrieval.gap,
        ),
    )


def _limits(settings: Settings) -> Limits:
    retrieval, budget = settings.retrieval, settings.budget
    return Limits(
        history_messages=settings.history.messages,
        viewers=settings.planner.viewers,
        viewers_max=settings.planner.viewers_max,
        greeting_hours=settings.planner.greeting_hours,
        viewer_hits=retrieval.viewer_hits,
        episode_hits=retrieval.episode_hits,
        claim_hits=retrieval.claim_hits,
        lore_hits=retrieval.lore_hits,
        state_hits=retrieval.state_hits,
        block_tokens=budget.block_tokens,
        section_shares={name: getattr(budget, f"{name}_share") for name in ("state", "lore", "profile", "recall", "episode")},
    )


def memory_settings(settings: Settings, directory: Path) -> MemorySettings:
    """Return what `open_memory` needs for the memory in `directory`."""
    kept = settings.retention
    return MemorySettings(
        data_dir=directory,
        recipe=recipe_of(settings),
        caches=Caches(**settings.caches.model_dump()),
        index=IndexRun(**settings.index.model_dump()),
        jobs=JobLimits(**settings.jobs.model_dump(), keep_done_days=kept.done_job_days, keep_dead_days=kept.dead_job_days),
        backup=backup_plan(settings, directory),
        quotas=Quotas(per_stream=settings.facts.per_stream, total=settings.facts.total),
        reading=Reading(
            lines=settings.facts.llm, judge=settings.facts.judge, tokens_per_stream=settings.facts.llm_tokens_per_stream
        ),
        fading=Fading(half_life_days=settings.facts.fade_half_life_days, floor=settings.facts.fade_floor),
        retention=Retention(**kept.model_dump(exclude={"done_job_days", "dead_job_days"})),
        synchronous=settings.storage.synchronous,
        block_language=settings.budget.language,
        languages=settings.persona.languages,
        ignored_bots=frozenset(settings.manners.ignored_bots),
    )


def backup_plan(settings: Settings, directory: Path) -> BackupPlan:
    """Return when and where the memory in `directory` is backed up; a folder outside of it has one within for each channel."""
    chosen = settings.backup
    place = chosen.directory / directory.name if chosen.directory.is_absolute() else directory / chosen.directory
    return BackupPlan(every_hours=chosen.every_hours, keep=chosen.keep, directory=place)


def embedder_of(settings: Settings, directory: Path) -> Embedder:
    """Return the configured embedding model; vectors of the slow ones are kept below `directory`, by content hash."""
    chosen = settings.embedding
    return make_embedder(
        chosen.kind,
        data_dir=directory,
        base_url=chosen.base_url,
        model=chosen.model,
        dimension=chosen.dimension,
        api_key=chosen.api_key.get_secret_value(),
        timeout_seconds=chosen.timeout_seconds,
    )


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
    embedder, reader = embedder_of(settings, directory), fact_reader(settings)
    known = settings.embedding.kind != "openai" or settings.embedding.dimension > 0
    warming = asyncio.create_task(warm_up(embedder, dimension_known=known), name="warm-up")  # while the memory is opened
    try:
        if not known:
            await warming
        async with await open_memory(
            memory_settings(settings, directory),
            channel=channel,
            embedder=embedder,
            clock=clock,
            any_model=any_model,
            model=reader,
        ) as memory:
            await warming
            remember_channel(directory, channel)
            yield memory
    finally:
        if reader is not None:
            await reader.close()
        warming.cancel()
        await asyncio.wait({warming})
        await embedder.close()


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
    return LanguageModel(llm_settings(settings))


def llm_settings(settings: Settings) -> LlmSettings:
    """Return which language model is configured, and how it is asked for a reply."""
    chosen = settings.llm
    return LlmSettings(
        base_url=chosen.base_url,
        model=chosen.model,
        api_key=chosen.api_key.get_secret_value(),
        timeout_seconds=chosen.timeout_seconds,
        retries=chosen.retries,
        max_tokens=chosen.max_tokens,
        temperature=chosen.temperature,
        concurrency=chosen.concurrency,
    )


def fact_reader(settings: Settings) -> FactModel | None:
    """Return the model that looks for facts and judges them; None where both are switched off, or none is configured."""
    if not (settings.facts.llm or settings.facts.judge):
        return None
    if not (settings.llm.base_url and settings.llm.model):
        log.warning("facts_llm_not_configured", degraded="facts are read by rules alone", needed="llm.base_url and llm.model")
        return None
    return FactModel(llm_settings(settings))


def llm_responder(settings: Settings, model: Chat, addressing: Addressing, *, tools: Toolbox | None = None) -> LlmResponder:
    """Return the configured persona in front of a language model, with `tools` where it may change the state."""
    chosen = settings.llm
    return LlmResponder(
        model,
        persona=load_persona(settings.persona.file),
        addressing=addressing,
        limits=PromptLimits(prompt_tokens=chosen.prompt_tokens),
        tools=tools,
        tool_limits=ToolLimits(rounds=chosen.tool_rounds, calls=chosen.tool_calls, seconds=chosen.timeout_seconds + 4),
        language=language_chosen(settings),
    )


def toolbox_of(settings: Settings, model: LanguageModel, memory: Memory, deleted: Tombstones) -> Toolbox | None:
    """Return the model's tools; None where they are switched off, or nobody would hear what was done."""
    if not settings.llm.tools or settings.manners.dry_run:
        return None
    return Toolbox(
        memory,
        able=lambda: model.capabilities.tools,
        taken_back=lambda scene: deleted.touches(scene.batch, None),
        forgetme=Commands(command_settings(settings)).shown("forgetme"),
    )


def make_loop(
    settings: Settings, *, memory: Memory, clock: Clock, channel: Channel, bot: BotIdentity, hooks: Hooks
) -> ChatLoop:
    """Return the chat loop of one channel, ready to be started."""
    addressing = Addressing(replace(bot, aliases=tuple(dict.fromkeys((*bot.aliases, *settings.persona.aliases)))))
    deleted = Tombstones()
    responder = _responder(settings, memory, clock, addressing=addressing, deleted=deleted, hooks=hooks)
    playing = responder if isinstance(responder, LlmResponder) else None
    pace, pause = SpeakSettings(per_window=settings.manners.messages_per_window), asyncio.sleep
    speaker = Speaker(hooks.voice or ConsoleVoice(), pace, clock, pause=_at_once if isinstance(clock, VirtualClock) else pause)
    manners = Manners(_with_model(manners_settings(settings), known=playing is not None), addressing)
    for text, at in hooks.said:
        manners.note_said(text, now=at)
        speaker.note_said(text, at)
    become = playing.become if playing else None
    reload = reloading(memory, settings.persona.canon, settings.persona.file, become=become)
    parts = TurnParts(
        memory=memory,
        responder=responder,
        speaker=speaker,
        manners=manners,
        clock=clock,
        deleted=deleted,
        reply_seconds=settings.llm.timeout_seconds + 5,  # the model's tools end a second before
        answer_known=hooks.resume,
        before=hooks.before,
        searched=hooks.searched,
        drafted=hooks.drafted,
        reload=reload if hooks.live else None,
    )
    on_stream = playing.meet if playing else None
    chosen = replace(loop_settings(settings), replies=hooks.replies, resume=hooks.resume, recorded_turns=hooks.recorded_turns)
    return ChatLoop(parts, chosen, channel, on_turn=hooks.on_turn, on_stream=on_stream, on_event=hooks.on_event)


def twitch_settings(settings: Settings) -> TwitchSettings:
    """Return who connects to Twitch, as configured."""
    chosen = settings.twitch
    return TwitchSettings(
        client_id=chosen.client_id,
        channel=chosen.channel.lower().lstrip("#"),
        bot=chosen.bot.lower().lstrip("@"),
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


def _responder(
    settings: Settings, memory: Memory, clock: Clock, *, addressing: Addressing, deleted: Tombstones, hooks: Hooks
) -> Responder | None:
    """Return what makes the answers; None where a recorded log has them."""
    if hooks.replies == "log":
        return None
    if hooks.model is None:
        return MemoryResponder(addressing, language=language_chosen(settings))
    tools = toolbox_of(settings, hooks.model, memory, deleted)
    metered = MeteredChat(hooks.model, allowance_of(settings), clock, memory)
    return llm_responder(settings, metered, addressing, tools=tools)


def _with_model(manners: MannersSettings, *, known: bool) -> MannersSettings:
    """Return the manners as they can be kept: without a language model nothing is said unasked, and that is said."""
    if known or not (manners.chance or manners.events):
        return manners
    log.warning("unasked_words_need_a_model", degraded="chance and events are off")
    return replace(manners, chance=0.0, events=frozenset())


async def _at_once(_: float) -> None:
    """On a virtual clock nobody waits."""
