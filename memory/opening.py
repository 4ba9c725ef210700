"""The composition inside the memory: every part made once, in order, and given back in reverse, also where opening fails."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from random import Random

from memory.background import Background
from memory.caches import RecallCaches
from memory.channels.dense import Dense
from memory.channels.lexical import Lexical
from memory.channels.recency import Recency
from memory.channels.scoped import ScopedSearch
from memory.clock import Clock
from memory.consolidate import Consolidator
from memory.events import Channel
from memory.extract.languages import load_languages, load_slots
from memory.extract.rules import RuleExtractor
from memory.history import History
from memory.model import SourceKind
from memory.names import NameIndex
from memory.ports import Embedder, VectorIndex
from memory.recall import Recaller
from memory.recipes import MemorySettings
from memory.record import Recorder
from memory.rules import load_rules
from memory.sources import Source
from memory.sources.lore import LoreSource
from memory.sources.state import StateSource
from memory.sources.stream import StreamSource
from memory.sources.viewer import ViewerSource
from memory.store import census, outbox
from memory.store.chroma import ChromaIndex
from memory.store.database import Database
from memory.store.instance_lock import InstanceLock
from memory.store.reader import Reader
from memory.store.viewers import Seen, ViewerBook
from memory.surroundings import Surroundings
from memory.trace import Abandoned
from memory.upkeep import Upkeep

_HISTORY_SLACK = 60  # lines beyond the window: the batch itself is not shown, and is at most this long
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
    upkeep: Upkeep
    held: AsyncExitStack


class _NamedBook(ViewerBook):
    """Keeps the planner's index of names up to date with what was just stored."""

    def __init__(self, names: NameIndex) -> None:
        super().__init__()
        self.names = names

    def note(self, seen: Seen) -> None:
        """Take what was just committed."""
        super().note(seen)
        for viewer in seen.changed:
            self.names.add(viewer)


async def open_parts(
    settings: MemorySettings, *, channel: Channel, embedder: Embedder, clock: Clock, any_model: bool = False
) -> Parts:
    """Open or create everything below `settings.data_dir`; `facade.open_memory` says what can go wrong."""
    rules, slots = load_rules(settings.languages), load_slots()
    async with AsyncExitStack() as opening:
        opening.callback(InstanceLock.take(settings.data_dir).release)
        database = await Database.open(settings.data_dir / "memory.db", synchronous=settings.synchronous)
        opening.push_async_callback(database.close)
        await database.write(lambda connection: census.claim(connection, channel))
        index = await ChromaIndex.open(settings.data_dir)
        opening.push_async_callback(index.close)
        abandoned = Abandoned()
        opening.push_async_callback(abandoned.close)
        caches = RecallCaches(settings.caches, clock)
        upkeep = Upkeep(
            Background(database, vectors=index, embedder=embedder, clock=clock, limits=settings.jobs, random=_seeded()),
            database,
            settings=settings,
            clock=clock,
            caches=caches,
            embedder=embedder,
            abandoned=abandoned,
            consolidator=Consolidator(database, RuleExtractor(load_languages(settings.languages), slots), slots, clock),
        )
        opening.push_async_callback(upkeep.stop)
        await upkeep.prepare(any_model=any_model)
        book = _NamedBook(NameIndex())
        reader = Reader(database, book)
        surroundings = Surroundings(reader, book.names)
        await surroundings.load()
        history = History(reader, bound=settings.recipe.limits.history_messages + _HISTORY_SLACK)
        recaller = Recaller(
            surroundings=surroundings,
            history=history,
            sources=_sources(reader, index, embedder, caches, on_lost=upkeep.lost),
            caches=caches,
            rules=rules,
            language=settings.block_language,
            clock=clock,
            abandoned=abandoned,
        )
        recorder = Recorder(database, enqueue=outbox.enqueue, clock=clock, book=book, ignored=settings.ignored_bots)
        return Parts(
            recorder=recorder,
            recaller=recaller,
            reader=reader,
            history=history,
            surroundings=surroundings,
            caches=caches,
            upkeep=upkeep,
            held=opening.pop_all(),
        )


def _sources(
    reader: Reader, index: VectorIndex, embedder: Embedder, caches: RecallCaches, *, on_lost: Callable[[tuple[str, ...]], None]
) -> dict[SourceKind, Source]:
    dense = Dense(index, embedder, caches.vectors, on_lost=on_lost)
    search = ScopedSearch((dense, Lexical(reader), Recency(reader)), reader, caches.hits)
    viewer = ViewerSource(reader, search, caches.profiles)
    return {
        SourceKind.PROFILE: viewer,
        SourceKind.RECALL: viewer,
        SourceKind.EPISODE: StreamSource(search),
        SourceKind.LORE: LoreSource(reader, search, caches.lore),
        SourceKind.STATE: StateSource(reader),
    }


def _seeded() -> Random:
    """Return where the delays between retries come from: the same in every run."""
    return Random(_SEED)  # noqa: S311 - spreads retries, guards nothing
