"""Documents: written with their way back to the lines they rest on, replaced by id, removed by id."""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from memory.model import Document
from memory.store.rows import Values
from memory.store.scrub import clean, clean_or_none, shortened
from memory.store.stamps import milliseconds
from memory.store.stems import stems
from memory.store.tables import DocumentRow, DocumentSourceRow, LineRow, table_of

DOCUMENT = table_of(DocumentRow)
SOURCE = table_of(DocumentSourceRow)
LINE = table_of(LineRow)
_CHUNK = 500  # SQLite allows 999 variables in its older builds
_SAME = ("text", "provenance", "collection", "subject", "author", "stream_id", "at", "valid_at", "invalid_at")


def chunks(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield `ids` in pieces that fit into one statement."""
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]


def put(connection: Connection, documents: Sequence[Document]) -> list[str]:
    """Store documents: new ids are added, known ones replaced; return the ids that changed and must be indexed (again)."""
    rows = {row["id"]: row for row in map(_values, documents)}
    known = {
        row.id: row
        for piece in chunks(list(rows))
        for row in connection.execute(select(DOCUMENT).where(DOCUMENT.c.id.in_(piece))).all()
    }
    added = [row for id_, row in rows.items() if id_ not in known]
    changed = [
        row for id_, row in rows.items() if id_ in known and any(row[name] != getattr(known[id_], name) for name in _SAME)
    ]
    if added:
        last = connection.scalar(select(func.max(DOCUMENT.c.seq))) or 0
        for seq, row in enumerate(added, last + 1):  # one writer: nobody else takes these numbers
            row["seq"] = seq
        connection.execute(insert(DOCUMENT), added)
    if changed:
        for row in changed:
            row["seq"] = known[row["id"]].seq
        _replace(connection, changed)
    _link(connection, added + changed)
    return [row["id"] for row in added + changed]


def _values(document: Document) -> Values:
    text = shortened(clean(document.text))
    return {
        "id": clean(document.id),
        "collection": document.collection,
        "kind": document.kind,
        "subject": clean_or_none(document.subject),
        "author": clean_or_none(document.author),
        "stream_id": document.stream_id,
        "text": text,
        "stems": stems(text),
        "provenance": [clean(one) for one in document.provenance],
        "at": milliseconds(document.at),
        "valid_at": milliseconds(document.valid_at),
        "invalid_at": milliseconds(document.invalid_at),
        "superseded": False,
        "indexed_model": None,
    }


def _replace(connection: Connection, rows: Sequence[Values]) -> None:
    names = [name for name in rows[0] if name not in {"id", "seq", "kind"}]
    statement = (
        update(DOCUMENT).where(DOCUMENT.c.seq == bindparam("at_seq")).values({name: bindparam(f"new_{name}") for name in names})
    )
    connection.execute(statement, [{"at_seq": row["seq"], **{f"new_{name}": row[name] for name in names}} for row in rows])
    for piece in chunks([row["seq"] for row in rows]):
        connection.execute(delete(SOURCE).where(SOURCE.c.document_seq.in_(piece)))


def _link(connection: Connection, rows: Sequence[Values]) -> None:
    ids = list(dict.fromkeys(one for row in rows for one in row["provenance"]))
    seqs = {
        line.id: line.seq
        for piece in chunks(ids)
        for line in connection.execute(select(LINE.c.id, LINE.c.seq).where(LINE.c.id.in_(piece))).all()
    }
    links = {(seqs[one], row["seq"]) for row in rows for one in row["provenance"] if one in seqs}
    if links:
        values = [{"line_seq": line_seq, "document_seq": seq} for line_seq, seq in sorted(links)]
        connection.execute(insert(SOURCE), values)


def remove(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """Delete documents, with their links and facts; return the ids that there were, by collection."""
    gone: dict[str, list[str]] = {}
    for piece in chunks(sorted(ids)):
        rows = connection.execute(
            delete(DOCUMENT).where(DOCUMENT.c.id.in_(piece)).returning(DOCUMENT.c.collection, DOCUMENT.c.id)
        ).all()
        for row in rows:
            gone.setdefault(row.collection, []).append(row.id)
    return gone


def mark_indexed(connection: Connection, ids: Sequence[str], model: str) -> None:
    """Note that the index holds the vectors of these documents, made by that embedder."""
    for piece in chunks(ids):
        connection.execute(update(DOCUMENT).where(DOCUMENT.c.id.in_(piece)).values(indexed_model=model))
