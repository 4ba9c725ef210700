"""Everything forgotten at once: what chat put into the tables goes, the canon and the tombstones stay."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from memory.store.collections import LORE
from memory.store.document_writes import DOCUMENT, LINE
from memory.store.state import STATE
from memory.store.state_calls import CALL
from memory.store.streams import STREAM
from memory.store.viewers import NAME, VIEWER

_L = LINE.c
_BLANK: dict[str, Any] = {"text": "", "reply_to": None, "viewer_id": None, "login": None, "name": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleared:
    """What went, and the collections that are empty now."""

    lines: int
    replies: int
    documents: int
    records: int
    collections: list[str]


def clear(connection: Connection, at: int) -> Cleared:
    """Erase every line's words and author, every memory but the canon, state, names, titles. Opt-outs stay in force."""
    living = select(func.count()).select_from(LINE).where(_L.deleted_at.is_(None))
    replies = connection.scalar(living.where(_L.kind == "reply")) or 0
    lines = (connection.scalar(living) or 0) - replies
    names = select(DOCUMENT.c.collection).where(DOCUMENT.c.collection != LORE).distinct().order_by(DOCUMENT.c.collection)
    collections = list(connection.scalars(names))
    # A notice keeps its kind: without it, it could not be told from a message.
    notices = update(LINE).where(_L.kind == "notice", _L.detail.is_not(None))
    connection.execute(notices.values(detail=func.json_object("kind", func.json_extract(_L.detail, "$.kind"))))
    connection.execute(update(LINE).where(_L.kind != "notice").values(detail=None))
    connection.execute(update(LINE).values(**_BLANK, deleted_at=func.coalesce(_L.deleted_at, at)))
    documents = connection.execute(delete(DOCUMENT).where(DOCUMENT.c.collection != LORE)).rowcount
    records = connection.execute(delete(STATE)).rowcount
    connection.execute(delete(CALL))
    connection.execute(delete(NAME))
    connection.execute(delete(VIEWER).where(VIEWER.c.opted_out.is_(False)))
    connection.execute(update(STREAM).values(title=None, category=None))
    return Cleared(lines=lines, replies=replies, documents=documents, records=records, collections=collections)
