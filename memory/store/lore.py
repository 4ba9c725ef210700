"""The canon in SQL: made equal to the files, and searchable as documents of one collection."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, delete, select
from sqlalchemy.dialects.sqlite import insert

from lore.entry import LoreEntry
from memory.model import Document
from memory.store.collections import LORE
from memory.store.document_writes import put, remove
from memory.store.episodes import derived_id
from memory.store.scrub import clean
from memory.store.tables import LoreEntryRow, table_of

ENTRY = table_of(LoreEntryRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoreChange:
    """What a synchronisation did: entries that changed, and document ids to index and to take out of the index."""

    entries: int = 0
    written: tuple[str, ...] = ()
    removed: dict[str, list[str]] = field(default_factory=dict)  # collection -> ids


def synchronise(connection: Connection, entries: Sequence[LoreEntry], now: datetime) -> LoreChange:
    """Make the stored canon equal to `entries`."""
    wanted = {clean(entry.id): entry for entry in entries}
    known = {row.id: row for row in connection.execute(select(ENTRY)).all()}
    changed = {id_: entry for id_, entry in wanted.items() if id_ not in known or known[id_].digest != entry.digest}
    gone = sorted(known.keys() - wanted.keys())
    for id_, entry in changed.items():
        row = {
            "title": clean(entry.title),
            "aliases": [clean(alias) for alias in entry.aliases],
            "text": clean(entry.text),
            "digest": entry.digest,
        }
        connection.execute(insert(ENTRY).values(id=id_, **row).on_conflict_do_update(index_elements=["id"], set_=row))
    for id_ in gone:
        connection.execute(delete(ENTRY).where(ENTRY.c.id == id_))
    written = put(connection, [_document(id_, entry, now) for id_, entry in changed.items()])
    removed = remove(connection, [derived_id("lore", id_) for id_ in gone])
    return LoreChange(entries=len(changed) + len(gone), written=tuple(written), removed=removed)


def _document(id_: str, entry: LoreEntry, now: datetime) -> Document:
    return Document(
        id=derived_id("lore", id_),
        collection=LORE,
        kind="lore",
        text=f"{entry.title}: {entry.text}",
        at=now,
        provenance=(f"lore:{id_}",),
    )


def entry_of(row: Row[Any]) -> LoreEntry:
    """Return the entry of a row."""
    return LoreEntry(id=row.id, title=row.title, aliases=tuple(row.aliases), text=row.text, digest=row.digest)
