"""Canon and records chosen by what they say: compared with the real model, since meaning is what is tested."""

from dataclasses import replace

import numpy as np
import pytest
from builders_index import use_model
from builders_recall import NOON, CountingEmbedder, WordIndex, a_clock
from fakes.memory_reader import InMemoryReader

from lore.entry import LoreEntry
from memory.abstain import gate
from memory.caches import RecallCaches
from memory.channels.dense import Dense
from memory.channels.near import MOST_TEXTS, Near
from memory.channels.scoped import Asking, ScopedSearch
from memory.embed.use import UseEmbedder
from memory.errors import ModelUnavailable
from memory.fuse import fuse
from memory.model import Document, Plan, SourceKind, SourceRequest, StateRecord
from memory.ports import Embedder, Vectors
from memory.recipes import FULL, Caches, Recipe
from memory.rules import DOMAINS, load_rules
from memory.sources.lore import FEW_ENTRIES, LoreSource
from memory.sources.state import StateSource
from memory.trace import Trace

CANON = (
    (
        "lift",
        "L'ascensore",
        ("l'ascensore",),
        "Pepita teme gli ascensori: nel 2021 rimase chiusa tra due piani con un tacchino.",
    ),
    (
        "maker",
        "Chi ha fatto Pepita",
        ("origini",),
        "L'ha costruita nonna Ofelia in una cantina di Matera, con i pezzi di una radio.",
    ),
    ("tea", "Le bevande", ("bevande",), "Pepita beve soltanto tè freddo alla pesca. Il caffè lo regala alle piante."),
    (
        "neighbour",
        "Il signor Gelsomino",
        ("Gelsomino",),
        "Il signor Gelsomino abita sotto e suona la tromba alle tre di notte.",
    ),
)
RECORDS = (
    StateRecord(id="r1", domain="relation", text="compagna di stanza al campo estivo", viewers=("101", "202")),
    StateRecord(id="r2", domain="note", text="Bob porta le sedie alla grigliata", viewers=("202",)),
    StateRecord(id="j1", domain="joke", text="il tostapane che parla francese", viewers=("101",)),
)


@pytest.fixture
async def use() -> UseEmbedder:
    model = UseEmbedder(use_model())
    await model.embed(["."])
    return model


class Place:
    """The canon and the records, with a model to compare by."""

    def __init__(self, embedder: Embedder, *, entries: int = 0) -> None:
        self.reader = InMemoryReader(())
        filler = [(f"more{number}", f"Altro {number}", (), "niente") for number in range(entries)]
        self.reader.entries = [
            LoreEntry(id=id_, title=title, aliases=aliases, text=text, digest="1")
            for id_, title, aliases, text in (*CANON, *filler)
        ]
        for entry in self.reader.entries:
            text = f"{entry.title}: {entry.text}"
            self.reader.held[entry.id] = Document(
                id=entry.id, collection="lore", kind="lore", text=text, at=NOON, provenance=(f"lore:{entry.id}",)
            )
        self.reader.records = list(RECORDS)
        caches = RecallCaches(Caches(), a_clock())
        self.index = WordIndex({"lore": [("tea", 0.9)]})
        dense = Dense(self.index, embedder, caches.vectors)
        near = Near(embedder, caches.texts, load_rules(("it", "en")))
        self.lore = LoreSource(self.reader, ScopedSearch([dense], self.reader, caches.hits), caches.lore, near=near)
        self.state = StateSource(self.reader, near=near)
        self.near = near


def asking(recipe: Recipe = FULL) -> Asking:
    return Asking(recipe=recipe, at=NOON, trace=Trace(a_clock(), total_seconds=5))


async def entries(place: Place, query: str, *, strict: bool = False, recipe: Recipe = FULL) -> list[str]:
    request = SourceRequest(kind=SourceKind.LORE, why="asked", query=query, strict=strict)
    found = await place.lore.ask(request, asking(recipe))
    return list(dict.fromkeys(one.document.id for ranking in found.rankings for one in ranking.candidates))


async def shown(place: Place, query: str) -> list[str]:
    """What the gate leaves of the canon, where nobody asked for it outright and no chances are fitted."""
    request = SourceRequest(kind=SourceKind.LORE, why="the canon may say it", query=query, strict=True)
    found = await place.lore.ask(request, asking())
    kept, _ = gate(fuse(found.rankings, FULL), Plan(requests=(request,)), FULL)
    return [item.document.id for item in kept]


async def records(place: Place, query: str, *people: str, recipe: Recipe = FULL) -> list[str]:
    request = SourceRequest(kind=SourceKind.STATE, why="asked", query=query, domains=DOMAINS, viewer_ids=people, strict=True)
    return [record.id for record in (await place.state.ask(request, asking(recipe))).records]


@pytest.mark.parametrize(
    ("query", "entry"),
    [
        ("cosa ti spaventa?", "lift"),
        ("perché prendi sempre le scale?", "lift"),
        ("chi ti ha messa insieme?", "maker"),
        ("who built you?", "maker"),
        ("cosa bevi di solito?", "tea"),
        ("what do you drink?", "tea"),
        ("chi fa tutto quel baccano di notte?", "neighbour"),
    ],
)
async def test_the_entry_that_says_it_comes_first_though_no_alias_is_named(use: UseEmbedder, query: str, entry: str) -> None:
    assert (await entries(Place(use), query))[0] == entry


async def test_a_question_of_something_else_shows_no_canon_where_only_nearness_speaks_for_it(use: UseEmbedder) -> None:
    assert await shown(Place(use), "quanti giorni ha febbraio?") == []
    assert await shown(Place(use), "la storia dell'ascensore col tacchino?") == ["lift"]


async def test_without_meaning_the_words_still_find_an_entry(use: UseEmbedder) -> None:
    wordless = replace(FULL, channels=FULL.channels - {"dense"})
    assert (await entries(Place(use), "e del tè alla pesca che mi dici?", recipe=wordless))[0] == "tea"
    assert await entries(Place(use), "e del tè alla pesca?", recipe=replace(FULL, channels=frozenset({"recency"}))) == []


async def test_a_model_that_fails_leaves_the_words() -> None:
    class Broken(CountingEmbedder):
        async def embed(self, texts: object) -> Vectors:
            raise ModelUnavailable(self.name)

    assert (await entries(Place(Broken()), "e del tè alla pesca che mi dici?"))[0] == "tea"


async def test_a_large_canon_is_searched_in_the_index() -> None:
    place = Place(CountingEmbedder(), entries=FEW_ENTRIES)
    assert await entries(place, "cosa bevi?") == ["tea"]
    assert [collection for collection, _ in place.index.asked] == ["lore"]
    assert await entries(place, "cosa bevi?", strict=True) == []


async def test_a_record_of_whom_is_asked_about_is_found_by_what_it_says(use: UseEmbedder) -> None:
    place = Place(use)
    assert await records(place, "chi divide la stanza con me al campo?", "101") == ["r1"]
    assert await records(place, "chi divide la stanza con me al campo?", "303") == []
    assert await records(place, "che ore sono a Lima?", "101") == []


async def test_what_is_everybodys_must_come_nearer_than_what_is_ones_own(use: UseEmbedder) -> None:
    place = Place(use)
    assert await records(place, "com'era quella del tostapane francese?", "303") == ["j1"]
    assert await records(place, "cosa mangio a colazione?", "101") == []


async def test_records_are_found_by_their_words_alone_too(use: UseEmbedder) -> None:
    wordless = replace(FULL, channels=FULL.channels - {"dense"})
    assert await records(Place(use), "le sedie della grigliata?", "202", recipe=wordless) == ["r2"]


async def test_more_texts_than_may_be_embedded_are_compared_by_words_alone(use: UseEmbedder) -> None:
    found = await Place(use).near.cosines("pesca", ["pesca"] * (MOST_TEXTS + 1))
    assert found[0] > 0.9
    assert found[-1] == 0
    assert not np.any(await Place(use).near.cosines("", ["pesca"]))
