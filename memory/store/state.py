"""Structured state: the canonical present, changed by tool calls alone, each checked before anything is written."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, StringConstraints, ValidationError
from sqlalchemy import Connection, update
from sqlalchemy.dialects.sqlite import insert

from memory.errors import InvalidRow
from memory.events import StateCall
from memory.store.rows import Values
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.tables import StateRecordRow, table_of

STATE = table_of(StateRecordRow)
Domain = Literal["request", "note", "relation", "joke", "channel"]
_Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_Text = Annotated[str, StringConstraints(min_length=1, max_length=4000)]


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    id: _Id

    def shown(self) -> str:
        """Return the record as it is shown."""
        return str(getattr(self, "text", ""))

    def viewers(self) -> list[str]:
        """Return the viewers whom the record is about."""
        return []


class _RequestOpen(_Arguments):
    viewer: _Id
    text: _Text

    def viewers(self) -> list[str]:
        return [self.viewer]


class _NoteSet(_Arguments):
    viewer: _Id | None = None
    text: _Text
    expires_at: Annotated[AwareDatetime | None, "RFC 3339"] = None

    def viewers(self) -> list[str]:
        return [self.viewer] if self.viewer else []


class _RelationSet(_Arguments):
    subject: _Id
    relation: _Text
    object: _Id

    def shown(self) -> str:
        return self.relation

    def viewers(self) -> list[str]:
        return list(dict.fromkeys((self.subject, self.object)))


class _JokeAdd(_Arguments):
    text: _Text
    participants: list[_Id]

    def viewers(self) -> list[str]:
        return list(dict.fromkeys(self.participants))


class _ChannelSet(_Arguments):
    key: _Text
    value: str | int | float | bool

    def shown(self) -> str:
        return f"{self.key}: {self.value}"


_SETTERS: dict[str, tuple[Domain, type[_Arguments]]] = {
    "request_open": ("request", _RequestOpen),
    "note_set": ("note", _NoteSet),
    "relation_set": ("relation", _RelationSet),
    "joke_add": ("joke", _JokeAdd),
    "channel_set": ("channel", _ChannelSet),
}
_CLOSERS: dict[str, tuple[Domain, str]] = {
    "request_complete": ("request", "done"),
    "note_delete": ("note", "deleted"),
    "relation_delete": ("relation", "deleted"),
    "joke_delete": ("joke", "deleted"),
}


def domain_of(tool: str) -> Domain:
    """Return the domain that a tool changes.

    Raises:
        InvalidRow: there is no such tool; names those there are.
    """
    known = _SETTERS.get(tool) or _CLOSERS.get(tool)
    if known is None:
        raise InvalidRow(f"there is no state tool {tool!r}; there are {', '.join(sorted((*_SETTERS, *_CLOSERS)))}")
    return known[0]


def apply_call(connection: Connection, call: StateCall) -> None:
    """Carry out one tool call. Setting a known id replaces the record; closing an unknown one is refused.

    Raises:
        InvalidRow: names the tool, the argument and what is wrong with it; nothing was written.
    """
    domain = domain_of(call.tool)
    if call.tool in _SETTERS:
        _set(connection, call, domain, _checked(call.tool, _SETTERS[call.tool][1], call.arguments))
    else:
        _close(connection, call, domain, _checked(call.tool, _Arguments, call.arguments))


def _checked(tool: str, kind: type[_Arguments], arguments: Mapping[str, Any]) -> _Arguments:
    # Through JSON: a log's times are strings, and what is no JSON must not be stored either.
    try:
        return kind.model_validate(_scrubbed(arguments), strict=False)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "arguments"
        raise InvalidRow(f"{tool}: {where}: {first['msg']}; see the state tools of the chat log format") from error


def _scrubbed(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): _scrubbed(inner) for key, inner in value.items()}
    return [_scrubbed(inner) for inner in value] if isinstance(value, list | tuple) else value


def _set(connection: Connection, call: StateCall, domain: Domain, arguments: _Arguments) -> None:
    at = milliseconds(call.at)
    expires = getattr(arguments, "expires_at", None)
    row: Values = {
        "id": arguments.id,
        "domain": domain,
        "text": arguments.shown(),
        "viewers": arguments.viewers(),
        "fields": arguments.model_dump(mode="json", exclude={"id"}),
        "status": "open",
        "created_at": at,
        "updated_at": at,
        "expires_at": milliseconds(expires),
    }
    fresh = {name: value for name, value in row.items() if name not in {"id", "domain", "created_at"}}
    statement = insert(STATE).values(**row)
    replaced = statement.on_conflict_do_update(index_elements=["id"], set_=fresh, where=STATE.c.domain == domain)
    if connection.execute(replaced).rowcount == 0:
        raise InvalidRow(f"{call.tool}: id: {arguments.id!r} belongs to a record of another kind; choose another id")


def _close(connection: Connection, call: StateCall, domain: Domain, arguments: _Arguments) -> None:
    status = _CLOSERS[call.tool][1]
    named = (STATE.c.id == arguments.id, STATE.c.domain == domain)
    closed = update(STATE).where(*named).values(status=status, updated_at=milliseconds(call.at))
    if connection.execute(closed).rowcount == 0:
        raise InvalidRow(f"{call.tool}: id: there is no {domain} {arguments.id!r}")
