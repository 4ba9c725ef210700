"""Tool calls that were carried out, so that none is carried out twice, and whom they keep out of their turn's consolidation."""

from collections.abc import Iterable

from sqlalchemy import Connection, bindparam, delete, insert, select

from memory.state_orders import StateOrder
from memory.store.document_writes import chunks
from memory.store.prepared import Prepared
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds
from memory.store.tables import StateCallRow, table_of

CALL = table_of(StateCallRow)
_OF_TURN = Prepared(select(CALL.c.held).where(CALL.c.turn_id == bindparam("turn")).order_by(CALL.c.at, CALL.c.key))


def known(connection: Connection, key: str) -> bool:
    """Return whether the call of this key was carried out."""
    return connection.scalar(select(CALL.c.key).where(CALL.c.key == clean(key))) is not None


def note(connection: Connection, order: StateOrder, viewers: Iterable[str]) -> None:
    """Write down that a call was carried out: ids, no content."""
    held = dict.fromkeys(map(clean, (*order.held, *viewers)))
    row = {
        "key": clean(order.key or ""),
        "turn_id": clean_or_none(order.turn_id),
        "at": milliseconds(order.call.at),
        "held": list(held),
    }
    connection.execute(insert(CALL), [row])


def drop(connection: Connection, viewer_id: str) -> None:
    """Take out the calls that name a viewer: their keys are made of words that are to be gone."""
    identity = clean(viewer_id)
    named = [row.key for row in connection.execute(select(CALL.c.key, CALL.c.held)) if identity in row.held]
    for piece in chunks(named):
        connection.execute(delete(CALL).where(CALL.c.key.in_(piece)))


def held_in(connection: Connection, turn_id: str) -> list[str]:
    """Return the viewers whom the calls of a turn keep out of its personal consolidation."""
    found = _OF_TURN.all(connection, {"turn": turn_id})  # asked of every turn that is recorded
    return list(dict.fromkeys(viewer for row in found for viewer in row.held))
