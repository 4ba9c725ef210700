"""What a running bot knows of itself: figures for monitoring, and its last turns, as ids and never as words."""

from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import psutil

from bot.exposition import Histogram, Page, label_of
from bot.turn import TurnOutcome, kinds_of
from memory import Clock, Health, Item

KEPT_TURNS = 40
KEPT_SECONDS = 200  # of each step, for its percentiles
_EVENTS = {
    "message": "message",
    "notice": "notice",
    "deletion": "deletion",
    "streamevent": "stream",
    "command": "command",
}  # as the loop counts them: as they are told
_LEFT_OUT, _SAID, _POST, _UNSAID = "left_out_", "said_", "post_", "unsaid_"


class Watch:
    """Sees every turn, and tells of them. It holds no chat: whoever shows words looks them up, and finds nothing erased."""

    def __init__(self, clock: Clock, health: Callable[[], Awaitable[Health]]) -> None:
        """Take the clock, and what says how the memory is."""
        self._clock = clock
        self._health = health
        self._began = clock.elapsed()
        self._started_at = clock.now()
        self._counts: Callable[[], Mapping[str, int]] = dict
        self._waiting = 0
        self._tokens: Counter[str] = Counter(prompt=0, completion=0)
        self._reasons: Counter[str] = Counter()
        self._missing: Counter[str] = Counter()
        self._sums: Counter[str] = Counter()
        self._histograms: dict[str, Histogram] = {}
        self._recent: dict[str, deque[float]] = {}
        self._turns: deque[dict[str, Any]] = deque(maxlen=KEPT_TURNS)

    def follow(self, counts: Callable[[], Mapping[str, int]]) -> None:
        """Take what the chat loop counts from here on."""
        self._counts = counts

    def waiting(self, events: int) -> None:
        """Note how many events wait to be served."""
        self._waiting = events

    def turn(self, outcome: TurnOutcome) -> None:
        """Take a turn that is over."""
        said, recall = outcome.turn.said, outcome.turn.recall
        for step, seconds in outcome.seconds.items():
            self._histograms.setdefault(step, Histogram()).add(seconds)
            self._recent.setdefault(step, deque(maxlen=KEPT_SECONDS)).append(seconds)
        self._tokens.update(prompt=said.prompt_tokens, completion=said.completion_tokens)
        self._reasons[label_of(said.reason) if said.reason else "none"] += 1
        self._sums["recorded_late"] += not outcome.recorded
        if recall is not None:
            self._missing.update(kinds_of((*recall.timed_out, *recall.failed)))
            self._sums["degraded"] += recall.degraded
            self._sums["abstained"] += recall.block.abstained
            self._sums["memories"] += len(recall.block.items)
        self._turns.append(_seen(outcome))

    def glimpse(self) -> dict[str, Any]:
        """Return the present and the last turns as JSON types, newest turn first."""
        return {
            "started_at": self._started_at.isoformat(),
            "uptime_seconds": round(self._clock.elapsed() - self._began, 1),
            "waiting_events": self._waiting,
            "counts": dict(self._counts()),
            "degraded_turns": self._sums["degraded"],
            "missing_sources": dict(self._missing),
            "tokens": dict(self._tokens),
            "milliseconds": {step: _spread(seconds) for step, seconds in self._recent.items()},
            "turns": list(reversed(self._turns)),
        }

    async def healthy(self) -> dict[str, Any]:
        """Return how the memory is, in counts.

        Raises:
            StoreUnavailable, MemoryClosed: it cannot be read.
        """
        health = await self._health()
        return {
            "problems": len(health.problems),
            "lag_seconds": round(health.lag_seconds, 1),
            "dead_jobs": health.jobs.get("dead", 0),
            "failures": self._counts().get("failures", 0),
        }

    async def metrics(self) -> str:
        """Return everything in the Prometheus text format; no label holds a name, an id or a word of chat.

        Raises:
            StoreUnavailable, MemoryClosed: the memory cannot be read.
        """
        page = Page("ricordo_")
        self._tell_chat(page)
        self._tell_turns(page)
        _tell_memory(page, await self._health())
        own = psutil.Process()
        page.gauge("uptime_seconds", "Since the bot started.", round(self._clock.elapsed() - self._began, 3))
        page.gauge("memory_bytes", "Resident memory of the process.", own.memory_info().rss)
        page.gauge("workers_memory_bytes", "Resident memory of its worker processes: index, model.", _workers_memory(own))
        page.gauge("threads", "Threads of the process.", own.num_threads())
        return page.text()

    def _tell_chat(self, page: Page) -> None:
        counts = self._counts()
        events = {told: counts.get(name, 0) for name, told in _EVENTS.items()}
        page.counter("events", "What was heard, by type.", events, label="type")
        page.counter("lines_left_out", "Lines not taken in, by reason.", _with(counts, _LEFT_OUT), label="reason")
        page.counter("failures", "Events, steps and deletions that failed: a bug, see the log.", counts.get("failures", 0))
        page.counter("store_unavailable", "Times the database was away.", counts.get("store_unavailable", 0))
        page.counter("commands", "Chat commands carried out.", counts.get("command_obeyed", 0))
        page.counter("events_dropped", "Heard while the inbox was full, and lost.", counts.get("dropped", 0))
        page.counter(
            "hearing_repaired", "Kinds of event that the watchdog had to subscribe to again.", counts.get("repaired", 0)
        )
        page.counter("hearing_repairs_failed", "Checks that could not repair it.", counts.get("repairs_failed", 0))
        page.gauge("events_waiting", "Heard and not served yet.", self._waiting)

    def _tell_turns(self, page: Page) -> None:
        counts = self._counts()
        page.counter("turns", "Turns, by what became of the reply.", _with(counts, _SAID), label="reply")
        page.counter(
            "posts", "Lines for the chat, answers to commands too, by what became of them.", _with(counts, _POST), label="state"
        )
        page.counter("posts_dropped", "Lines that did not go out, by reason.", _with(counts, _UNSAID), label="reason")
        page.counter("turn_reasons", "Turns, by why the reply went that way.", self._reasons, label="reason")
        page.counter("turns_degraded", "Turns without a source or a step of the memory.", self._sums["degraded"])
        page.counter("sources_missing", "Sources left out for lateness or an error, by kind.", self._missing, label="source")
        page.counter("turns_abstained", "Turns in which the memory said that it does not know.", self._sums["abstained"])
        page.counter("memories", "Memories put in front of the responder.", self._sums["memories"])
        page.counter("llm_tokens", "Tokens of the language model.", self._tokens, label="kind")
        page.histogram("turn_step_seconds", "Time of a turn, by step; total is all of it.", self._histograms, label="step")


def _workers_memory(own: psutil.Process) -> int:
    taken = 0
    for child in own.children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            taken += child.memory_info().rss
    return taken


def _tell_memory(page: Page, health: Health) -> None:
    page.gauge("viewers", "Viewers known.", health.viewers)
    page.gauge("documents", "Documents held.", health.documents)
    page.gauge("messages", "Messages held.", health.messages)
    page.gauge("jobs", "Background jobs, by state.", health.jobs, label="state")
    page.gauge("job_lag_jobs", "Jobs that wait.", health.lag_jobs)
    page.gauge("job_lag_seconds", "How long the oldest of them waits.", round(health.lag_seconds, 3))
    page.gauge("problems", "Problems that the memory knows of; `ricordo doctor` names them.", len(health.problems))


def _with(counts: Mapping[str, int], prefix: str) -> dict[str, int]:
    return {name.removeprefix(prefix): count for name, count in counts.items() if name.startswith(prefix)}


def _spread(seconds: Iterable[float]) -> dict[str, float]:
    """Return p50 and p95 in milliseconds, by nearest rank."""
    ranked = sorted(seconds)
    return {name: round(_ranked(ranked, share) * 1000, 2) for name, share in (("p50", 0.5), ("p95", 0.95))}


def _ranked(ranked: Sequence[float], share: float) -> float:
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def _seen(outcome: TurnOutcome) -> dict[str, Any]:
    turn, said, recall = outcome.turn, outcome.turn.said, outcome.turn.recall
    missing = kinds_of((*recall.timed_out, *recall.failed)) if recall else ()
    return {
        "id": turn.batch.id,
        "at": turn.batch.closed_at.isoformat(),
        "asked": list(said.in_reply_to),
        "plan": list(kinds_of(request.name for request in recall.plan.requests)) if recall else [],
        "missing": list(missing),
        "degraded": recall.degraded if recall else False,
        "abstained": recall.block.abstained if recall else False,
        "memories": [_pointed_at(item) for item in recall.block.items] if recall else [],
        "milliseconds": {step: round(seconds * 1000, 1) for step, seconds in outcome.seconds.items()},
    }


def _pointed_at(item: Item) -> dict[str, Any]:
    return {"section": item.section, "subject": item.subject, "provenance": list(item.provenance)}
