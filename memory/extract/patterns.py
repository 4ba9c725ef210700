"""Patterns with slots, as rule files write them, compiled to regular expressions over `Sentence.spaced`. Pure.

The notation is that of `memory/phrases.py` (`word`, `word*`, `*word`, `(a|b c)`, `di?`, `_`, `..`), with slots besides:
`{x}` what is said: up to six words, none of them one that begins another clause · `{one}` one such word · `{key}` what it is
said of, one or two words · `{name}` one word that can be a name · `{number}` digits or a number word · `{day}` 1 to 31 or
"first" · `{year}` · `{month}` `{weekday}` `{season}` `{unit}` `{offset}` `{list:name}` one of the file's words · `{key:name}`
the same, as what it is said of.
`,` a break, `,?` one that may be missing. `^` before a pattern: only where a clause begins, after an opener ("and", "io") too.
`$` behind it: only where a clause ends, before a word that begins another one too.
Every repetition is bounded by a space and in number, so matching takes time linear in the text for a given rule file.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from memory.normalise import fold

T = TypeVar("T")
_TOKEN = re.compile(r"\([^()]+\)\??|\{[a-z_:]+\}\??|[^ (){}]+")
_WORD = re.compile(r"\*?\w+\*?")
_GROUP = re.compile(r"\(\?P<(\w+)>")
_ANY = r"[^ ,]+ "
_SIGNS = {
    "..": r"(?:[^ ,]+ ){0,3}",
    ",": "(?:, )",
    ",?": "(?:, )?",
    "_?": r"(?:[^ ,]+ )??",
}  # any word: where nothing more exact fits
_DIGITS = {"number": r"\d{1,4}", "day": r"\d{1,2}", "year": r"(?:19|20)\d\d"}
_OPEN = frozenset({"..", "_", ",", ",?"})
_LONGEST = {"x": 6, "key": 2, "one": 1, "name": 1}


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as an expression. `anchors`: one of these words must be there; None: it is tried on every sentence.

    `opens`: what stands before a match must be nothing, a break or an opener; the caller looks.
    """

    source: str
    anchors: frozenset[str] | None
    opens: bool = False

    @property
    def regex(self) -> re.Pattern[str]:
        """The expression, compiled when a sentence first needs it: a chat meets few of a thousand patterns."""
        return _compiled(self.source)


@cache  # as many as the rule files have patterns
def _compiled(source: str) -> re.Pattern[str]:
    return re.compile(source)


class Anchored(Generic[T]):
    """Patterns by the words that they need, each with what it is for."""

    def __init__(self, patterns: Iterable[tuple[T, Pattern]]) -> None:
        """Keep the patterns in their order."""
        self._all = list(patterns)
        self._always: list[int] = []
        self._by_word: dict[str, list[int]] = {}
        for place, (_, pattern) in enumerate(self._all):
            if pattern.anchors is None:
                self._always.append(place)
            for word in pattern.anchors or ():
                self._by_word.setdefault(word, []).append(place)

    def near(self, words: Iterable[str]) -> list[tuple[T, Pattern]]:
        """Return the patterns that a sentence of these words may match, in their order."""
        places = {*self._always, *(place for word in words for place in self._by_word.get(word, ()))}
        return [self._all[place] for place in sorted(places)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The words of one language that patterns refer to."""

    stops: frozenset[str]  # words at which what is said ends
    lists: Mapping[str, Iterable[str]]  # month, weekday, season, unit, offset, number, day, and lists of the file's own


class Compiler:
    """Compiles the patterns of one language; what its vocabulary gives is made into expressions once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        """Prepare the parts that all patterns share."""
        self._lists = {name: _choice(words) for name, words in vocabulary.lists.items()}
        self._firsts = {name: _first_words(words) for name, words in vocabulary.lists.items()}
        stops = _choice(vocabulary.stops)
        stop = f"(?!(?:{stops}) )"
        self._end = f"(?=$|, |(?:{stops}) )"
        self._slots = {name: rf"{stop}[^ ,]+ (?:{stop}[^ ,]+ ){{0,{most - 1}}}" for name, most in _LONGEST.items()}

    def pattern(self, text: str) -> Pattern:
        """Return the pattern.

        Raises:
            ValueError: it does not follow the notation, or names a list that there is not; says which.
        """
        body = text.removeprefix("^").removesuffix("$")
        tokens = _TOKEN.findall(body)
        if "".join(tokens).replace(" ", "") != body.replace(" ", ""):
            raise ValueError(f"pattern {text!r}: brackets do not match")
        if not any(_is_fixed(token) for token in tokens):
            raise ValueError(f"pattern {text!r} needs at least one fixed word or list")
        anchors = next((found for token in tokens if (found := self._anchors(token))), None)
        end = self._end if text.endswith("$") else ""
        source = "(?<= )" + "".join(self._part(token, text) for token in tokens) + end
        groups = _GROUP.findall(source)
        if len(groups) > len(set(groups)):
            raise ValueError(f"pattern {text!r}: the same slot stands there twice")
        return Pattern(source, anchors, text.startswith("^"))

    def _anchors(self, token: str) -> frozenset[str] | None:
        """Return the words one of which this part of a pattern needs, None where it needs none in particular."""
        if token.endswith("?") or token in _OPEN:
            return None
        name = _list_name(token)
        if token.startswith("{"):
            return self._firsts.get(name) if name not in _DIGITS else None
        firsts = [choice.split()[0] for choice in _choices(token) if choice.split()]
        return None if any("*" in first or first == "_" for first in firsts) else frozenset(map(fold, firsts))

    def _part(self, token: str, text: str) -> str:
        if token in _SIGNS:
            return _SIGNS[token]
        if token.startswith("{"):
            return self._slot(token, text)
        choices = [choice.split() for choice in _choices(token.removesuffix("?"))]
        if not all(choices):
            raise ValueError(f"pattern {text!r}: {token!r} has an empty choice")
        body = "|".join("".join(_word(word, text) for word in choice) for choice in choices)
        return f"(?:{body}){'?' if token.endswith('?') else ''}"

    def _slot(self, token: str, text: str) -> str:
        name = token.strip("{}?")
        mark = "?" if token.endswith("?") else ""
        if name in self._slots:
            return f"(?P<{name}>{self._slots[name]}){mark}"
        listed = self._lists.get(_list_name(token))
        options = [option for option in (_DIGITS.get(name), listed) if option]
        if not options:
            raise ValueError(f"pattern {text!r}: there is no slot or list {name!r}")
        group = "key" if name.startswith("key:") else name.removeprefix("list:")
        return f"(?P<{group}>(?:{'|'.join(options)}) ){mark}"


def _list_name(token: str) -> str:
    return token.strip("{}?").split(":")[-1]


def _first_words(words: Iterable[str]) -> frozenset[str] | None:
    """Return the first words of entries, None where one of them is open at its end."""
    firsts = {fold(word).split()[0] for word in words if word.strip()}
    return None if any("*" in first for first in firsts) else frozenset(firsts)


def _is_fixed(token: str) -> bool:
    return token not in _OPEN and not token.endswith("?") and token.strip("{}") not in _LONGEST


def _choices(token: str) -> Sequence[str]:
    return token[1:-1].split("|") if token.startswith("(") else [token]


def _choice(words: Iterable[str]) -> str:
    """Return an expression for any of these entries, longest first; one may be several words, or end in `*`."""
    entries = sorted({" ".join(fold(word).split()) for word in words}, key=lambda word: (-len(word), word))
    return "|".join(re.escape(word).replace(r"\*", "[^ ,]*").replace(r"\ ", " ") for word in entries) or "(?!)"


def _word(word: str, text: str) -> str:
    if word == "_":
        return _ANY
    if not _WORD.fullmatch(word):
        raise ValueError(f"pattern {text!r}: {word!r} is none of: word, word*, *word, (a|b c), word?, _, .., {{slot}}")
    start, end = "[^ ,]*" if word.startswith("*") else "", "[^ ,]*" if word.endswith("*") else ""
    return f"{start}{re.escape(fold(word.strip('*')))}{end} "
