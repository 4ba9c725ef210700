"""Structured state that is about a viewer: counted, and erased with them."""

from collections.abc import Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import Connection, Row, delete, func, select, update

from memory.normalise import holds
from memory.store import state_calls, tombstones
from memory.store.document_writes import IDS, chunks, packed
from memory.store.prepared import Prepared
from memory.store.scrub import clean
from memory.store.state import STATE

_PREFIX = "state:"
_MADE_OF = Prepared(select(STATE.c.id).where(func.json_extract(STATE.c.fields, "$.source").in_(IDS)).order_by(STATE.c.id))
SCOPE = "record"  # of tombstones: a record, or one viewer in a joke of several


def about(connection: Connection, viewer_id: str) -> list[Row[Any]]:
    """Return the records that name a viewer, closed ones among them, by id."""
    identity = clean(viewer_id)
    return [row for row in connection.execute(select(STATE).order_by(STATE.c.id)).all() if identity in row.viewers]


def named(record_id: str) -> str:
    """Return the id by which a reply that was made from a record names it."""
    return record_id if record_id.startswith(_PREFIX) else f"{_PREFIX}{record_id}"


def erase(connection: Connection, viewer_id: str, until: int, words: str = "") -> list[str]:
    """Erase a viewer's records up to a moment, those that hold `words` alone where some are given; return their ids.

    A running joke stays the others' who take part in it; the viewer is taken out of it.
    """
    state_calls.drop(connection, viewer_id)
    found = [row for row in about(connection, viewer_id) if row.created_at <= until and _holds(row, words)]
    for row in found:
        tombstones.bury(connection, SCOPE, [_key(row.id, clean(viewer_id))], until)
        _take_out(connection, row, clean(viewer_id))
    return [row.id for row in found]


def _take_out(connection: Connection, row: Row[Any], viewer_id: str) -> None:
    others = [one for one in row.viewers if one != viewer_id]
    named = STATE.c.id == row.id
    if row.domain == "joke" and others:
        kept = {"viewers": others, "fields": {**row.fields, "participants": others}}
        connection.execute(update(STATE).where(named).values(**kept))
    else:
        connection.execute(delete(STATE).where(named))


def erase_again(connection: Connection, key: str, until: int) -> None:
    """Do to an older copy of the records what the tombstone `key` says was done."""
    _, _, viewer_id = key.partition("\x1f")
    for row in about(connection, viewer_id):
        if _key(row.id, viewer_id) == key and row.created_at <= until:
            _take_out(connection, row, viewer_id)


def _key(record_id: str, viewer_id: str) -> str:
    return f"{uuid5(NAMESPACE_OID, record_id)}\x1f{viewer_id}"  # an id may be made of words


def drop_made_of(connection: Connection, line_ids: Sequence[str]) -> list[str]:
    """Erase the records that these messages asked for; return their ids."""
    made = [row.id for row in _MADE_OF.all(connection, {"ids": packed(map(clean, line_ids))})]
    for piece in chunks(made):
        connection.execute(delete(STATE).where(STATE.c.id.in_(piece)))
    return made


def _holds(row: Row[Any], words: str) -> bool:
    return not words or holds(row.text, words)
