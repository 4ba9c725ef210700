"""The one place where deadlines and fallbacks apply, and the record of how each step went.

A deadline never waits: late work is cut off and left behind, even where it refuses to be cancelled or hangs in a thread.
What was left behind has an owner (`Abandoned`), which counts it and cancels it again when the memory closes.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sized
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar, TypeVarTuple

import structlog

from memory.clock import Clock
from memory.errors import BotMemoryError
from memory.model import StepState, StepTrace

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Outcome(Generic[T]):
    state: StepState
    result: T
    error: str | None = None


def _size(value: object) -> int:
    return len(value) if isinstance(value, Sized) and not isinstance(value, str) else 0


class Abandoned:
    """Work that was cut off by a deadline and has not ended yet: the owner of what nobody waits for any more."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.total = 0  # ever cut off

    def __len__(self) -> int:
        """Return how much of it is still running."""
        return len(self._tasks)

    def take(self, task: asyncio.Task[Any]) -> None:
        """Cancel the task and keep it until it ends; how it ends matters to nobody."""
        task.cancel()
        self.total += 1
        self._tasks.add(task)
        task.add_done_callback(self._let_go)

    async def close(self, *, within: float = 0.5) -> None:
        """Cancel what is left and give it `within` seconds to end."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            _, stuck = await asyncio.wait(self._tasks, timeout=within)
            if stuck:
                log.warning("abandoned_work_stuck", tasks=len(stuck))

    def _let_go(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that asyncio does not report it as forgotten


class Trace:
    """How the steps of one recall went, and the time that they still have."""

    def __init__(self, clock: Clock, *, total_seconds: float, abandoned: Abandoned | None = None) -> None:
        self._clock = clock
        self._began = clock.elapsed()
        self._total_seconds = total_seconds
        self._abandoned = Abandoned() if abandoned is None else abandoned
        self._steps: list[StepTrace] = []
        self._cache_hits: Counter[str] = Counter()

    @property
    def steps(self) -> tuple[StepTrace, ...]:
        """The steps so far, in the order in which they ended."""
        return tuple(self._steps)

    @property
    def remaining_seconds(self) -> float:
        """What is left of the total; never negative."""
        return max(0.0, self._total_seconds - (self._clock.elapsed() - self._began))

    def names(self, *states: StepState) -> tuple[str, ...]:
        """Return the steps that ended in one of these states, each name once."""
        return tuple(dict.fromkeys(step.step for step in self._steps if step.state in states))

    async def run(self, step: str, work: Awaitable[T], *, within: float, otherwise: T) -> T:
        """Return what `work` gives, or `otherwise` if it fails or takes longer than `within` seconds and what the total leaves.

        Raises:
            asyncio.CancelledError: the caller was cancelled; the work is cut off with it.
        """
        began = self._clock.elapsed()
        outcome: _Outcome[T] = _Outcome("cancelled", otherwise)
        task = asyncio.ensure_future(work)
        try:
            await asyncio.wait({task}, timeout=min(within, self.remaining_seconds))
            outcome = _outcome(task, otherwise)
        finally:
            if not task.done():
                self._abandoned.take(task)
            self._note(step, outcome.state, began, error=outcome.error, items_out=_size(outcome.result))
        return outcome.result

    def step(self, name: str, function: Callable[[*Ts], T], *args: *Ts, count: Callable[[T], int] = _size) -> T:
        """Return `function(*args)`, timed. A pure step that raises is a programming error, and raises here too.

        `count` says how many items came out; how many went in is the size of the first argument.
        """
        began = self._clock.elapsed()
        state: StepState = "failed"
        items_out = 0
        try:
            result = function(*args)
            state, items_out = "ok", count(result)
        finally:
            self._note(name, state, began, items_in=_size(args[0]) if args else 0, items_out=items_out)
        return result

    def cached(self, step: str) -> None:
        """Count a value that the step got from a cache, or from a load that was under way already."""
        self._cache_hits[step] += 1

    def skip(self, name: str) -> None:
        """Record that the recipe switches the step off."""
        self._note(name, "switched_off", self._clock.elapsed())

    def _note(
        self, step: str, state: StepState, began: float, *, error: str | None = None, items_in: int = 0, items_out: int = 0
    ) -> None:
        seconds = self._clock.elapsed() - began
        self._steps.append(
            StepTrace(
                step=step,
                state=state,
                seconds=seconds,
                items_in=items_in,
                items_out=items_out,
                cache_hits=self._cache_hits.pop(step, 0),
                error=error,
            ),
        )
        if state in {"timed_out", "failed"}:
            log.warning("step_fell_back", step=step, state=state, seconds=round(seconds, 3), error=error)


def _outcome(task: asyncio.Future[T], otherwise: T) -> _Outcome[T]:
    if not task.done():
        return _Outcome("timed_out", otherwise)
    if task.cancelled():
        return _Outcome("failed", otherwise, "cancelled from within")
    failure = task.exception()
    if failure is None:
        return _Outcome("ok", task.result())
    return _Outcome("failed", otherwise, _said(failure))


def _said(failure: BaseException) -> str:
    """Our own errors in full; of foreign ones the kind and the place, since their text may quote chat (SQL parameters, say)."""
    if isinstance(failure, BotMemoryError):
        return f"{type(failure).__name__}: {failure}"
    place = failure.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    where = f" at {Path(place.tb_frame.f_code.co_filename).name}:{place.tb_lineno}" if place is not None else ""
    return type(failure).__name__ + where
