"""Who is called what: an index of names past and present that stays fast with 100,000 viewers.

Exact look-ups go by dictionary; near misses compare only names of about the same length that begin or end alike. No I/O.
For several threads: lines are read for what they say of others beside the loop, in which names change.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import RLock
from typing import NamedTuple

from rapidfuzz import process
from rapidfuzz.distance import OSA

from memory.events import Viewer
from memory.model import KnownViewer
from memory.normalise import fold

SHORTEST_PART, SHORTEST_FUZZY = 3, 5
CANDIDATES = 400  # near misses compared at most for one word
_PIECES = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Hit:
    """A viewer found under a name. `how`: login, name, former, part (of a name), near."""

    viewer_id: str
    how: str
    score: float = 1.0


class _Names(NamedTuple):
    """The look-up keys of one viewer."""

    current: tuple[str, ...]
    former: tuple[str, ...]
    parts: tuple[str, ...]


def name_key(name: str) -> str:
    """Return how a name is looked up: folded, without spaces and a leading @; underscores and digits stay."""
    return "".join(fold(name.lstrip("@")).split())


def parts_of(name: str) -> tuple[str, ...]:
    """Return the words that a login or display name is made of (`NonnaGisella_77` gives nonna, gisella), folded."""
    found = (fold(piece) for piece in _PIECES.findall(name[:60]))
    return tuple(dict.fromkeys(part for part in found if len(part) >= SHORTEST_PART and part != name_key(name)))


def floor_for(length: int) -> float:
    """Return the similarity (0 to 1) from which a near miss of that many letters counts: one slip in five, two in ten."""
    return 0.8 if length < 10 else 0.79  # noqa: PLR2004 - ten letters, as the docstring says


class NameIndex:
    """Names to viewers, built once and kept up to date by `add` and `remove`."""

    def __init__(self, viewers: Iterable[KnownViewer] = ()) -> None:
        self._lock = RLock()
        self._viewers: dict[str, KnownViewer] = {}
        self._current: dict[str, list[str]] = {}
        self._former: dict[str, list[str]] = {}
        self._parts: dict[str, list[str]] = {}
        self._near: dict[tuple[str, int], dict[str, None]] = {}
        self._names: dict[str, _Names] = {}
        for viewer in viewers:
            self.add(viewer)

    def __len__(self) -> int:
        """Return how many viewers are known."""
        return len(self._viewers)

    def get(self, viewer_id: str) -> KnownViewer | None:
        """Return a viewer by id."""
        with self._lock:
            return self._viewers.get(viewer_id)

    def add(self, viewer: KnownViewer) -> None:
        """Add a viewer, or replace what was known of the same id."""
        with self._lock:
            if self._viewers.get(viewer.id) == viewer:
                return
            self.remove(viewer.id)
            self._viewers[viewer.id] = viewer
            names = self._names[viewer.id] = _names(viewer)
            for table, keys in self._tables(names):
                for key in keys:
                    table.setdefault(key, []).append(viewer.id)
            for key in (*names.current, *names.former):
                for bucket in _buckets(key, len(key)):
                    self._near.setdefault(bucket, {})[key] = None

    def remove(self, viewer_id: str) -> None:
        """Forget a viewer; an unknown id is fine."""
        with self._lock:
            if self._viewers.pop(viewer_id, None) is None:
                return
            names = self._names.pop(viewer_id)
            for table, keys in self._tables(names):
                for key in keys:
                    table[key].remove(viewer_id)
                    if not table[key]:
                        del table[key]
            for key in {*names.current, *names.former} - self._current.keys() - self._former.keys():
                for bucket in _buckets(key, len(key)):
                    self._near[bucket].pop(key, None)

    def clear(self) -> None:
        """Forget every viewer."""
        for viewer_id in list(self._viewers):
            self.remove(viewer_id)

    def names_of(self, viewer: Viewer) -> tuple[str, ...]:
        """Return the look-up keys of a viewer: names now and their parts; worked out where the index does not know them."""
        names = self._names.get(viewer.id) or _names(KnownViewer(id=viewer.id, login=viewer.login, name=viewer.name))
        return (*names.current, *names.parts)

    def _tables(self, names: _Names) -> tuple[tuple[dict[str, list[str]], tuple[str, ...]], ...]:
        return (self._current, names.current), (self._former, names.former), (self._parts, names.parts)

    def exact(self, name: str) -> tuple[Hit, ...]:
        """Return who is called so now; where nobody is, who once was (a recycled name belongs to its present owner)."""
        with self._lock:
            key = name_key(name)
            owners = self._current.get(key, [])
            if len(owners) > 1:  # names that look alike: the login as typed decides
                typed = name.lstrip("@").casefold()
                owners = [owner for owner in owners if self._viewers[owner].login == typed] or owners
            if owners:
                return tuple(Hit(owner, "name") for owner in owners)
            return tuple(Hit(owner, "former") for owner in self._former.get(key, []))

    def part(self, word: str) -> tuple[Hit, ...]:
        """Return whose login or display name has this word as one of its parts."""
        with self._lock:
            return tuple(Hit(owner, "part") for owner in self._parts.get(fold(word), []))

    def near(self, name: str) -> tuple[Hit, ...]:
        """Return the owners of the most similar name above the floor for its length; several names equally near give none."""
        key = name_key(name)
        if len(key) < SHORTEST_FUZZY:
            return ()
        floor = floor_for(len(key))
        scored = process.extract(
            key, list(self._candidates(key)), scorer=OSA.normalized_similarity, score_cutoff=floor, limit=2
        )
        if not scored or (len(scored) > 1 and scored[0][1] == scored[1][1]):
            return ()
        best, score, _ = scored[0]
        return tuple(Hit(hit.viewer_id, "near", score) for hit in self.exact(best))

    def _candidates(self, key: str) -> Iterator[str]:
        names: dict[str, None] = {}
        for length in (len(key), len(key) - 1, len(key) + 1, len(key) - 2, len(key) + 2):
            for bucket in _buckets(key, length):
                for name in self._near.get(bucket, ()):
                    names[name] = None
                    if len(names) >= CANDIDATES:
                        return iter(names)
        return iter(names)


def _names(viewer: KnownViewer) -> _Names:
    current = tuple(dict.fromkeys(key for key in (name_key(viewer.login), name_key(viewer.name)) if key))
    former = tuple(dict.fromkeys(key for name in viewer.former if (key := name_key(name)) and key not in current))
    cased = (viewer.name,) if viewer.name.casefold() == viewer.login else (viewer.name, viewer.login)
    parts = tuple(dict.fromkeys(part for name in cased for part in parts_of(name) if part not in current))
    return _Names(current, former, parts)


def _buckets(key: str, length: int) -> tuple[tuple[str, int], tuple[str, int]]:
    return (f"^{key[:2]}", length), (f"{key[-3:]}$", length)
