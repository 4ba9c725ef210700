"""Facts in SQL: what is held about a viewer, written with its document, ended, confirmed, and true again after an erasure.

Every fact rests on lines, through its document: erasing them takes it along. A fact that ended keeps its row and its document,
which say until when it was true.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncSession

from memory.model import Document
from memory.statements import Fact, Statement
from memory.store import decisions, tombstones
from memory.store.collections import collection_name
from memory.store.document_writes import DOCUMENT, IDS, IN_SIGHT, LINE, SOURCE, packed, put
from memory.store.episodes import TURN, derived_id
from memory.store.prepared import Prepared
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds, moment
from memory.store.tables import EdgeRow, FactRow, ViewerRow, table_of

FACT = table_of(FactRow)
VIEWER = table_of(ViewerRow)
EDGE_OF = table_of(EdgeRow)
_HELD = (
    select(FACT, DOCUMENT.c.at.label("said_at"), DOCUMENT.c.provenance, DOCUMENT.c.stream_id)
    .join(DOCUMENT, DOCUMENT.c.id == FACT.c.id)
    .order_by(DOCUMENT.c.at, DOCUMENT.c.seq)  # as they were said, whenever they were read
)
_OF_SUBJECTS = _HELD.where(FACT.c.subject.in_(IDS), FACT.c.speaker.is_(None))
_CLAIMED = _HELD.where(FACT.c.speaker.in_(IDS))
_STAYS = text("fact.id NOT IN (SELECT value FROM json_each(:ids))")
_ENDED_BY = Prepared(select(FACT).where(FACT.c.superseded_by.in_(IDS), _STAYS).order_by(FACT.c.id))
_FOR_EVER = 1 << 62
_NEAR = 200  # lines back in which the author's lines before are looked for
_BEFORE = 2  # of them: a correction may be of a correction


def fact_id(statement: Statement, key: str) -> str:
    """Return the id of a fact or claim: always the same for what one message says of one thing. `key`: its object."""
    kind = ("fact",) if statement.speaker is None else ("claim", statement.speaker)
    return derived_id(*kind, statement.subject, statement.predicate, key, statement.source)


def held(connection: Connection, subjects: Iterable[str]) -> list[Fact]:
    """Return every fact about these viewers, past ones too, in the order in which they were said; claims by others are none."""
    return [_fact(row) for row in connection.execute(_OF_SUBJECTS, {"ids": packed(map(clean, subjects))}).all()]


def claimed(connection: Connection, speakers: Iterable[str]) -> list[Fact]:
    """Return every claim that these viewers made, past ones too, in the order in which they were said."""
    return [_fact(row) for row in connection.execute(_CLAIMED, {"ids": packed(map(clean, speakers))}).all()]


def unrelated(connection: Connection, *, after: str, limit: int) -> list[Fact]:
    """Return facts and claims without an edge whose ids come behind `after`, by id."""
    edge = select(EDGE_OF).where(EDGE_OF.c.fact_id == FACT.c.id).exists()
    held_ = _HELD.order_by(None).where(FACT.c.id > after, ~edge).order_by(FACT.c.id).limit(limit)
    return [_fact(row) for row in connection.execute(held_).all()]


def _fact(row: Row[Any]) -> Fact:
    return Fact(
        id=row.id,
        subject=row.subject,
        predicate=row.predicate,
        object=row.object,
        at=moment(row.said_at),
        sources=tuple(row.provenance),
        valid_at=moment(row.valid_at),
        invalid_at=moment(row.invalid_at),
        expired_at=moment(row.expired_at),
        salience=row.salience,
        stream_id=row.stream_id,
        speaker=row.speaker,
    )


def add(
    connection: Connection,
    fact: Fact,
    statement: Statement,
    *,
    now: int,
    superseded_by: str | None = None,
) -> list[str]:
    """Store a fact with its document in its subject's own memory; return the document's id where it must be indexed.

    A claim lies apart, in a collection of what others say about its subject.
    """
    written = put(connection, [document_for(fact, statement)])
    row = {
        "id": fact.id,
        "subject": clean(fact.subject),
        "predicate": clean(fact.predicate),
        "object": clean(fact.object),
        "text": clean(statement.text),
        "valid_at": milliseconds(fact.valid_at),
        "valid_precision": statement.precision,
        "invalid_at": milliseconds(fact.invalid_at),
        "created_at": now,
        "expired_at": now if superseded_by else None,
        "salience": fact.salience,
        "confidence": statement.confidence,
        "superseded_by": superseded_by,
        "speaker": clean_or_none(fact.speaker),
        "uses": 0,
    }
    connection.execute(insert(FACT).values(**row))
    return written


def document_for(fact: Fact, statement: Statement) -> Document:
    """Return the document of a fact, with the words of a statement.

    A plan can be found before its day, and what was always so at any time; all else from its beginning on.
    """
    undated = statement.slot.stable or statement.slot.name == "plan"
    return Document(
        id=fact.id,
        collection=collection_name("viewer" if fact.speaker is None else "claims", fact.subject),
        kind="fact" if fact.speaker is None else "claim",
        text=statement.text,
        at=fact.at,
        provenance=fact.sources,
        subject=fact.subject,
        author=fact.speaker or fact.subject,
        stream_id=fact.stream_id,
        valid_at=None if undated else min(fact.begins, fact.at),
        invalid_at=fact.invalid_at,
    )


def end(connection: Connection, fact: Fact, by: str, *, now: int) -> None:
    """Note that a fact ended at its `invalid_at`, and which other one says so; its document says it too."""
    at = milliseconds(fact.invalid_at)
    connection.execute(update(FACT).where(FACT.c.id == fact.id).values(invalid_at=at, expired_at=now, superseded_by=by))
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.id == fact.id).values(invalid_at=at))


def confirm(connection: Connection, fact: Fact, *, at: int) -> list[str]:
    """Store the sources and the salience of a fact that was said again at that moment; return the documents to index.

    One that had faded is back.
    """
    faded = connection.scalar(select(FACT.c.faded_at).where(FACT.c.id == fact.id)) is not None
    used = func.max(func.coalesce(FACT.c.used_at, 0), at)
    fresh = {"salience": fact.salience, "used_at": used, "faded_at": None}
    connection.execute(update(FACT).where(FACT.c.id == fact.id).values(**fresh))
    shown: dict[str, Any] = {"superseded": False, "indexed_model": None} if faded else {}
    values = {"provenance": list(map(clean, fact.sources)), **shown}
    changed = update(DOCUMENT).where(DOCUMENT.c.id == fact.id).values(**values)
    seq = connection.scalar(changed.returning(DOCUMENT.c.seq))
    line_seq = connection.scalar(select(LINE.c.seq).where(LINE.c.id == clean(fact.sources[-1])))
    if seq is not None and line_seq is not None:
        connection.execute(insert(SOURCE).prefix_with("OR IGNORE").values(line_seq=line_seq, document_seq=seq))
    return [fact.id] if faded else []


def date_message(connection: Connection, source: str, *, valid_at: int | None = None, invalid_at: int | None = None) -> None:
    """Note from when or until when a viewer's message is true as a statement; None leaves that as it is."""
    given = {name: value for name, value in (("valid_at", valid_at), ("invalid_at", invalid_at)) if value is not None}
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.id == derived_id("message", source)).values(**given))


def past(connection: Connection, sources: Iterable[str]) -> dict[str, datetime]:
    """Return until when these messages are true as statements, of those that are past, or will be."""
    by_document = {derived_id("message", source): source for source in sources}
    dated = select(DOCUMENT.c.id, DOCUMENT.c.invalid_at).where(DOCUMENT.c.id.in_(IDS), DOCUMENT.c.invalid_at.is_not(None))
    return {by_document[row.id]: moment(row.invalid_at) for row in connection.execute(dated, {"ids": packed(by_document)})}


def remembered(connection: Connection, sources: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return the provenance of these lines in their author's own memory: the line, and the command that put it right.

    Lines that are not there (erased, hidden, held back, not meant for it) are missing.
    """
    by_document = {derived_id("message", source): source for source in sources}
    living = select(DOCUMENT.c.id, DOCUMENT.c.provenance).where(DOCUMENT.c.id.in_(IDS), IN_SIGHT)
    found = connection.execute(living, {"ids": packed(by_document)})
    return {by_document[row.id]: tuple(row.provenance) for row in found}


async def lines_of(session: AsyncSession, turns: Sequence[str], ids: Sequence[str]) -> list[Row[Any]]:
    """Return the viewers' lines of these turns, and those of `ids`, in the order of writing; erased ones are not among them."""
    wanted = list(map(clean, ids))
    for row in await session.execute(select(TURN.c.line_ids).where(TURN.c.id.in_(IDS)), {"ids": packed(turns)}):
        wanted += row.line_ids
    viewers = (LINE.c.deleted_at.is_(None), LINE.c.kind != "reply", LINE.c.viewer_id.is_not(None), LINE.c.text != "")
    found = await session.execute(
        select(LINE).where(LINE.c.id.in_(IDS), *viewers).order_by(LINE.c.seq), {"ids": packed(wanted)}
    )
    return list(found.all())


async def lines_before(session: AsyncSession, rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Return the last lines that the author of each of `rows` wrote close before it in the stream, `rows` themselves aside.

    So a line is read the same with whichever others it is read.
    """
    found: dict[int, Row[Any]] = {}
    for some in _near_together(rows):
        start, end_ = some[0].seq - _NEAR, some[-1].seq
        near = select(LINE).where(LINE.c.seq >= start, LINE.c.seq < end_, LINE.c.deleted_at.is_(None), LINE.c.kind == "message")
        said: dict[tuple[str, str], dict[int, Row[Any]]] = {}
        for row in (await session.execute(near.order_by(LINE.c.seq))).all():
            said.setdefault((row.stream_id, row.viewer_id), {})[row.seq] = row
        for one in some:
            own = said.get((one.stream_id, one.viewer_id), {})
            before = [seq for seq in own if one.seq - _NEAR <= seq < one.seq]
            found |= {seq: own[seq] for seq in before[-_BEFORE:]}
    return [found[seq] for seq in sorted(found.keys() - {row.seq for row in rows})]


def _near_together(rows: Sequence[Row[Any]]) -> list[list[Row[Any]]]:
    """Return lines in the order of writing, in runs between which there are many others."""
    runs: list[list[Row[Any]]] = []
    for row in sorted(rows, key=lambda row: int(row.seq)):
        if runs and row.seq - runs[-1][-1].seq <= _NEAR:
            runs[-1].append(row)
        else:
            runs.append([row])
    return runs


async def words_of(session: AsyncSession, ids: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return the words of these lines and who wrote them, by id; erased ones are missing."""
    living = select(LINE.c.id, LINE.c.text, LINE.c.viewer_id).where(LINE.c.id.in_(IDS), LINE.c.deleted_at.is_(None))
    return {row.id: (row.text, row.viewer_id or "") for row in (await session.execute(living, {"ids": packed(ids)})).all()}


def unspeakable(connection: Connection, viewer_ids: Iterable[str]) -> dict[str, int]:
    """Return until when what others said of these viewers is not to be kept: they were forgotten, or opted out (for ever).

    Nor before they were seen, so that the same log gives the same claims whenever its jobs run; of who never was, never.
    """
    known = list(viewer_ids)
    seen = select(VIEWER.c.id, VIEWER.c.first_seen).where(VIEWER.c.id.in_(IDS))
    first = {row.id: row.first_seen - 1 for row in connection.execute(seen, {"ids": packed(known)})}
    everybody = tombstones.of_scope(connection, "viewer", [tombstones.EVERYBODY]).get(tombstones.EVERYBODY, -1)
    forgotten = dict.fromkeys(known, everybody) | tombstones.of_scope(connection, "viewer", known)
    until = {one: max(forgotten[one], first.get(one, _FOR_EVER)) for one in known}
    return until | dict.fromkeys(tombstones.of_scope(connection, "opt_out", known), _FOR_EVER)


def restore(connection: Connection, gone: Sequence[str]) -> list[str]:
    """Undo what facts that are about to be erased had ended; return the ids of the documents that are true again.

    Where a chain goes on behind the erased one, what it had ended is ended by the next one that stays.
    """
    erased = set(gone)
    restored: list[str] = []
    for row in _ENDED_BY.all(connection, {"ids": packed(gone)}):
        heir = _heir(connection, row.superseded_by, erased)
        if heir is None:
            _reopen(connection, row)
            decisions.hand_on(connection, row.id, gone, None)
            restored.append(str(row.id))
        else:
            begins = connection.scalar(select(DOCUMENT.c.at).where(DOCUMENT.c.id == heir.id)) or heir.created_at
            _close(connection, row, heir.valid_at or begins, heir.id)
            decisions.hand_on(connection, row.id, gone, (heir.id, heir.valid_at or begins))
    return restored


def _heir(connection: Connection, first: str, erased: set[str]) -> Row[Any] | None:
    """Return the fact that stands behind an erased one, None where it was the last word."""
    seen: set[str] = set()
    next_: str | None = first
    while next_ is not None and next_ in erased and next_ not in seen:
        seen.add(next_)
        next_ = connection.scalar(select(FACT.c.superseded_by).where(FACT.c.id == next_))
    if next_ is None or next_ in erased:
        return None
    return connection.execute(select(FACT).where(FACT.c.id == next_)).one_or_none()


def _reopen(connection: Connection, row: Row[Any]) -> None:
    open_again = {"superseded_by": None, "invalid_at": None, "expired_at": None}
    connection.execute(update(FACT).where(FACT.c.id == row.id).values(**open_again))
    living = {"superseded": False, "invalid_at": None, "indexed_model": None}
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.id == row.id).values(**living))
    lines = select(SOURCE.c.line_seq).join(DOCUMENT, DOCUMENT.c.seq == SOURCE.c.document_seq).where(DOCUMENT.c.id == row.id)
    beside = select(SOURCE.c.document_seq).where(SOURCE.c.line_seq.in_(lines))
    said = update(DOCUMENT).where(DOCUMENT.c.seq.in_(beside), DOCUMENT.c.kind == "message").values(invalid_at=None)
    connection.execute(said)


def _close(connection: Connection, row: Row[Any], at: int, by: str) -> None:
    connection.execute(update(FACT).where(FACT.c.id == row.id).values(superseded_by=by, invalid_at=at))
    connection.execute(update(DOCUMENT).where(DOCUMENT.c.id == row.id).values(invalid_at=at))
