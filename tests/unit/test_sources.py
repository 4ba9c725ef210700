from dataclasses import replace
from datetime import timedelta

import pytest
from builders_recall import NOON, CountingEmbedder, WordIndex, a_clock, a_whole_turn, own_words
from fakes.memory_reader import InMemoryReader
from structlog.testing import capture_logs

from memory.caches import RecallCaches
from memory.channels import Channel
from memory.channels.dense import Dense
from memory.channels.lexical import Lexical
from memory.channels.scoped import CANDIDATES, Asking, ScopedSearch
from memory.errors import IndexUnavailable
from memory.model import Document, SourceKind, SourceRequest, StateRecord
from memory.ports import Vectors
from memory.recipes import FULL, Caches, Recipe
from memory.sources import Found
from memory.sources.lore import LoreSource
from memory.sources.state import StateSource
from memory.sources.stream import StreamSource
from memory.sources.viewer import ViewerSource
from memory.trace import Trace

RECALL = SourceRequest(kind=SourceKind.RECALL, why="asked", query="gatto", viewer_id="101")
PROFILE = SourceRequest(kind=SourceKind.PROFILE, why="active", viewer_id="101")
EPISODE = SourceRequest(kind=SourceKind.EPISODE, why="earlier", query="gatto", stream_id="s1")


class BrokenIndex(WordIndex):
    async def search(self, collection: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        raise IndexUnavailable(collection)


class Bench:
    """Every source over one set of documents."""

    def __init__(self, *documents: Document, dense: tuple[str, ...] = (), index: WordIndex | None = None) -> None:
        self.reader = InMemoryReader(documents)
        hits: dict[str, list[tuple[str, float]]] = {}
        for collection in ("viewer-101", "stream-s1", "lore"):
            hits[collection] = [(id_, 0.9 - number / 10) for number, id_ in enumerate(dense)]
        self.index = index or WordIndex(hits)
        self.embedder = CountingEmbedder()
        self.caches = RecallCaches(Caches(), a_clock())
        channels: list[Channel] = [
            Dense(self.index, self.embedder, self.caches.vectors),
            Lexical(self.reader),
        ]
        self.search = ScopedSearch(channels, self.reader, self.caches.hits)
        self.viewer = ViewerSource(self.reader, self.search, self.caches.profiles)
        self.stream = StreamSource(self.reader, self.search)
        self.lore = LoreSource(self.reader, self.search, self.caches.lore)
        self.state = StateSource(self.reader)


def asking(*, recipe: Recipe = FULL, shown: frozenset[str] = frozenset()) -> Asking:
    return Asking(recipe=recipe, at=NOON, trace=Trace(a_clock(), total_seconds=5), shown=shown)


def found(answer: Found) -> dict[str, list[str]]:
    return {ranking.channel: [candidate.document.id for candidate in ranking.candidates] for ranking in answer.rankings}


async def test_a_viewers_words_are_ranked_by_every_channel() -> None:
    bench = Bench(own_words("a", "il mio gatto"), own_words("b", "altro", after=5), dense=("b", "a"))
    answer = await bench.viewer.ask(RECALL, asking())
    assert found(answer) == {"dense": ["b", "a"], "lexical": ["a"], "recency": ["b", "a"]}
    first = answer.rankings[0].candidates[0]
    assert (first.channel, first.rank, first.score) == ("dense", 1, 0.9)


async def test_a_recipe_without_a_channel_does_not_ask_it() -> None:
    bench = Bench(own_words("a", "gatto"), dense=("a",))
    assert found(await bench.viewer.ask(RECALL, asking(recipe=replace(FULL, channels=frozenset({"lexical"}))))) == {
        "lexical": ["a"]
    }
    assert bench.embedder.queries == []


async def test_a_document_among_the_best_of_one_channel_keeps_what_the_others_gave_it() -> None:
    documents = [own_words(f"m{number:02}", "altro") for number in range(CANDIDATES + 2)]
    bench = Bench(*documents, own_words("last", "gatto"), dense=(*(document.id for document in documents), "last"))
    answer = found(await bench.viewer.ask(RECALL, asking()))
    assert answer["lexical"] == ["last"]
    assert answer["dense"] == [*(f"m{number:02}" for number in range(CANDIDATES)), "last"]
    assert f"m{CANDIDATES + 1}" not in answer["recency"]  # only a prior would speak for it


async def test_an_empty_question_searches_nothing() -> None:
    bench = Bench(own_words("a", "gatto"), dense=("a",))
    assert len(await bench.viewer.ask(replace(RECALL, query=" \n"), asking())) == 0
    assert bench.embedder.queries == []


async def test_a_question_is_embedded_once_for_every_collection() -> None:
    bench = Bench(own_words("a", "gatto"), a_whole_turn("t", "gatto"), dense=("a", "t"))
    await bench.viewer.ask(RECALL, asking())
    await bench.stream.ask(EPISODE, asking())
    assert bench.embedder.queries == ["gatto"]


async def test_a_vector_of_zeros_finds_nothing() -> None:
    class Blank(CountingEmbedder):
        def _vector(self, text: str) -> Vectors:
            return super()._vector("")

    bench = Bench(own_words("a", "gatto"), dense=("a",))
    bench.search = ScopedSearch([Dense(bench.index, Blank(), bench.caches.vectors)], bench.reader, bench.caches.hits)
    assert found(await ViewerSource(bench.reader, bench.search, bench.caches.profiles).ask(RECALL, asking()))["dense"] == []


async def test_another_viewers_document_in_the_index_is_dropped_and_reported() -> None:
    stray = replace(own_words("x", "gatto di Bob", viewer_id="202"), collection="viewer-101")
    bench = Bench(own_words("a", "gatto"), stray, dense=("x", "a"))
    with capture_logs() as logs:
        answer = await bench.viewer.ask(RECALL, asking())
    assert {id_ for ids in found(answer).values() for id_ in ids} == {"a"}
    assert [entry["document_id"] for entry in logs if entry["event"] == "foreign_document_dropped"] == ["x"]
    assert all("Bob" not in str(entry) for entry in logs)


async def test_an_erased_document_that_the_index_still_holds_is_not_found() -> None:
    bench = Bench(own_words("a", "gatto"), dense=("gone", "a"))
    assert found(await bench.viewer.ask(RECALL, asking()))["dense"] == ["a"]


async def test_excluded_lines_do_not_take_the_places_of_others() -> None:
    documents = [own_words(f"m{number}", "gatto") for number in range(8)]
    bench = Bench(*documents, dense=tuple(document.id for document in documents))
    request = replace(RECALL, exclude=("m0", "m1"))
    shown = frozenset({"m2", "m3"})
    dense = found(await bench.viewer.ask(request, asking(shown=shown)))["dense"]
    assert dense == ["m4", "m5", "m6", "m7"]


async def test_a_turn_partly_out_of_the_window_is_found_one_wholly_in_it_is_not() -> None:
    inside = a_whole_turn("in", "gatto", provenance=("1", "2"))
    partly = a_whole_turn("partly", "gatto", provenance=("0", "1"))
    bench = Bench(inside, partly, dense=("in", "partly"))
    assert found(await bench.stream.ask(EPISODE, asking(shown=frozenset({"1", "2"}))))["dense"] == ["partly"]


async def test_another_streams_turn_is_dropped() -> None:
    stray = replace(a_whole_turn("x", "gatto", stream_id="s2"), collection="stream-s1")
    bench = Bench(a_whole_turn("t", "gatto"), stray, dense=("x", "t"))
    assert found(await bench.stream.ask(EPISODE, asking()))["dense"] == ["t"]


async def test_a_broken_index_leaves_the_words_and_is_noted() -> None:
    bench = Bench(own_words("a", "gatto"), index=BrokenIndex())
    question = asking()
    assert found(await bench.viewer.ask(RECALL, question))["lexical"] == ["a"]
    assert question.trace.names("failed") == ("viewer:101:recall/dense",)


async def test_repeated_searches_come_from_the_cache_until_the_viewer_changes() -> None:
    bench = Bench(own_words("a", "gatto"), dense=("a",))
    question = asking()
    for _ in range(2):
        await bench.viewer.ask(RECALL, question)
    assert [step.cache_hits for step in question.trace.steps] == [0, 0, 1, 1]
    assert len(bench.index.asked) == 1
    bench.caches.changed("viewer-101")
    await bench.viewer.ask(RECALL, asking())
    assert len(bench.index.asked) == 2


async def test_the_profile_holds_the_facts_true_at_the_moment_asked_about() -> None:
    def fact(id_: str, *, from_day: int, to_day: int | None = None) -> Document:
        until = None if to_day is None else NOON + timedelta(days=to_day)
        return replace(own_words(id_, id_), kind="fact", valid_at=NOON + timedelta(days=from_day), invalid_at=until)

    bench = Bench(fact("old", from_day=-20, to_day=-10), fact("now", from_day=-10), fact("later", from_day=5))
    assert found(await bench.viewer.ask(PROFILE, asking())) == {"exact": ["now"]}
    past = replace(PROFILE, as_of=NOON - timedelta(days=15))
    assert found(await bench.viewer.ask(past, asking())) == {"exact": ["old"]}
    assert found(await bench.viewer.ask(replace(PROFILE, exclude=("now",)), asking())) == {"exact": []}


async def test_a_profile_is_cached_by_viewer_and_read_again_after_a_change() -> None:
    bench = Bench(replace(own_words("f", "vive a Torino"), kind="fact"))
    for _ in range(2):
        await bench.viewer.ask(PROFILE, asking())
    assert bench.reader.calls == ["facts"]
    bench.reader.held.clear()
    bench.caches.changed("viewer-101")
    assert found(await bench.viewer.ask(PROFILE, asking())) == {"exact": []}


async def test_a_fact_about_somebody_else_never_stands_in_a_profile() -> None:
    class Confused(InMemoryReader):
        async def facts(self, viewer_id: str, *, as_of: object = None) -> list[Document]:
            return [replace(own_words("f", "x", viewer_id="202"), kind="fact")]

    source = ViewerSource(Confused(), Bench().search, RecallCaches(Caches(), a_clock()).profiles)
    assert found(await source.ask(PROFILE, asking())) == {"exact": []}


def lore_entry(id_: str, text: str) -> Document:
    return Document(id=f"lore:{id_}", collection="lore", kind="lore", text=text, at=NOON, provenance=(f"lore:{id_}",))


async def test_lore_named_outright_comes_without_a_search() -> None:
    bench = Bench(lore_entry("moka", "la moka sacra"), lore_entry("gatto", "il gatto del capitano"), dense=("lore:gatto",))
    named = SourceRequest(kind=SourceKind.LORE, why="alias", lore_ids=("moka", "unknown"))
    assert found(await bench.lore.ask(named, asking())) == {"exact": ["lore:moka"]}
    assert bench.index.asked == []
    searched = SourceRequest(kind=SourceKind.LORE, why="persona", query="gatto")
    assert found(await bench.lore.ask(searched, asking()))["dense"] == ["lore:gatto"]


async def test_lore_is_read_again_after_it_changed() -> None:
    bench = Bench(lore_entry("moka", "la moka sacra"))
    named = SourceRequest(kind=SourceKind.LORE, why="alias", lore_ids=("moka",))
    await bench.lore.ask(named, asking())
    bench.reader.held.clear()
    assert found(await bench.lore.ask(named, asking())) == {"exact": ["lore:moka"]}
    bench.caches.changed("lore")
    assert found(await bench.lore.ask(named, asking())) == {"exact": []}


async def test_state_gives_the_live_records_of_its_domains_and_viewers() -> None:
    bench = Bench()
    bench.reader.records = [
        StateRecord(id="1", domain="request", text="gioca a Celeste", viewers=("101",), created_at=NOON),
        StateRecord(id="2", domain="note", text="scaduta", viewers=("101",), expires_at=NOON - timedelta(days=1)),
        StateRecord(id="3", domain="joke", text="la moka", viewers=("101", "202")),
        StateRecord(id="4", domain="joke", text="il ponte"),
    ]
    request = SourceRequest(kind=SourceKind.STATE, why="asked", domains=("request", "note", "joke"))
    answer = await bench.state.ask(request, asking())
    assert [record.id for record in answer.records] == ["1", "3", "4"]
    mine = replace(request, viewer_ids=("202",))
    assert [record.id for record in (await bench.state.ask(mine, asking())).records] == ["3", "4"]  # 4 is everybody's


@pytest.mark.parametrize("kind", [SourceKind.RECALL, SourceKind.PROFILE])
async def test_a_viewer_request_without_a_viewer_is_refused(kind: SourceKind) -> None:
    with pytest.raises(ValueError, match="names no viewer"):
        await Bench().viewer.ask(SourceRequest(kind=kind, why="?", query="x"), asking())


async def test_an_episode_request_without_a_stream_is_refused() -> None:
    with pytest.raises(ValueError, match="names no stream"):
        await Bench().stream.ask(SourceRequest(kind=SourceKind.EPISODE, why="?", query="x"), asking())
