"""Chat commands: what is one, and what it orders. No I/O, so that live chat and replay agree."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from bot.plain import EXAMINED, visible

_MENTION = re.compile(r"^@\w+\s+")
_NAME = re.compile(r"^(\s?)([^\W\d_][\w-]{0,31})(?=\s|$)")
_ARGUMENT = re.compile(r'"([^"]*)"(?=\s|$)|(\S+)')
_FIRST = re.compile(r'(?:"([^"]*)"|(\S+))(?:\s+|$)')
_ARROW = re.compile(r"\s*(?:->|=>|→|⇒)\s*")
_QUOTES = "\"'«»“”"
_LAST = frozenset({"last", "ultimo", "ultima"})
_YES = frozenset({"yes", "si", "sì"})
_SWITCH: Final = MappingProxyType({"on": True, "acceso": True, "off": False, "spento": False})
DEFAULT_WORDS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "memory": ("memory", "memoria"),
        "whatdoyouknow": ("whatdoyouknow", "cosasai"),
        "forgetme": ("forgetme", "dimenticami"),
        "optout": ("optout", "nonricordarmi"),
        "optin": ("optin", "ricordami"),
        "forget": ("forget", "dimentica"),
        "correct": ("correct", "correggi"),
        "memories": ("memories", "ricordi"),
        "bot": ("bot",),
        "state": ("state", "stato"),
        "wipe": ("wipe", "azzera"),
        "reload": ("reload", "ricarica"),
    }
)
_ENGLISH, _ITALIAN = (frozenset(typed[place] for typed in DEFAULT_WORDS.values()) for place in (0, -1))
_FOREIGN: Final = MappingProxyType({"it": _ENGLISH - _ITALIAN, "en": _ITALIAN - _ENGLISH})  # words of the other language alone


def meanings(words: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the command behind each word that may be typed; of a word given to two commands the first is meant."""
    found: dict[str, str] = {}
    for command, typed in words.items():
        for word in typed:
            found.setdefault(word.casefold(), command)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCommand:
    """A command as it was typed, made safe: `name` folded, quoted words kept together where the quotes close."""

    name: str
    arguments: tuple[str, ...] = ()
    rest: str = ""  # everything behind the name, as shown


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSettings:
    """How commands look. `names` maps every word that may be typed to the command that it means."""

    prefix: str = "!"
    names: Mapping[str, str] = field(default_factory=lambda: meanings(DEFAULT_WORDS))
    language: str = "it"  # it | en
    confirm_seconds: float = 60.0  # within which `!forgetme` and `!wipe` are confirmed
    pause_seconds: float = 2.0  # between two orders of one viewer; moderators are exempt


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a command orders. Which fields are filled depends on the command; `name` is somebody's name as typed."""

    verb: str
    name: str | None = None
    id: str | None = None
    words: str = ""  # to be forgotten, or the old words of a correction
    new: str = ""
    last: bool = False
    yes: bool = False
    on: bool = False


def parse_command(text: str, prefix: str = "!", *, known: Collection[str] = ()) -> ParsedCommand | None:
    """Return the command in `text`, None where it is plain chat.

    The `@name` that a reply puts in front is passed over. `! name`, with a space, is a command only where the name is known:
    otherwise it is somebody shouting.
    """
    shown = visible(text[:EXAMINED])
    shown = _MENTION.sub("", shown, count=1)
    if not prefix or not shown.startswith(prefix):
        return None
    behind = shown[len(prefix) :]
    found = _NAME.match(behind)
    if found is None:
        return None
    name = found.group(2).casefold()
    if found.group(1) and name not in known:
        return None
    rest = behind[found.end() :].strip()
    words = tuple(quoted or word for quoted, word in _ARGUMENT.findall(rest))
    return ParsedCommand(name=name, arguments=words, rest=rest)


def order_of(verb: str, parsed: ParsedCommand) -> Order | None:
    """Return what a command of this meaning orders, None where it cannot be told from how it was typed."""
    match verb:
        case "forget":
            return _forget(parsed)
        case "correct":
            return _correct(parsed)
        case "forgetme" | "wipe" | "state":
            said = parsed.rest if verb == "state" else ""
            return Order(verb=verb, words=said, yes=parsed.rest.casefold() in _YES)
        case "memories":
            return Order(verb=verb, name=_named(parsed.arguments[0]) if parsed.arguments else None)
        case "bot":
            on = _SWITCH.get(parsed.rest.casefold())
            return None if on is None else Order(verb=verb, on=on)
        case _:
            return Order(verb=verb)


def _forget(parsed: ParsedCommand) -> Order | None:
    first, behind = _parted(parsed.rest)
    if first.startswith("#"):
        return Order(verb="forget", id=first[1:]) if first[1:] and not behind else None
    if first.casefold() in _LAST and not behind:
        return Order(verb="forget", last=True)
    name = _named(first)
    return Order(verb="forget", name=name, words=_bare(behind)) if name else None


def _correct(parsed: ParsedCommand) -> Order | None:
    first, behind = _parted(parsed.rest)
    if first.startswith("#"):
        new = _bare(behind)
        return Order(verb="correct", id=first[1:], new=new) if first[1:] and new else None
    name, halves = _named(first), _ARROW.split(behind, maxsplit=1)
    if not name or len(halves) < 2:  # noqa: PLR2004 - the old words and the new
        return None
    old, new = map(_bare, halves)
    return Order(verb="correct", name=name, words=old, new=new) if old and new else None


def _parted(rest: str) -> tuple[str, str]:
    """Return the first word, or what stands in quotes at the beginning, and what comes behind it."""
    found = _FIRST.match(rest)
    return (found.group(1) or found.group(2) or "", rest[found.end() :]) if found else ("", "")


def _bare(text: str) -> str:
    return text.strip().strip(_QUOTES).strip()


def _named(word: str) -> str:
    return word.lstrip("@").rstrip(",:;")


class Commands:
    """The commands that the bot knows."""

    def __init__(self, settings: CommandSettings) -> None:
        """Take the names and the language."""
        self.settings = settings
        self._names = {word.casefold(): command for word, command in settings.names.items()}

    def parse(self, text: str) -> ParsedCommand | None:
        """Return the command in `text`, whether the bot knows it or not."""
        return parse_command(text, self.settings.prefix, known=self._names)

    def meaning(self, command: ParsedCommand) -> str | None:
        """Return which of the bot's commands it is, None for the commands of others."""
        return self._names.get(command.name)

    def verb_of(self, text: str) -> str | None:
        """Return which of the bot's commands a text is, None for the commands of others and for plain chat."""
        parsed = self.parse(text)
        return self.meaning(parsed) if parsed is not None else None

    def shown(self, verb: str) -> str:
        """Return a command as it is typed: the first of its words that is none of the other language, else the first of all."""
        typed = [word for word, command in self._names.items() if command == verb] or [verb]
        foreign = _FOREIGN.get(self.settings.language, _FOREIGN["en"])
        return f"{self.settings.prefix}{next((word for word in typed if word not in foreign), typed[0])}"
