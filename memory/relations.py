"""What a statement relates its subject to: one edge between two entities, from a viewer to a place, a game, a pet, … Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from memory.normalise import same_key, words
from memory.statements import ENDED, Fact

# The slots that name something which several viewers can share, or ask about: (relation, kind of entity).
RELATED: Mapping[str, tuple[str, str]] = {
    "home": ("lives_in", "place"),
    "origin": ("comes_from", "place"),
    "workplace": ("works_at", "work"),
    "profession": ("works_as", "work"),
    "study": ("studies", "study"),
    "game": ("plays", "game"),
    "platform": ("plays_on", "thing"),
    "pet": ("has_pet", "pet"),
    "partner": ("is_with", "person"),
    "family": ("has_relative", "person"),
    "like": ("likes", "thing"),
    "favourite": ("likes_best", "thing"),
    "hobby": ("does", "thing"),
    "instrument": ("plays_instrument", "thing"),
    "language": ("speaks", "language"),
    "team": ("supports", "team"),
    "own": ("owns", "thing"),
    "vehicle": ("drives", "thing"),
}
KINDS = tuple(dict.fromkeys(kind for _, kind in RELATED.values()))
LONGEST = 3  # words of an entity's name
Who = Callable[[str], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An entity, and what it is related to. Its times and its provenance are those of the fact or claim behind it."""

    fact_id: str
    head: str  # "viewer:101"
    relation: str
    tail: str  # "place:torino", "viewer:202"
    name: str  # of the tail, as it was said


def viewer(viewer_id: str) -> str:
    """Return the entity of a viewer."""
    return f"viewer:{viewer_id}"


def edge_of(fact: Fact, who: Who = lambda _: None) -> Edge | None:
    """Return the edge that a fact or claim makes, None where it relates to nothing that could be met again.

    `who` says which viewer a name means: a partner or relative may be one.
    """
    slot = fact.predicate.split(":")[0]
    related = RELATED.get(slot)
    if fact.predicate.startswith(ENDED) or related is None or not words(fact.object):
        return None
    relation, kind = related
    name = _name(fact.object, kind)
    other = who(name) if kind == "person" else None
    tail = viewer(other) if other and other != fact.subject else f"{kind}:{same_key(name)}"
    return Edge(fact_id=fact.id, head=viewer(fact.subject), relation=relation, tail=tail, name=name)


def _name(said: str, kind: str) -> str:
    """Return the name of what is meant: of a pet or person its own, behind what it is; of all else the first words."""
    parts = said.split()
    proper = [part for part in parts[1:] if part[:1].isupper()]
    return proper[-1] if proper and kind in {"pet", "person"} else " ".join(parts[:LONGEST])


def entities_in(text: str) -> frozenset[str]:
    """Return every entity that the words of a question could name: each run of up to three words, of each kind."""
    said = words(text)
    runs = {"".join(said[start : start + length]) for length in range(1, LONGEST + 1) for start in range(len(said))}
    return frozenset(f"{kind}:{run}" for kind in KINDS for run in runs)
