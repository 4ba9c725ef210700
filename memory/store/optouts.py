"""Viewers of whom nothing is stored: a tombstone that says since when, and the row that keeps them out of sight."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, update
from sqlalchemy.dialects.sqlite import insert

from memory.events import Line
from memory.store import tombstones
from memory.store.scrub import clean
from memory.store.viewers import NAME, VIEWER

_SCOPE = "opt_out"


def all_of(connection: Connection) -> dict[str, int]:
    """Return who opted out, and when."""
    return tombstones.of_scope(connection, _SCOPE)


def shut(connection: Connection, viewer_id: str, at: int) -> None:
    """Opt a viewer out: their names go, the id stays, so that it can be kept out."""
    tombstones.bury(connection, _SCOPE, [viewer_id], at)
    connection.execute(delete(NAME).where(NAME.c.viewer_id == viewer_id))
    nameless = {"login": "", "name": "", "opted_out": True}
    row = {"id": viewer_id, "is_bot": False, "first_seen": at, "last_seen": at, **nameless}
    connection.execute(insert(VIEWER).values(**row).on_conflict_do_update(index_elements=["id"], set_=nameless))


def open_again(connection: Connection, viewer_id: str) -> bool:
    """Opt a viewer in; return whether they were out."""
    connection.execute(update(VIEWER).where(VIEWER.c.id == viewer_id).values(opted_out=False))
    return tombstones.lift(connection, _SCOPE, viewer_id)


def stored(connection: Connection, lines: Sequence[Line]) -> tuple[Line, ...]:
    """Return those of the lines that may be stored."""
    writers = {clean(line.user.id) for line in lines if line.user is not None}
    out = tombstones.of_scope(connection, _SCOPE, writers)
    return tuple(line for line in lines if line.user is None or clean(line.user.id) not in out)
