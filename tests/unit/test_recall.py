import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace

import pytest
from builders_recall import (
    BOT_VIEWER,
    NOON,
    CountingEmbedder,
    WordIndex,
    a_batch,
    a_clock,
    a_line,
    a_message,
    a_stream,
    a_viewer,
    a_whole_turn,
    own_words,
)
from fakes.memory_reader import InMemoryReader

from lore.entry import LoreEntry
from memory.caches import RecallCaches
from memory.channels import Channel
from memory.channels.dense import Dense
from memory.channels.lexical import Lexical
from memory.channels.scoped import Asking, ScopedSearch
from memory.errors import InvalidRow, StoreUnavailable
from memory.history import History
from memory.model import Batch, Document, HistoryLine, KnownViewer, SourceKind, SourceRequest, StateRecord, Stream
from memory.names import NameIndex
from memory.recall import Recaller
from memory.recipes import FULL, Caches, Deadlines, Recipe
from memory.rules import load_rules
from memory.sources import Found, Source
from memory.sources.lore import LoreSource
from memory.sources.state import StateSource
from memory.sources.stream import StreamSource
from memory.sources.viewer import ViewerSource
from memory.surroundings import Surroundings
from memory.trace import Abandoned

RULES = load_rules(("it", "en"))
FAST = replace(FULL, deadlines=Deadlines(source_seconds=0.1, retrieve_seconds=0.2, recall_seconds=0.3))
CAT = a_batch(a_message("q1", "@ricordo come si chiama il mio gatto?", mentions=(BOT_VIEWER,)))
EVERYTHING = a_batch(
    a_message("q1", "@ricordo come si chiama il mio gatto?", mentions=(BOT_VIEWER,)),
    a_message("q2", "@ricordo cosa ha detto Bob all'inizio dello stream?", mentions=(BOT_VIEWER,)),
    a_message("q3", "@ricordo ci sono richieste aperte?", mentions=(BOT_VIEWER,)),
    a_message("q4", "@ricordo cos'è la moka sacra?", mentions=(BOT_VIEWER,)),
)
PLANNED = [kind for kind in SourceKind if kind not in {SourceKind.CLAIMS, SourceKind.GRAPH}]  # these come along with the recall
OF_ALICE = {SourceKind.PROFILE, SourceKind.RECALL}


class Hangs:
    """A source that never answers, and does not let itself be cancelled for a while."""

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        for _ in range(3):
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
        return Found()


class Breaks:
    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        raise StoreUnavailable(request.name)


class HungReader(InMemoryReader):
    """A store of which some calls never answer."""

    def __init__(self, *hung: str) -> None:
        super().__init__()
        self.hung = hung

    async def _perhaps(self, name: str) -> None:
        if name in self.hung:
            await asyncio.Event().wait()

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        await self._perhaps("history")
        return await super().history(stream_id, limit)

    async def stream(self, stream_id: str) -> Stream | None:
        await self._perhaps("stream")
        return await super().stream(stream_id)


def filled(reader: InMemoryReader) -> InMemoryReader:
    documents = [
        replace(own_words("fact", "il gatto di Alice si chiama Birba"), kind="fact"),
        own_words("words", "ho dato il pesce al gatto", after=-9000),
        own_words("bobs", "mi piace il ponte", viewer_id="202", after=-8000),
        a_whole_turn("turn", "Bob: all'inizio ho detto ponte"),
    ]
    reader.held = {document.id: document for document in documents}
    reader.held["moka"] = Document(
        id="moka", collection="lore", kind="lore", text="La moka sacra: fa il caffè", at=NOON, provenance=("lore:moka",)
    )
    reader.known = [KnownViewer(id="101", login="alice", name="Alice"), KnownViewer(id="202", login="bob", name="Bob")]
    reader.known_streams = [a_stream("s1", after=-100)]
    reader.entries = [LoreEntry(id="moka", title="La moka", aliases=("moka sacra",), text="fa il caffè", digest="1")]
    reader.records = [StateRecord(id="r1", domain="request", text="giocare a Celeste", viewers=("202",), created_at=NOON)]
    return reader


class Scene:
    """A recaller over an in-memory store, with some sources replaced."""

    def __init__(self, reader: InMemoryReader, faults: Mapping[SourceKind, Source] | None = None) -> None:
        self.reader = reader
        self.caches = RecallCaches(Caches(), a_clock())
        self.abandoned = Abandoned()
        self.embedder = CountingEmbedder()
        self.history = History(reader, bound=80)
        self.history.begin("s1")
        channels: tuple[Channel, ...] = (Dense(WordIndex(), self.embedder, self.caches.vectors), Lexical(reader))
        search = ScopedSearch(channels, reader, self.caches.hits)
        viewer = ViewerSource(reader, search, self.caches.profiles)
        self.sources: dict[SourceKind, Source] = {
            SourceKind.PROFILE: viewer,
            SourceKind.RECALL: viewer,
            SourceKind.EPISODE: StreamSource(reader, search),
            SourceKind.LORE: LoreSource(reader, search, self.caches.lore),
            SourceKind.STATE: StateSource(reader),
            **(faults or {}),
        }
        self.surroundings = Surroundings(reader, NameIndex())
        self.recaller = Recaller(
            surroundings=self.surroundings,
            history=self.history,
            sources=self.sources,
            caches=self.caches,
            rules=RULES,
            language="it",
            clock=a_clock(),
            abandoned=self.abandoned,
        )


async def a_scene(reader: InMemoryReader | None = None, faults: Mapping[SourceKind, Source] | None = None) -> Scene:
    scene = Scene(filled(reader or InMemoryReader()), faults)
    await scene.surroundings.load()
    return scene


async def test_a_question_is_answered_from_its_authors_memory_step_by_step() -> None:
    scene = await a_scene()
    recall = await scene.recaller.recall(CAT, FULL)
    assert "Birba" in recall.block.text
    assert {item.subject for item in recall.block.items} == {"101"}
    assert not recall.degraded
    main = [step.step for step in recall.steps if ":" not in step.step and step.step not in {"state", "lore"}]
    assert main == ["history", "plan", "retrieve", "fuse", "gate", "dedup", "budget"]
    assert recall.steps[-1].items_out == len(recall.block.items)


async def test_every_kind_of_source_finds_its_place_in_the_block() -> None:
    scene = await a_scene()
    recall = await scene.recaller.recall(EVERYTHING, FULL)
    assert {request.kind for request in recall.plan.requests} == set(PLANNED)
    assert {"state", "lore", "profile", "episode"} <= {item.section for item in recall.block.items}
    assert scene.embedder.queries.count("come si chiama il mio gatto?") == 1


async def test_ordinary_chat_asks_nothing() -> None:
    scene = await a_scene()
    scene.reader.calls.clear()
    recall = await scene.recaller.recall(a_batch(a_message("x", "che bella giornata")), FULL)
    assert (recall.plan.requests, recall.block.text, scene.reader.calls) == ((), "", ["history"])


@pytest.mark.parametrize("kind", PLANNED)
@pytest.mark.parametrize(("fault", "where"), [(Hangs(), "timed_out"), (Breaks(), "failed")])
async def test_a_source_that_hangs_or_breaks_is_named_and_left_out(kind: SourceKind, fault: Source, where: str) -> None:
    scene = await a_scene(faults={kind: fault})
    recall = await scene.recaller.recall(EVERYTHING, FAST)
    named = {request.name for request in recall.plan.requests if request.kind is kind}
    assert set(getattr(recall, where)) == named
    assert recall.degraded
    assert kind.value not in {item.section for item in recall.block.items}
    assert recall.block.items


async def test_with_every_source_hung_the_answer_comes_within_the_deadline() -> None:
    scene = await a_scene(faults=dict.fromkeys(SourceKind, Hangs()))
    began = time.perf_counter()
    recall = await scene.recaller.recall(EVERYTHING, FAST)
    assert time.perf_counter() - began < FAST.deadlines.recall_seconds + 1  # the sources hang for a minute and a half
    assert set(recall.timed_out) == {request.name for request in recall.plan.requests}
    assert recall.block.abstained
    assert scene.abandoned.total >= len(recall.plan.requests)
    await scene.abandoned.close()
    await scene.abandoned.close()


async def test_a_hung_history_falls_back_to_what_is_known_and_leaves_time_for_the_sources() -> None:
    scene = await a_scene(HungReader("history"))
    recall = await scene.recaller.recall(CAT, FAST)
    assert recall.degraded
    assert recall.window.lines == ()
    assert "Birba" in recall.block.text


async def test_a_store_too_slow_to_name_the_stream_gives_an_empty_answer() -> None:
    scene = await a_scene(HungReader("stream"))
    recall = await scene.recaller.recall(replace(CAT, stream_id="elsewhere"), FAST)
    assert (recall.degraded, recall.block.text) == (True, "")


async def test_a_stream_that_never_began_is_refused() -> None:
    scene = await a_scene()
    with pytest.raises(InvalidRow, match="begin_stream"):
        await scene.recaller.recall(replace(CAT, stream_id="elsewhere"), FAST)


async def test_a_recipe_with_no_sources_gives_the_history_alone() -> None:
    scene = await a_scene()
    scene.reader.lines["s1"] = [a_line("l1", "ciao"), a_line("q1", "the batch itself")]
    recall = await scene.recaller.recall(CAT, replace(FULL, sources=frozenset()))
    assert [line.id for line in recall.window.lines] == ["l1"]
    assert recall.block.items == ()


async def test_a_moment_given_by_the_caller_is_asked_about_in_every_personal_request() -> None:
    scene = await a_scene()
    moment = NOON.replace(year=2020)
    recall = await scene.recaller.recall(CAT, FULL, as_of=moment)
    assert {request.as_of for request in recall.plan.requests if request.kind in OF_ALICE} == {moment}
    assert recall.plan.as_of == moment


class ErasesWhileAsked:
    """A source in whose midst a viewer's words are erased, the first `times` it is asked."""

    def __init__(self, inner: Source, reader: InMemoryReader, caches: RecallCaches, *, times: int) -> None:
        self.inner, self.reader, self.caches, self.times = inner, reader, caches, times

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        found = await self.inner.ask(request, asking)
        if self.times:
            self.times -= 1
            self.reader.held = {}
            self.caches.erased()
        return found


@pytest.mark.parametrize("times", [1, 2, 99])
async def test_what_is_erased_while_a_recall_is_under_way_does_not_come_out_of_it(times: int) -> None:
    scene = await a_scene()
    for kind in OF_ALICE:
        scene.sources[kind] = ErasesWhileAsked(scene.sources[kind], scene.reader, scene.caches, times=times)
    recall = await scene.recaller.recall(CAT, FULL)
    assert "Birba" not in recall.block.text
    assert recall.block.items == ()
    assert recall.degraded is (times == 99)  # it never came to rest: it says so


async def test_other_viewers_words_never_come_with_any_plan() -> None:
    scene = await a_scene()
    questions = ["come si chiama il mio gatto?", "cosa ricordi di me?", "cosa sai di Bob?", "what did I say about the bridge?"]
    for number, text in enumerate(questions):
        for user in (a_viewer(), a_viewer("202", "Bob")):
            batch: Batch = a_batch(a_message(f"q{number}", f"@ricordo {text}", user=user, mentions=(BOT_VIEWER,)))
            recall = await scene.recaller.recall(batch, FULL)
            personal = [item for item in recall.block.items if item.section in {"profile", "recall"}]
            assert all(item.source.split(":")[1] == item.subject for item in personal)


def test_the_recipes_refuse_deadlines_that_do_not_nest() -> None:
    with pytest.raises(ValueError, match="must nest"):
        Recipe(deadlines=Deadlines(source_seconds=0.9))
