"""Vectors as they lie in the files of a folder of the index, read without Chroma, whether or not it works there.

What Chroma has taken in lately is in its log, a table of its database; what is older is in the files of a graph, where a
collection has one (`seals`). Nothing is believed of these files: what is no graph is said, never guessed at.
"""

import pickle
import sqlite3
import struct
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np

from memory.ports import Vectors
from memory.store import chroma_files, seals
from memory.store.seals import Graph

_LOG = """
SELECT q.id, q.vector FROM embeddings_queue AS q JOIN collections AS c ON q.topic = 'persistent://default/default/' || c.id
WHERE c.name = ? AND q.seq_id > ? ORDER BY q.seq_id
"""
_HEADER = struct.Struct("<iQQQQQQ")  # version, offset, most elements, elements, bytes of one, where its label, its vector is
_FLOAT = np.dtype("<f4")
_NO_GRAPH = (
    OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, EOFError, struct.error, pickle.PickleError,
)  # fmt: skip
Held = dict[str, Vectors]


def read(folder: Path, wanted: Mapping[str, Collection[str]]) -> dict[str, Held | None]:
    """Return the vectors of these documents by collection, as far as the folder has them; None: a graph that is none.

    Raises:
        sqlite3.DatabaseError, OSError: the database cannot be read.
    """
    found: dict[str, Held | None] = {}
    with chroma_files.reading(folder) as connection:
        known = {row[0] for row in connection.execute("SELECT name FROM collections")}
        graphs = seals.graphs(connection)
        for name in wanted.keys() & known:
            ids, graph = frozenset(wanted[name]), graphs.get(name)
            try:
                written = {} if graph is None else _written(folder / graph.segment, ids)
            except _NO_GRAPH:
                found[name] = None
            else:
                found[name] = _with_log(written, connection, name, ids=ids, graph=graph)
    return found


def _with_log(written: Held, connection: sqlite3.Connection, name: str, *, ids: frozenset[str], graph: Graph | None) -> Held:
    """Return what was written to the graph, changed by what came since."""
    found = dict(written)
    for id_, vector in connection.execute(_LOG, (name, -1 if graph is None else graph.mark)):
        if id_ not in ids:
            continue
        if vector is None:  # deleted
            found.pop(id_, None)
        else:
            found[id_] = np.frombuffer(vector[: len(vector) // _FLOAT.itemsize * _FLOAT.itemsize], dtype=_FLOAT)
    return found


def _written(path: Path, ids: frozenset[str]) -> Held:
    _, _, _, elements, each, label_at, vector_at = _HEADER.unpack_from((path / "header.bin").read_bytes())
    with (path / "index_metadata.pickle").open("rb") as stream:
        labels: Mapping[str, int] = _Plain(stream).load()["id_to_label"]
    wanted = {id_: labels[id_] for id_ in ids if id_ in labels}
    if not wanted:
        return {}
    held = (path / "data_level0.bin").read_bytes()  # not mapped: the bot may write it anew meanwhile
    data = np.frombuffer(held, dtype=np.uint8, count=elements * each).reshape(elements, each)
    placed = np.ascontiguousarray(data[:, label_at : label_at + 8]).view("<u8").ravel()
    rows = {int(placed[row]): int(row) for row in np.flatnonzero(np.isin(placed, list(wanted.values())))}
    return {id_: data[rows[label], vector_at:label_at].copy().view(_FLOAT) for id_, label in wanted.items()}


class _Plain(pickle.Unpickler):
    """Takes numbers, words and tables alone: a pickle can name any code to be run, and this file may be anybody's."""

    def find_class(self, module: str, name: str) -> object:
        msg = f"a graph's table needs no {module}.{name}"
        raise pickle.UnpicklingError(msg)
