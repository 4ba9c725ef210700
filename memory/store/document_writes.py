"""Documents: written with their way back to the lines they rest on, replaced by id, removed by id."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, insert, select, text, update

from memory.model import Document
from memory.store.prepared import Prepared
from memory.store.rows import Values
from memory.store.scrub import clean, clean_or_none, shortened
from memory.store.stamps import milliseconds
from memory.store.stems import stems
from memory.store.tables import DocumentRow, DocumentSourceRow, HiddenDocumentRow, LineRow, table_of

DOCUMENT = table_of(DocumentRow)
SOURCE = table_of(DocumentSourceRow)
LINE = table_of(LineRow)
HIDDEN = table_of(HiddenDocumentRow)
_HIDES = select(HIDDEN.c.document_seq).where(HIDDEN.c.document_seq == DOCUMENT.c.seq).correlate(DOCUMENT)
IN_SIGHT = and_(DOCUMENT.c.superseded.is_(False), ~_HIDES.exists())  # what a reader may show: neither past nor to be forgotten
IN_SIGHT_SQL = "superseded = 0 AND NOT EXISTS (SELECT 1 FROM hidden_document WHERE document_seq = document.seq)"  # the same
_CHUNK = 500  # SQLite allows 999 variables in its older builds
# Statements of the hot path are built once, and lists of ids come in as one JSON value: building and expanding them each time
# costs more than running them.
IDS = text("SELECT value FROM json_each(:ids)")
_BY_ID = Prepared(select(DOCUMENT).where(DOCUMENT.c.id.in_(IDS)))
_LINE_SEQS = Prepared(select(LINE.c.id, LINE.c.seq).where(LINE.c.id.in_(IDS)))
_REMOVE = Prepared(
    text("DELETE FROM document WHERE id IN (SELECT value FROM json_each(:ids)) RETURNING collection, id"),
    names=("collection", "id"),
)
_LAST = Prepared(select(func.coalesce(func.max(DOCUMENT.c.seq), 0).label("seq")))
_ADD = Prepared(insert(DOCUMENT))
_LINK = Prepared(insert(SOURCE))
_SAME = ("text", "provenance", "collection", "subject", "author", "stream_id", "at", "valid_at", "invalid_at")


def chunks(ids: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yield `ids` in pieces that fit into one statement."""
    for start in range(0, len(ids), _CHUNK):
        yield ids[start : start + _CHUNK]


def packed(ids: Iterable[str] | Iterable[int]) -> str:
    """Return ids as the value of the `ids` parameter."""
    return json.dumps(list(ids))


def put(connection: Connection, documents: Sequence[Document], lines: Mapping[str, int] | None = None) -> list[str]:
    """Store documents: new ids are added, known ones replaced; return the ids that changed and must be indexed (again).

    `lines` gives the keys of all lines in their provenance, where the caller has them; otherwise they are looked up.
    """
    rows = {row["id"]: row for row in map(_values, documents)}
    known = {row.id: row for row in _BY_ID.all(connection, {"ids": packed(rows)})}
    added = [row for id_, row in rows.items() if id_ not in known]
    changed = [
        row for id_, row in rows.items() if id_ in known and any(row[name] != getattr(known[id_], name) for name in _SAME)
    ]
    if added:
        last: int = _LAST.all(connection, {})[0].seq
        for seq, row in enumerate(added, last + 1):  # one writer: nobody else takes these numbers
            row["seq"] = seq
        _ADD.run(connection, added)
    if changed:
        for row in changed:
            row["seq"] = known[row["id"]].seq
        _replace(connection, changed)
    _link(connection, added + changed, lines)
    return [row["id"] for row in added + changed]


def _values(document: Document) -> Values:
    words = shortened(clean(document.text))
    return {
        "id": clean(document.id),
        "collection": document.collection,
        "kind": document.kind,
        "subject": clean_or_none(document.subject),
        "author": clean_or_none(document.author),
        "stream_id": document.stream_id,
        "text": words,
        "stems": stems(words),
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


def _link(connection: Connection, rows: Sequence[Values], lines: Mapping[str, int] | None) -> None:
    ids = dict.fromkeys(one for row in rows for one in row["provenance"])
    if lines is None:
        lines = {line.id: line.seq for line in _LINE_SEQS.all(connection, {"ids": packed(ids)})}
    links = {(lines[one], row["seq"]) for row in rows for one in row["provenance"] if one in lines}
    if links:
        values = [{"line_seq": line_seq, "document_seq": seq} for line_seq, seq in sorted(links)]
        _LINK.run(connection, values)


def remove(connection: Connection, ids: Sequence[str]) -> dict[str, list[str]]:
    """Delete documents, with their links and facts; return the ids that there were, by collection."""
    gone: dict[str, list[str]] = {}
    for row in _REMOVE.all(connection, {"ids": packed(sorted(ids))}):
        gone.setdefault(row.collection, []).append(row.id)
    return gone
