"""Recalls and erasures interleaved, over caches that remember and a store that answers late: nothing erased is ever shown.

The store here is a fake one whose every answer is taken at one moment and handed over at a later one, so that whatever can be
stale is; the recaller, its caches, its history and its sources are the real ones. tests/integration/test_forget_fuzz.py does
the same over the real store, with fewer.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from random import Random

from builders_recall import BOT_VIEWER, CountingEmbedder, WordIndex, a_batch, a_clock, a_line, a_message, a_stream, own_words
from fakes.memory_reader import InMemoryReader

from memory.caches import Cache, RecallCaches
from memory.channels.dense import Dense
from memory.channels.lexical import Lexical
from memory.channels.scoped import ScopedSearch
from memory.history import History
from memory.model import Batch, Document, HistoryLine, KnownViewer, SourceKind
from memory.names import NameIndex
from memory.recall import Recaller
from memory.recipes import FULL, Caches
from memory.rules import load_rules
from memory.sources.viewer import ViewerSource
from memory.surroundings import Surroundings
from memory.trace import Abandoned

INTERLEAVINGS = 10_000
AT_ONCE = 14  # recalls and as many orders to forget in one round
RECIPE = replace(FULL, sources=frozenset({SourceKind.PROFILE, SourceKind.RECALL}))


async def pause(random: Random, most: int = 4) -> None:
    for _ in range(random.randrange(most)):
        await asyncio.sleep(0)


class LateReader(InMemoryReader):
    """Answers with what was there when it was asked, some turns of the loop later."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        found = await super().history(stream_id, limit)
        await pause(self.random)
        return found

    async def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        await pause(self.random)
        found = await super().documents(ids)
        await pause(self.random)
        return found

    async def full_text(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        found = await super().full_text(collection, query, limit)
        await pause(self.random)
        return found

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None) -> list[Document]:
        found = await super().facts(viewer_id, as_of=as_of)
        await pause(self.random)
        return found


@dataclass(slots=True)
class Evening:
    """A recaller over a late store, the words that were told, and those whose erasure has returned."""

    random: Random
    reader: LateReader
    index: WordIndex
    caches: RecallCaches
    history: History
    recaller: Recaller
    told: list[str] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    began: int = 0  # orders to forget, and those that have returned: what a recall met is the difference
    ended: int = 0
    met: int = 0
    found: int = 0
    asked: int = 0
    leaks: list[str] = field(default_factory=list)

    def tell(self) -> str:
        """Somebody says a word that stands nowhere else: a line, a message document and a fact."""
        number = len(self.told)
        word = f"parola{number}x"
        self.told.append(word)
        said, fact = own_words(f"m{number}", f"mi piace {word}"), own_words(f"f{number}", f"ad Alice piace {word}", after=1)
        fact = replace(fact, kind="fact", provenance=(f"m{number}",))
        self.reader.held |= {said.id: said, fact.id: fact}
        self.reader.lines.setdefault("s1", []).append(a_line(f"m{number}", f"mi piace {word}"))
        self.index.hits.setdefault("viewer-101", []).append((said.id, 0.9))
        self.history.changed()
        self.caches.changed("viewer-101")
        return word

    async def forget(self, word: str) -> None:
        """As the memory does: gone from the store, then from what is remembered, then the call returns."""
        number = self.told.index(word)
        await pause(self.random, 12)
        self.began += 1
        await pause(self.random)
        for id_ in (f"m{number}", f"f{number}"):
            self.reader.held.pop(id_, None)
        self.reader.lines["s1"] = [line for line in self.reader.lines["s1"] if line.id != f"m{number}"]
        await pause(self.random)
        self.history.removed()
        self.caches.erased()
        self.erased.add(word)
        self.ended += 1

    async def recall(self, word: str, number: int) -> None:
        await pause(self.random, 12)
        running, before = self.began - self.ended, self.began
        batch: Batch = a_batch(a_message(f"q{number}", f"@ricordo cosa mi piace, {word}?", after=100, mentions=(BOT_VIEWER,)))
        recall = await self.recaller.recall(batch, RECIPE)
        shown = " ".join([recall.block.text, *(line.text for line in recall.window.lines)]).split()
        self.leaks += self.erased.intersection(shown)  # everything whose erasure has returned by now, not only before asking
        self.asked += 1
        self.met += running + self.began - before
        self.found += word in shown


async def an_evening(seed: int) -> Evening:
    random, clock, abandoned = Random(seed), a_clock(), Abandoned()
    reader, index, caches = LateReader(random), WordIndex(), RecallCaches(Caches(), clock)
    reader.known = [KnownViewer(id="101", login="alice", name="Alice")]
    reader.known_streams = [a_stream("s1", after=-100)]
    history = History(reader, bound=60)
    history.begin("s1")
    surroundings = Surroundings(reader, NameIndex())
    await surroundings.load()
    rules = load_rules(("it",))
    search = ScopedSearch((Dense(index, CountingEmbedder(), caches.vectors), Lexical(reader, rules)), reader, caches.hits)
    viewer = ViewerSource(reader, search, caches.profiles)
    recaller = Recaller(
        surroundings=surroundings,
        history=history,
        sources={SourceKind.PROFILE: viewer, SourceKind.RECALL: viewer},
        caches=caches,
        rules=rules,
        language="it",
        clock=clock,
        abandoned=abandoned,
    )
    return Evening(random=random, reader=reader, index=index, caches=caches, history=history, recaller=recaller)


async def test_over_ten_thousand_interleavings_no_recall_shows_what_was_forgotten_before_it_returned() -> None:
    evening = await an_evening(seed=7)
    while evening.met < INTERLEAVINGS:
        words = [evening.tell() for _ in range(AT_ONCE)]
        async with asyncio.TaskGroup() as group:
            for number in range(AT_ONCE):
                asked_for = evening.random.choice(evening.told[-3 * AT_ONCE :])
                group.create_task(evening.recall(asked_for, evening.asked + number))
                if evening.random.random() < 0.8:
                    group.create_task(evening.forget(words[number]))
    assert evening.leaks == []
    assert evening.found > evening.asked / 10  # or else nothing could have leaked
    assert len(evening.erased) > evening.asked / 2


async def test_over_ten_thousand_interleavings_no_cache_gives_what_was_read_before_an_erasure() -> None:
    """One cache, one key: whoever asks after an erasure returned gets what was read after it."""
    random, version, stale, kept = Random(11), 0, 0, 0
    cache = Cache[str, int](seconds=60, entries=4, clock=a_clock())

    async def load() -> int:
        read = version
        await pause(random)
        return read

    async def ask() -> None:
        nonlocal stale, kept
        await pause(random)
        known, held = version, cache.holds("k")
        value = await cache.get("k", load, tags=("t",))
        stale += value < known
        kept += held

    async def erase() -> None:
        nonlocal version
        await pause(random)
        version += 1
        cache.invalidate("t") if random.random() < 0.5 else cache.clear()

    for _ in range(INTERLEAVINGS):
        async with asyncio.TaskGroup() as group:
            for work in random.sample([ask, ask, erase], 3):
                group.create_task(work())
    assert stale == 0
    assert INTERLEAVINGS / 10 < kept < 2 * INTERLEAVINGS  # some were served from the cache, some had to read
