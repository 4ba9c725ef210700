"""PrecisionMemBench's three files: beliefs, single queries, and the turns of two sessions."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from replays.benchmarks.loading import BenchmarkError, Fields, read_list

SEED, CASES, SESSIONS = "beliefs.seed.json", "retrieval.cases.json", "session-retrieval.cases.json"
DEFAULT_USER = "test-user"
MOST_BELIEFS = 20  # shown at most, pinned ones included, as the benchmark's own harness caps it
UNIVERSAL = "user:universal"


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief:
    """Something that a user holds, in its scopes."""

    id: str
    user: str
    kind: str
    name: str
    aliases: tuple[str, ...]
    content: str
    why: str
    scopes: tuple[str, ...]
    pinned: bool
    over: bool  # superseded or resolved
    at: datetime
    participants: tuple[str, ...]

    def words(self, *, aliases: bool) -> str:
        """Return the belief as it is told: name, content and reason, as the benchmark tells it, its aliases only on demand."""
        parts = (self.name.replace("_", " "), *(self.aliases if aliases else ()), self.content, self.why)
        return " ".join(part for part in parts if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What one tier must hold, must not hold, or is all that it may hold. `only` None: nothing is claimed about the whole."""

    must: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()
    only: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prelude:
    """What is claimed about the text that introduces the user."""

    non_empty: bool = False
    empty: bool = False
    contains: tuple[str, ...] = ()
    never: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One case, or one turn of a session."""

    id: str
    category: str
    user: str
    scopes: tuple[str, ...]
    text: str
    relevant: Claim
    pinned: Claim
    questions: Claim
    prelude: Prelude
    noise: frozenset[str]
    most: int
    created: Belief | None  # told after the turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Precision:
    """The whole benchmark."""

    beliefs: tuple[Belief, ...]
    cases: tuple[Query, ...]
    sessions: tuple[tuple[Query, ...], ...]


def read_precision(folder: Path) -> Precision:
    """Return the benchmark in a folder.

    Raises:
        BenchmarkError: a file is unreadable or of another version; names file and field.
    """
    beliefs = tuple(_belief(entry) for entry in read_list(folder / SEED))
    known = {belief.id for belief in beliefs}
    cases = tuple(_query(entry, entry.need("caseId", str), entry.need("category", str)) for entry in read_list(folder / CASES))
    sessions = tuple(_session(entry) for entry in read_list(folder / SESSIONS))
    for session in sessions:
        known |= {query.created.id for query in session if query.created}
    for query in (*cases, *(turn for session in sessions for turn in session)):
        claimed = {id_ for claim in (query.relevant, query.pinned, query.questions) for id_ in (claim.only or frozenset())}
        if unknown := sorted((claimed | query.relevant.must | query.pinned.must | query.questions.must) - known):
            raise BenchmarkError(f"{folder}: case {query.id} names {unknown[0]!r}, which {SEED} does not hold")
    return Precision(beliefs=beliefs, cases=cases, sessions=sessions)


def _belief(entry: Fields) -> Belief:
    return Belief(
        id=entry.need("_id", str),
        user=entry.need("user_id", str),
        kind=entry.need("type", str),
        name=entry.need("canonical_name", str),
        aliases=entry.texts("aliases"),
        content=entry.need("content", str),
        why=entry.optional("why_it_matters"),
        scopes=entry.texts("scope"),
        pinned=entry.all.get("pinned") is True,
        over=bool(entry.all.get("superseded_by") or entry.all.get("resolved_at")),
        at=entry.moment("created_at", "%Y-%m-%dT%H:%M:%SZ"),
        participants=entry.texts("participants"),
    )


def _session(entry: Fields) -> tuple[Query, ...]:
    name = entry.need("caseId", str)
    return tuple(
        _query(turn, f"{name}/{turn.need('turnIndex', int)}", "session", text="userMessage") for turn in entry.parts("turns")
    )


def _query(entry: Fields, name: str, category: str, *, text: str = "query") -> Query:
    expect = entry.inside("expect")
    budget = entry.inside("budget").all if "budget" in entry.all else {}
    noise = expect.inside("noiseCheck").texts("mustNotSurface") if "noiseCheck" in expect.all else ()
    return Query(
        id=name,
        category=category,
        user=entry.optional("userId") or DEFAULT_USER,
        scopes=entry.texts("scope"),
        text=entry.need(text, str),
        relevant=_claim(expect, "relevantBeliefs"),
        pinned=_claim(expect, "pinnedFacts"),
        questions=_claim(expect, "openQuestions"),
        prelude=_prelude(expect),
        noise=frozenset(noise),
        most=int(budget.get("maxBeliefs", MOST_BELIEFS)),
        created=_belief(entry.inside("createBeliefAtTurn")) if "createBeliefAtTurn" in entry.all else None,
    )


def _claim(expect: Fields, tier: str) -> Claim:
    if tier not in expect.all:
        return Claim()
    claim = expect.inside(tier)
    only = frozenset(claim.texts("shouldOnlyInclude")) if "shouldOnlyInclude" in claim.all else None
    return Claim(must=frozenset(claim.texts("mustInclude")), never=frozenset(claim.texts("mustExclude")), only=only)


def _prelude(expect: Fields) -> Prelude:
    if "personaPrelude" not in expect.all:
        return Prelude()
    claim = expect.inside("personaPrelude")
    return Prelude(
        non_empty=claim.all.get("nonEmpty") is True,
        empty=claim.all.get("isNull") is True,
        contains=claim.texts("contains"),
        never=claim.texts("mustNotContain"),
    )


def shown_for(beliefs: Sequence[Belief], query: Query) -> list[Belief]:
    """Return the beliefs of the query's user that share a scope with it."""
    return [belief for belief in beliefs if belief.user == query.user and set(belief.scopes) & set(query.scopes)]
