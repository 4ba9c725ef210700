"""The rule files of the extraction, one a language, and the slots they share: read once, checked, compiled."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory.extract.patterns import Compiler, Pattern, Vocabulary
from memory.normalise import fold
from memory.rules import RulesInvalid
from memory.statements import Effect, Slot

FOLDER = Path(__file__).parent
T = TypeVar("T", bound=BaseModel)
Unit = Literal["day", "week", "month", "year"]
Toward = Literal["past", "future", "any"]


def _words(value: object) -> frozenset[str]:
    if not isinstance(value, str):
        msg = "must be one string of words separated by spaces"
        raise ValueError(msg)  # noqa: TRY004 - pydantic collects ValueErrors alone
    return frozenset(fold(value).split())


Words = Annotated[frozenset[str], BeforeValidator(_words)]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SlotTable(_Table):
    """A slot as `slots.toml` writes it."""

    single: bool = False
    group: tuple[str, ...] = ()
    contrary: str = ""
    stable: bool = False
    importance: float = Field(default=0.5, ge=0, le=1)


class SlotFile(_Table):
    """Everything that statements can be about."""

    slot: dict[str, SlotTable]


class Rule(_Table):
    """Patterns that say one kind of thing. Where they capture nothing, what is said is the words that match."""

    slot: str
    patterns: tuple[str, ...] = Field(min_length=1)
    effect: Effect = "is"
    change: bool = False
    key: str = ""  # what it is said of, where the pattern does not capture it
    loose: bool = False  # gives way to a rule that takes some of the same words
    bare: bool = False  # what is said has no article or possessive: the thing as such, not the one on the screen
    proper: bool = False  # what is said begins with a capital: a name
    dated: bool = False  # only with a date; the date is the object where there is no other
    toward: Toward = "past"  # where a date without a year or week lies
    least: int = 0  # of a number
    most: int = 0
    confidence: float = Field(default=0.9, gt=0, le=1)


class When(_Table):
    """Patterns that say when. What they capture says how to reckon."""

    patterns: tuple[str, ...] = Field(min_length=1)
    role: Literal["since", "at", "until"] = "at"
    toward: Toward = "any"
    back: int = 0  # steps back in the captured unit; forward where negative


class Question(_Table):
    """Questions whose short answer fills a slot; what a pattern captures as `{key}` is what the answer is said of."""

    slot: str
    patterns: tuple[str, ...] = Field(min_length=1)


class Language(_Table):
    """Everything the extraction knows of one language."""

    language: str = Field(min_length=2, max_length=8)
    stops: Words  # end what is said
    openers: Words  # may stand before a clause
    articles: Words  # taken from the beginning of what is said
    trailing: Words  # taken from its end
    negators: Words  # close before a statement, they undo it
    unspoken: Words = frozenset()  # a statement that begins with one of these leaves its subject to what stands before it
    speaker: Words = frozenset()  # … which must be one of these, or nothing
    empty: Words  # what is said in one of these words is nothing
    vague: Words  # no name of what something is said of: "my favourite one"
    months: dict[str, int]
    weekdays: dict[str, int]  # Monday is 0
    seasons: dict[str, int]  # the month in which it begins
    units: dict[str, Unit]
    offsets: dict[str, int]  # days from today
    numbers: dict[str, int]
    feasts: dict[str, tuple[int, int]] = {}  # month and day
    days: dict[str, int] = {}  # words for a day of the month
    lists: dict[str, str] = {}  # words separated by commas
    joke: tuple[str, ...]  # one of these in a line: nothing in it is meant
    unreal: tuple[str, ...]  # … in a sentence: supposed, wished, reported, sung
    order: tuple[str, ...]  # … in a sentence: tells the bot what to be or do, or claims a role
    sensitive: tuple[str, ...]  # … in a sentence: not kept
    question: Words  # a sentence that begins with one of these asks
    address: Words = frozenset()  # a sentence with one of these speaks to somebody
    correction: tuple[str, ...]  # takes back the last statement; `{x}` is what is right
    answer: tuple[str, ...]  # the form of a short answer; `{x}` is what is said
    evasive: tuple[str, ...] = ()  # … that answers nothing
    labels: dict[str, str]  # what a slot is about, in the words of those who ask: stands behind each statement
    rule: tuple[Rule, ...]
    when: tuple[When, ...]
    asked: tuple[Question, ...] = ()

    @cached_property
    def compiler(self) -> Compiler:
        """The compiler of this language's patterns."""
        own = {name: [entry.strip() for entry in entries.split(",")] for name, entries in self.lists.items()}
        lists: Mapping[str, Any] = {
            "month": self.months,
            "weekday": self.weekdays,
            "season": self.seasons,
            "unit": self.units,
            "offset": self.offsets,
            "number": self.numbers,
            "day": self.days,
            "feast": self.feasts,
            **own,
        }
        return Compiler(Vocabulary(stops=self.stops, lists=lists))

    def compiled(self, patterns: Sequence[str]) -> tuple[Pattern, ...]:
        """Return the patterns, ready to match."""
        return tuple(map(self.compiler.pattern, patterns))


def load_slots(folder: Path = FOLDER) -> dict[str, Slot]:
    """Return every slot by its name.

    Raises:
        RulesInvalid: the file is missing or wrong.
    """
    read = _read(folder / "slots.toml", SlotFile)
    for name, table in read.slot.items():
        for other in (table.contrary, *table.group):
            if other and other not in read.slot:
                raise RulesInvalid(f"slots.toml: slot {name!r} names {other!r}, which is no slot")
    return {name: Slot(name=name, **table.model_dump()) for name, table in read.slot.items()}


def load_languages(languages: Sequence[str], folder: Path = FOLDER) -> tuple[Language, ...]:
    """Return the rules of `languages`, in their order, read from `<folder>/<language>.toml`.

    Raises:
        RulesInvalid: no language was named, a file is missing, or has a missing, unknown or wrong key.
    """
    if not languages:
        msg = "no language is configured: name at least one, such as 'en'"
        raise RulesInvalid(msg)
    return tuple(_read(folder / f"{language}.toml", Language) for language in languages)


def _read(path: Path, kind: type[T]) -> T:
    try:
        return cast("T", _parsed(path.read_text(encoding="utf-8"), kind, path.name))
    except (OSError, UnicodeDecodeError) as broken:
        raise RulesInvalid(f"{path.name}: cannot be read as a rule file: {broken}") from broken


@lru_cache(maxsize=16)
def _parsed(text: str, kind: type[BaseModel], name: str) -> BaseModel:
    try:
        return kind.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as broken:
        raise RulesInvalid(f"{name}: cannot be read as a rule file: {broken}") from broken
    except ValidationError as wrong:
        first = wrong.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise RulesInvalid(f"{name}: key {key!r}: {first['msg']}") from wrong
