"""What kind of thing a question is after, and what of that kind was said."""

import asyncio

import pytest
from builders_recall import own_words
from fakes.hash_embedder import HashEmbedder
from fakes.memory_index import MemoryIndex
from fakes.memory_reader import InMemoryReader

from memory.channels.lexical import Lexical
from memory.channels.slot import Slot
from memory.errors import ModelUnavailable
from memory.rules import load_rules, slots_of

RULES = load_rules(("it", "en"))


@pytest.mark.parametrize(
    ("question", "slot"),
    [
        ("che lavoro faccio?", "work"),
        ("where do I live now?", "home"),
        ("come si chiama il mio gatto?", "pet"),
        ("which instrument does she play?", "hobby"),
        ("quando parte?", "when"),
        ("am I allergic to anything?", "food"),
    ],
)
def test_a_question_is_after_its_slot(question: str, slot: str) -> None:
    assert slot in slots_of(question, RULES)


def test_every_slot_asks_and_says_in_both_languages() -> None:
    names = [{slot.name for slot in rule.slot} for rule in RULES]
    assert names[0] == names[1]
    assert all(len(slot.say) >= 3 and slot.ask.pattern is not None for rule in RULES for slot in rule.slot)


async def test_what_was_said_of_that_kind_comes_first() -> None:
    index, embedder = MemoryIndex(), HashEmbedder(256)
    said = {"job": "lavoro in un ufficio postale", "cat": "il mio gatto dorme sempre sul divano"}
    await index.upsert("viewer-1", list(said), await embedder.embed(list(said.values())))
    channel = Slot(index, embedder, RULES)
    assert [name for name, _ in await channel.find("viewer-1", "che mestiere faccio?", 2)] == ["job", "cat"]
    assert [name for name, _ in await channel.find("viewer-1", "che animali ho?", 1)] == ["cat"]


async def test_a_question_after_nothing_known_searches_nothing() -> None:
    embedder = HashEmbedder()
    assert await Slot(MemoryIndex(), embedder, RULES).find("viewer-1", "e allora?", 4) == []
    assert embedder.calls == []


async def test_the_sentences_of_a_slot_are_embedded_once() -> None:
    embedder = HashEmbedder()
    channel = Slot(MemoryIndex(), embedder, RULES)
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(channel.find("viewer-1", "che animali ho?", 4))
    assert len(embedder.calls) == len(set(embedder.calls)) > 0
    await channel.warm()
    known = len(embedder.calls)
    await channel.find("viewer-1", "che lavoro faccio?", 4)
    assert len(embedder.calls) == known


async def test_a_model_that_failed_is_asked_again() -> None:
    embedder = HashEmbedder()
    channel = Slot(MemoryIndex(), embedder, RULES)
    embedder.fail = True
    with pytest.raises(ModelUnavailable):
        await channel.find("viewer-1", "che animali ho?", 4)
    embedder.fail = False
    assert await channel.find("viewer-1", "che animali ho?", 4) == []


async def test_words_without_content_are_not_searched() -> None:
    reader = InMemoryReader([own_words("a", "cosa era quello"), own_words("b", "la barca era rossa")])
    assert await Lexical(reader, RULES).find("viewer-101", "cosa era la barca?", 4) == [("b", 1.0)]
    assert await Lexical(reader, RULES).find("viewer-101", "cosa era?", 4) == []
