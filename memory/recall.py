"""The hot path: what the memory gives a turn, within its deadline, whatever is late or broken."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memory.abstain import gate, nearest, unsure
from memory.budget import fit
from memory.caches import RecallCaches
from memory.channels.scoped import Asking
from memory.clock import Clock
from memory.dedup import drop_repeats
from memory.errors import InvalidRow
from memory.fuse import fuse
from memory.history import History
from memory.model import Batch, Block, Evidence, LeftOut, Plan, Recall, SourceKind, Stream, Window
from memory.plan import make_plan
from memory.recipes import Recipe
from memory.relevance import Relevance
from memory.retrieve import Retrieval
from memory.rules import Rules
from memory.sources import Found, Source
from memory.surroundings import Surroundings
from memory.trace import Abandoned, Trace

_LOOKS = 3  # times a recall looks again because something was erased meanwhile
_DATED = frozenset({SourceKind.PROFILE, SourceKind.RECALL})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What is asked, and where."""

    batch: Batch
    stream: Stream
    recipe: Recipe
    as_of: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """What was read for a turn, before it is made into a block."""

    window: Window
    plan: Plan
    found: Found = field(default_factory=Found)
    timed_out: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    doubt: bool = False  # what was found probably does not answer


class Recaller:
    """Recalls for one channel. Everything it reads is given; it writes nothing."""

    def __init__(  # noqa: PLR0913 - the parts of the hot path, each of its own kind and named
        self,
        *,
        surroundings: Surroundings,
        history: History,
        sources: Mapping[SourceKind, Source],
        caches: RecallCaches,
        rules: tuple[Rules, ...],
        language: str,
        clock: Clock,
        abandoned: Abandoned,
        relevance: Relevance | None = None,
    ) -> None:
        self._surroundings = surroundings
        self._history = history
        self._sources = sources
        self._caches = caches
        self._rules = rules
        self._relevance = relevance
        self._language = language
        self._clock = clock
        self._abandoned = abandoned

    async def recall(self, batch: Batch, recipe: Recipe, *, as_of: datetime | None = None) -> Recall:
        """Return what the memory has for this batch.

        Raises:
            InvalidRow: the batch's stream never began.
        """
        trace = Trace(self._clock, total_seconds=recipe.deadlines.recall_seconds, abandoned=self._abandoned)
        stream = await self._stream(batch.stream_id, recipe, trace)
        if stream is None:
            return Recall(plan=Plan(), window=Window(stream_id=batch.stream_id), block=Block(), steps=trace.steps)
        question = _Question(batch=batch, stream=stream, recipe=recipe, as_of=as_of)
        look = await self._look_until_nothing_is_erased(question, trace)
        # From here on nothing is awaited: what is erased from now on is erased after this recall.
        evidence = trace.step("fuse", fuse, look.found.rankings, recipe, self._relevance)
        strong, weak = trace.step("gate", gate, evidence, look.plan, recipe, self._rules, count=_kept)
        doubt = unsure(evidence, look.plan, recipe) and not look.found.records
        strong, behind = nearest(strong) if doubt else (strong, ())
        fresh, repeats = trace.step("dedup", drop_repeats, strong, look.window, batch, recipe, count=_kept)
        block = trace.step("budget", self._fit, fresh, replace(look, doubt=doubt), question, count=_lines)
        return Recall(
            plan=look.plan,
            window=look.window,
            block=replace(block, left_out=(*weak, *behind, *repeats, *block.left_out)),
            steps=trace.steps,
            timed_out=look.timed_out,
            failed=look.failed,
            candidates=evidence,
        )

    async def _stream(self, stream_id: str, recipe: Recipe, trace: Trace) -> Stream | None:
        """Return the stream; None where the store is too slow or broken to say."""
        stream = self._surroundings.known(stream_id)
        if stream is None:
            within = recipe.deadlines.source_seconds
            stream = await trace.run("stream", self._surroundings.find(stream_id), within=within, otherwise=None)
        if stream is None and trace.names("ok"):
            raise InvalidRow(f"stream {stream_id!r} is not known: call begin_stream before asking about its lines")
        return stream

    async def _look_until_nothing_is_erased(self, question: _Question, trace: Trace) -> _Look:
        for _ in range(_LOOKS):
            erasures = self._caches.erasures
            look = await self._look(question, trace)
            if erasures == self._caches.erasures:
                return look
        names = tuple(request.name for request in look.plan.requests)
        return _Look(window=Window(stream_id=question.stream.id), plan=look.plan, timed_out=names)

    async def _look(self, question: _Question, trace: Trace) -> _Look:
        batch, stream, recipe = question.batch, question.stream, question.recipe
        deadlines, lines = recipe.deadlines, recipe.limits.history_messages
        present = frozenset(line.id for line in batch.lines)
        window = await trace.run(
            "history",
            self._history.tail(stream.id, lines, without=present),
            within=deadlines.source_seconds,
            otherwise=self._history.known(stream.id, lines, without=present),
        )
        plan = trace.step("plan", self._plan, question, window)
        shown = present.union(line.id for line in window.lines) if recipe.dedup else present
        asking = Asking(recipe=recipe, at=batch.closed_at, trace=trace, shown=shown)
        retrieval = Retrieval(plan, self._sources, asking)
        await trace.run("retrieve", retrieval.ask_all(), within=deadlines.retrieve_seconds, otherwise=Found())
        timed_out, failed = retrieval.left_out()
        return _Look(window=window, plan=plan, found=retrieval.found, timed_out=timed_out, failed=failed)

    def _plan(self, question: _Question, window: Window) -> Plan:
        plan = make_plan(
            question.batch,
            window,
            viewers=self._surroundings.viewers,
            stream=question.stream,
            past_streams=self._surroundings.before(question.stream, question.batch.closed_at),
            lore=self._surroundings.lore,
            rules=self._rules,
            recipe=question.recipe,
            back=self._back(question),
        )
        return plan if question.as_of is None else _as_of(plan, question.as_of)

    def _back(self, question: _Question) -> frozenset[str]:
        """Return who writes again after a while, where their profile comes with that."""
        hours = question.recipe.limits.greeting_hours
        if hours <= 0:
            return frozenset()
        return self._surroundings.absences.back_after(question.batch.messages, timedelta(hours=hours))

    def _fit(self, evidence: Sequence[Evidence], look: _Look, question: _Question) -> Block:
        return fit(
            evidence,
            look.plan,
            look.window,
            stream=question.stream,
            viewers=self._surroundings.names(_people(evidence, look.found)),
            state=look.found.records,
            language=self._language,
            recipe=question.recipe,
            now=question.batch.closed_at,
            unsure=look.doubt,
        )


def _kept(pair: tuple[Sequence[Evidence], Sequence[LeftOut]]) -> int:
    return len(pair[0])


def _lines(block: Block) -> int:
    return len(block.items)


def _as_of(plan: Plan, moment: datetime) -> Plan:
    """Return the plan with every personal request asked as of that moment."""
    requests = tuple(replace(request, as_of=moment) if request.kind in _DATED else request for request in plan.requests)
    return replace(plan, requests=requests, as_of=moment)


def _people(evidence: Iterable[Evidence], found: Found) -> Iterable[str | None]:
    for item in evidence:
        yield item.document.subject
        yield item.document.author
    for record in found.records:
        yield from record.viewers
