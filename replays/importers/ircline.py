"""One line of IRC with IRCv3 tags, taken apart (modern.ircdocs.horse, section Client-to-Server Protocol Structure)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_MEANING = {":": ";", "s": " ", "\\": "\\", "r": "\r", "n": "\n"}


@dataclass(frozen=True, slots=True, kw_only=True)
class IrcLine:
    """Tags (unescaped), who sent it (`nick!user@host` or a server), the command, and its parameters."""

    tags: Mapping[str, str]
    source: str
    command: str
    params: tuple[str, ...]


def parse(line: str) -> IrcLine | None:
    """Return the parts of `line`, or None where it has no command."""
    tags: dict[str, str] = {}
    source = ""
    rest = line.lstrip(" ")
    if rest.startswith("@"):
        raw, _, rest = rest[1:].partition(" ")
        tags = parse_tags(raw)
        rest = rest.lstrip(" ")
    if rest.startswith(":"):
        source, _, rest = rest[1:].partition(" ")
    middle, has_trailing, trailing = rest.partition(" :")
    words = middle.split(" ")
    if "" in words:
        words = [word for word in words if word]
    if not words:
        return None
    params = (*words[1:], trailing) if has_trailing else tuple(words[1:])
    return IrcLine(tags=tags, source=source, command=words[0], params=params)


def parse_tags(raw: str) -> dict[str, str]:
    """Return the tags of `a=1;b;c=2`, unescaped; a tag without a value is empty, of two equal ones the last counts."""
    tags = {}
    for pair in raw.split(";"):
        key, _, value = pair.partition("=")
        tags[key] = _ESCAPE.sub(lambda found: _MEANING.get(found[1], found[1]), value) if "\\" in value else value
    return tags


def nick_of(source: str) -> str:
    """Return the nick of `nick!user@host`, or where it is empty the user; a server has none."""
    nick, bang, rest = source.partition("!")
    if bang:
        return nick or rest.partition("@")[0]
    return "" if "." in nick else nick.partition("@")[0]
