"""The schema: made from nothing, equal to the tables, upgraded with the rows in place, refused when it is newer."""

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine

from memory.errors import SchemaTooNew, StoreUnavailable
from memory.store.database import Database
from memory.store.migrate import is_ours
from memory.store.schema import check_schema, migrate, revision_of
from memory.store.tables import METADATA

VERSIONS = Path(__file__).parents[2] / "memory/store/migrations/versions"
NEWEST = str(ScriptDirectory(str(VERSIONS.parent)).get_current_head())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def run(path: Path, *statements: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        return [row for statement in statements for row in connection.execute(statement).fetchall()]
    finally:
        connection.close()


def test_the_migrations_end_in_the_tables_of_the_models(path: Path) -> None:
    migrate(path)
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        options = {"include_name": is_ours, "compare_type": True, "compare_server_default": True}
        difference = compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)
    engine.dispose()
    assert difference == []


def test_migrating_twice_changes_nothing_the_second_time(path: Path) -> None:
    assert migrate(path)
    assert not migrate(path)


def test_an_empty_file_becomes_a_memory(path: Path) -> None:
    path.touch()
    assert migrate(path)
    assert run(path, "SELECT version_num FROM alembic_version") == [(NEWEST,)]


def test_a_newer_schema_is_refused_and_left_alone(path: Path) -> None:
    migrate(path)
    run(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNew, match=r"schema 9999.*newer version wrote it"):
        migrate(path)
    assert run(path, "SELECT version_num FROM alembic_version") == [("9999",)]


async def test_opening_a_newer_schema_is_refused_too(path: Path) -> None:
    migrate(path)
    run(path, "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNew):
        await Database.open(path)


def test_a_migration_that_fails_leaves_an_empty_schema_and_can_be_repeated(path: Path) -> None:
    run(path, "CREATE TABLE line (mine TEXT)", "INSERT INTO line VALUES ('precious')")
    with pytest.raises(Exception, match="already exists"):
        migrate(path)
    assert run(path, "SELECT name FROM sqlite_master WHERE type = 'table'") == [("line",)]
    run(path, "DROP TABLE line")
    assert migrate(path)


async def test_a_foreign_database_is_refused_in_words(path: Path) -> None:
    run(path, "CREATE TABLE line (mine TEXT)")
    with pytest.raises(StoreUnavailable, match="already exists"):
        await Database.open(path)


def upgrade_folder(path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """Pretend a release with one more migration, that rebuilds `document` as SQLite must."""
    versions = path.parent / "scripts" / "versions"
    versions.mkdir(parents=True)
    for source in VERSIONS.glob("[0-9]*.py"):
        (versions / source.name).write_text(source.read_text())
    head = f"import sqlalchemy as sa\nfrom alembic import op\nrevision = '9000'\ndown_revision = '{NEWEST}'\n"
    (versions / "9000_next.py").write_text(f"{head}def upgrade():\n{body}\n")
    monkeypatch.setattr("memory.store.schema.MIGRATIONS", versions.parent)


REBUILD = """    with op.batch_alter_table("document", recreate="always") as batch:
        batch.add_column(sa.Column("mood", sa.String(), nullable=True))"""
FILL = (
    (
        "INSERT INTO document (seq, id, collection, kind, text, stems, provenance, at, superseded) "
        "VALUES (1, 'd1', 'viewer-1', 'message', 'ciao', 'cia', '[]', 0, 0)"
    ),
    "INSERT INTO document_source VALUES (7, 1)",
)


def test_an_upgrade_that_rebuilds_a_table_keeps_children_and_full_text(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(path)
    run(path, *FILL)
    upgrade_folder(path, monkeypatch, REBUILD)
    assert migrate(path)
    assert run(path, "SELECT count(*) FROM document_source") == [(1,)]
    insert = FILL[0].replace("(1, 'd1'", "(2, 'd2'")
    assert run(path, insert, "SELECT rowid FROM document_fts WHERE document_fts MATCH 'cia' ORDER BY rowid") == [(1,), (2,)]


def test_an_existing_file_is_copied_before_it_is_upgraded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(path)
    run(path, *FILL)
    upgrade_folder(path, monkeypatch, REBUILD)
    migrate(path)
    assert run(path.with_name(f"memory-before-{NEWEST}.db"), "SELECT id FROM document") == [("d1",)]


def test_an_upgrade_that_orphans_rows_is_undone(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate(path)
    run(path, *FILL)
    upgrade_folder(path, monkeypatch, "    op.execute('DELETE FROM document')")
    with pytest.raises(StoreUnavailable, match="document_source without its document"):
        migrate(path)
    assert run(path, "SELECT count(*) FROM document", "SELECT version_num FROM alembic_version") == [(1,), (NEWEST,)]


def test_a_file_that_is_no_database_is_told_by_name_with_what_to_do(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 16)
    for read in (check_schema, revision_of, migrate):
        with pytest.raises(StoreUnavailable, match=r"memory\.db: file is not a database; .*move it away"):
            read(path)
