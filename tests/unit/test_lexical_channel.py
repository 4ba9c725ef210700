"""The words of a question, looked for in what was said."""

from builders_recall import own_words
from fakes.memory_reader import InMemoryReader

from memory.channels.lexical import Lexical
from memory.rules import load_rules

RULES = load_rules(("it", "en"))


async def test_words_without_content_are_not_searched() -> None:
    reader = InMemoryReader([own_words("a", "cosa era quello"), own_words("b", "la barca era rossa")])
    assert await Lexical(reader, RULES).find("viewer-101", "cosa era la barca?", 4) == [("b", 1.0)]
    assert await Lexical(reader, RULES).find("viewer-101", "cosa era?", 4) == []
