"""The verbs of structured state and their arguments, as values: what may be said at all, whoever says it. No I/O.

Setting a known id replaces its record; the closing verbs name one that there is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, get_args

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from memory.errors import InvalidRow

Domain = Literal["request", "note", "relation", "joke", "channel"]
DOMAINS: Final[tuple[Domain, ...]] = get_args(Domain)
Identity = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Words = Annotated[str, StringConstraints(min_length=1, max_length=4000)]
# Beyond these the same moment in UTC and milliseconds, as it is stored, may be no date at all.
Moment = Annotated[AwareDatetime, Field(ge=datetime(1, 1, 2, tzinfo=UTC), le=datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC))]


class Arguments(BaseModel):
    """Arguments of a verb; the closing ones have no more than the record's id."""

    model_config = ConfigDict(extra="forbid", strict=True)
    id: Identity

    def shown(self) -> str:
        """Return the record as it is shown."""
        return str(getattr(self, "text", ""))

    def viewers(self) -> list[str]:
        """Return the viewers whom the record is about."""
        return []


class RequestOpen(Arguments):
    """Something a viewer asked for."""

    viewer: Identity
    text: Words

    def viewers(self) -> list[str]:
        """Return who asked."""
        return [self.viewer]


class NoteSet(Arguments):
    """Something to keep in mind, about a viewer or for everybody, until a moment where one is given."""

    viewer: Identity | None = None
    text: Words
    expires_at: Moment | None = Field(default=None, description="RFC 3339")

    def viewers(self) -> list[str]:
        """Return whom it is about."""
        return [self.viewer] if self.viewer else []


class RelationSet(Arguments):
    """What one viewer is to another."""

    subject: Identity
    relation: Words
    object: Identity

    def shown(self) -> str:
        """Return the relation itself: its ends are the record's viewers."""
        return self.relation

    def viewers(self) -> list[str]:
        """Return both ends."""
        return list(dict.fromkeys((self.subject, self.object)))


class JokeAdd(Arguments):
    """A running joke, and who shares it."""

    text: Words
    participants: list[Identity]

    def viewers(self) -> list[str]:
        """Return who shares it."""
        return list(dict.fromkeys(self.participants))


class ChannelSet(Arguments):
    """A value of the channel: its stream days, its rules."""

    key: Words
    value: str | int | float | bool

    def shown(self) -> str:
        """Return key and value."""
        return f"{self.key}: {self.value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """What a tool does: sets a record of its domain from its arguments, or gives it a closing status."""

    domain: Domain
    arguments: type[Arguments]
    closes: Literal["", "done", "deleted"] = ""


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        "request_open": Verb(domain="request", arguments=RequestOpen),
        "request_complete": Verb(domain="request", arguments=Arguments, closes="done"),
        "note_set": Verb(domain="note", arguments=NoteSet),
        "note_delete": Verb(domain="note", arguments=Arguments, closes="deleted"),
        "relation_set": Verb(domain="relation", arguments=RelationSet),
        "relation_delete": Verb(domain="relation", arguments=Arguments, closes="deleted"),
        "joke_add": Verb(domain="joke", arguments=JokeAdd),
        "joke_delete": Verb(domain="joke", arguments=Arguments, closes="deleted"),
        "channel_set": Verb(domain="channel", arguments=ChannelSet),
    }
)


def verb_of(tool: str) -> Verb:
    """Return what a tool does.

    Raises:
        InvalidRow: there is no such tool; names those there are.
    """
    verb = VERBS.get(tool)
    if verb is None:
        raise InvalidRow(f"there is no state tool {tool!r}; there are {', '.join(sorted(VERBS))}")
    return verb


def checked(tool: str, arguments: Mapping[str, Any]) -> Arguments:
    """Return a tool's arguments.

    Raises:
        InvalidRow: names the tool, the argument and what is wrong with it.
    """
    kind = verb_of(tool).arguments
    try:  # not strict: in JSON, times are strings
        return kind.model_validate(arguments, strict=False)
    except ValidationError as error:
        raise InvalidRow(f"{tool}: {first_error(error)}; see the state tools of the chat log format") from error


def first_error(error: ValidationError) -> str:
    """Return the first thing that is wrong with arguments, as `name: what`."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'arguments'}: {first['msg']}"
