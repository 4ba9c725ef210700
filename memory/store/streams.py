"""Streams: begun, ended, and a temporary one joined to the real one once the platform names it."""

from typing import Any

from sqlalchemy import Connection, Row, select, update
from sqlalchemy.dialects.sqlite import insert

from memory.errors import InvalidRow
from memory.model import Stream
from memory.store import tombstones
from memory.store.collections import collection_name
from memory.store.document_writes import DOCUMENT, LINE, SOURCE
from memory.store.rows import stream_of, stream_values
from memory.store.scrub import clean
from memory.store.tables import StreamRow, table_of

STREAM = table_of(StreamRow)


def begin(connection: Connection, stream: Stream) -> list[str]:
    """Store a stream, or resume a known one; return the ids of open temporary streams that were joined to it.

    A known stream keeps its start and gets the newer title, category, channel and bot; it is open again.
    """
    values = stream_values(stream)
    fresh = {name: values[name] for name in ("channel", "bot", "title", "category")} | {"ended_at": values["ended_at"]}
    connection.execute(insert(STREAM).values(**values).on_conflict_do_update(index_elements=["id"], set_=fresh))
    if stream.temporary:
        return []
    temporary = select(STREAM.c.id).where(
        STREAM.c.temporary.is_(True), STREAM.c.ended_at.is_(None), STREAM.c.joined_to.is_(None), STREAM.c.id != values["id"]
    )
    joined = [str(id_) for id_ in connection.scalars(temporary.order_by(STREAM.c.started_at, STREAM.c.id))]
    for id_ in joined:
        _join(connection, id_, values["id"])
    return joined


def _join(connection: Connection, temporary: str, real: str) -> None:
    started = connection.scalar(select(STREAM.c.started_at).where(STREAM.c.id == temporary))
    connection.execute(update(STREAM).where(STREAM.c.id == temporary).values(joined_to=real))
    connection.execute(update(STREAM).where(STREAM.c.id == real, STREAM.c.started_at > started).values(started_at=started))
    resting = select(SOURCE.c.document_seq).join(LINE, LINE.c.seq == SOURCE.c.line_seq).where(LINE.c.stream_id == temporary)
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.seq.in_(resting)).values(stream_id=real))
    episodic = DOCUMENT.c.collection == collection_name("stream", temporary)
    moved = {"collection": collection_name("stream", real), "indexed_model": None}
    connection.execute(update(DOCUMENT).where(episodic).values(**moved))
    connection.execute(update(LINE).where(LINE.c.stream_id == temporary).values(stream_id=real))
    tombstones.hand_over(connection, temporary, real)


def unindexed(connection: Connection, stream_id: str) -> list[str]:
    """Return the ids of a stream's own documents that the index does not hold, in the order of writing."""
    episodic = DOCUMENT.c.collection == collection_name("stream", clean(stream_id))
    return list(
        connection.scalars(select(DOCUMENT.c.id).where(episodic, DOCUMENT.c.indexed_model.is_(None)).order_by(DOCUMENT.c.seq))
    )


def end(connection: Connection, stream_id: str, at: int) -> None:
    """Note the end of a stream; an unknown one is nothing to end."""
    connection.execute(update(STREAM).where(STREAM.c.id == home(connection, stream_id)).values(ended_at=at))


def home(connection: Connection, stream_id: str) -> str:
    """Return the id of the stream that an id stands for: of the real one where a temporary one was joined."""
    joined = connection.scalar(select(STREAM.c.joined_to).where(STREAM.c.id == clean(stream_id)))
    return joined or clean(stream_id)


def one_with(connection: Connection, stream_id: str) -> list[str]:
    """Return the ids of all that makes one stream with this one: what was joined, and what will be, while it is temporary."""
    row = row_for(connection, stream_id)
    if row is None:
        return [clean(stream_id)]
    columns = STREAM.c
    open_ones = (columns.temporary.is_(True), columns.ended_at.is_(None), columns.joined_to.is_(None))
    others = select(columns.id).where(*open_ones if row.temporary else (columns.joined_to == row.id,), columns.id != row.id)
    return [row.id, *connection.scalars(others.order_by(columns.id))]


def stream_for(connection: Connection, stream_id: str) -> Stream:
    """Return the stream that an id stands for: a joined temporary one gives the real one.

    Raises:
        InvalidRow: the stream never began.
    """
    row = row_for(connection, stream_id)
    if row is None:
        raise InvalidRow(f"stream {stream_id!r} is not known: call begin_stream before its lines are stored")
    return stream_of(row)


def row_for(connection: Connection, stream_id: str) -> Row[Any] | None:
    """Return the row of the stream that an id stands for, None where unknown."""
    return connection.execute(select(STREAM).where(STREAM.c.id == home(connection, stream_id))).one_or_none()
