"""How far the vector index and the full text are from SQL, read from their files, whether or not a bot works on them.

Nothing is opened through Chroma and nothing is changed: its database says which ids it holds.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from memory.rules import load_rules
from memory.store import chroma_files
from memory.store.document_writes import IN_SIGHT_SQL
from memory.store.schema import check_schema, unavailable
from memory.store.shards import chroma_name
from memory.worthiness import Meaning

DATABASE = "memory.db"
_LIVING = f"SELECT id, indexed_model, kind, text FROM document WHERE collection = ? AND {IN_SIGHT_SQL}"  # noqa: S608 - our own words
_COLLECTIONS = f"SELECT DISTINCT collection FROM document WHERE {IN_SIGHT_SQL}"  # noqa: S608 - our own words
_WORDS = "SELECT doc, term FROM temp.words WHERE col = 'stems'"
_VOCABULARY = "CREATE VIRTUAL TABLE temp.words USING fts5vocab('main', 'document_fts', 'instance')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Apart:
    """How far one collection of the index is from SQL, in documents."""

    missing: int = 0  # SQL says they are in the index, and they are not
    extra: int = 0  # in the index, and not in SQL
    stale: int = 0  # in both, but not marked as indexed by the present model
    unreadable: bool = False

    def __bool__(self) -> bool:
        """Return whether it is apart at all."""
        return bool(self.missing or self.extra or self.stale or self.unreadable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Documents whose vectors were made anew and compared with the index."""

    compared: int = 0
    altered: Mapping[str, int] = field(default_factory=dict)  # collection -> how many have another vector than their words


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What differs. An empty one: nothing does."""

    collections: Mapping[str, Apart] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()  # collections of the index of which SQL knows nothing
    text: Apart = Apart()  # of the full text
    sample: Sample = Sample()

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.collections or self.strangers or self.text or self.sample.altered)

    def total(self) -> Apart:
        """Return the sums over the index."""
        found = self.collections.values()
        return Apart(
            missing=sum(one.missing for one in found),
            extra=sum(one.extra for one in found),
            stale=sum(one.stale for one in found),
            unreadable=any(one.unreadable for one in found),
        )


async def measure_drift(directory: Path, model: str | None, languages: Sequence[str] = ("it", "en")) -> DriftReport:
    """Compare the index and the full text of the memory in `directory` with SQL; `model` names the present embedder.

    Documents that wait for their vector, or need none by the rules of `languages`, are no drift. What changes meanwhile is
    looked at twice.

    Raises:
        StoreUnavailable: the database cannot be read.
        SchemaTooNew: a newer program wrote it.
    """
    meaning = Meaning(load_rules(tuple(languages)))
    return await asyncio.to_thread(_measured, directory, _Measure(model=model, meaning=meaning))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Measure:
    model: str | None
    meaning: Callable[[str, str], tuple[str, ...]]


def _measured(directory: Path, measure: _Measure) -> DriftReport:
    path = directory / DATABASE
    check_schema(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            names = [row[0] for row in database.execute(_COLLECTIONS)]
            found, _ = _apart(database, directory, names, measure)
            if found:
                found, _ = _apart(database, directory, list(found), measure)
            _, strangers = _apart(database, directory, [], measure)
            known = {chroma_name(row[0]) for row in database.execute(_COLLECTIONS)}
            return DriftReport(collections=found, strangers=tuple(sorted(strangers - known)), text=_text(database))
    except sqlite3.Error as error:
        raise unavailable(path, error) from error


def _apart(
    database: sqlite3.Connection, directory: Path, names: Iterable[str], measure: _Measure
) -> tuple[dict[str, Apart], set[str]]:
    """Return the collections that are apart, and everything that has a place in the index."""
    found_at = places(directory / "chroma")
    folders: defaultdict[str | None, list[str]] = defaultdict(list)
    for name in names:
        folders[found_at.get(chroma_name(name))].append(name)
    found = {}
    for folder, members in folders.items():
        held = {} if folder is None else _held(directory / "chroma" / folder)
        for name in members:
            stored = None if held is None else held.get(chroma_name(name), set())
            apart = Apart(unreadable=True) if stored is None else _compared(database, name, stored, measure)
            if apart:
                found[name] = apart
    return found, set(found_at)


def _compared(database: sqlite3.Connection, name: str, stored: set[str], measure: _Measure) -> Apart:
    missing = stale = 0
    wanted = set()
    for id_, mark, kind, text in database.execute(_LIVING, (name,)):
        wanted.add(id_)
        if id_ in stored:
            stale += mark != (measure.model or mark or "")
        elif mark is not None and measure.meaning(kind, text):
            missing += 1
    return Apart(missing=missing, extra=len(stored - wanted), stale=stale)


def places(chroma: Path) -> dict[str, str]:
    """Return the folder of each collection, as Chroma calls it, below the folder of the index."""
    file = chroma / "registry.db"
    if not file.is_file():
        return {}
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as registry:
            return dict(registry.execute("SELECT name, folder FROM place"))
    except sqlite3.Error:
        return {}


def _held(folder: Path) -> dict[str, set[str]] | None:
    try:
        return chroma_files.ids(folder)
    except (sqlite3.Error, OSError):
        return None


def _text(database: sqlite3.Connection) -> Apart:
    """Compare which documents the full text holds, and the words of each."""
    indexed = {row[0] for row in database.execute("SELECT id FROM document_fts_docsize")}
    told: defaultdict[int, int] = defaultdict(int)
    database.execute(_VOCABULARY)
    for doc, term in database.execute(_WORDS):
        told[doc] ^= hash(term)
    missing = stale = 0
    known = set()
    for seq, stems in database.execute("SELECT seq, stems FROM document"):
        known.add(seq)
        if seq not in indexed:
            missing += 1
        else:
            words = 0
            for stem in set(stems.split()):
                words ^= hash(stem)
            stale += told[seq] != words
    return Apart(missing=missing, extra=len(indexed - known), stale=stale)
