"""Structured state that is about a viewer: counted, and erased with them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, delete, func, select, update

from memory.normalise import spaced
from memory.store import state_calls
from memory.store.document_writes import chunks
from memory.store.scrub import clean
from memory.store.state import STATE


def about(connection: Connection, viewer_id: str) -> list[Row[Any]]:
    """Return the records that name a viewer, closed ones among them, by id."""
    identity = clean(viewer_id)
    return [row for row in connection.execute(select(STATE).order_by(STATE.c.id)).all() if identity in row.viewers]


def erase(connection: Connection, viewer_id: str, until: int, words: str = "") -> int:
    """Erase a viewer's records up to a moment, those that hold `words` alone where some are given; return how many.

    A running joke stays the others' who take part in it; the viewer is taken out of it.
    """
    state_calls.drop(connection, viewer_id)
    found = [row for row in about(connection, viewer_id) if row.created_at <= until and _holds(row, words)]
    for row in found:
        others = [one for one in row.viewers if one != clean(viewer_id)]
        named = STATE.c.id == row.id
        if row.domain == "joke" and others:
            kept = {"viewers": others, "fields": {**row.fields, "participants": others}}
            connection.execute(update(STATE).where(named).values(**kept))
        else:
            connection.execute(delete(STATE).where(named))
    return len(found)


def drop_made_of(connection: Connection, line_ids: Sequence[str]) -> int:
    """Erase the records that these messages asked for; return how many."""
    dropped = 0
    for piece in chunks(list(map(clean, line_ids))):
        made = delete(STATE).where(func.json_extract(STATE.c.fields, "$.source").in_(piece))
        dropped += connection.execute(made).rowcount
    return dropped


def _holds(row: Row[Any], words: str) -> bool:
    return not words or spaced(words) in spaced(row.text)
