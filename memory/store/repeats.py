"""What a reply repeats of the recent chat: lines that were shown with the question, and whose telling words it says again.

A memory that stood in the prompt is known by its id, so a reply goes with it whatever its words are. The recent chat stands in
every prompt, and most replies have nothing to do with most of it: there, words decide. Too many lines are no harm here, since
all that follows is that the reply is forgotten with any of them; but set phrases, which would bind every reply to every other,
are left out by whoever made the reply (`Said.telling`).
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable

from memory.normalise import fold, words

_LETTERS = 5  # a word so long tells something; also one with a digit in it, and a name
_BEGINNING = 5  # letters by which words are compared: they may be inflected
_NAME_LETTERS = 3
_COMMON = 4  # lines in which a word of the chat at hand tells nothing any more
_SENTENCE = re.compile(r"[.!?…:«“\"]\s*|^\s*")
_RAW_WORD = re.compile(r"\w+")


def repeated(reply: str, shown: Iterable[tuple[str, str]], *, known: Collection[str]) -> tuple[str, ...]:
    """Return the ids of those lines of `shown` (id, text) that a reply says again, in their order.

    `known` are words that say nothing of a line: what was asked, and what people are called.
    """
    lines = [(id_, _keys(words(text))) for id_, text in shown]
    common = Counter(key for _, keys in lines for key in keys)
    silent = {key for key, held in common.items() if held > _COMMON} | _keys(known)
    said = _telling(reply) - silent
    return tuple(id_ for id_, keys in lines if keys & said)


def _keys(found: Iterable[str]) -> frozenset[str]:
    return frozenset(word[:_BEGINNING] for word in found)


def _telling(reply: str) -> frozenset[str]:
    """Return the words of a reply that tell something: long ones, those with digits, names (capitals within a sentence)."""
    long = [word for word in words(reply) if len(word) >= _LETTERS or any(map(str.isdigit, word))]
    begins = {match.end() for match in _SENTENCE.finditer(reply)}
    whole = _RAW_WORD.findall(reply)
    names = [
        match[0]
        for match in _RAW_WORD.finditer(reply)
        if match[0][0].isupper() and len(match[0]) >= _NAME_LETTERS and (match.start() not in begins or len(whole) == 1)
    ]
    return _keys([*long, *(fold(name) for name in names)])
