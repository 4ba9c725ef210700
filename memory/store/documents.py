"""What the vector index is built from: documents by turn, by line, by id and by page, and the mark that says they are indexed.

Superseded documents are not wanted in the index: nothing reads them from there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from memory.store.document_writes import DOCUMENT, IN_SIGHT, LINE, SOURCE, chunks
from memory.store.episodes import TURN
from memory.store.meta import store_value, value_of

_D = DOCUMENT.c
_EMBEDDER = "index_embedder"
_INDEX = "index_identity"
_SELECT = select(_D.seq, _D.id, _D.collection, _D.kind, _D.text, _D.indexed_model).where(IN_SIGHT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexable:
    """A document as the index needs it; `model` is the embedder whose vector is stored, None where there is none yet."""

    seq: int
    id: str
    collection: str
    kind: str
    text: str
    model: str | None


def _indexable(row: RowMapping) -> Indexable:
    return Indexable(
        seq=row["seq"],
        id=row["id"],
        collection=row["collection"],
        kind=row["kind"],
        text=row["text"],
        model=row["indexed_model"],
    )


def _parts(values: Iterable[Any]) -> Iterable[Sequence[Any]]:
    return chunks(list(dict.fromkeys(values)))


async def of_jobs(session: AsyncSession, payloads: Sequence[Mapping[str, Any]]) -> list[Indexable]:
    """Return the living documents that index jobs name (`turn`, `reply` or `documents`), each once, in the order of writing."""
    turns = [payload["turn"] for payload in payloads if "turn" in payload]
    lines = [payload["reply"] for payload in payloads if "reply" in payload]
    named = [identity for payload in payloads for identity in payload.get("documents", ())]
    for part in _parts(turns):
        for row in await session.execute(select(TURN.c.line_ids, TURN.c.reply_id).where(TURN.c.id.in_(part))):
            lines += [*row.line_ids, *([row.reply_id] if row.reply_id else [])]
    resting = [
        _D.seq.in_(select(SOURCE.c.document_seq).join(LINE, LINE.c.seq == SOURCE.c.line_seq).where(LINE.c.id.in_(part)))
        for part in _parts(lines)
    ]
    found: dict[int, Indexable] = {}
    for chosen in (*resting, *(_D.id.in_(part) for part in _parts(named))):
        found |= {document.seq: document for document in await _all(session, _SELECT.where(chosen))}
    return [found[seq] for seq in sorted(found)]


async def page(session: AsyncSession, *, after: int, limit: int) -> list[Indexable]:
    """Return the next living documents behind key `after`, in the order of writing."""
    return await _all(session, _SELECT.where(_D.seq > after).order_by(_D.seq).limit(limit))


async def of_collection(session: AsyncSession, collection: str) -> list[Indexable]:
    """Return the living documents of one collection, in the order of writing."""
    return await _all(session, _SELECT.where(_D.collection == collection).order_by(_D.seq))


async def _all(session: AsyncSession, statement: Select[Any]) -> list[Indexable]:
    return [_indexable(row) for row in (await session.execute(statement)).mappings()]


async def living(session: AsyncSession, collection: str, ids: Sequence[str]) -> set[str]:
    """Return those of `ids` that are living documents of this collection."""
    found: set[str] = set()
    for part in _parts(ids):
        wanted = select(_D.id).where(_D.id.in_(part), _D.collection == collection, IN_SIGHT)
        found |= set(await session.scalars(wanted))
    return found


async def populated(session: AsyncSession, collections: Sequence[str]) -> set[str]:
    """Return those of `collections` that hold a living document."""
    found: set[str] = set()
    for part in _parts(collections):
        wanted = select(_D.collection).where(_D.collection.in_(part), IN_SIGHT).distinct()
        found |= set(await session.scalars(wanted))
    return found


async def collections(session: AsyncSession, *, after: str = "", limit: int | None = None) -> list[str]:
    """Return collections that a document lies in, in the order of their names: all, or the next `limit` behind `after`."""
    wanted = select(_D.collection).where(_D.collection > after).distinct().order_by(_D.collection).limit(limit)
    return list(await session.scalars(wanted))


def mark(connection: Connection, indexed: Sequence[Indexable], model: str | None) -> set[str]:
    """Store whose vector each document has (None: none); return the ids of those that still live in their collection.

    A document whose text was changed meanwhile keeps its mark: the vector is of the old text.
    """
    before = {document.id: document for document in indexed}
    alive: set[str] = set()
    for part in _parts(before):
        living = select(_D.id, _D.collection, _D.text).where(_D.id.in_(part), IN_SIGHT)
        rows = [row for row in connection.execute(living).all() if row.collection == before[row.id].collection]
        alive |= {row.id for row in rows}
        same = [row.id for row in rows if row.text == before[row.id].text]
        connection.execute(update(DOCUMENT).where(_D.id.in_(same)).values(indexed_model=model))
    return alive


async def embedder(session: AsyncSession) -> str | None:
    """Return the embedder that the index was built by, None where nothing was indexed yet."""
    return await session.run_sync(lambda reading: value_of(reading.connection(), _EMBEDDER))


def store_embedder(connection: Connection, name: str) -> None:
    """Note the embedder that the index is built by."""
    store_value(connection, _EMBEDDER, name)


async def index_known(session: AsyncSession) -> tuple[str | None, bool]:
    """Return the identity of the index that the marks are about, None where none was noted, and whether there are any marks."""

    def read(reading: Any) -> tuple[str | None, bool]:  # noqa: ANN401 - SQLAlchemy's own session
        connection = reading.connection()
        marked = select(_D.seq).where(_D.indexed_model.is_not(None)).limit(1)
        return value_of(connection, _INDEX), connection.scalar(marked) is not None

    return await session.run_sync(read)


async def newest(session: AsyncSession) -> int:
    """Return the highest `seq` of all documents, 0 where there are none: what is written from now on gets a higher one."""
    return int(await session.scalar(select(func.coalesce(func.max(_D.seq), 0))) or 0)


def store_index(connection: Connection, identity: str) -> None:
    """Note the identity of the index that the marks are about."""
    store_value(connection, _INDEX, identity)
