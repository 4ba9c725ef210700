"""The composition inside the memory: every part made once, in order, and given back in reverse, also where opening fails."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from random import Random

import structlog

from memory import judge as judging
from memory import model_reading, relating
from memory.allotment import Allotment
from memory.background import Background
from memory.caches import RecallCaches
from memory.channels.dense import Dense
from memory.channels.exchange import Exchange
from memory.channels.lexical import Lexical
from memory.channels.near import Near
from memory.channels.scoped import ScopedSearch
from memory.channels.taken_back import TakenBack
from memory.clock import Clock
from memory.consolidate import GROUP as TURNS
from memory.consolidate import Consolidator
from memory.correct import Corrector
from memory.events import Channel
from memory.extract.languages import load_languages, load_slots
from memory.extract.llm import ModelReader
from memory.extract.others import claim_extractor, load_others
from memory.extract.rules import rule_extractor
from memory.fading import Fader
from memory.forget import Forgetter
from memory.hearsay import Hearsay
from memory.history import History
from memory.judge import Judge
from memory.model import KnownViewer, SourceKind
from memory.model_reading import ModelReading
from memory.names import NameIndex
from memory.optout import OptOuts
from memory.personal import Personal
from memory.polite import PoliteEmbedder
from memory.ports import Embedder, JsonModel
from memory.precedence import Precedence
from memory.recall import Recaller
from memory.recipes import MemorySettings
from memory.record import Recorder
from memory.relating import Relater
from memory.relevance import Relevance, load_relevance
from memory.retention import Retainer
from memory.rules import Rules, load_rules
from memory.sources import Source
from memory.sources.graph import GraphSource
from memory.sources.lore import LoreSource
from memory.sources.state import StateSource
from memory.sources.stream import StreamSource
from memory.sources.viewer import ViewerSource
from memory.spending import Spending
from memory.state_change import StateChanger
from memory.store import meta, outbox
from memory.store.chroma import ChromaIndex
from memory.store.database import Database
from memory.store.instance_lock import InstanceLock
from memory.store.reader import Reader
from memory.store.viewers import Seen, ViewerBook
from memory.surroundings import Surroundings
from memory.trace import Abandoned
from memory.undo import Undoer
from memory.upkeep import Upkeep
from memory.worthiness import Meaning

log = structlog.get_logger(__name__)
_HISTORY_SLACK = 40  # lines beyond the window: the batch itself is not shown, and is at most this long
_SEED = 0  # delays between retries: the same outbox, the same moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The open memory, in parts. `held` gives them back, in order, when it is closed."""

    recorder: Recorder
    recaller: Recaller
    reader: Reader
    history: History
    surroundings: Surroundings
    caches: RecallCaches
    canon: LoreSource
    precedence: Precedence
    upkeep: Upkeep
    forgetter: Forgetter
    corrector: Corrector
    states: StateChanger
    opt_outs: OptOuts
    personal: Personal
    undoer: Undoer
    relater: Relater
    spending: Spending
    clock: Clock
    held: AsyncExitStack


class _NamedBook(ViewerBook):
    """Keeps the planner's index of names up to date with what was just stored."""

    def __init__(self, names: NameIndex) -> None:
        super().__init__()
        self.names = names
        self._loop = asyncio.get_running_loop()

    def note(self, seen: Seen) -> None:
        """Take what was just committed, from the writer's thread; the names are changed in the loop, where they are read."""
        super().note(seen)
        if seen.changed:
            self._loop.call_soon_threadsafe(self._add, seen.changed)

    def _add(self, viewers: Sequence[KnownViewer]) -> None:
        for viewer in viewers:
            self.names.add(viewer)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What everything else stands on."""

    settings: MemorySettings
    clock: Clock
    embedder: Embedder
    database: Database
    index: ChromaIndex
    abandoned: Abandoned
    caches: RecallCaches
    precedence: Precedence
    names: NameIndex
    rules: tuple[Rules, ...]  # compiled once: 0.3 s
    relevance: Relevance | None  # fitted for the embedder
    model: JsonModel | None = None  # reads lines a second time


def _relevance_for(embedder: Embedder, settings: MemorySettings) -> Relevance | None:
    relevance = load_relevance(embedder.name)
    if relevance is None and settings.recipe.fusion.method == "calibrated":
        log.info("relevance_not_fitted", model=embedder.name, fusion="level")
    return relevance


async def open_parts(
    settings: MemorySettings,
    *,
    channel: Channel,
    embedder: Embedder,
    clock: Clock,
    any_model: bool = False,
    model: JsonModel | None = None,
) -> Parts:
    """Open or create everything below `settings.data_dir`; `facade.open_memory` says what can go wrong."""
    async with AsyncExitStack() as opening:
        opening.callback(InstanceLock.take(settings.data_dir).release)
        database = await Database.open(settings.data_dir / "memory.db", synchronous=settings.synchronous)
        opening.push_async_callback(database.close)
        await database.write(lambda connection: meta.claim(connection, channel))
        precedence = Precedence()
        index = await ChromaIndex.open(settings.data_dir, give_way=precedence.give_way, run=settings.index)
        opening.push_async_callback(index.close)
        abandoned = Abandoned()
        ground = _Ground(
            settings=settings,
            clock=clock,
            embedder=embedder,
            database=database,
            index=index,
            abandoned=abandoned,
            caches=RecallCaches(settings.caches, clock, abandoned),
            precedence=precedence,
            names=NameIndex(),
            rules=load_rules(settings.languages),
            relevance=_relevance_for(embedder, settings),
            model=model,
        )
        opening.push_async_callback(abandoned.close)
        upkeep = _upkeep(ground)
        opening.push_async_callback(upkeep.stop)
        await upkeep.prepare(any_model=any_model)
        parts = _parts(ground, upkeep, held=opening)
        await parts.surroundings.load()
        await parts.opt_outs.load()
        await parts.relater.order()
        return replace(parts, held=opening.pop_all())


def _upkeep(ground: _Ground) -> Upkeep:
    settings, clock, embedder = ground.settings, ground.clock, ground.embedder
    load_languages(settings.languages)  # what is wrong with a rule file is said now, not by a job
    delays = Random(_SEED)  # noqa: S311 - spreads retries, guards nothing
    background = Background(
        ground.database,
        vectors=ground.index,
        embedder=PoliteEmbedder(embedder, ground.precedence),
        clock=clock,
        limits=settings.jobs,
        random=delays,
        meaning=Meaning(ground.rules),
        precedence=ground.precedence,
    )
    background.plan_backups(settings.backup)
    upkeep = Upkeep(
        background,
        ground.database,
        settings=settings,
        clock=clock,
        caches=ground.caches,
        embedder=embedder,
        abandoned=ground.abandoned,
    )
    load_others(settings.languages)
    hearsay = _hearsay(ground)
    rules = partial(rule_extractor, settings.languages)
    consolidator = Consolidator(ground.database, rules, clock, hearsay=hearsay, quotas=settings.quotas)
    upkeep.work("consolidate", consolidator.consolidate, group=TURNS)
    _ask_model(ground, upkeep, consolidator)
    upkeep.work("fade", Fader(ground.database, clock, settings.fading).fade, group=1)
    background.worker.daily("fade")
    retainer = Retainer(ground.database, clock, settings.retention, backups=background.expire_backups)
    upkeep.work("retain", retainer.retain, group=1)
    background.worker.daily("retain")
    return upkeep


def _relater(ground: _Ground, upkeep: Upkeep) -> Relater:
    relater = Relater(ground.database, ground.clock, _hearsay(ground).whom)
    upkeep.work(relating.KIND, relater.relate, group=1)
    return relater


def _hearsay(ground: _Ground) -> Hearsay:
    settings = ground.settings
    return Hearsay(
        partial(claim_extractor, settings.languages), ground.names, load_rules(settings.languages), settings.ignored_bots
    )


def _ask_model(ground: _Ground, upkeep: Upkeep, consolidator: Consolidator) -> None:
    model, limits = ground.model, ground.settings.reading
    if model is None:
        return
    allotment = Allotment(ground.database, limits.tokens_per_stream)
    if limits.lines:
        reading = ModelReading(
            ground.database,
            model,
            consolidator,
            reader=partial(_model_reader, ground.settings.languages),
            clock=ground.clock,
            wait_seconds=limits.wait_seconds,
            allotment=allotment,
        )
        consolidator.second = reading
        upkeep.work_aside(model_reading.KIND, reading.read, group=model_reading.GROUP)
    if limits.judge:
        wait = limits.wait_seconds
        judge = Judge(ground.database, model, consolidator, clock=ground.clock, allotment=allotment, wait_seconds=wait)
        consolidator.judge = judge
        upkeep.work_aside(judging.KIND, judge.judge, group=judging.GROUP)


@lru_cache(maxsize=4)
def _model_reader(languages: tuple[str, ...]) -> ModelReader:
    return ModelReader(rule_extractor(languages), load_slots(), load_others(languages))


def _parts(ground: _Ground, upkeep: Upkeep, *, held: AsyncExitStack) -> Parts:
    settings, clock, caches = ground.settings, ground.clock, ground.caches
    book = _NamedBook(ground.names)
    reader = Reader(ground.database, book)
    surroundings = Surroundings(reader, book.names)
    history = History(reader, bound=settings.recipe.limits.history_messages + _HISTORY_SLACK)
    looking = _looking(ground, reader, upkeep)
    recaller = Recaller(
        surroundings=surroundings,
        history=history,
        sources=looking.sources,
        caches=caches,
        rules=ground.rules,
        relevance=ground.relevance,
        language=settings.block_language,
        clock=clock,
        abandoned=ground.abandoned,
    )
    forgetter = Forgetter(ground.database, clock)
    return Parts(
        recorder=Recorder(ground.database, enqueue=outbox.enqueue, clock=clock, book=book, ignored=settings.ignored_bots),
        recaller=recaller,
        reader=reader,
        history=history,
        surroundings=surroundings,
        caches=caches,
        canon=looking.canon,
        precedence=ground.precedence,
        upkeep=upkeep,
        forgetter=forgetter,
        corrector=Corrector(ground.database, clock, ignored=settings.ignored_bots),
        states=StateChanger(ground.database, clock),
        opt_outs=OptOuts(ground.database, forgetter),
        personal=Personal(ground.database),
        undoer=Undoer(ground.database, clock),
        relater=_relater(ground, upkeep),
        spending=Spending(ground.database),
        clock=clock,
        held=held,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Looking:
    """Where the memory looks, and what of it is warmed."""

    sources: dict[SourceKind, Source]
    canon: LoreSource


def _looking(ground: _Ground, reader: Reader, upkeep: Upkeep) -> _Looking:
    rules, caches = ground.rules, ground.caches
    dense = Dense(ground.index, ground.embedder, caches.vectors, on_lost=upkeep.lost)
    lexical = Lexical(reader, rules)
    near = Near(ground.embedder, caches.texts, rules)
    near_canon = Near(ground.embedder, caches.canon, rules)
    canon = LoreSource(reader, ScopedSearch((dense, lexical), reader, caches.hits), caches.lore, near=near_canon)
    episodes = ScopedSearch((dense, lexical), reader, caches.hits, rules=rules)
    behind, before = TakenBack(reader, rules), Exchange(reader, rules)
    personal = ScopedSearch((dense, lexical), reader, caches.hits, rules=rules, behind=behind, before=before)
    viewer = ViewerSource(reader, personal, caches.profiles)
    sources: dict[SourceKind, Source] = {
        SourceKind.PROFILE: viewer,
        SourceKind.RECALL: viewer,
        SourceKind.GRAPH: GraphSource(reader),
        SourceKind.EPISODE: StreamSource(reader, episodes, ground.relevance),
        SourceKind.LORE: canon,
        SourceKind.STATE: StateSource(reader, near=near),
    }
    return _Looking(sources=sources, canon=canon)
