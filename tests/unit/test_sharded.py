"""What the sharded collections do when a client fails: again, with a fresh client, then an error. The client is a fake."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from builders_index import unit

from memory.errors import IndexUnavailable
from memory.ports import Vectors
from memory.store import chroma_files
from memory.store.folder_client import Write
from memory.store.folders import FolderLimits
from memory.store.sharded import ShardedCollections

_TABLES = """
CREATE TABLE IF NOT EXISTS collections (id TEXT, name TEXT); CREATE TABLE IF NOT EXISTS segments (id TEXT, collection TEXT);
CREATE TABLE IF NOT EXISTS embeddings_queue (seq_id INTEGER, topic TEXT);
"""


class _Disk:
    """What all fake clients of a test share: collections, and the errors to raise next."""

    def __init__(self) -> None:
        self.collections: dict[str, dict[str, Vectors]] = {}
        self.errors: list[str] = []
        self.opened = 0


class _Client:
    def __init__(self, path: Path, disk: _Disk) -> None:
        self._disk = disk
        disk.opened += 1
        with closing(sqlite3.connect(path / "chroma.sqlite3")) as database:
            database.executescript(_TABLES)

    def has(self, name: str) -> bool:
        return name in self._disk.collections

    def rows(self, name: str) -> int | None:
        if self._disk.errors:
            raise IndexUnavailable(self._disk.errors.pop(0))
        return len(self._disk.collections[name]) if self.has(name) else None

    def ids(self, name: str) -> set[str]:
        return set(self._disk.collections[name])

    def load(self, name: str) -> tuple[list[str], Vectors]:
        rows = self._disk.collections[name]
        return list(rows), np.stack(list(rows.values()))

    def query(self, name: str, vector: Vectors, limit: int) -> list[tuple[str, float]]:
        return [("asked", 1.0)]

    def create(self, name: str) -> None:
        self._disk.collections[name] = {}

    def upsert(self, name: str, ids: Sequence[str], vectors: Vectors) -> None:
        self._disk.collections[name].update(zip(ids, vectors, strict=True))

    def delete(self, name: str, ids: Sequence[str]) -> None:
        for document_id in ids:
            self._disk.collections[name].pop(document_id, None)

    def drop(self, name: str) -> None:
        self._disk.collections.pop(name, None)

    def rewrite(self, name: str) -> None:
        return

    def close(self) -> None:
        return


Made = tuple[ShardedCollections, _Disk]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Made]:
    disk = _Disk()
    opener: Callable[[Path], _Client] = lambda path: _Client(path, disk)  # noqa: E731  two lines shorter
    sharded = ShardedCollections(tmp_path / "chroma", opener, limits=FolderLimits(), exact_rows=3)
    sharded.upsert([Write(collection="viewer-1", ids=["a", "b"], vectors=unit(2))], chunk=1)
    yield sharded, disk
    sharded.close()


def test_a_passing_error_is_tried_again_with_the_same_client(made: Made) -> None:
    sharded, disk = made
    opened = disk.opened
    disk.errors = ["Error finding id"]
    assert [name for name, _ in sharded.search("viewer-1", unit(1), 1).hits] == ["a"]
    assert disk.opened == opened


def test_a_client_that_lost_a_collection_is_opened_anew(made: Made) -> None:
    sharded, disk = made
    opened = disk.opened
    disk.errors = ["Nothing found on disk"]
    assert [name for name, _ in sharded.search("viewer-1", unit(1), 1).hits] == ["a"]
    assert disk.opened == opened + 1


def test_an_error_that_stays_is_said_after_a_fresh_client(made: Made) -> None:
    sharded, disk = made
    opened = disk.opened
    disk.errors = ["broken"] * 3
    with pytest.raises(IndexUnavailable, match="broken"):
        sharded.search("viewer-1", unit(1), 1)
    assert disk.opened == opened + 1
    assert disk.errors == []


def test_a_large_collection_is_asked_and_counted_once(made: Made) -> None:
    sharded, disk = made
    sharded.upsert([Write(collection="viewer-1", ids=["c", "d"], vectors=unit(2))], chunk=10)
    assert sharded.search("viewer-1", unit(1), 1).hits == [("asked", 1.0)]
    disk.errors = ["counted again"]
    assert sharded.search("viewer-1", unit(1), 1).hits == [("asked", 1.0)]
    disk.errors = []
    sharded.drop("viewer-1")
    sharded.upsert([Write(collection="viewer-1", ids=["e"], vectors=unit(1))], chunk=10)
    assert [name for name, _ in sharded.search("viewer-1", unit(1), 1).hits] == ["e"]


def test_a_folder_that_cannot_be_cleaned_stays_marked(made: Made, tmp_path: Path) -> None:
    sharded, _ = made
    sharded.delete("viewer-1", ["a"])
    folder = tmp_path / "chroma" / "viewers" / "000"
    with closing(sqlite3.connect(folder / "chroma.sqlite3")) as holder:
        holder.execute("SELECT count(*) FROM collections").fetchall()
        for _ in range(2):
            with pytest.raises(IndexUnavailable, match="cleaned"):
                sharded.vacuum()


def test_a_folder_that_is_no_database_any_more_leaves_when_it_is_cleaned(made: Made, tmp_path: Path) -> None:
    sharded, _ = made
    sharded.delete("viewer-1", ["a"])
    folder = tmp_path / "chroma" / "viewers" / "000"
    for path in folder.glob("chroma.sqlite3-*"):
        path.unlink()
    (folder / "chroma.sqlite3").write_bytes(b"garbage" * 1000)
    assert sharded.vacuum() == 1
    assert not folder.exists()


def test_a_registry_that_fails_is_an_error_of_the_index(made: Made, tmp_path: Path) -> None:
    sharded, _ = made
    with closing(sqlite3.connect(tmp_path / "chroma" / "registry.db")) as other:
        other.execute("DROP TABLE place")
        other.commit()
    with pytest.raises(IndexUnavailable, match="registry"):
        sharded.search("viewer-1", unit(1), 1)
    with pytest.raises(IndexUnavailable, match="registry"):
        sharded.upsert([Write(collection="viewer-2", ids=["a"], vectors=unit(1))], chunk=1)


def test_a_file_still_open_in_this_process_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_files, "_RELEASE_SECONDS", 0.01)
    (tmp_path / "chroma.sqlite3").write_bytes(b"")
    with (tmp_path / "chroma.sqlite3").open("rb"), pytest.raises(OSError, match="still open"):
        chroma_files.sweep(tmp_path)


def test_open_files_are_found_without_proc_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chroma_files, "_DESCRIPTORS", tmp_path / "absent")
    monkeypatch.setattr(chroma_files, "_RELEASE_SECONDS", 0.01)
    (tmp_path / "chroma.sqlite3").write_bytes(b"")
    with (tmp_path / "chroma.sqlite3").open("rb"), pytest.raises(OSError, match="still open"):
        chroma_files.remove(tmp_path)
    chroma_files.remove(tmp_path)
    assert not tmp_path.exists()
