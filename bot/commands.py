"""Chat commands: what is one, and what the bot answers to it. No I/O, so that live chat and replay agree."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from bot.plain import EXAMINED, visible

_MENTION = re.compile(r"^@\w+\s+")
_NAME = re.compile(r"^(\s?)([^\W\d_][\w-]{0,31})(?=\s|$)")
_ARGUMENT = re.compile(r'"([^"]*)"(?=\s|$)|(\S+)')
_ABOUT: Mapping[str, str] = MappingProxyType(
    {
        "it": (
            "Sono {name}, un bot con memoria: ricordo quello che scrivete in questa chat per rispondere meglio, solo per "
            "questo canale. Un messaggio cancellato lo dimentico anch'io."
        ),
        "en": (
            "I am {name}, a bot with a memory: I remember what you write in this chat to answer better, for this channel "
            "only. A message that is deleted I forget as well."
        ),
    }
)


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
    names: Mapping[str, str] = field(default_factory=lambda: {"memory": "memory", "memoria": "memory"})
    language: str = "it"  # it | en


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


class Commands:
    """The commands that the bot knows."""

    def __init__(self, settings: CommandSettings) -> None:
        """Take the names and the language."""
        self._settings = settings
        self._names = {word.casefold(): command for word, command in settings.names.items()}

    def parse(self, text: str) -> ParsedCommand | None:
        """Return the command in `text`, whether the bot knows it or not."""
        return parse_command(text, self._settings.prefix, known=self._names)

    def meaning(self, command: ParsedCommand) -> str | None:
        """Return which of the bot's commands it is, None for the commands of others."""
        return self._names.get(command.name)

    def answer(self, command: ParsedCommand, *, bot_name: str) -> str | None:
        """Return what the bot says to it; None: nothing."""
        if self.meaning(command) != "memory":
            return None
        return _ABOUT.get(self._settings.language, _ABOUT["en"]).format(name=bot_name)
