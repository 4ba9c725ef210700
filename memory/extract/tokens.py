"""A chat line cut into sentences of words that patterns can be matched on, each word with its place in the line. Pure.

The words of a sentence are folded and spaced, as planner phrases are, with ` , ` where punctuation, an emoji or a mention
stands between them: no pattern reaches across it.
"""

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.normalise import fold

LONGEST_LINE = 1000  # code points that are read: a chat line has 500
_TOKEN = re.compile(r"<3+|@\w+|\d+(?:[.,]\d+)+|\w+|[^\w\s]")
_JOINING = frozenset("'`-_&/+#\u00b0%\u2019\u00b4\u2013")  # between two words of one thing: "l'altro", "co-op", "C++"
_ENDING = frozenset(".!?;\n\u2026")
_MARKS, _SINGLE = r"\"\u201c\u201d\u00ab\u00bb\u201e\u201f", r"'\u2018\u2019"  # quotation marks
_QUOTED = re.compile(
    rf"[{_MARKS}][^{_MARKS}]{{2,300}}[{_MARKS}]|(?<!\w)[{_SINGLE}][^{_SINGLE}]{{12,300}}[{_SINGLE}](?!\w)|\*[^*]{{3,300}}\*"
)
_LINK = re.compile(r"(?:https?://|www\.)\S+")
BREAK = ","


@dataclass(frozen=True)
class Sentence:
    """A sentence: `words` are folded, `said` are the same words as they were written; breaks are `,` in both."""

    words: tuple[str, ...]
    said: tuple[str, ...]
    text: str  # the sentence as it was written
    asks: bool = False  # ends in a question mark

    @cached_property
    def spaced(self) -> str:
        """The words with one space before, between and after them."""
        return f" {' '.join(self.words)} "

    @cached_property
    def _starts(self) -> list[int]:
        starts, place = [], 1
        for word in self.words:
            starts.append(place)
            place += len(word) + 1
        return starts

    def place(self, offset: int) -> int:
        """Return the number of the word that stands at an offset of `spaced`."""
        return bisect_right(self._starts, offset) - 1

    def without(self, start: int, end: int) -> "Sentence":
        """Return the sentence without the words from `start` up to `end`."""
        return Sentence(self.words[:start] + self.words[end:], self.said[:start] + self.said[end:], self.text, self.asks)


def unquoted(text: str) -> str:
    """Return `text` with what stands in quotation marks, or between asterisks, taken out: others' words, or a gesture."""
    return _QUOTED.sub(" , ", text[:LONGEST_LINE])


def sentences(text: str, emotes: Collection[str] = ()) -> list[Sentence]:
    """Return the sentences of a line, in their order; the names of emotes are no words."""
    return [
        sentence
        for part, end in _parts(_LINK.sub(" , ", text[:LONGEST_LINE]))
        if (sentence := _sentence(part, end, emotes)).words
    ]


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Yield the text between sentence ends, with the marks that end it. A full stop inside a number or word ends nothing."""
    start = place = 0
    while place < len(text):
        if text[place] in _ENDING and not _inside(text, place):
            end = place
            while place < len(text) and (text[place] in _ENDING or text[place] == ")"):
                place += 1
            yield text[start:end], text[end:place]
            start = place
        place += 1
    yield text[start:], ""


def _inside(text: str, place: int) -> bool:
    return text[place] == "." and text[place + 1 : place + 2].isalnum()


def _sentence(part: str, end: str, emotes: Collection[str]) -> Sentence:
    words: list[str] = []
    said: list[str] = []
    for match in _TOKEN.finditer(part):
        token = match.group()
        if token in _JOINING:
            if said and part[match.start() - 1] != " " and said[-1] != BREAK:
                said[-1] += token if part[match.end() : match.end() + 1].strip() else f"{token} "
            continue
        plain = fold(token).strip() if token[0].isalnum() and token not in emotes else ""
        if plain and " " not in plain:
            words.append(plain)
            said.append(token)
        elif words and words[-1] != BREAK:
            words.append(BREAK)
            said.append(BREAK)
    while words and words[-1] == BREAK:
        words.pop()
        said.pop()
    return Sentence(tuple(words), tuple(said), " ".join(part.split()), "?" in end)


def joined(said: Sequence[str]) -> str:
    """Return words as they were written, with spaces between them and none of the breaks."""
    kept = [word for word in said if word != BREAK]
    return " ".join("".join(word if word[-1] in _JOINING else f"{word} " for word in kept).split())
