"""Numbers kept for each stream, such as what a model cost in it; they go when neither it nor its jobs can ask any more."""

from typing import Final

from sqlalchemy import Connection, and_, delete, or_, select

from memory.store import meta
from memory.store.document_writes import LINE, chunks
from memory.store.scrub import clean
from memory.store.streams import STREAM

ANSWERS: Final = "answers:"  # each stands before the id of a stream
READING: Final = "llm_tokens:"
_KEPT = 30 * 86_400_000  # milliseconds: no broadcast lasts that long, and what a model is to read of one is read by then
_S = STREAM.c


def value_of(connection: Connection, kind: str, stream_id: str) -> str | None:
    """Return what is kept for a stream, itself alone."""
    return meta.value_of(connection, f"{kind}{clean(stream_id)}")


def store_value(connection: Connection, kind: str, stream_id: str, value: str) -> None:
    """Keep it, in place of what was kept before."""
    meta.store_value(connection, f"{kind}{clean(stream_id)}", value)


def drop_old(connection: Connection, now: int) -> int:
    """Delete what is kept for streams that are long over, and for what was joined to them; return how much.

    Where chat was heard last is not over, however long ago it began; nor is a temporary stream that still waits for its name.
    """
    heard_last = select(LINE.c.stream_id).order_by(LINE.c.seq.desc()).limit(1).scalar_subquery()
    unnamed = and_(_S.temporary.is_(True), _S.ended_at.is_(None), _S.joined_to.is_(None))
    lately = or_(_S.started_at >= now - _KEPT, _S.ended_at >= now - _KEPT, unnamed, _S.id == heard_last)
    living = select(_S.id).where(lately)
    needed = set(connection.scalars(select(_S.id).where(or_(lately, _S.joined_to.in_(living)))))
    gone = []
    for kind in (ANSWERS, READING):
        kept = connection.scalars(select(meta.META.c.key).where(meta.META.c.key.startswith(kind, autoescape=True)))
        gone += [key for key in kept if key.removeprefix(kind) not in needed]
    for piece in chunks(gone):
        connection.execute(delete(meta.META).where(meta.META.c.key.in_(piece)))
    return len(gone)
