"""One batch, one direction: observe, recall, manners, reply, last check, send at most once, record."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.canon import Reload
from bot.manners import Manners
from bot.responder import Answer, Responder, ResponderFailed
from bot.speak import Delivery, Speaker
from bot.tombstones import Tombstones
from memory import (
    Batch,
    Clock,
    Memory,
    Message,
    Recall,
    Said,
    StateCall,
    StoreUnavailable,
    Turn,
    held_viewers,
    named_in,
)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnParts:
    """Everything a turn works with."""

    memory: Memory
    responder: Responder | None  # None: the bot's words come from a recorded log
    speaker: Speaker
    manners: Manners
    clock: Clock
    deleted: Tombstones
    reply_seconds: float = 30.0  # the whole answer, the model's own retries included
    answer_known: bool = False  # a resumed replay answers what an earlier run had already observed
    before: Callable[[Batch], Awaitable[None]] | None = None  # a replay brings the memory up to date here
    searched: Callable[[], Awaitable[bool]] | None = (
        None  # a turn looked into the memory: was that behind, so that it looks again?
    )
    drafted: Callable[[Turn, Mapping[str, float]], None] | None = None  # hears of a turn just before it is recorded
    reload: Reload | None = None  # reads the streamer's files anew


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """A turn that is over. `recorded` is False where the database was away: record the turn again, never say it again."""

    turn: Turn
    new_lines: int
    seconds: Mapping[str, float]  # observe, recall, reply, send, record, total
    recorded: bool = True


class _Watch:
    """Seconds by step."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start = clock.elapsed()
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = self._clock.elapsed()
        try:
            yield
        finally:
            self.seconds[name] = self._clock.elapsed() - start

    def total(self) -> dict[str, float]:
        return {**self.seconds, "total": self._clock.elapsed() - self._start}


async def run_turn(batch: Batch, parts: TurnParts, *, calls: Sequence[StateCall] = ()) -> TurnOutcome:
    """Carry one batch through the chain; `calls` are the state tools that a recorded log called in this turn.

    Raises:
        StoreUnavailable: nothing was stored and nothing was said; the caller keeps the batch.
    """
    if parts.before is not None:
        await parts.before(batch)
    watch = _Watch(parts.clock)
    with structlog.contextvars.bound_contextvars(batch_id=batch.id):
        with watch.step("observe"):
            new_lines = await parts.memory.observe(batch)
        recall = await _recalled(batch, parts, watch)
        said, answer = await _answer(batch, recall, parts, watch, known=new_lines == 0)
        turn = _with_barrier(Turn(batch=batch, recall=recall, said=said), answer, calls, parts.manners)
        if parts.drafted is not None:
            parts.drafted(turn, watch.total())
        with watch.step("record"):
            recorded = await _record(turn, parts.memory)
        outcome = TurnOutcome(turn=turn, new_lines=new_lines, seconds=watch.total(), recorded=recorded)
        _report(outcome)
        return outcome


async def _recalled(batch: Batch, parts: TurnParts, watch: _Watch) -> Recall | None:
    """Return what the memory has for the batch; None where the bot is leaving, since nobody is answered any more."""
    if parts.manners.leaving:
        return None
    with watch.step("recall"):
        recall = await parts.memory.recall(batch)
    if parts.searched is not None and recall.plan.requests and await parts.searched():
        with watch.step("recall"):
            recall = await parts.memory.recall(batch)
    return recall


async def _answer(
    batch: Batch, recall: Recall | None, parts: TurnParts, watch: _Watch, *, known: bool
) -> tuple[Said, Answer | None]:
    if recall is None:
        return Said(state="silent", reason="stopping"), None
    if parts.responder is None:
        return Said(state="silent", reason="recorded_replies"), None
    decision = parts.manners.choose(batch, now=parts.clock.now())
    if decision.to is None:
        return Said(state="silent", reason=decision.reason), None
    if known and not parts.answer_known:
        return Said(state="silent", reason="seen_before"), None
    asked = (*decision.also, decision.to)
    with watch.step("reply"):
        answer = await _compose(parts.responder, batch, recall, asked, seconds=parts.reply_seconds)
    if isinstance(answer, Said):
        return answer, None
    with watch.step("send"):
        said = await _say(answer.text, asked, batch=batch, recall=recall, parts=parts)
    return replace(
        said,
        telling=answer.telling,
        model=answer.model,
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
        seconds=watch.seconds["reply"],
    ), answer


async def _compose(
    responder: Responder, batch: Batch, recall: Recall, asked: Sequence[Message], *, seconds: float
) -> Answer | Said:
    try:
        async with asyncio.timeout(seconds):
            answer = await responder.reply(batch, recall, asked[-1], asked[:-1])
    except ResponderFailed as error:
        log.warning("reply_not_made", reason=error.kind)
        return Said(state="silent", reason=f"responder_{error.kind}")
    except TimeoutError:
        log.warning("reply_not_made", reason="late", seconds=seconds)
        return Said(state="silent", reason="responder_late")
    return answer


async def _say(text: str, asked: Sequence[Message], *, batch: Batch, recall: Recall, parts: TurnParts) -> Said:
    if not text.strip():
        return Said(state="silent", reason="nothing_to_say")
    polished = parts.manners.polish(text, now=parts.clock.now())
    if polished.text is None:
        return Said(state="withheld", reason=polished.reason)

    def wanted() -> bool:
        return not parts.deleted.touches(batch, recall)

    if not wanted():
        return Said(state="withheld", reason="deleted")
    own = len(asked) == 1 and asked[0] in batch.messages  # a line to several people, or about an event, hangs on nobody's
    thread = asked[0].id if own else None
    delivery = await parts.speaker.say(polished.text, thread, wanted=wanted)
    return _delivered(delivery, polished.text, asked, batch=batch, parts=parts)


def _delivered(delivery: Delivery, text: str, asked: Sequence[Message], *, batch: Batch, parts: TurnParts) -> Said:
    if delivery.state in {"failed", "withheld"}:
        return Said(state=delivery.state, reason=delivery.reason)
    now = parts.clock.now()
    parts.manners.note_said(text, now=now)
    reply_id = delivery.id or f"reply:{batch.id}"
    parts.manners.addressing.own(reply_id)
    answered = tuple(message.id for message in asked)
    return Said(state=delivery.state, reason=delivery.reason, text=text, reply_id=reply_id, at=now, in_reply_to=answered)


def _with_barrier(turn: Turn, answer: Answer | None, calls: Sequence[StateCall], manners: Manners) -> Turn:
    """Return the turn with the domains that tools changed in it, and whom to keep out of personal consolidation for that."""
    domains = [call.tool.rsplit("_", 1)[0] for call in calls]
    viewers = [viewer for call in calls for viewer in named_in(call.arguments)]
    if answer is not None:
        domains += answer.changed_domains
        viewers += answer.held_viewers
    if not domains:
        return turn
    # Who gave an order is among those whom it held; a recorded call does not say who gave it: whoever spoke to the bot.
    asking = {message.id for message in turn.batch.messages if calls and manners.addressing.how(message) is not None}
    held = held_viewers(turn.batch, viewers, asking=asking)
    return replace(turn, changed_domains=tuple(dict.fromkeys(domains)), held_viewers=held)


async def _record(turn: Turn, memory: Memory) -> bool:
    try:
        await memory.record(turn)
    except StoreUnavailable as error:
        log.warning("turn_not_recorded", turn_id=turn.batch.id, reason=str(error))
        return False
    return True


def _report(outcome: TurnOutcome) -> None:
    turn = outcome.turn
    milliseconds = {f"{step}_ms": round(seconds * 1000, 1) for step, seconds in outcome.seconds.items()}
    log.info(
        "turn_finished",
        stream_id=turn.batch.stream_id,
        lines=len(turn.batch.lines),
        new_lines=outcome.new_lines,
        flush_reason=turn.batch.flush_reason,
        **(_of_memory(turn.recall) if turn.recall else {}),
        said=turn.said.state,
        reason=turn.said.reason,
        model=turn.said.model,
        prompt_tokens=turn.said.prompt_tokens,
        completion_tokens=turn.said.completion_tokens,
        recorded=outcome.recorded,
        **milliseconds,
    )


def _of_memory(recall: Recall) -> dict[str, Any]:
    return {
        "plan": kinds_of(request.name for request in recall.plan.requests),
        "items": len(recall.block.items),
        "block_tokens": recall.block.tokens,
        "degraded": recall.degraded,
        "missing": kinds_of((*recall.timed_out, *recall.failed)),
    }


def kinds_of(sources: Iterable[str]) -> tuple[str, ...]:
    """Return the kinds of sources by their names, each once: names hold viewers' ids, which no log or figure needs."""
    return tuple(dict.fromkeys(name.rsplit(":", 1)[-1] for name in sources))
