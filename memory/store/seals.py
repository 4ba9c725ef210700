"""Whether the graphs that Chroma wrote to disk are still what it wrote: a spoilt one gives wrong hits, or ends the process.

Chroma reads its HNSW files without looking: a missing folder or an emptied file finds the wrong documents without a word,
random bytes are a segmentation fault. When a folder is closed, what lies there is sealed: its SHA-256, beside the mark
(`max_seq_id`) that Chroma keeps in its database. Where the mark is still the same, the files must be; where it went on and no
seal followed (the process was killed), their sizes must fit their own header.
"""

import hashlib
import json
import sqlite3
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = "seals.json"
_GRAPH = ("header.bin", "data_level0.bin", "length.bin", "link_lists.bin", "index_metadata.pickle")
_HEADER = struct.Struct("<iQQQQ")  # version, offset, most elements, elements, bytes of an element
_HEADER_BYTES = 100
_SEGMENTS = """
SELECT c.name, s.id, m.seq_id FROM segments AS s JOIN collections AS c ON c.id = s.collection
JOIN max_seq_id AS m ON m.segment_id = s.id WHERE s.scope = 'VECTOR'
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A collection's graph that Chroma wrote to disk; `mark` is how far into its log it reaches."""

    segment: str
    mark: int


def graphs(connection: sqlite3.Connection) -> dict[str, Graph]:
    """Return the graphs of a folder by collection; smaller collections have none, and are read from the database."""
    with suppress(sqlite3.OperationalError):  # another layout than the one we know: then nothing is checked
        rows = connection.execute(_SEGMENTS).fetchall()
        return {name: Graph(segment=segment, mark=int(mark)) for name, segment, mark in rows}
    return {}


def sound(folder: Path, graph: Graph) -> bool:
    """Return whether a graph may be given to Chroma."""
    path = folder / graph.segment
    if not all((path / name).is_file() for name in _GRAPH):
        return False
    sealed = _read(folder).get(graph.segment)
    if sealed and sealed.get("mark") == graph.mark:
        return bool(sealed.get("files") == _told(path))
    return _fits(path)


def seal(folder: Path, found: Mapping[str, Graph]) -> None:
    """Write down what the graphs of a closed folder are, in place of what was written before.

    Raises:
        OSError: the folder cannot be written.
    """
    before, seals = _read(folder), {}
    for graph in found.values():
        path, known = folder / graph.segment, before.get(graph.segment)
        if not all((path / name).is_file() for name in _GRAPH):
            continue
        seals[graph.segment] = (
            known if known and known.get("mark") == graph.mark else {"mark": graph.mark, "files": _told(path)}
        )
    if seals != before:
        part = folder / f"{_FILE}.part"
        part.write_text(json.dumps(seals), encoding="utf-8")
        part.replace(folder / _FILE)


def _told(path: Path) -> dict[str, str]:
    return {name: _digest(path / name) for name in _GRAPH}


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _fits(path: Path) -> bool:
    """Return whether the sizes of the files are those their header tells."""
    header = (path / "header.bin").read_bytes()
    if len(header) != _HEADER_BYTES or not (path / "index_metadata.pickle").stat().st_size:
        return False
    _, _, most, elements, each = _HEADER.unpack_from(header)
    data, lengths = (path / "data_level0.bin").stat().st_size, (path / "length.bin").stat().st_size
    return elements <= most and any(data == count * each and lengths == 4 * count for count in (most, elements))


def _read(folder: Path) -> dict[str, Any]:
    try:
        said = json.loads((folder / _FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return said if isinstance(said, dict) else {}
