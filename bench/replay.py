"""The whole chain over a chat log: speed, memory, and the memory stage asked while the index grows."""

import asyncio
import shutil
import sys
import time
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from bench.figures import Figure, percentiles
from bench.footprint import Footprint
from config.settings import Settings
from memory import Batch, Memory, Message, Recall
from replays.hurry import few_arenas, short_turns
from replays.player import Settling
from replays.runner import Replay, ReplayOptions, ReplaySummary

_QUESTIONS = ("@Ricordo cosa ricordi di me?", "@Ricordo what do you remember about me?", "@Ricordo what game did I say I like?")
_TOLD_SECONDS = 10.0
Recalls = Sequence[tuple[float, Recall]]


class Asking(Settling):
    """Asks, every `every` turns, what the memory has for whoever wrote last; the chat itself hardly asks."""

    def __init__(self, memory: Memory, turns: int, *, every: int) -> None:
        """Ask nothing where `every` is 0."""
        super().__init__(memory, turns)
        self._asked, self._every, self._numbers, self._told = memory, every, count(1), time.monotonic()
        self.recalls: list[tuple[float, Recall]] = []

    async def before(self, batch: Batch) -> None:
        """Settle as every replay does, then ask."""
        await super().before(batch)
        number = next(self._numbers)
        if time.monotonic() - self._told > _TOLD_SECONDS:
            self._told = time.monotonic()
            print(f"replay: {number} turns", file=sys.stderr, flush=True)
        if self._every and number % self._every == 0 and batch.messages:
            await self._ask(batch, batch.messages[-1], number)

    async def _ask(self, batch: Batch, last: Message, number: int) -> None:
        question = Message(id=f"bench-{number}", at=batch.closed_at, user=last.user, text=_QUESTIONS[number % len(_QUESTIONS)])
        asked = Batch(stream_id=batch.stream_id, lines=(question,), closed_at=batch.closed_at, flush_reason="addressed")
        began = time.perf_counter()
        recall = await self._asked.recall(asked)
        spent = time.perf_counter() - began
        if recall.plan.requests:
            self.recalls.append((spent, recall))


def measure(log: Path, out: Path, *, every: int) -> list[Figure]:
    """Replay `log` into `out`, which is made anew, and return the figures."""
    few_arenas()
    short_turns()
    shutil.rmtree(out, ignore_errors=True)
    made: list[Asking] = []

    def settling(memory: Memory, turns: int) -> Settling:
        made.append(Asking(memory, turns, every=every))
        return made[-1]

    replay = Replay(ReplayOptions(log=log, out=out), Settings(), settling=settling)
    with Footprint() as footprint:
        summary = asyncio.run(replay.run())
    return [*_speed(summary, footprint), *_stage(made[0].recalls), *_steps(made[0].recalls)]


def _speed(summary: ReplaySummary, footprint: Footprint) -> list[Figure]:
    messages = summary.report.counts["message"]
    jobs = summary.health.jobs
    recorded = summary.latency_ms["observe_record"]
    return [
        Figure(bench="replay", name="messages", value=messages, unit=""),
        Figure(bench="replay", name="all in", value=summary.messages_per_second, unit="messages/s", goal=">= 300"),
        Figure(
            bench="replay",
            name="processor time a message, all processes",
            value=footprint.cpu_seconds * 1000 / max(1, messages),
            unit="ms",
        ),
        Figure(bench="replay", name="peak memory, all processes", value=footprint.peak_mb, unit="MB", goal="<= 1024"),
        Figure(bench="replay", name="peak memory, without the index's process", value=footprint.own_peak_mb, unit="MB"),
        Figure(bench="replay", name="dead jobs", value=jobs.get("dead", 0), unit="", goal="<= 0"),
        Figure(bench="replay", name="documents", value=summary.health.documents, unit=""),
        Figure(bench="replay", name="observe + record p50", value=recorded["p50"], unit="ms"),
        Figure(bench="replay", name="observe + record p99", value=recorded["p99"], unit="ms"),
    ]


def _stage(recalls: Recalls) -> list[Figure]:
    asked = [spent for spent, _ in recalls]
    degraded = sum(recall.degraded for _, recall in recalls)
    return [
        Figure(bench="replay", name="recalls asked", value=len(asked), unit=""),
        *percentiles("replay", "memory stage", asked, p50="<= 20", p95="<= 60"),
        Figure(bench="replay", name="degraded recalls", value=degraded, unit=""),
    ]


def _steps(recalls: Recalls) -> list[Figure]:
    planning = [step.seconds for _, recall in recalls for step in recall.steps if step.step == "plan"]
    return percentiles("replay", "planning", planning)
