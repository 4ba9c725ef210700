"""Brings the file's schema up to date with Alembic, run from the program: no ini file, no command.

Migrations run with foreign keys off (a table that Alembic rebuilds would otherwise take its children along) and are checked
afterwards. An existing file is copied beside itself first.
"""

import sqlite3
from pathlib import Path

from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext, RevisionStep
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, event, inspect
from sqlalchemy.pool import NullPool

from memory.errors import StoreUnavailable
from memory.store.tables import METADATA

FULL_TEXT = "document_fts"

# `collection` is indexed as one word, so that the scope is a term of the query and not a filter behind it. Both columns come
# prepared: all is lower-case ASCII, so that no table of Unicode decides what a word is.
FULL_TEXT_TABLE = """
CREATE VIRTUAL TABLE document_fts USING fts5(
  collection, stems, content='document', content_rowid='seq', detail=column,
  tokenize="ascii tokenchars '-._'")"""
_TRIGGERS = {
    "document_fts_insert": """
AFTER INSERT ON document BEGIN
  INSERT INTO document_fts(rowid, collection, stems) VALUES (new.seq, new.collection, new.stems);
END""",
    "document_fts_delete": """
AFTER DELETE ON document BEGIN
  INSERT INTO document_fts(document_fts, rowid, collection, stems) VALUES ('delete', old.seq, old.collection, old.stems);
END""",
    "document_fts_update": """
AFTER UPDATE OF collection, stems ON document BEGIN
  INSERT INTO document_fts(document_fts, rowid, collection, stems) VALUES ('delete', old.seq, old.collection, old.stems);
  INSERT INTO document_fts(rowid, collection, stems) VALUES (new.seq, new.collection, new.stems);
END""",
}


def create_full_text(connection: Connection) -> None:
    """Create the full-text table and its triggers, as far as they are missing.

    A migration that rebuilds `document` drops its triggers: call this after every one that touches the table.
    """
    if not inspect(connection).has_table(FULL_TEXT):
        connection.exec_driver_sql(FULL_TEXT_TABLE)
    for name, body in _TRIGGERS.items():
        connection.exec_driver_sql(f"CREATE TRIGGER IF NOT EXISTS {name} {body}")


def is_ours(name: str | None, kind: str, _: object) -> bool:
    """Return whether Alembic may look at a table: not the full-text index, whose shadow tables it would propose to drop."""
    return kind != "table" or name in METADATA.tables


def upgrade(path: Path, current: str, migrations: Path) -> None:
    """Upgrade the file from its revision `current` (empty: it has no schema yet) to the newest in the folder `migrations`.

    Raises:
        StoreUnavailable: rows broke a foreign key afterwards; the file is as it was before.
    """
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool, connect_args={"isolation_level": None, "timeout": 5})
    event.listen(engine, "connect", _prepare)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN IMMEDIATE"))
    if current:
        _back_up(path, current)
    try:
        with engine.begin() as connection:
            _upgrade(connection, ScriptDirectory(str(migrations)))
    finally:
        engine.dispose()


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA foreign_keys=OFF")


def _upgrade(connection: Connection, scripts: ScriptDirectory) -> None:
    def steps(revision: tuple[str, ...], _: MigrationContext) -> list[RevisionStep]:
        return list(scripts._upgrade_revs("head", revision))  # type: ignore[arg-type]  # noqa: SLF001 - as Alembic's commands do

    migration = MigrationContext.configure(connection, opts={"fn": steps, "target_metadata": METADATA, "include_name": is_ours})
    with Operations.context(migration):
        migration.run_migrations()
    create_full_text(connection)
    broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
    if broken is not None:
        raise StoreUnavailable(
            f"the upgrade left a row of {broken[0]} without its {broken[2]}; nothing was changed: report this"
        )


def _back_up(path: Path, revision: str) -> None:
    source = sqlite3.connect(path)
    target = sqlite3.connect(path.with_name(f"{path.stem}-before-{revision}{path.suffix}"))
    try:
        source.backup(target)
    finally:
        source.close()
        target.close()
