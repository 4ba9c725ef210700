"""What recall reads: each call one short session, rows turned into values before it ends."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import CompoundSelect, Row, Select, and_, func, literal, or_, select, union_all

from lore.entry import LoreEntry
from memory.model import Document, HistoryLine, KnownViewer, StateRecord, Stream
from memory.relations import Edge
from memory.store import beliefs, fulltext, graph
from memory.store.collections import collection_name
from memory.store.database import Database
from memory.store.document_writes import DOCUMENT, IN_SIGHT, LINE, chunks
from memory.store.facts import FACT
from memory.store.hiding import RESTS_ON_LIVING_LINES
from memory.store.lore import ENTRY, entry_of
from memory.store.rows import document_of, history_of, state_of, stream_of
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.state import STATE
from memory.store.streams import STREAM
from memory.store.viewers import ViewerBook

_PLACES = select(DOCUMENT.c.id, DOCUMENT.c.seq, DOCUMENT.c.collection).where(IN_SIGHT)
_SAID = LINE.alias("said")
_NEAR = LINE.alias("near")
_LONGEST_BESIDE = 500  # characters of a line beside that are read
_SHOWN = and_(
    _NEAR.c.stream_id == _SAID.c.stream_id, _NEAR.c.deleted_at.is_(None), _NEAR.c.hidden.is_(False), _NEAR.c.kind != "notice"
)
_WORDS = select(func.substr(_NEAR.c.text, 1, _LONGEST_BESIDE)).limit(1).correlate(_SAID)
_BEHIND_LINES, _BEHIND_MS = 30, 180_000  # how far behind a line it is still taken back
_BEHIND = and_(
    _SHOWN,
    _NEAR.c.kind == "message",
    _NEAR.c.seq > _SAID.c.seq,
    _NEAR.c.seq <= _SAID.c.seq + _BEHIND_LINES,
    _NEAR.c.at <= _SAID.c.at + _BEHIND_MS,
)
_BY_AUTHOR = _NEAR.c.viewer_id == _SAID.c.viewer_id
_NEXT = _WORDS.order_by(_NEAR.c.seq)
_AFTERMATH = select(
    _SAID.c.id,
    _NEXT.where(_BEHIND, _BY_AUTHOR).scalar_subquery().label("own"),
    _NEXT.where(_BEHIND, ~_BY_AUTHOR, _NEAR.c.reply_to == _SAID.c.id).scalar_subquery().label("answer"),
    _NEXT.where(_BEHIND, ~_BY_AUTHOR).scalar_subquery().label("other"),
)
_TYPED = select(DOCUMENT, FACT.c.predicate).select_from(DOCUMENT.outerjoin(FACT, FACT.c.id == DOCUMENT.c.id))
_HITS_AT_ONCE = 20  # SQLite takes so many parts of a UNION, and more
_NOT_JOINED = STREAM.c.joined_to.is_(None)


def _sides(hit: Row[Any], each_side: int) -> Iterator[Select[Any]]:
    """Yield what asks for the documents before and after a hit, each with the hit's id and place."""
    near = select(DOCUMENT).where(DOCUMENT.c.collection == hit.collection, IN_SIGHT).limit(each_side)
    older = near.where(DOCUMENT.c.seq < hit.seq).order_by(DOCUMENT.c.seq.desc())
    newer = near.where(DOCUMENT.c.seq > hit.seq).order_by(DOCUMENT.c.seq)
    for side in (older, newer):
        yield select(literal(hit.id).label("hit"), literal(hit.seq).label("place"), side.subquery())


class Reader:
    """The memory's reading side: `memory.ports.MemoryReader` on SQLite.

    Every method raises StoreUnavailable where the file cannot be read, and MemoryClosed after its database was closed.
    """

    def __init__(self, database: Database, book: ViewerBook | None = None) -> None:
        """Read from `database`; `book` is the one that the recorder keeps up."""
        self._database = database
        self._book = book or ViewerBook()

    async def _rows(self, *statements: Select[Any] | CompoundSelect[Any]) -> list[Row[Any]]:
        async with self._database.reading() as session:
            return [row for statement in statements for row in (await session.execute(statement)).all()]

    async def stream(self, stream_id: str) -> Stream | None:
        """Return a stream, None where unknown; a temporary one that was joined gives the real one."""
        joined = select(STREAM.c.joined_to).where(STREAM.c.id == clean(stream_id)).scalar_subquery()
        rows = await self._rows(select(STREAM).where(STREAM.c.id == func.coalesce(joined, clean(stream_id))))
        return stream_of(rows[0]) if rows else None

    async def streams(self, *, before: datetime, limit: int) -> list[Stream]:
        """Return streams that began before a moment, newest first."""
        begun = select(STREAM).where(STREAM.c.started_at < milliseconds(before), _NOT_JOINED)
        rows = await self._rows(begun.order_by(STREAM.c.started_at.desc(), STREAM.c.id).limit(limit))
        return [stream_of(row) for row in rows]

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        """Return the newest lines of a stream, oldest first: those that were neither deleted nor cleared away."""
        joined = select(STREAM.c.joined_to).where(STREAM.c.id == clean(stream_id)).scalar_subquery()
        shown = select(LINE).where(
            LINE.c.stream_id == func.coalesce(joined, clean(stream_id)), LINE.c.deleted_at.is_(None), LINE.c.hidden.is_(False)
        )
        rows = await self._rows(shown.order_by(LINE.c.seq.desc()).limit(limit))
        return [history_of(row) for row in reversed(rows)]

    async def known_viewers(self) -> list[KnownViewer]:
        """Return everybody seen in this channel, opted-out viewers aside; from memory after the first call."""
        return await self._book.everybody(self._database)

    async def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the living documents among `ids`; erased and superseded ones are missing."""
        living = [_TYPED.where(DOCUMENT.c.id.in_(piece), IN_SIGHT) for piece in chunks(ids)]
        return {row.id: document_of(row) for row in await self._rows(*living)}

    def forget_viewers(self) -> None:
        """Read anew who is known at the next question: somebody was taken out."""
        self._book.forget()

    async def full_text(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (document id, BM25 score, higher is better) within one collection."""
        async with self._database.reading() as session:
            return await fulltext.search(session, collection, query, limit)

    async def newest(self, collection: str, limit: int) -> list[Document]:
        """Return the documents of a collection that were written last, newest first."""
        living = select(DOCUMENT).where(DOCUMENT.c.collection == collection, IN_SIGHT)
        return [document_of(row) for row in await self._rows(living.order_by(DOCUMENT.c.seq.desc()).limit(limit))]

    async def around(self, ids: Sequence[str], each_side: int) -> dict[str, tuple[list[Document], list[Document]]]:
        """Return, for each living document among `ids`, the living ones just before and just after it in its collection."""
        hits = await self._rows(*(_PLACES.where(DOCUMENT.c.id.in_(piece)) for piece in chunks(ids)))
        found: dict[str, tuple[list[Document], list[Document]]] = {hit.id: ([], []) for hit in hits}
        for start in range(0, len(hits), _HITS_AT_ONCE):
            asked = union_all(*(side for hit in hits[start : start + _HITS_AT_ONCE] for side in _sides(hit, each_side)))
            for row in sorted(await self._rows(asked), key=lambda row: row.seq):
                before, after = found[row.hit]
                (before if row.seq < row.place else after).append(document_of(row))
        return found

    async def aftermath(self, line_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return, for each line, what was said right behind it: by its author, in answer to it, and next by somebody else."""
        rows = await self._rows(*(_AFTERMATH.where(_SAID.c.id.in_(piece)) for piece in chunks(line_ids)))
        return {row.id: {"own": row.own or "", "answer": row.answer or "", "other": row.other or ""} for row in rows}

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Document]:
        """Return the facts that a viewer stated about themselves, true now or at `as_of` (valid time); newest first.

        With `known_at` (transaction time), what was believed then. What is true now may end, or begin, on a day that is known:
        the caller looks. A fact whose interval is empty was corrected, or taken back: it was never true.
        """
        if known_at is not None:
            async with self._database.reading() as session:
                return await session.run_sync(
                    lambda read: beliefs.known(read.connection(), viewer_id, as_of=as_of, known_at=known_at)
                )
        identity = clean(viewer_id)
        own = and_(
            DOCUMENT.c.collection == collection_name("viewer", viewer_id),
            DOCUMENT.c.subject == identity,
            DOCUMENT.c.author == identity,
        )
        if as_of is None:
            true = and_(FACT.c.expired_at.is_(None), FACT.c.faded_at.is_(None), IN_SIGHT)
        else:
            at = milliseconds(as_of)
            true = and_(
                func.coalesce(FACT.c.valid_at, DOCUMENT.c.at) <= at, or_(FACT.c.invalid_at.is_(None), FACT.c.invalid_at > at)
            )
        found = (
            select(DOCUMENT, FACT.c.predicate).join(FACT, FACT.c.id == DOCUMENT.c.id).where(own, true, RESTS_ON_LIVING_LINES)
        )
        newest = (func.coalesce(FACT.c.valid_at, DOCUMENT.c.at).desc(), DOCUMENT.c.seq.desc())
        return [document_of(row) for row in await self._rows(found.order_by(*newest))]

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer and has not ended, newest first."""
        told = (DOCUMENT.c.collection == collection_name("claims", viewer_id), IN_SIGHT)
        living = select(DOCUMENT).join(FACT, FACT.c.id == DOCUMENT.c.id).where(*told, FACT.c.expired_at.is_(None))
        return [document_of(row) for row in await self._rows(living.order_by(DOCUMENT.c.seq.desc()))]

    async def edges(self, starts: Sequence[str], *, hops: int, most: int) -> list[Edge]:
        """Return the edges of facts believed now around these entities, up to `hops` steps from them; the newest `most`."""
        async with self._database.reading() as session:
            return await graph.near(session, starts, hops=hops, most=most)

    async def lore(self) -> list[LoreEntry]:
        """Return the canon, as last synchronised, by id."""
        return [entry_of(row) for row in await self._rows(select(ENTRY).order_by(ENTRY.c.id))]

    async def state(self, domains: Sequence[str], viewer_ids: Sequence[str], *, at: datetime) -> list[StateRecord]:
        """Return live records of the domains, newest first: open and done ones, neither deleted nor expired by `at`.

        Where viewers are named, only records about one of them; a record about nobody (a note to all) is everybody's.
        """
        live = select(STATE).where(
            STATE.c.domain.in_(domains),
            STATE.c.status != "deleted",
            or_(STATE.c.expires_at.is_(None), STATE.c.expires_at > milliseconds(at)),
        )
        rows = await self._rows(live.order_by(STATE.c.updated_at.desc(), STATE.c.id))
        wanted = {clean(one) for one in viewer_ids}
        return [state_of(row) for row in rows if not wanted or not row.viewers or wanted & set(row.viewers)]
