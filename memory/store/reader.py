"""What recall reads: each call one snapshot, rows turned into values before it ends."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Row, Select, and_, bindparam, case, func, or_, select, union_all

from lore.entry import LoreEntry
from memory.model import Document, HistoryLine, KnownViewer, StateRecord, Stream
from memory.relations import Edge
from memory.store import beliefs, fulltext, graph
from memory.store.collections import collection_name
from memory.store.database import Database
from memory.store.document_writes import DOCUMENT, HIDDEN, IDS, IN_SIGHT, LINE, packed
from memory.store.facts import FACT
from memory.store.hiding import RESTS_ON_LIVING_LINES
from memory.store.lore import ENTRY, entry_of
from memory.store.prepared import Prepared
from memory.store.rows import document_of, history_of, state_of, stream_of
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.state import STATE
from memory.store.streams import STREAM
from memory.store.viewers import ViewerBook

T = TypeVar("T")
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
_AFTERMATH = Prepared(
    select(
        _SAID.c.id,
        _NEXT.where(_BEHIND, _BY_AUTHOR).scalar_subquery().label("own"),
        _NEXT.where(_BEHIND, ~_BY_AUTHOR, _NEAR.c.reply_to == _SAID.c.id).scalar_subquery().label("answer"),
        _NEXT.where(_BEHIND, ~_BY_AUTHOR).scalar_subquery().label("other"),
    ).where(_SAID.c.id.in_(IDS))
)
_TWO = 2
_TALK_LINES, _TALK_MS = 8, 600_000  # what of the chat before a line shows whether just two people talk
_BEFORE = and_(_SHOWN, _NEAR.c.seq.between(_SAID.c.seq - _TALK_LINES, _SAID.c.seq), _NEAR.c.at >= _SAID.c.at - _TALK_MS)
_WHO = func.coalesce(_NEAR.c.viewer_id, "")  # the bot's replies are nobody's
_TALKING = select(func.count(_WHO.distinct())).where(_BEFORE).correlate(_SAID).scalar_subquery()
_LAST = _WORDS.order_by(_NEAR.c.seq.desc()).where(_BEFORE, _SAID.c.viewer_id != _WHO).scalar_subquery()
_PARENT = _WORDS.where(_SHOWN, _NEAR.c.id == _SAID.c.reply_to).scalar_subquery()
_ANSWERED = Prepared(
    select(
        _SAID.c.id,
        case((_SAID.c.reply_to.is_not(None), _PARENT), (_TALKING == _TWO, _LAST)).label("words"),
        _SAID.c.reply_to.is_not(None).label("replied"),
    ).where(_SAID.c.id.in_(IDS))
)
_SHOWN_COLUMNS = [column for column in DOCUMENT.c if column.key not in {"stems", "superseded", "indexed_model"}]
_LIVING = select(*_SHOWN_COLUMNS).where(IN_SIGHT)
_BY_ID = Prepared(
    select(*_SHOWN_COLUMNS, FACT.c.predicate)
    .select_from(DOCUMENT.outerjoin(FACT, FACT.c.id == DOCUMENT.c.id))
    .where(DOCUMENT.c.id.in_(IDS), IN_SIGHT)
)
_IN_COLLECTION = DOCUMENT.c.collection == bindparam("collection")
_NEWEST = Prepared(_LIVING.where(_IN_COLLECTION).order_by(DOCUMENT.c.seq.desc()).limit(bindparam("most")))
_HIT, _BY = DOCUMENT.alias("hit"), DOCUMENT.alias("by")
_HIT_HIDDEN = select(HIDDEN.c.document_seq).where(HIDDEN.c.document_seq == _HIT.c.seq).correlate(_HIT).exists()
_SAME_PLACE = (
    select(DOCUMENT.c.seq).where(DOCUMENT.c.collection == _HIT.c.collection, IN_SIGHT).limit(bindparam("most")).correlate(_HIT)
)
_OLDER = _SAME_PLACE.where(DOCUMENT.c.seq < _HIT.c.seq).order_by(DOCUMENT.c.seq.desc())
_NEWER = _SAME_PLACE.where(DOCUMENT.c.seq > _HIT.c.seq).order_by(DOCUMENT.c.seq)
_AROUND = Prepared(
    select(_HIT.c.id.label("hit"), _HIT.c.seq.label("place"), *(_BY.c[column.key] for column in _SHOWN_COLUMNS))
    .select_from(
        _HIT.join(
            _BY,
            _BY.c.seq.in_(union_all(select(_HIT.c.seq).correlate(_HIT), *(select(one.subquery()) for one in (_OLDER, _NEWER)))),
        )
    )
    .where(_HIT.c.id.in_(IDS), _HIT.c.superseded.is_(False), ~_HIT_HIDDEN)
    .order_by(_BY.c.seq)
)
_NOT_JOINED = STREAM.c.joined_to.is_(None)
_JOINED = select(STREAM.c.joined_to).where(STREAM.c.id == bindparam("stream")).scalar_subquery()
_REAL = func.coalesce(_JOINED, bindparam("stream"))  # a temporary stream that was joined stands for the real one
_STREAM = Prepared(select(STREAM).where(STREAM.c.id == _REAL))
_STREAMS = Prepared(
    select(STREAM)
    .where(STREAM.c.started_at < bindparam("before"), _NOT_JOINED)
    .order_by(STREAM.c.started_at.desc(), STREAM.c.id)
    .limit(bindparam("most"))
)
_HISTORY = Prepared(
    select(LINE)
    .where(LINE.c.stream_id == _REAL, LINE.c.deleted_at.is_(None), LINE.c.hidden.is_(False))
    .order_by(LINE.c.seq.desc())
    .limit(bindparam("most"))
)
_BEGINS = func.coalesce(FACT.c.valid_at, DOCUMENT.c.at)
_OWN_FACTS = (
    select(*_SHOWN_COLUMNS, FACT.c.predicate)
    .join(FACT, FACT.c.id == DOCUMENT.c.id)
    .where(
        _IN_COLLECTION,
        DOCUMENT.c.subject == bindparam("viewer"),
        DOCUMENT.c.author == bindparam("viewer"),
        RESTS_ON_LIVING_LINES,
    )
    .order_by(_BEGINS.desc(), DOCUMENT.c.seq.desc())
)
_FACTS = Prepared(_OWN_FACTS.where(FACT.c.expired_at.is_(None), FACT.c.faded_at.is_(None), IN_SIGHT))
_FACTS_THEN = Prepared(
    _OWN_FACTS.where(bindparam("then") >= _BEGINS, or_(FACT.c.invalid_at.is_(None), FACT.c.invalid_at > bindparam("then")))
)
_CLAIMS = Prepared(
    _LIVING.join(FACT, FACT.c.id == DOCUMENT.c.id)
    .where(_IN_COLLECTION, FACT.c.expired_at.is_(None))
    .order_by(DOCUMENT.c.seq.desc())
)
_LORE = Prepared(select(ENTRY).order_by(ENTRY.c.id))
_STATE = Prepared(
    select(STATE)
    .where(
        STATE.c.domain.in_(IDS),
        STATE.c.status != "deleted",
        or_(STATE.c.expires_at.is_(None), STATE.c.expires_at > bindparam("at")),
    )
    .order_by(STATE.c.updated_at.desc(), STATE.c.id)
)


class Reader:
    """The memory's reading side: `memory.ports.MemoryReader` on SQLite.

    Every method raises StoreUnavailable where the file cannot be read, and MemoryClosed after its database was closed.
    """

    def __init__(self, database: Database, book: ViewerBook | None = None) -> None:
        """Read from `database`; `book` is the one that the recorder keeps up."""
        self._database = database
        self._book = book or ViewerBook()

    async def _rows(self, *statements: Select[Any]) -> list[Row[Any]]:
        async with self._database.reading() as session:
            return [row for statement in statements for row in (await session.execute(statement)).all()]

    async def _values(self, make: Callable[[Any], T], statement: Prepared, values: Mapping[str, Any]) -> list[T]:
        """Return what `make` makes of each row of a statement."""
        return await self._database.read(lambda read: [make(row) for row in statement.all(read, values)])

    async def stream(self, stream_id: str) -> Stream | None:
        """Return a stream, None where unknown; a temporary one that was joined gives the real one."""
        return next(iter(await self._values(stream_of, _STREAM, {"stream": clean(stream_id)})), None)

    async def streams(self, *, before: datetime, limit: int) -> list[Stream]:
        """Return streams that began before a moment, newest first."""
        return await self._values(stream_of, _STREAMS, {"before": milliseconds(before), "most": limit})

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        """Return the newest lines of a stream, oldest first: those that were neither deleted nor cleared away."""
        newest = await self._values(history_of, _HISTORY, {"stream": clean(stream_id), "most": limit})
        return newest[::-1]

    async def known_viewers(self) -> list[KnownViewer]:
        """Return everybody seen in this channel, opted-out viewers aside; from memory after the first call."""
        return await self._book.everybody(self._database)

    async def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the living documents among `ids`; erased and superseded ones are missing."""
        return {document.id: document for document in await self._values(document_of, _BY_ID, {"ids": packed(ids)})}

    def forget_viewers(self) -> None:
        """Read anew who is known at the next question: somebody was taken out."""
        self._book.forget()

    async def full_text(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        """Return up to `limit` (document id, BM25 score, higher is better) within one collection."""
        return await self._database.read(lambda read: fulltext.search(read, collection, query, limit))

    async def newest(self, collection: str, limit: int) -> list[Document]:
        """Return the documents of a collection that were written last, newest first."""
        return await self._values(document_of, _NEWEST, {"collection": collection, "most": limit})

    async def around(self, ids: Sequence[str], each_side: int) -> dict[str, tuple[list[Document], list[Document]]]:
        """Return, for each living document among `ids`, the living ones just before and just after it in its collection."""
        values = {"ids": packed(ids), "most": each_side}
        rows = await self._values(lambda row: (row.hit, row.seq - row.place, document_of(row)), _AROUND, values)
        found: dict[str, tuple[list[Document], list[Document]]] = {hit: ([], []) for hit, distance, _ in rows if not distance}
        for hit, distance, document in rows:
            if distance:
                found[hit][distance > 0].append(document)
        return found

    async def answered(self, line_ids: Sequence[str]) -> dict[str, tuple[str, bool]]:
        """Return, for each line that answers another one, the words of that (a parent's, else the other's of two who talk).

        With them, whether the line is a reply.
        """
        rows = await self._values(tuple, _ANSWERED, {"ids": packed(line_ids)})
        return {id_: (said, bool(replied)) for id_, said, replied in rows if said}

    async def aftermath(self, line_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return, for each line, what was said right behind it: by its author, in answer to it, and next by somebody else."""
        rows = await self._values(tuple, _AFTERMATH, {"ids": packed(line_ids)})
        return {id_: {"own": own or "", "answer": answer or "", "other": other or ""} for id_, own, answer, other in rows}

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Document]:
        """Return the facts that a viewer stated about themselves, true now or at `as_of` (valid time); newest first.

        With `known_at` (transaction time), what was believed then. What is true now may end, or begin, on a day that is known:
        the caller looks. A fact whose interval is empty was corrected, or taken back: it was never true.
        """
        if known_at is not None:
            return await self._database.read(lambda read: beliefs.known(read, viewer_id, as_of=as_of, known_at=known_at))
        values = {"collection": collection_name("viewer", viewer_id), "viewer": clean(viewer_id)}
        if as_of is None:
            return await self._values(document_of, _FACTS, values)
        return await self._values(document_of, _FACTS_THEN, {**values, "then": milliseconds(as_of)})

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer and has not ended, newest first."""
        return await self._values(document_of, _CLAIMS, {"collection": collection_name("claims", viewer_id)})

    async def edges(self, starts: Sequence[str], *, hops: int, most: int) -> list[Edge]:
        """Return the edges of facts believed now around these entities, up to `hops` steps from them; the newest `most`."""
        async with self._database.reading() as session:
            return await graph.near(session, starts, hops=hops, most=most)

    async def lore(self) -> list[LoreEntry]:
        """Return the canon, as last synchronised, by id."""
        return await self._values(entry_of, _LORE, {})

    async def state(self, domains: Sequence[str], viewer_ids: Sequence[str], *, at: datetime) -> list[StateRecord]:
        """Return live records of the domains, newest first: open and done ones, neither deleted nor expired by `at`.

        Where viewers are named, only records about one of them; a record about nobody (a note to all) is everybody's.
        """
        live = await self._values(state_of, _STATE, {"ids": packed(domains), "at": milliseconds(at)})
        wanted = {clean(one) for one in viewer_ids}
        return [record for record in live if not wanted or not record.viewers or wanted & set(record.viewers)]
