"""What is to be forgotten, chosen and hidden at once: nothing reads it from here on. `erase.purge_lines` takes the words out.

Every reader passes over hidden documents (`document_writes.IN_SIGHT`); purging decides what is left of them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, Select, bindparam, literal_column, or_, select, text, update

from memory.normalise import holds
from memory.store.collections import collection_name
from memory.store.document_writes import DOCUMENT, IDS, LINE, SOURCE, packed
from memory.store.episodes import TURN, lines_by_id
from memory.store.prepared import Prepared
from memory.store.scrub import clean
from memory.store.streams import home

_L = LINE.c
_FOUND = (_L.seq, _L.id, _L.kind, _L.viewer_id, _L.at, _L.text)
_EVER = 1 << 62
_SHORTEST_PREFIX = 8  # of an id that is given by its beginning
_AFTER_ALL = "\U0010ffff"
_ERASED_SOURCE = (
    select(SOURCE.c.line_seq)
    .join(LINE, LINE.c.seq == SOURCE.c.line_seq)
    .where(SOURCE.c.document_seq == DOCUMENT.c.seq, LINE.c.deleted_at.is_not(None))
)
# What shows the past reads superseded documents too, which are not hidden a second time: these words tell which of them are.
RESTS_ON_LIVING_LINES = ~_ERASED_SOURCE.correlate(DOCUMENT).exists()
_OWN_KEYS = select(_L.seq).where(_L.viewer_id == bindparam("viewer")).scalar_subquery()
_OWN = Prepared(
    select(*_FOUND)
    .where(_L.seq.in_(_OWN_KEYS), _L.kind != "reply", _L.deleted_at.is_(None), _L.at <= bindparam("until"))
    .order_by(_L.seq)
)
_WITH = "EXISTS (SELECT 1 FROM json_each(line.detail, '$.{}') AS one WHERE one.value IN (SELECT value FROM json_each(:ids)))"
_RESTS = text(_WITH.format("rests_on"))
_NAMES = text(_WITH.format("in_reply_to"))
_NAMELESS = text("(line.turn_id IS NOT NULL AND coalesce(json_array_length(line.detail, '$.in_reply_to'), 0) = 0)")
_LATER_REPLIES = (
    select(*_FOUND, _L.turn_id, _L.detail)
    .where(_L.kind == literal_column("'reply'"), _L.seq >= bindparam("first"), _L.deleted_at.is_(None))
    .where(_L.at <= bindparam("until"))
    .order_by(_L.seq)
)
_MADE_OF = Prepared(_LATER_REPLIES.where(or_(_RESTS, _NAMES, _NAMELESS)))
_RESTING_REPLIES = Prepared(_LATER_REPLIES.where(_RESTS))
_LINES_OF_TURNS = Prepared(select(TURN.c.id, TURN.c.line_ids).where(TURN.c.id.in_(IDS)))
_MARK = Prepared(update(LINE).where(_L.seq.in_(IDS)).values(deleted_at=bindparam("at")))
_RESTING = select(SOURCE.c.document_seq).where(SOURCE.c.line_seq.in_(IDS))
_COVER = Prepared(
    text(
        "INSERT OR IGNORE INTO hidden_document (document_seq) "
        "SELECT DISTINCT source.document_seq FROM document_source AS source "
        "JOIN document ON document.seq = source.document_seq WHERE document.superseded = 0 "
        "AND source.line_seq IN (SELECT value FROM json_each(:ids)) ORDER BY source.document_seq"
    )
)
_WORDS_OF_LINES = Prepared(select(_L.kind, _L.text).where(_L.seq.in_(IDS)))
_WORDS_RESTING = Prepared(select(DOCUMENT.c.kind, DOCUMENT.c.text).where(DOCUMENT.c.seq.in_(_RESTING)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What was hidden: keys of lines (replies among them), and how many of each kind."""

    seqs: tuple[int, ...] = ()
    lines: int = 0
    replies: int = 0
    documents: int = 0


def lines_of(connection: Connection, viewer_id: str, until: int, words: str = "") -> list[Any]:
    """Return what a viewer wrote up to a moment, what holds these words in a row alone where some are given."""
    rows = _OWN.all(connection, {"viewer": clean(viewer_id), "until": until})
    return [row for row in rows if holds(row.text, words)] if words else [*rows]


def newest_line(connection: Connection, stream_id: str, until: int, viewer_id: str | None) -> list[Row[Any]]:
    """Return the newest message of a stream, of one viewer where named; none where there is none."""
    shown = (_L.stream_id == home(connection, stream_id), _L.kind == "message", _L.deleted_at.is_(None), _L.at <= until)
    wanted: Select[Any] = select(*_FOUND).where(*shown, *([] if viewer_id is None else [_L.viewer_id == clean(viewer_id)]))
    return [*connection.execute(wanted.order_by(_L.seq.desc()).limit(1)).all()]


def lines_behind(connection: Connection, id_: str) -> list[Row[Any]]:
    """Return the living lines that an id stands for: of a line itself, or those behind a memory; an ambiguous one gives none.

    Canon has no lines and is not found.
    """
    identity = clean(id_)
    line = _one(connection, LINE, identity)
    if line is not None:
        return [line] if line.deleted_at is None else []
    document = _one(connection, DOCUMENT, identity)
    if document is None:
        return []
    rows = lines_by_id(connection, document.provenance).values()
    return sorted((row for row in rows if row.deleted_at is None), key=lambda row: row.seq)


def _one(connection: Connection, table: Any, identity: str) -> Row[Any] | None:  # noqa: ANN401 - a Core table
    exact = connection.execute(select(table).where(table.c.id == identity)).one_or_none()
    if exact is not None or len(identity) < _SHORTEST_PREFIX:
        return exact
    begins = select(table).where(table.c.id >= identity, table.c.id < identity + _AFTER_ALL).limit(2)
    found = connection.execute(begins).all()
    return found[0] if len(found) == 1 else None


def replies_made_of(
    connection: Connection, lines: Iterable[Any], until: int | None = None, *, also: Sequence[str] = ()
) -> list[Any]:
    """Return the bot's living replies that answer any of these lines, or were made from them, or from such a reply.

    `also` are ids of other things that they may be made from: records of structured state, as `state:<id>`.
    """
    rows = list(lines)
    ids = {*(row.id for row in rows), *also}
    if not ids:
        return []
    # An answer comes after what it answers; when a record was made is not known here.
    found = _MADE_OF.all(connection, _given(ids, 0 if also else min(row.seq for row in rows), until))
    turns = _lines_of_turns(connection, {row.turn_id for row in found if row.turn_id and not _named(row)})
    made = [
        row
        for row in found
        if not ids.isdisjoint(_named(row) or turns.get(row.turn_id, ())) or not ids.isdisjoint(rests_on(row))
    ]
    return sorted([*made, *replies_resting_on(connection, made, until)], key=lambda row: row.seq)


def replies_resting_on(
    connection: Connection, lines: Sequence[Any], until: int | None = None, *, also: Sequence[str] = ()
) -> list[Any]:
    """Return the bot's living replies, themselves aside, that were made from these lines, or from such a reply, and so on."""
    known, made = {row.seq for row in lines}, list[Any]()
    ids, first = {*(row.id for row in lines), *also}, 0 if also else min((row.seq for row in lines), default=0)
    while ids:
        fresh = [row for row in _RESTING_REPLIES.all(connection, _given(ids, first, until)) if row.seq not in known]
        known |= {row.seq for row in fresh}
        made += fresh
        ids, first = {row.id for row in fresh}, min((row.seq for row in fresh), default=0)
    return made


def _given(ids: Iterable[str], first: int, until: int | None) -> dict[str, Any]:
    return {"ids": packed(sorted(ids)), "first": first, "until": _EVER if until is None else until}


def _named(reply: Row[Any]) -> Sequence[str]:
    return tuple((reply.detail or {}).get("in_reply_to", ()))


def rests_on(reply: Row[Any]) -> Sequence[str]:
    """Return the ids of what a reply was made from, what it answers aside."""
    return tuple((reply.detail or {}).get("rests_on", ()))


def _lines_of_turns(connection: Connection, ids: set[str]) -> dict[str, Sequence[str]]:
    return {row.id: row.line_ids for row in _LINES_OF_TURNS.all(connection, {"ids": packed(sorted(ids))})} if ids else {}


def hide(connection: Connection, lines: Sequence[Any], replies: Sequence[Any], at: int) -> Hidden:
    """Mark lines and replies as deleted, and everything that rests on them as out of sight."""
    seqs = sorted({row.seq for row in (*lines, *replies)})
    found = packed(seqs)
    _MARK.run(connection, [{"ids": found, "at": at}])
    documents = _COVER.run(connection, [{"ids": found}])
    return Hidden(seqs=tuple(seqs), lines=len(lines), replies=len(replies), documents=documents)


def unfounded(connection: Connection, collection: str, until: int) -> list[str]:
    """Return the ids of a collection's documents that no line stands behind."""
    founded = select(SOURCE.c.document_seq).where(SOURCE.c.document_seq == DOCUMENT.c.seq).exists()
    wanted = select(DOCUMENT.c.id).where(DOCUMENT.c.collection == collection, DOCUMENT.c.at <= until, ~founded)
    return list(connection.scalars(wanted.order_by(DOCUMENT.c.seq)))


def claims_about(connection: Connection, viewer_id: str, until: int, words: str = "") -> list[str]:
    """Return the ids of what others claim about a viewer, of what holds these words in a row alone where some are given."""
    told = (DOCUMENT.c.collection == collection_name("claims", viewer_id), DOCUMENT.c.at <= until)
    rows = connection.execute(select(DOCUMENT.c.id, DOCUMENT.c.text).where(*told).order_by(DOCUMENT.c.seq)).all()
    return [row.id for row in rows if not words or holds(row.text, words)]


def words_of(connection: Connection, seqs: Sequence[int]) -> list[tuple[str, str]]:
    """Return kind and words of these lines and of the documents that rest on them: what other stores may have kept."""
    rows = [*_WORDS_OF_LINES.all(connection, {"ids": packed(seqs)}), *_WORDS_RESTING.all(connection, {"ids": packed(seqs)})]
    return list(dict.fromkeys((row.kind, row.text) for row in rows if row.text))
