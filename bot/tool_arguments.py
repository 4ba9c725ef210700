"""The tools that a language model is offered, and their arguments as it may give them: names for viewers, ids only of records.

The schemas come from the models, so that what is asked for is what is checked.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

from bot.llm_values import Tool
from memory import Domain

LONGEST_TEXT = 400  # of a record by a tool, as of a chat line
_EMPTY = frozenset({"", "null", "none"})


def _nothing(value: object) -> object:
    """Small models write a missing text as `""` or `"null"`."""
    return None if isinstance(value, str) and value.strip().casefold() in _EMPTY else value


Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=LONGEST_TEXT)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
NameOrNone = Annotated[Name | None, BeforeValidator(_nothing)]
Moment = Annotated[AwareDatetime | None, BeforeValidator(_nothing)]
_OWN = "in the speaker's own words and language"
_ID = Field(description="the record's id, as state_list gives it")
_KNOWN: Any = Field(default=None, description="only to change a record that there is: its id")


class ToolArguments(BaseModel):
    """What every tool's arguments share: nothing beside what is named."""

    model_config = ConfigDict(extra="forbid")


class RequestOpen(ToolArguments):
    """Note a request that somebody makes to the streamer, to be done later."""

    text: Said = Field(description=f"what is asked for, {_OWN}")
    viewer: NameOrNone = Field(default=None, description="who asks; leave out: the speaker")


class RequestComplete(ToolArguments):
    """Mark a request as done."""

    id: Name = _ID


class NoteSet(ToolArguments):
    """Keep a note, such as a reminder, about one viewer; moderators also for everybody."""

    text: Said = Field(description=f"the note, {_OWN}")
    viewer: NameOrNone = Field(default=None, description="whom it is about; leave out: the speaker")
    everybody: bool = Field(default=False, description="true: for the whole chat, not about one viewer")
    expires_at: Moment = Field(default=None, description="until when it holds, RFC 3339 with a zone; leave out: for good")
    id: NameOrNone = _KNOWN


class NoteDelete(ToolArguments):
    """Delete a note."""

    id: Name = _ID


class RelationSet(ToolArguments):
    """Note what one viewer is to another, such as teammate or cousin."""

    relation: Said = Field(description=f"what the subject is to the object, {_OWN}")
    object: Name = Field(description="the other viewer")
    subject: NameOrNone = Field(default=None, description="the viewer whose relation it is; leave out: the speaker")
    id: NameOrNone = _KNOWN


class RelationDelete(ToolArguments):
    """Delete a relation."""

    id: Name = _ID


class JokeAdd(ToolArguments):
    """Keep a running joke of the chat."""

    text: Said = Field(description=f"the joke, {_OWN}")
    participants: list[Name] = Field(default_factory=list, max_length=10, description="who shares it; leave out: the speaker")
    id: NameOrNone = _KNOWN


class JokeDelete(ToolArguments):
    """Delete a running joke."""

    id: Name = _ID


class ChannelSet(ToolArguments):
    """Set a value of the channel, such as its stream days."""

    key: Said = Field(description="what it is, such as: stream days")
    value: Annotated[str, BeforeValidator(lambda value: value if isinstance(value, str) else str(value))] = Field(
        description=f"the value, {_OWN}", min_length=1, max_length=LONGEST_TEXT
    )


class StateList(ToolArguments):
    """List the records that there are: requests, notes, relations, running jokes, values of the channel."""

    kind: Annotated[Domain | None, BeforeValidator(_nothing)] = Field(default=None, description="leave out: all kinds")
    viewer: NameOrNone = Field(default=None, description="only those about this viewer")


class MemoryCorrect(ToolArguments):
    """Put right what the speaker wrote wrongly about themselves: the old words become the new ones, everywhere.

    Only for mistakes. What has changed since, such as a new home, needs no tool.
    """

    old: Said = Field(description="the wrong words alone, as the speaker once wrote them")
    new: Said = Field(description="the right words alone, as the speaker writes them now")


class MemoryForget(ToolArguments):
    """Forget for good what the speaker once wrote, where they ask for it themselves."""

    words: Said = Field(description="words in a row that stand in what is to be forgotten, as the speaker wrote them")


KINDS: Final[Mapping[str, type[ToolArguments]]] = MappingProxyType(
    {
        "state_list": StateList,
        "request_open": RequestOpen,
        "request_complete": RequestComplete,
        "note_set": NoteSet,
        "note_delete": NoteDelete,
        "relation_set": RelationSet,
        "relation_delete": RelationDelete,
        "joke_add": JokeAdd,
        "joke_delete": JokeDelete,
        "channel_set": ChannelSet,
        "memory_correct": MemoryCorrect,
        "memory_forget": MemoryForget,
    }
)
MODERATORS_ONLY: Final = frozenset({"channel_set"})


def tools_for(*, moderator: bool) -> tuple[Tool, ...]:
    """Return the tools that are offered to somebody: what they may never do is not shown."""
    return tuple(
        Tool(name=name, description=" ".join((kind.__doc__ or "").split()), parameters=schema_of(kind))
        for name, kind in KINDS.items()
        if moderator or name not in MODERATORS_ONLY
    )


def schema_of(kind: type[ToolArguments]) -> Mapping[str, Any]:
    """Return the JSON schema of arguments, without titles, defaults and unions with null, which small servers choke on."""
    whole = kind.model_json_schema()
    properties = {name: dict(_plain(schema)) for name, schema in whole["properties"].items()}
    return {
        "type": "object",
        "properties": properties,
        "required": whole.get("required", []),
        "additionalProperties": False,
    }


def _plain(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key == "anyOf":
            yield from _plain(next(one for one in value if one.get("type") != "null"))
        elif key == "items":
            yield key, dict(_plain(value))
        elif key not in {"title", "default", "minLength", "maxLength", "maxItems"}:
            yield key, value
