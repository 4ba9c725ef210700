"""What was removed, without its content: what arrives later than its own deletion stays out."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, delete, select, text
from sqlalchemy.dialects.sqlite import insert

from memory.store.prepared import Prepared
from memory.store.rows import Values
from memory.store.tables import TombstoneRow, table_of

TOMBSTONE = table_of(TombstoneRow)
EVERYBODY = "*"  # the key of the viewers' tombstone that covers all of them: no id of a viewer looks like this
_SET_FOR = Prepared(
    text(
        "SELECT scope, tombstone.key, at FROM json_each(:wanted) AS wanted CROSS JOIN tombstone "
        "ON scope = json_extract(wanted.value, '$[0]') AND tombstone.key = json_extract(wanted.value, '$[1]')"
    ),
    names=("scope", "key", "at"),
)


def stream_user(stream_id: str, viewer_id: str) -> str:
    """Return the key of one viewer in one stream."""
    return f"{stream_id}\x1f{viewer_id}"


def bury(connection: Connection, scope: str, keys: Iterable[str], at: int) -> None:
    """Set tombstones; a later one of the same key moves its time on."""
    statement = insert(TOMBSTONE)
    later = statement.on_conflict_do_update(
        index_elements=["scope", "key"], set_={"at": statement.excluded.at}, where=statement.excluded.at > TOMBSTONE.c.at
    )
    rows = [{"scope": scope, "key": key, "at": at} for key in sorted(set(keys))]
    if rows:
        connection.execute(later, rows)


def hand_over(connection: Connection, temporary: str, real: str) -> None:
    """Let the time-outs of a stream, and the clearings of its chat, hold in the one that it became, too."""
    ours = stream_user(temporary, "")
    for key, at in of_scope(connection, "stream_user").items():
        if key.startswith(ours):
            bury(connection, "stream_user", [stream_user(real, key.removeprefix(ours))], at)
    for at in of_scope(connection, "stream_chat", [temporary]).values():
        bury(connection, "stream_chat", [real], at)


def lift(connection: Connection, scope: str, key: str) -> bool:
    """Take a tombstone away; return whether there was one."""
    return connection.execute(delete(TOMBSTONE).where(TOMBSTONE.c.scope == scope, TOMBSTONE.c.key == key)).rowcount > 0


def of_scope(connection: Connection, scope: str, keys: Iterable[str] | None = None) -> dict[str, int]:
    """Return the tombstones of a scope with their times: all, or those of `keys`."""
    found: Iterable[Any]
    if keys is None:
        found = connection.execute(select(TOMBSTONE.c.key, TOMBSTONE.c.at).where(TOMBSTONE.c.scope == scope))
    else:
        found = _SET_FOR.all(connection, {"wanted": json.dumps([[scope, key] for key in keys])})
    return {row.key: row.at for row in found}


def apply(connection: Connection, stream_id: str, rows: Sequence[Values]) -> None:
    """Blank those of the lines to be stored that were deleted already, and hide those that a clearing of the chat covers.

    A viewer's tombstone, and a time-out's, cover what was written up to their time: what is said after it is a new matter.
    """
    viewers = {row["viewer_id"] for row in rows if row["viewer_id"] is not None}
    wanted = [
        *(["line", row["id"]] for row in rows),
        *(["viewer", viewer] for viewer in (*viewers, EVERYBODY)),
        *(["stream_user", stream_user(stream_id, viewer)] for viewer in viewers),
        ["stream_chat", stream_id],
    ]
    found = {(row.scope, row.key): row.at for row in _SET_FOR.all(connection, {"wanted": json.dumps(wanted)})}
    if not found:
        return
    for row in rows:
        _apply_to(row, found, stream_id)


def _apply_to(row: Values, found: dict[tuple[str, str], int], stream_id: str) -> None:
    viewer = row["viewer_id"] or ""
    covering = (("viewer", viewer), ("viewer", EVERYBODY), ("stream_user", stream_user(stream_id, viewer)))
    dated = [found.get(tombstone, -1) for tombstone in covering]
    named = found.get(("line", row["id"]))
    if named is not None or row["at"] <= max(dated):
        row.update(text="", detail=_kind_alone(row), deleted_at=max(named or -1, *dated))
    elif row["at"] <= found.get(("stream_chat", stream_id), -1):
        row["hidden"] = True


def _kind_alone(row: Values) -> Values | None:
    return {"kind": row["detail"]["kind"]} if row["kind"] == "notice" else None
