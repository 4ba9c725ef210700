"""Whether the numbers in the vector index are those of the words: a sample of documents is embedded anew and compared.

Ids and counts, which `drift` compares, stay right where a sector of the disk has flipped or the folder of another day was
put in place. The index is read from its files, whether or not a bot works on them, and nothing is changed.
"""

import asyncio
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np

from memory.drift import DATABASE, Sample, places
from memory.ports import Embedder, Vectors
from memory.rules import load_rules
from memory.store import chroma_vectors
from memory.store.document_writes import IN_SIGHT_SQL
from memory.store.schema import check_schema, unavailable
from memory.store.shards import chroma_name
from memory.vectorise import embedded
from memory.worthiness import Meaning

_EACH = 3  # documents of a collection
_CLOSE = 1e-3  # of the cosine: the last digits of a vector depend on what was embedded beside it
_COLLECTIONS = f"SELECT DISTINCT collection FROM document WHERE {IN_SIGHT_SQL} ORDER BY collection"  # noqa: S608 - our own words
_IDS = f"SELECT id FROM document WHERE collection = ? AND indexed_model = ? AND {IN_SIGHT_SQL} ORDER BY seq"  # noqa: S608 - the same
_ONE = f"SELECT kind, text FROM document WHERE id = ? AND indexed_model = ? AND {IN_SIGHT_SQL}"  # noqa: S608 - the same
_Chosen = dict[str, list[str]]  # collection -> ids


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sampling:
    directory: Path
    embedder: Embedder
    model: str
    meaning: Callable[[str, str], tuple[str, ...]]


async def compare_sample(
    directory: Path, embedder: Embedder, *, languages: Sequence[str] = ("it", "en"), most: int = 300, seed: int = 0
) -> Sample:
    """Embed up to `most` documents of the memory in `directory` anew, a few a collection, and compare the index with them.

    Every folder of the index has its share; `seed` says which documents. Where one differs, some of every collection in its
    folder are looked at besides. What lacks its vector, or is of another model, is not compared. What differs is looked at
    twice, since a bot may have changed it meanwhile.

    Raises:
        ModelUnavailable: the embedder failed.
        StoreUnavailable: the database cannot be read.
        SchemaTooNew: a newer program wrote it.
    """
    meaning = Meaning(load_rules(tuple(languages)))
    await embedder.embed(["ciao"])  # some know their dimension only then
    model = f"{embedder.name} ({embedder.dimension})"
    sampling = _Sampling(directory=directory, embedder=embedder, model=model, meaning=meaning)
    random = Random(seed)  # noqa: S311 - chooses a sample, guards nothing
    chosen = await asyncio.to_thread(_chosen, sampling, most, random)
    compared, differing = await _looked_at(sampling, chosen)
    if differing:
        rest = await asyncio.to_thread(_beside, sampling, differing, chosen, random)
        more, others = await _looked_at(sampling, rest)
        compared, differing = compared + more, differing | others
    return Sample(compared=compared, altered=differing)


async def _looked_at(sampling: _Sampling, chosen: _Chosen) -> tuple[int, dict[str, int]]:
    """Compare these, and what differs once more."""
    compared, differing = await _compared(sampling, chosen)
    if differing:
        _, differing = await _compared(sampling, {name: chosen[name] for name in differing})
    return compared, differing


def _folders(directory: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """Return the collections by their folder; those that the index does not have are missing."""
    found_at = places(directory / "chroma")
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for name in names:
        if (folder := found_at.get(chroma_name(name))) is not None:
            folders[folder].append(name)
    return folders


def _collections(database: sqlite3.Connection) -> list[str]:
    return [name for (name,) in database.execute(_COLLECTIONS)]


def _beside(sampling: _Sampling, differing: Mapping[str, int], chosen: _Chosen, random: Random) -> _Chosen:
    """Choose some documents of each collection that shares a folder with one that differs, and was not looked at yet."""
    beside: _Chosen = {}
    with _reading(sampling.directory) as database:
        for members in _folders(sampling.directory, _collections(database)).values():
            if differing.keys() & members:
                for name in sorted(set(members) - chosen.keys()):
                    beside[name] = _some(database, (name, sampling.model), random)
    return beside


def _some(database: sqlite3.Connection, collection: tuple[str, str], random: Random, most: int = _EACH) -> list[str]:
    ids = [row[0] for row in database.execute(_IDS, collection)]
    return random.sample(ids, min(len(ids), most))


def _chosen(sampling: _Sampling, most: int, random: Random) -> _Chosen:
    """Choose collections and documents: each folder has the same share, so that a small one is not passed over."""
    chosen: _Chosen = {}
    with _reading(sampling.directory) as database:
        folders, left = _folders(sampling.directory, _collections(database)), most
        for members, shares in zip(
            random.sample(list(folders.values()), len(folders)), range(len(folders), 0, -1), strict=True
        ):
            share = -(-left // shares)
            for name in random.sample(members, len(members)):
                if share <= 0:
                    break
                chosen[name] = _some(database, (name, sampling.model), random, min(_EACH, share))
                share, left = share - len(chosen[name]), left - len(chosen[name])
    return chosen


async def _compared(sampling: _Sampling, chosen: _Chosen) -> tuple[int, dict[str, int]]:
    """Return how many documents were compared, and how many of each collection have another vector."""
    held = await asyncio.to_thread(_held, sampling.directory, chosen)
    told = await asyncio.to_thread(_told, sampling, {name: chosen[name] for name in held})
    vectors = await embedded({key for one in told.values() for key in one.values()}, sampling.embedder, sampling.meaning)
    compared, differing = 0, {}
    for name, documents in told.items():
        known, altered = held[name], 0
        for id_, key in documents.items():
            wanted = vectors[key]
            if wanted is None or not np.any(wanted) or (known is not None and id_ not in known):
                continue
            compared += 1
            altered += known is None or not _same(wanted, known[id_])
        if altered:
            differing[name] = altered
    return compared, differing


def _same(wanted: Vectors, stored: Vectors) -> bool:
    if wanted.shape != stored.shape or not np.all(np.isfinite(stored)):
        return False
    one, other = wanted.astype(np.float64), stored.astype(np.float64)  # flipped bits make numbers that float32 cannot square
    length = float(np.linalg.norm(one) * np.linalg.norm(other))
    return bool(length) and float(one @ other) / length >= 1 - _CLOSE


def _told(sampling: _Sampling, chosen: _Chosen) -> dict[str, dict[str, tuple[str, str]]]:
    """Return kind and text of the documents, as far as they still have a vector of the present model."""
    with _reading(sampling.directory) as database:
        return {
            name: {id_: (row[0], row[1]) for id_ in ids if (row := database.execute(_ONE, (id_, sampling.model)).fetchone())}
            for name, ids in chosen.items()
        }


def _held(directory: Path, names: Mapping[str, Iterable[str]]) -> dict[str, chroma_vectors.Held | None]:
    """Return what the index has of them; a folder that cannot be read at all is the other comparison's to tell."""
    held: dict[str, chroma_vectors.Held | None] = {}
    for folder, members in _folders(directory, names).items():
        try:
            wanted = {chroma_name(name): list(names[name]) for name in members}
            found = chroma_vectors.read(directory / "chroma" / folder, wanted)
        except (sqlite3.Error, OSError):
            continue
        held |= {name: found[chroma_name(name)] for name in members if chroma_name(name) in found}
    return held


@contextmanager
def _reading(directory: Path) -> Iterator[sqlite3.Connection]:
    path = directory / DATABASE
    check_schema(path)
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=5)) as database:
            yield database
    except sqlite3.Error as error:
        raise unavailable(path, error) from error
