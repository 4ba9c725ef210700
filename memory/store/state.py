"""Structured state: the canonical present, changed by tool calls alone, each checked before anything is written."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.dialects.sqlite import insert

from memory.errors import InvalidRow
from memory.events import StateCall
from memory.model import StateRecord
from memory.normalise import spaced
from memory.state_orders import Refusal, Rights, refusal
from memory.state_verbs import Arguments, Verb, checked, verb_of
from memory.store import tombstones
from memory.store.rows import Values, state_of
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.tables import StateRecordRow, table_of

STATE = table_of(StateRecordRow)
_SHORTEST_PREFIX = 4  # of an id that is given by its beginning, to close its record
_AFTER_ALL = "\U0010ffff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A record before and after a call; refused: it stayed as it was."""

    before: StateRecord | None
    after: StateRecord | None
    refused: Refusal = ""


def apply_call(connection: Connection, call: StateCall, rights: Rights | None = None, *, source: str | None = None) -> Change:
    """Carry out one tool call. Setting a known id replaces the record; closing an unknown one is refused.

    `source` is the message that asked for it, and is kept with the record.

    Raises:
        InvalidRow: names the tool, the argument and what is wrong with it; nothing was written.
    """
    verb = verb_of(call.tool)
    arguments = checked(call.tool, scrubbed(call.arguments))
    before = _record(connection, arguments.id)
    if verb.closes and before is None:
        before = _begun_with(connection, arguments.id, verb)
    if before is not None and before.domain != verb.domain:
        if verb.closes:
            raise InvalidRow(f"{call.tool}: id: there is no {verb.domain} {arguments.id!r}")
        raise InvalidRow(f"{call.tool}: id: {arguments.id!r} belongs to a record of another kind; choose another id")
    if verb.closes and before is None:
        raise InvalidRow(f"{call.tool}: id: there is no {verb.domain} {arguments.id!r}")
    named = None if verb.closes else arguments.viewers()
    refused = refusal(rights, verb.domain, now=named, before=before.viewers if before else None)
    if not refused and named and tombstones.of_scope(connection, "opt_out", named):
        refused = "opted_out"  # nothing of them is stored, whoever says it
    if refused:
        return Change(before=before, after=None, refused=refused)
    id_ = before.id if before is not None else arguments.id
    if verb.closes:
        closed = update(STATE).where(STATE.c.id == id_).values(status=verb.closes, updated_at=milliseconds(call.at))
        connection.execute(closed)
    else:
        _set(connection, call, verb, arguments, source=source)
    return Change(before=before, after=_record(connection, id_))


def scrubbed(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value with every text as it can be stored."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): scrubbed(inner) for key, inner in value.items()}
    return [scrubbed(inner) for inner in value] if isinstance(value, list | tuple) else value


def channel_value(connection: Connection, key: str) -> str | None:
    """Return the id of the channel's value of this name, None where there is none; case and punctuation make no difference."""
    values = select(STATE.c.id, STATE.c.fields).where(STATE.c.domain == "channel").order_by(STATE.c.id)
    same = (row.id for row in connection.execute(values) if spaced(str(row.fields.get("key", ""))) == spaced(key))
    return next(same, None)


def _record(connection: Connection, id_: str) -> StateRecord | None:
    row = connection.execute(select(STATE).where(STATE.c.id == id_)).one_or_none()
    return state_of(row) if row is not None else None


def _begun_with(connection: Connection, prefix: str, verb: Verb) -> StateRecord | None:
    """Return the only record of the verb's domain whose id begins so, None where there are several or none."""
    if len(prefix) < _SHORTEST_PREFIX:
        return None
    begins = (STATE.c.id >= prefix, STATE.c.id < prefix + _AFTER_ALL, STATE.c.domain == verb.domain)
    found = connection.execute(select(STATE).where(*begins).limit(2)).all()
    return state_of(found[0]) if len(found) == 1 else None


def _set(connection: Connection, call: StateCall, verb: Verb, arguments: Arguments, *, source: str | None) -> None:
    at = milliseconds(call.at)
    made_of = {} if source is None else {"source": clean(source)}
    row: Values = {
        "id": arguments.id,
        "domain": verb.domain,
        "text": arguments.shown(),
        "viewers": arguments.viewers(),
        "fields": arguments.model_dump(mode="json", exclude={"id"}) | made_of,
        "status": "open",
        "created_at": at,
        "updated_at": at,
        "expires_at": milliseconds(getattr(arguments, "expires_at", None)),
    }
    fresh = {name: value for name, value in row.items() if name not in {"id", "domain", "created_at"}}
    statement = insert(STATE).values(**row)
    connection.execute(statement.on_conflict_do_update(index_elements=["id"], set_=fresh))
