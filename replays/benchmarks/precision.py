"""PrecisionMemBench through the memory: each user's scope is a viewer who told the bot the beliefs, and an outsider asks.

The tiers that are no search (pinned facts, pinned open questions, the persona) are filled from the seed, for every system
alike: so does the benchmark's own harness. What is measured is the search for the query.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory import Memory, Recipe, Viewer, VirtualClock
from replays.benchmarks.asking import Question, ask, by_score, sources_of, unhurried, wide
from replays.benchmarks.feeding import ASKER, Opener, Session, Utterance, begin_questions, feed
from replays.benchmarks.journal import Journal
from replays.benchmarks.precision_file import UNIVERSAL, Belief, Precision, Query, shown_for

EVERYTHING = "everything in scope"


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """How one row of the table is asked. `recipe` None: nothing is asked, all beliefs in scope come back."""

    name: str
    recipe: Recipe | None
    aliases: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRun:
    """What a run needs. `opener` opens a memory in a folder; `on_question` hears of every answered question."""

    opener: Opener
    systems: Sequence[System]
    journal: Journal
    on_question: Callable[[str], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiers:
    """What stands before the model for one query, by belief id, and the text about the user."""

    relevant: tuple[str, ...]
    pinned: frozenset[str]
    questions: frozenset[str]
    prelude: str


def systems(recipe: Recipe) -> list[System]:
    """Return the rows of the table: the bot's block, with and without aliases, and lists that nothing cuts."""
    return [
        System(name="memory", recipe=unhurried(recipe)),
        System(name="memory, with aliases", recipe=unhurried(recipe), aliases=True),
        System(name="memory, gate off, 20 results", recipe=wide(recipe, sources=("recall",))),
        System(name="BM25 alone, 20 results", recipe=wide(recipe, channels={"lexical"}, sources=("recall",))),
        System(name="dense alone, 20 results", recipe=wide(recipe, channels={"dense"}, sources=("recall",))),
        System(name=EVERYTHING, recipe=None),
    ]


async def run_precision(bench: Precision, run: PrecisionRun) -> None:
    """Ask every case and every session of every system that the journal does not hold yet."""
    for system in run.systems:
        for number, queries in enumerate((bench.cases, *bench.sessions)):
            ids = [f"{system.name}|{query.id}" for query in queries]
            if run.journal.missing(ids):
                await _Asked(bench, run, system, session=number > 0).all(queries)


class _Asked:
    """One pass of one system over cases, or over the turns of one session, in a memory of its own."""

    def __init__(self, bench: Precision, run: PrecisionRun, system: System, *, session: bool) -> None:
        self._beliefs = list(bench.beliefs)
        self._run, self._system, self._session = run, system, session

    async def all(self, queries: Sequence[Query]) -> None:
        start = min(belief.at for belief in self._beliefs)
        clock = VirtualClock(start)
        with TemporaryDirectory(prefix="precision-") as folder:
            async with self._opened(Path(folder), clock) as memory:
                stream = await self._tell(memory, clock, self._beliefs)
                for query in queries:
                    self._run.journal.add(await self._one(memory, clock, stream, query))
                    self._run.on_question(query.id)
                    if query.created:
                        self._beliefs.append(query.created)
                        stream = await self._tell(memory, clock, [query.created])

    def _opened(self, folder: Path, clock: VirtualClock) -> AbstractAsyncContextManager[Memory]:
        return self._run.opener(folder, clock)

    async def _tell(self, memory: Memory, clock: VirtualClock, beliefs: Sequence[Belief]) -> str:
        told = sorted(beliefs, key=lambda belief: (belief.at, belief.id))
        sessions = [
            Session(
                id=f"told-{belief.id}",
                at=belief.at,
                lines=tuple(
                    Utterance(
                        id=f"{belief.id}@{scope}",
                        speaker=_viewer(belief.user, scope),
                        text=belief.words(aliases=self._system.aliases),
                    )
                    for scope in belief.scopes
                ),
            )
            for belief in told
        ]
        await feed(memory, clock, sessions)
        return await begin_questions(memory, clock, clock.now() + timedelta(minutes=1))

    async def _one(self, memory: Memory, clock: VirtualClock, stream: str, query: Query) -> dict[str, Any]:
        found: Sequence[str] = [belief.id for belief in self._beliefs] if self._system.recipe is None else ()
        seconds, reasons = 0.0, tuple[str, ...]()
        if self._system.recipe is not None and query.text.strip():
            about = tuple(_viewer(query.user, scope) for scope in query.scopes)
            text = query.text if "?" in query.text else f"{query.text}?"
            question = Question(id=query.id, text=text, at=clock.now(), stream_id=stream, by=ASKER, about=about)
            began = clock.elapsed()
            recall = await ask(memory, question, self._system.recipe)
            seconds, reasons = clock.elapsed() - began, recall.plan.reasons
            own = {viewer.id for viewer in about}
            items = [item for item in by_score(recall) if item.subject in own]
            found = list(dict.fromkeys(source.partition("@")[0] for source in sources_of(items)))
        tiers = tiers_of(found, self._beliefs, query)
        failures = failures_of(query, tiers)
        return {
            "id": f"{self._system.name}|{query.id}",
            "category": query.category,
            "system": self._system.name,
            "session": self._session,
            "query": query.text,
            "plan": list(reasons),
            "relevant": list(tiers.relevant),
            "failures": failures,
            "pass": kind_of_pass(query, failures),
            "ms": round(seconds * 1000, 3),
            **figures_of(query, tiers, session=self._session),
        }


def _viewer(user: str, scope: str) -> Viewer:
    name = f"{user}_{scope.partition(':')[2] or scope}_0"
    return Viewer(id=f"{user}@{scope}", login=name, name=name)


def tiers_of(found: Sequence[str], beliefs: Sequence[Belief], query: Query) -> Tiers:
    """Return the tiers: the seed's own for everything that is no search, and what the search found, cut to the budget.

    A relation that was found brings its participants in scope along, and pinned facts are no search results: both as in the
    benchmark's own harness.
    """
    by_id = {belief.id: belief for belief in beliefs}
    here = shown_for(beliefs, query)
    pinned = [belief for belief in here if belief.pinned and not belief.over]
    facts = [belief.id for belief in pinned if belief.kind != "open_question"][: query.most]
    allowed = {belief.id for belief in here}
    ranked = [id_ for id_ in found if id_ in allowed and id_ not in facts]
    for id_ in list(ranked):
        linked = by_id[id_].participants if by_id[id_].kind == "relation" else ()
        ranked += [one for one in linked if one in allowed and by_id[one].kind != "open_question" and one not in facts]
    return Tiers(
        relevant=tuple(dict.fromkeys(ranked))[: max(0, query.most - len(facts))],
        pinned=frozenset(facts),
        questions=frozenset(belief.id for belief in pinned if belief.kind == "open_question"),
        prelude=" ".join(b.content for b in beliefs if b.user == query.user and UNIVERSAL in b.scopes),
    )


def failures_of(query: Query, tiers: Tiers) -> list[str]:
    """Return what is wrong with the tiers, in words; empty: the case is passed."""
    relevant, seen = frozenset(tiers.relevant), frozenset(tiers.relevant) | tiers.pinned
    only = query.relevant.only
    wrong = {
        "missing": query.relevant.must - seen,
        "forbidden": query.relevant.never & seen,
        "not found": (only or frozenset()) - relevant,
        "unexpected": relevant - only if only is not None else frozenset(),
        "pin missing": query.pinned.must - tiers.pinned,
        "pin forbidden": query.pinned.never & tiers.pinned,
        "question missing": query.questions.must - tiers.questions,
        "question forbidden": query.questions.never & tiers.questions,
        "noise": query.noise & seen,
    }
    named = [f"{what}: {id_}" for what, ids in wrong.items() for id_ in sorted(ids)]
    return [*named, *_prelude_failures(query, tiers.prelude)]


def _prelude_failures(query: Query, text: str) -> Iterable[str]:
    claim = query.prelude
    if claim.non_empty and not text:
        yield "the persona is empty"
    if claim.empty and text:
        yield "the persona is not empty"
    yield from (f"the persona lacks {part!r}" for part in claim.contains if part not in text)
    yield from (f"the persona holds {part!r}" for part in claim.never if part in text)


def kind_of_pass(query: Query, failures: Sequence[str]) -> str | None:
    """Return `active` (just the claimed set came), `structural` (what had to stay out did), `empty`, or None: not passed."""
    if failures:
        return None
    if query.relevant.only or query.relevant.must:
        return "active"
    kept_out = query.relevant.never or query.pinned.never or query.questions.never or query.noise or query.prelude.never
    return "structural" if kept_out else "empty"


def figures_of(query: Query, tiers: Tiers, *, session: bool) -> dict[str, float | None]:
    """Return precision, recall and drift, as the benchmark's harness takes them.

    Cases: precision is null where nothing was found and nothing claimed, 0 where something was claimed and nothing found.
    Sessions: precision is null where nothing was found; a claimed belief that is pinned counts as found; drift is
    1 - precision, 0 where nothing was found.
    """
    relevant, claimed = frozenset(tiers.relevant), query.relevant.only
    wanted = query.relevant.must - (frozenset() if session else tiers.pinned) if claimed is None else claimed
    hits = len(wanted & (relevant | tiers.pinned if session else relevant))
    recall = hits / len(wanted) if wanted else None
    if session:
        precision = hits / len(relevant) if relevant else None
        return {"precision": precision, "recall": recall, "drift": 1 - precision if precision is not None else 0.0}
    if not relevant:
        return {"precision": 0.0 if wanted else None, "recall": recall, "drift": None}
    return {"precision": hits / len(relevant), "recall": recall, "drift": None}


def summarised(rows: Sequence[dict[str, Any]], summary: Callable[[Sequence[float]], float]) -> dict[str, Any]:
    """Return the table: {system: {metric: value}}; `summary` gives the median of latencies."""
    table: dict[str, Any] = {}
    for name in dict.fromkeys(row["system"] for row in rows):
        own = [row for row in rows if row["system"] == name]
        cases, turns = [r for r in own if not r["session"]], [r for r in own if r["session"]]
        table[name] = {**_figures(cases, summary), **{f"session {k}": v for k, v in _figures(turns, summary).items()}}
    return table


def _figures(rows: Sequence[dict[str, Any]], summary: Callable[[Sequence[float]], float]) -> dict[str, Any]:
    kinds = [row["pass"] for row in rows]
    return {
        "asked": len(rows),
        "passed": sum(1 for kind in kinds if kind),
        **{kind: kinds.count(kind) for kind in ("active", "structural", "empty")},
        **{name: _mean([row[name] for row in rows]) for name in ("precision", "recall", "drift")},
        "p50 ms": round(summary([row["ms"] for row in rows]), 1),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return round(sum(given) / len(given), 4) if given else None
