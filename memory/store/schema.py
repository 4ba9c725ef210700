"""Which schema the memory's file has, told without Alembic: that takes a quarter of a second to load, and is rarely needed."""

import sqlite3
from contextlib import closing
from importlib import import_module
from pathlib import Path

from memory.errors import SchemaTooNew, StoreUnavailable

MIGRATIONS = Path(__file__).parent / "migrations"
_UPGRADE = "memory.store.migrate"  # loaded where a file is made or brought up to date
_BUSY_SECONDS = 5
_HAS_REVISION = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'alembic_version'"
_ADVICE = (
    ("full", "the disk is full: free some space, then try again; nothing was stored"),
    ("locked", "another program holds the file: close it, then try again"),
    ("readonly", "the file cannot be written: check the owner and mode of the file and its directory"),
    ("errno", "choose a data directory that this user may write"),
    ("unable to open", "the file cannot be opened: check that the directory exists and may be written"),
    ("malformed", "the file is damaged: restore the newest backup, or move the file away to begin anew"),
    ("not a database", "the file is no SQLite database: move it away, or choose another data directory"),
    ("disk i/o", "the disk failed or is full: check it, then try again"),
)


def unavailable(path: Path, error: Exception) -> StoreUnavailable:
    """Return the error to raise for a failure of SQLite: what happened, and what to do next."""
    reason = str(getattr(error, "orig", None) or error)
    advice = next((advice for sign, advice in _ADVICE if sign in reason.lower()), "check the disk and the file, then try again")
    return StoreUnavailable(f"{path}: {reason}; {advice}")


def migrate(path: Path) -> bool:
    """Upgrade the file to the newest schema, creating it where missing; return whether anything changed.

    Raises:
        SchemaTooNew: the file's revision is not among ours.
        StoreUnavailable: the file cannot be read, or rows broke a foreign key afterwards; it is as it was before.
    """
    current, known = revision_of(path), _revisions()
    if current and current not in known:
        raise _too_new(path, current)
    if current == known[-1]:
        return False
    import_module(_UPGRADE).upgrade(path, current, MIGRATIONS)
    return True


def check_schema(path: Path) -> None:
    """See that the file can be read as it is, without changing it.

    Raises:
        SchemaTooNew: a newer program wrote it.
        StoreUnavailable: there is none, it cannot be read, or an older program wrote it.
    """
    if not path.is_file():
        raise StoreUnavailable(f"{path}: there is no memory here yet; name another folder, or run the bot once")
    current, known = revision_of(path), _revisions()
    if current and current not in known:
        raise _too_new(path, current)
    if current != known[-1]:
        raise StoreUnavailable(f"{path} was written by an older version: start the bot once, which brings it up to date")


def revision_of(path: Path) -> str:
    """Return the revision of a file's schema, empty where it has none; a file that is missing is made, and is empty.

    Raises:
        StoreUnavailable: the file cannot be opened or read, or is no database.
    """
    try:
        with closing(sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)) as connection:
            if connection.execute(_HAS_REVISION).fetchone() is None:
                return ""
            row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
            return str(row[0]) if row else ""
    except sqlite3.Error as error:
        raise unavailable(path, error) from error


def _revisions() -> list[str]:
    """Return the revisions, oldest first: each migration is in a file whose name begins with its own."""
    return sorted(path.name.split("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*.py"))


def _too_new(path: Path, revision: str) -> SchemaTooNew:
    return SchemaTooNew(
        f"{path} has schema {revision}, which this version does not know: a newer version wrote it. Install that "
        "version again, or choose another data directory"
    )
