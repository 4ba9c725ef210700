"""What a line answers says what the line is about."""

from dataclasses import replace

import pytest
from builders_recall import a_line, a_viewer, own_words
from fakes.memory_reader import InMemoryReader

from memory.channels.exchange import Exchange, shares
from memory.events import Viewer
from memory.model import Document
from memory.rules import load_rules

RULES = load_rules(("it", "en"))
ALICE, BOB, CARLA = a_viewer("101", "Alice"), a_viewer("202", "Bob"), a_viewer("303", "Carla")


def a_talk(*lines: tuple[Viewer, str]) -> tuple[InMemoryReader, list[Document]]:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line(f"m{number}", text, user=user) for number, (user, text) in enumerate(lines)]
    return reader, [own_words(line.id, line.text) for line in reader.lines["s1"]]


async def found(reader: InMemoryReader, query: str, documents: list[Document]) -> list[str]:
    return [name for name, _ in await Exchange(reader, RULES).weigh(query, documents)]


async def test_where_two_talk_an_answer_is_found_by_the_question_before_it() -> None:
    reader, said = a_talk(
        (ALICE, "did the violin survive the flight?"), (BOB, "not a scratch on it"), (ALICE, "good"), (BOB, "pizza tonight")
    )
    assert await found(reader, "how was the violin after the flight?", said) == ["m1"]


async def test_where_more_talk_only_a_reply_has_a_line_that_it_answers() -> None:
    reader, said = a_talk((BOB, "gg"), (CARLA, "ciao a tutti"), (ALICE, "dove hai comprato la tenda?"), (BOB, "al mercato"))
    assert await found(reader, "dove ha preso la tenda?", said) == []
    reader.lines["s1"][3] = replace(reader.lines["s1"][3], reply_to="m2")
    assert await found(reader, "dove ha preso la tenda?", said) == ["m3"]


async def test_what_a_reply_answers_counts_twice_as_much_as_what_a_line_of_two_who_talk_likely_answers() -> None:
    reader, said = a_talk((ALICE, "il violino?"), (BOB, "intero"), (ALICE, "e il violino?"), (BOB, "quasi nuovo"))
    reader.lines["s1"][1] = replace(reader.lines["s1"][1], reply_to="m0")
    hits = dict(await Exchange(reader, RULES).weigh("come sta il violino?", said))
    assert hits == {"m1": pytest.approx(2 * hits["m3"]), "m3": pytest.approx(0.5)}


async def test_nothing_is_read_where_nothing_can_be_found() -> None:
    reader, said = a_talk((ALICE, "ciao a tutti"))
    assert await found(reader, "e allora?", said) == []
    assert await found(reader, "la tenda?", []) == []
    assert await found(reader, "la tenda?", [replace(said[0], provenance=())]) == []
    assert reader.calls == []


def test_rare_words_count_more_and_forms_of_a_word_count_as_it() -> None:
    found = shares(["viol", "game"], {"a": "the violins!", "b": "game on", "c": "games", "d": "nothing here"})
    assert set(found) == {"a", "b", "c"}
    assert found["a"] > found["b"] == found["c"]
    assert shares(["viol"], {"a": "violentissimamente"}) == {}  # too long an ending for a form of it


def test_patterns_in_a_question_are_words_only() -> None:
    assert shares(["a.c", "(x"], {"a": "abc x"}) == {}
    assert shares([], {"a": "abc"}) == {}
