"""Language rules, as data: one TOML file a language, loaded once and checked; another language is another file."""

import tomllib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from memory.errors import BotMemoryError
from memory.normalise import fold
from memory.phrases import Phrases, compiled

FOLDER = Path(__file__).parent
Domain = Literal["request", "note", "relation", "joke", "channel"]
DOMAINS: tuple[Domain, ...] = get_args(Domain)
Unit = Literal["day", "week", "month", "year"]


class RulesInvalid(BotMemoryError):
    """A language's rule file is missing or wrong; says which file and key, and what is expected there."""


def _phrases(value: object) -> Phrases:
    if isinstance(value, Phrases):
        return value
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        msg = "must be a list of phrases"
        raise ValueError(msg)
    return compiled(value)


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, str):
        msg = "must be one string of words separated by spaces"
        raise ValueError(msg)  # noqa: TRY004 - pydantic collects ValueErrors alone
    return tuple(dict.fromkeys(fold(value).split()))


PhraseList = Annotated[Phrases, BeforeValidator(_phrases)]
WordSet = Annotated[frozenset[str], BeforeValidator(lambda value: frozenset(_words(value)))]
Endings = Annotated[tuple[str, ...], BeforeValidator(lambda value: tuple(sorted(_words(value), key=lambda w: (-len(w), w))))]


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class PersonRules(_Table):
    """How the language points at people."""

    first: PhraseList  # the author: "io", "my"
    first_not: PhraseList  # looks like it and is not: taken out before
    second: PhraseList  # the bot, where the message addresses it
    third: PhraseList  # somebody named before: "lui", "her"
    acted_on: WordSet  # the author as the one to whom another does something: "mi", "me"
    sure: WordSet = frozenset()  # words that are the author's beyond doubt; others may be nouns or another's verbs
    bot: PhraseList = Phrases()  # the bot as the one who does it, said outright: then only sure words are the author's
    all: PhraseList = Phrases()  # a second person that means everybody: taken out before
    shared: WordSet = frozenset()  # words that are the author's and others' together: "our", "nostro"
    ours: PhraseList = Phrases()  # the author and others together: "we had", "avevamo"


class EpisodeRules(_Table):
    """How the language points out of the recent history. Each list says which streams are meant."""

    here: PhraseList  # earlier in this stream
    away: PhraseList  # the speaker missed a part of this stream
    last: PhraseList  # the stream before
    past: PhraseList  # some earlier stream
    first: PhraseList  # the first stream
    event: PhraseList  # something happened, with no word of when
    remote: PhraseList  # … long enough ago not to be in the recent history
    said: PhraseList  # who said, who wrote
    bot_said: PhraseList  # what the bot itself said or did
    told: PhraseList = Phrases()  # in the past tense, or pointing at what this chat knows: not of the world at large


class PeriodRule(_Table):
    """An expression for a moment in the past, as steps back in a calendar unit."""

    phrases: PhraseList
    unit: Unit
    back: int = Field(ge=0, le=100)


class StateRules(_Table):
    """The words of each domain of structured state."""

    request: PhraseList
    note: PhraseList
    relation: PhraseList
    joke: PhraseList
    channel: PhraseList

    def domains(self, text: str) -> tuple[str, ...]:
        """Return the domains that `text` (spaced) speaks of."""
        return tuple(name for name in type(self).model_fields if getattr(self, name).found(text))


class SlotRule(_Table):
    """One kind of thing that viewers say about themselves, and is asked for."""

    name: str
    ask: PhraseList  # words of a question that is after it
    facts: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()  # slots of the extraction that answer it; none: any may
    number: bool = False  # what answers it holds a number
    lasting: bool = True  # holds until something changes it: where one lives, not when something takes place


class Rules(_Table):
    """Everything the memory knows of one language."""

    language: str = Field(min_length=2, max_length=8)
    stop: WordSet  # words that carry no content
    ordinary: WordSet  # words that are also names: as names they need @ or a capital
    endings: Endings  # inflections, for the light stemmer
    months: dict[str, int]
    in_month: WordSet  # words before a month that make it a moment: "a febbraio", "in february"
    numbers: dict[str, int]
    question: PhraseList  # forms that ask, with or without a question mark
    exclaim: PhraseList  # begins like a question and is none, where no question mark stands: "when i was", "what a"
    ask: PhraseList  # imperatives and courtesies that ask: "dimmi", "can you tell me"; their persons mean nothing
    hint: PhraseList = Phrases()  # may ask something: a question word anywhere, or an order to tell
    remember: PhraseList  # asks the bot to keep something
    recall: PhraseList  # asks what the memory holds about somebody
    open_recall: PhraseList  # asks whether the memory holds something ("do you remember"): a question about memory
    persona: PhraseList  # asks about the bot itself without a second person
    world: PhraseList  # asks about the world at large: "who invented", "how do you cook"
    about_one: PhraseList  # asks about one person or animal by name: "how old is"
    catch_up: PhraseList  # asks to repeat what was just said
    follow_up: PhraseList  # goes on from the question before: "e", "and"
    before: PhraseList  # before an event whose date is not said: "prima di trasferirmi"
    ago: PhraseList  # a number, a unit and "ago", in any order
    units: dict[str, Unit]
    person: PersonRules
    episode: EpisodeRules
    state: StateRules
    period: tuple[PeriodRule, ...] = ()
    change: PhraseList = Phrases()  # Says that something is new: "now", "I started"
    was: PhraseList = Phrases()  # Asks how something was: "where did I work"
    jest: PhraseList = Phrases()  # Not meant: irony, play, what would be
    retract: PhraseList = Phrases()  # takes back what its author said just before
    doubt: PhraseList = Phrases()  # scoffs at what somebody else said just before
    denial: PhraseList = Phrases()  # Begins by rejecting a guess; what follows says how it is
    shared: PhraseList = Phrases()  # asks who else has or does something, or what two people have in common
    happening: PhraseList = Phrases()  # asks for something that happens in a stream, if it names nothing else
    slot: tuple[SlotRule, ...] = ()


def load_rules(languages: Sequence[str], folder: Path = FOLDER) -> tuple[Rules, ...]:
    """Return the rules of `languages`, in their order, read from `<folder>/<language>.toml`.

    Raises:
        RulesInvalid: no language was named, a file is missing, is no TOML, or has a missing, unknown or wrong key.
    """
    if not languages:
        msg = "no language is configured: name at least one, such as 'en'"
        raise RulesInvalid(msg)
    return tuple(_load(folder / f"{language}.toml", language) for language in languages)


def _load(path: Path, language: str) -> Rules:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as missing:
        known = ", ".join(sorted(file.stem for file in path.parent.glob("*.toml"))) or "none"
        raise RulesInvalid(f"{path.name}: no rules for language {language!r}; there are: {known}") from missing
    except (OSError, UnicodeDecodeError) as broken:
        raise RulesInvalid(f"{path.name}: cannot be read as TOML: {broken}") from broken
    return _compiled(text, language, path.name)


@lru_cache(maxsize=16)
def _compiled(text: str, language: str, name: str) -> Rules:
    """Return the rules in a file's text: compiling thousands of phrases is most of what opening a memory takes."""
    try:
        rules = Rules.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as broken:
        raise RulesInvalid(f"{name}: cannot be read as TOML: {broken}") from broken
    except ValidationError as wrong:
        first = wrong.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise RulesInvalid(f"{name}: key {key!r}: {first['msg']}") from wrong
    if rules.language != language:
        raise RulesInvalid(f"{name}: key 'language' is {rules.language!r}, but the file is for {language!r}")
    return rules
