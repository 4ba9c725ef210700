"""What is held of one viewer: counted, and written out whole for the viewer themselves."""

from typing import Any

from sqlalchemy import Connection, and_, func, or_, select

from memory.model import Document
from memory.receipts import Holding
from memory.store import audit, hiding, records, tombstones
from memory.store.collections import collection_name
from memory.store.document_writes import DOCUMENT, IN_SIGHT, LINE
from memory.store.rows import document_of, shown_text, state_of
from memory.store.scrub import clean
from memory.store.stamps import moment
from memory.store.viewers import NAME, VIEWER

_NEWEST = 5
_EVER = 1 << 62
_ALL = 1_000_000


def counted(connection: Connection, viewer_id: str) -> Holding:
    """Return how much is held of a viewer, and the ids of their newest memories."""
    identity = clean(viewer_id)
    living = (DOCUMENT.c.collection == collection_name("viewer", viewer_id), IN_SIGHT)
    kinds = select(DOCUMENT.c.kind, func.count().label("held")).where(*living).group_by(DOCUMENT.c.kind)
    held = {row.kind: row.held for row in connection.execute(kinds)}
    whose = or_(DOCUMENT.c.subject == identity, DOCUMENT.c.author == identity)
    claims = (DOCUMENT.c.kind == "claim", whose, IN_SIGHT)
    newest = select(DOCUMENT.c.id).where(*living).order_by(DOCUMENT.c.seq.desc()).limit(_NEWEST)
    return Holding(
        viewer_id=identity,
        messages=held.get("message", 0),
        facts=held.get("fact", 0),
        claims=connection.scalar(select(func.count()).where(*claims)) or 0,
        records=len(records.about(connection, viewer_id)),
        newest=tuple(connection.scalars(newest)),
        opted_out=bool(tombstones.of_scope(connection, "opt_out", [identity])),
    )


def exported(connection: Connection, viewer_id: str) -> dict[str, Any]:
    """Return everything held of a viewer, values of JSON and times: names, lines, replies, memories, state, audit."""
    identity = clean(viewer_id)
    lines = hiding.lines_of(connection, identity, _EVER)
    about = records.about(connection, identity)
    replies = hiding.replies_made_of(connection, lines, also=[records.named(row.id) for row in about])
    return {
        "viewer": _person(connection, identity),
        "lines": _lines(connection, [row.seq for row in lines]),
        "replies": _lines(connection, [row.seq for row in replies]),
        "memories": _memories(connection, identity),
        "records": [state_of(row) for row in about],
        "audit": audit.listed(connection, viewer_id=identity, limit=_ALL),
    }


def _person(connection: Connection, viewer_id: str) -> dict[str, Any]:
    row = connection.execute(select(VIEWER).where(VIEWER.c.id == viewer_id)).one_or_none()
    names = connection.execute(select(NAME).where(NAME.c.viewer_id == viewer_id).order_by(NAME.c.first_at, NAME.c.login)).all()
    return {
        "id": viewer_id,
        "login": row.login if row else "",
        "name": row.name if row else "",
        "first_seen": moment(row.first_seen) if row else None,
        "last_seen": moment(row.last_seen) if row else None,
        "opted_out": bool(row and row.opted_out),
        "names": [
            {"login": one.login, "name": one.name, "from": moment(one.first_at), "to": moment(one.last_at)} for one in names
        ],
    }


def _lines(connection: Connection, seqs: list[int]) -> list[dict[str, Any]]:
    wanted = select(LINE).where(LINE.c.seq.in_(select(func.json_each(str(seqs)).table_valued("value").c.value)))
    return [
        {
            "id": row.id,
            "stream": row.stream_id,
            "at": moment(row.at),
            "kind": row.kind,
            "text": shown_text(row),
            "login": row.login,
            "name": row.name,
            "reply_to": row.reply_to,
            "detail": row.detail or {},  # badges, bits, mentions, and what else came with it
        }
        for row in connection.execute(wanted.order_by(LINE.c.seq))
    ]


def _memories(connection: Connection, viewer_id: str) -> list[Document]:
    """Return the memories of and about the viewer, those of the past too; the lines of a stream are its memory."""
    own = or_(
        DOCUMENT.c.collection == collection_name("viewer", viewer_id),
        DOCUMENT.c.subject == viewer_id,
        and_(DOCUMENT.c.kind == "claim", DOCUMENT.c.author == viewer_id),
    )
    found = select(DOCUMENT).where(own, hiding.RESTS_ON_LIVING_LINES).order_by(DOCUMENT.c.seq)
    return [document_of(row) for row in connection.execute(found)]
