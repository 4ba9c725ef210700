"""Claims: what chat lines say about other viewers, read by the rules for what viewers say about themselves. Pure.

A sentence about somebody ("Bob vive a Milano") is read as they would say it ("io vivo a Milano"), word for word, so that every
rule and every veto applies. It never becomes more than its author's claim. Only known viewers are spoken of: nobody could ask
for, correct, or have erased what is claimed about a name that is nobody's.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from memory.extract.rules import Reader, RuleExtractor, Spoken, rule_extractor
from memory.extract.tokens import BREAK, Sentence, sentences, unquoted
from memory.normalise import fold, same_key
from memory.rules import RulesInvalid
from memory.statements import Statement

FOLDER = Path(__file__).parent
TRUST = 0.7  # of what the same words would be worth about their author
_SHORTEST_NAME = 3
_REACH = 3  # words between a name and its verb
_MENTION = re.compile(r"@(?=\w)")
Resolve = Callable[[str], str | None]


class Others(BaseModel):
    """How one language speaks of somebody else: `memory/extract/others_<language>.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: str
    forms: dict[str, str]
    beside: dict[str, str] = {}
    between: str = ""
    given_to: str = ""
    to_me: str = ""
    given: dict[str, str] = {}

    @cached_property
    def passed_over(self) -> frozenset[str]:
        """The words that may stand between a name and its verb."""
        return frozenset(self.between.split())

    @cached_property
    def telling(self) -> frozenset[str]:
        """The words without one of which nobody else is spoken of."""
        return frozenset(map(fold, (*self.forms, *self.given)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A clause about somebody, in their own words."""

    viewer_id: str
    sentence: Sentence


def load_others(languages: Sequence[str], folder: Path = FOLDER) -> dict[str, Others]:
    """Return the tables of these languages; one without a file is not among them: it yields no claims.

    Raises:
        RulesInvalid: a file has a missing, unknown or wrong key.
    """
    found: dict[str, Others] = {}
    for language in languages:
        path = folder / f"others_{language}.toml"
        if not path.is_file():
            continue
        try:
            found[language] = Others.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError) as wrong:
            raise RulesInvalid(f"{path.name}: {wrong}") from wrong
    return found


@lru_cache(maxsize=4)
def claim_extractor(languages: tuple[str, ...]) -> "ClaimExtractor":
    """Return the reader of claims by the shipped rules of these languages, made once.

    Raises:
        RulesInvalid: a file is missing or wrong.
    """
    return ClaimExtractor(rule_extractor(languages), load_others(languages))


class ClaimExtractor:
    """Reads what lines say about other viewers."""

    def __init__(self, extractor: RuleExtractor, tables: Mapping[str, Others]) -> None:
        """Read with the rules of `extractor`, in the languages that have a table."""
        self._extractor = extractor
        self._ways = [(reader, tables[name]) for reader in extractor.readers if (name := reader.language.language) in tables]
        self._telling = frozenset[str]().union(*(table.telling for _, table in self._ways))

    def extract(self, lines: Sequence[Spoken], resolve: Resolve) -> list[Statement]:
        """Return the claims of these lines, in their order; `resolve` says whom a name means (None: nobody, or several)."""
        return [claim for line in lines for claim in self._of_line(line, resolve)]

    def _of_line(self, line: Spoken, resolve: Resolve) -> Iterator[Statement]:
        if self._telling.isdisjoint(fold(line.text).replace("'", " ").split()):
            return
        plain = _MENTION.sub("", unquoted(line.text))
        read = sentences(plain, line.emotes)
        if self._extractor.unmeant(line, read):
            return
        found: dict[tuple[str, str, str], Statement] = {}
        for sentence in read:
            if self._extractor.passed_over(sentence):
                continue
            for reader, table in self._ways:
                for told in _told(sentence, reader, table, lambda name: _whom(name, line, resolve)):
                    for claim in self._claims(line, sentence, reader, told):
                        found.setdefault((claim.subject, claim.predicate, same_key(claim.object)), claim)
        yield from found.values()

    def _claims(self, line: Spoken, sentence: Sentence, reader: Reader, told: _Told) -> Iterator[Statement]:
        if self._extractor.passed_over(told.sentence):
            return
        whole = replace(told.sentence, text=sentence.text)
        for _, statement in reader.statements(line, whole):
            trust = statement.confidence * TRUST
            yield replace(statement, subject=told.viewer_id, speaker=line.author, confidence=trust)


def _whom(name: str, line: Spoken, resolve: Resolve) -> str | None:
    """Return the viewer of that name, unless it is the author, or whom the author answers and so rather speaks to."""
    viewer_id = line.mentions.get(fold(name)) or resolve(name)
    return None if viewer_id in {line.author, line.answers_whom} else viewer_id


def _told(sentence: Sentence, reader: Reader, table: Others, whom: Resolve) -> Iterator[_Told]:
    for place, word in enumerate(sentence.words):
        if len(word) < _SHORTEST_NAME or not (begins := _begins(sentence, place, reader, table)):
            continue
        changed = _as_they_say(sentence, place, table, given=begins == "given")
        viewer_id = whom(sentence.said[place].rstrip("'\u2019")) if changed else None
        if changed is not None and viewer_id is not None:
            yield _Told(viewer_id=viewer_id, sentence=changed)


def _begins(sentence: Sentence, place: int, reader: Reader, table: Others) -> str:
    """Return whether a clause begins with the word, or what is so to it ("given"); empty: neither."""
    given = bool(table.given_to) and place > 0 and sentence.words[place - 1] == table.given_to
    before = sentence.words[: place - 1 if given else place]
    opens = not before or before[-1] == BREAK or before[-1] in reader.language.openers
    return ("given" if given else "named") if opens else ""


def _as_they_say(sentence: Sentence, place: int, table: Others, *, given: bool) -> Sentence | None:
    """Return the clause that begins with the name, in the words in which its bearer would say it; None: it has no such verb."""
    end = next((n for n in range(place, len(sentence.words)) if sentence.words[n] == BREAK), len(sentence.words))
    changed = list(sentence.words[place:end])
    forms = table.given if given else table.forms
    changed[0] = table.to_me if given else table.first
    for number in range(1, min(len(changed), _REACH + 2)):
        said = sentence.said[place + number].casefold()
        form = forms.get(said, forms.get(changed[number]) if fold(said) == said else None)
        if form is not None:
            changed[number] = form
            words = tuple(table.beside.get(word, word) for word in changed)
            return replace(sentence, words=words, said=sentence.said[place:end])
        if changed[number] not in table.passed_over:
            return None
    return None
