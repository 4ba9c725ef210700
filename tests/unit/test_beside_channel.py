"""What was said around a line says what the line is about."""

from dataclasses import replace

from builders_recall import a_line, own_words
from fakes.memory_reader import InMemoryReader

from memory.channels.beside import Beside, shares
from memory.model import Document
from memory.rules import load_rules

RULES = load_rules(("it", "en"))


def a_chat(*texts: str) -> tuple[InMemoryReader, list[Document]]:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line(f"m{number}", text) for number, text in enumerate(texts)]
    return reader, [own_words(line.id, line.text) for line in reader.lines["s1"]]


async def test_an_answer_is_found_by_the_question_before_it() -> None:
    reader, said = a_chat("did the violin survive the flight?", "not a scratch on it", "gg", "pizza tonight", "two for me")
    hits = await Beside(reader, RULES).weigh("how was the violin after the flight?", said)
    assert {name for name, _ in hits} == {"m0", "m1"}
    assert [name for name, _ in hits] == ["m0", "m1"]


async def test_the_line_replied_to_counts_instead_of_the_one_before() -> None:
    reader, said = a_chat("dove hai comprato la tenda?", "ciao a tutti", "al mercato")
    reader.lines["s1"][2] = replace(reader.lines["s1"][2], reply_to="m0")
    assert [name for name, _ in await Beside(reader, RULES).weigh("dove ha preso la tenda?", [said[2]])] == ["m2"]


async def test_nothing_is_read_where_nothing_can_be_found() -> None:
    reader, said = a_chat("ciao a tutti")
    beside = Beside(reader, RULES)
    assert await beside.weigh("e allora?", said) == []
    assert await beside.weigh("la tenda?", []) == []
    assert await beside.weigh("la tenda?", [replace(said[0], provenance=())]) == []
    assert reader.calls == []


def test_rare_words_count_more_and_forms_of_a_word_count_as_it() -> None:
    texts = {"a": ("the violins!", ""), "b": ("game on", ""), "c": ("games", ""), "d": ("nothing here", "")}
    found = shares(["viol", "game"], texts)
    assert set(found) == {"a", "b", "c"}
    assert found["a"] > found["b"] == found["c"]
    assert shares(["viol"], {"a": ("violentissimamente", "")}) == {}  # too long an ending for a form of it


def test_what_comes_before_counts_twice_as_much_as_what_comes_after() -> None:
    found = shares(["viol"], {"before": ("the violin? not a scratch", ""), "after": ("not a scratch", "the violin?")})
    assert found == {"before": 1.0, "after": 0.5}


def test_patterns_in_a_question_are_words_only() -> None:
    assert shares(["a.c", "(x"], {"a": ("abc x", "")}) == {}
    assert shares([], {"a": ("abc", "")}) == {}
