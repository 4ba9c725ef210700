"""How much a line says about its author: what a viewer's memory is asked for. A prior beside what the question asks. Pure."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.language import carries
from memory.model import Document
from memory.normalise import LONGEST_TEXT, spaced, words
from memory.rules import Rules

NAME = "worth"
FULL = 7  # different content words from which a line says as much as chat lines do
LEAST_WORDS, LEAST_CONTENT = 3, 2  # below: a greeting, a cheer, a reaction
LENGTH, PERSON, NUMBER, NAMING = 0.6, 0.25, 0.1, 0.05  # what each sign adds; together 1
DENIAL = 0.35  # … and a guess that is put right, up to 1
QUOTING = 0.3  # share that is left where others are quoted
STATED = 0.85  # of a fact: as a message that says as much
TOLD = 0.5  # of a turn or a line against a message: what happened need not be rich in words
OF_ONESELF = 0.25  # what a line of a stream loses where its author speaks of themselves: that is no event
SHOUTED = 0.4  # share that is left of a line in capitals
_LINK = re.compile(r"https?://\S+")
# Three words at least. The first two hold no space and none holds an opening mark: there is one way to match, or to fail.
_QUOTED = re.compile(r"«[^«» ]* [^«» ]* [^«»]*»|“[^“” ]* [^“” ]* [^“”]*”|\"[^\" ]+ [^\" ]+ [^\"]*\"")
_TO_SOMEBODY = re.compile(r"^(?:@\w+[ ,:]*)+")
_SENTENCE = re.compile(r"[^.!?]*[.!?]+|[^.!?]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """What stands in a line besides questions, links and what others are quoted with."""

    content: int  # different words that carry content
    words: int
    person: bool  # speaks in the first person
    number: bool
    naming: bool  # a proper name inside the sentence
    shouted: bool
    jest: bool  # irony, play, what would be
    denial: bool  # puts a guess about its author right
    quoting: bool  # others' words stand in it
    speaking: bool  # … and they speak of themselves

    @property
    def score(self) -> float:
        """Return 0 (nothing to remember) to 1."""
        if self.jest or self.speaking or self.words < LEAST_WORDS or self.content < LEAST_CONTENT:
            return 0.0
        score = LENGTH * min(self.content, FULL) / FULL + PERSON * self.person + NUMBER * self.number + NAMING * self.naming
        score = min(1.0, score + DENIAL * self.denial)
        return score * (SHOUTED if self.shouted else 1.0) * (QUOTING if self.quoting else 1.0)


def worth(text: str, rules: Sequence[Rules]) -> float:
    """Return how much a chat line tells about its author, 0 to 1.

    Questions, links, commands, jest and lines of fewer than three words tell nothing, and quoted speech next to nothing; more
    content words, the first person, numbers and names tell more.
    """
    said = words(_own(text))
    if len(said) < LEAST_WORDS or _content(said, rules) < LEAST_CONTENT:
        return 0.0
    return weighed(text, rules).score


def weighed(text: str, rules: Sequence[Rules]) -> Worth:
    """Return the signs that `worth` adds up."""
    own = _own(text)
    said = words(own)
    plain = f" {' '.join(said)} "
    jest = any(rule.jest.found(spaced(text)) for rule in rules)
    for rule in rules:
        plain = rule.person.first_not.removed(plain)
    quoted = _QUOTED.findall(text[:LONGEST_TEXT])
    letters = [char for char in own if char.isalpha()]
    return Worth(
        content=_content(said, rules),
        words=len(said),
        person=any(rule.person.first.found(plain) for rule in rules),
        number=any(char.isdigit() for char in own),
        naming=any(token[:1].isupper() and token[1:].islower() for token in own.split()[1:]),
        shouted=sum(char.isupper() for char in letters) > 0.6 * max(1, len(letters)),
        jest=jest,
        denial=any(rule.denial.found(spaced(_TO_SOMEBODY.sub("", own))) for rule in rules),
        quoting=bool(quoted),
        speaking=any(rule.person.first.found(spaced(part)) for rule in rules for part in quoted),
    )


class Meaning:
    """Says what of a document its vector is made of: words that the gate may show for what they mean, and nobody's name."""

    def __init__(self, rules: Sequence[Rules]) -> None:
        """Judge by these languages."""
        self._rules = tuple(rules)

    def __call__(self, kind: str, text: str) -> tuple[str, ...]:
        """Return the parts to embed, none where it needs no vector.

        A message is one part, unless it says nothing of its author; a line of a stream is one, questions too, unless next to
        nothing is said in it; of a turn or reply each line is one in which something is said; anything else is one part.
        """
        if kind == "message":
            return (text,) if worth(text, self._rules) > 0 else ()
        if kind == "line":
            said = _unnamed(text)
            return (said,) if _content(words(said), self._rules) >= LEAST_CONTENT else ()
        if kind in {"turn", "reply"}:
            return tuple(filter(self._telling, map(_unnamed, text.split("\n"))))
        return (text,)

    def _telling(self, line: str) -> bool:
        return _content(words(_own(line)), self._rules) >= LEAST_CONTENT


def ever_embedded(kind: str, text: str) -> tuple[str, ...]:
    """Return every part of a document that may have been embedded, by these rules or by others before them."""
    told = kind in {"line", "turn", "reply"}
    return (_unnamed(text), *map(_unnamed, text.split("\n"))) if told else (text,)


def _unnamed(line: str) -> str:
    name, _, said = line.partition(": ")
    return said or name


class Weigher:
    """Weighs documents; what was weighed is remembered as a number, without the text."""

    def __init__(self, rules: Sequence[Rules], *, entries: int = 20_000) -> None:
        """Remember so many documents."""
        self._rules = tuple(rules)
        self._entries = entries
        self._known: OrderedDict[tuple[str, int], float] = OrderedDict()

    def by_worth(self, documents: Iterable[Document]) -> list[tuple[str, float]]:
        """Return the documents with their worth, best first.

        A message counts by what it says of its author, a line of a stream by how much it says of anything else, a turn or a
        reply by how much it says; statements count in full.
        """
        scored = [(one.id, self._worth_of(one)) for one in documents]
        return sorted(scored, key=lambda pair: (-pair[1], pair[0]))

    def _worth_of(self, document: Document) -> float:
        key = (document.id, hash(document.text))
        if key not in self._known:
            self._known[key] = _weight(document, self._rules)
            if len(self._known) > self._entries:
                self._known.popitem(last=False)
        return self._known[key]


def _weight(document: Document, rules: Sequence[Rules]) -> float:
    if document.kind == "message":
        return worth(document.text, rules)
    if document.kind == "line":
        return _told(_unnamed(document.text), rules)
    if document.kind in {"turn", "reply"}:
        return max(min(_content(words(_own(line)), rules), FULL) for line in document.text.split("\n")) / FULL * TOLD
    return STATED if document.kind in {"fact", "claim"} else 1.0


def _told(text: str, rules: Sequence[Rules]) -> float:
    """Return how much a line tells of what happens, up to `TOLD`: a command tells nothing, speaking of oneself less."""
    if text.startswith("!"):
        return 0.0
    rich = min(_content(words(text), rules), FULL) / FULL * TOLD
    return max(0.0, rich - OF_ONESELF * weighed(text, rules).person)


def _own(text: str) -> str:
    return "" if text.startswith("!") else _stated(text[:LONGEST_TEXT])


def _content(said: Iterable[str], rules: Sequence[Rules]) -> int:
    return len({word for word in said if carries(word, rules)})


def _stated(text: str) -> str:
    plain = _QUOTED.sub(" ", _LINK.sub(" ", text))
    return " ".join(part.strip() for part in _SENTENCE.findall(plain) if not part.rstrip().endswith("?"))
