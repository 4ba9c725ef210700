"""The judge: a language model says how two facts bear on each other that no cheap step could tell. Handles `judge` jobs.

It is asked in the background alone, about pairs of one viewer at a time, so that nobody's words can sway what becomes of
another's facts. Answers are remembered by what was asked, in memory alone. An answer that is none is asked for once more; then
the pair stays as it is, both facts standing, which is what the rules left it at.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog
from sqlalchemy import Connection

from memory.allotment import Allotment
from memory.answers import Answers
from memory.clock import Clock
from memory.consolidate import Consolidator
from memory.errors import AnswerUnusable
from memory.extract.llm import Request
from memory.ports import JsonModel
from memory.store import beliefs, facts, outbox
from memory.store.database import Database
from memory.tokens import count_tokens
from memory.verdicts import Pair, Verdict, request_for, verdicts_of

KIND = "judge"
GROUP = 16  # jobs in one call of the handler
PAIRS = 8  # asked about at once
ANSWER_TOKENS = 400  # at most, of one answer
_ATTEMPTS = 2  # at a usable answer
_JOBS = UUID("5f0c9b1e-4f0a-4b43-8a43-6a0d7f1f5c22")
log = structlog.get_logger(__name__)


class Judge:
    """Asks a language model about conflicts that were left open, and has its verdicts carried out."""

    def __init__(
        self,
        database: Database,
        model: JsonModel,
        consolidator: Consolidator,
        *,
        clock: Clock,
        allotment: Allotment,
        wait_seconds: float,
    ) -> None:
        """`database`, `model` and `allotment` stay the caller's; conflicts gather for `wait_seconds`."""
        self._database = database
        self._model = model
        self._consolidator = consolidator
        self._clock = clock
        self._allotment = allotment
        self._wait = timedelta(seconds=wait_seconds)
        self._answers: Answers[list[Verdict]] = Answers()

    def enqueue(self, connection: Connection, open_pairs: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Have pairs of facts (the newer one first), by the stream of the newer one, judged later."""
        now = self._clock.now()
        for stream_id, pairs in open_pairs.items():
            key = f"{KIND}:{uuid5(_JOBS, chr(31).join(f'{new} {old}' for new, old in pairs))}"
            payload = {"stream": stream_id, "pairs": [list(pair) for pair in pairs]}
            outbox.enqueue(connection, kind=KIND, key=key, payload=payload, now=now, run_after=now + self._wait)

    async def judge(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Judge the `pairs` of these payloads; what was settled or erased since is left, and what the budget cannot pay.

        Raises:
            LanguageModelUnavailable: the model cannot be reached; what was not judged is tried again.
            StoreUnavailable: the file cannot be read or written.
        """
        for payload in payloads:
            wanted = [(str(new), str(old)) for new, old in payload.get("pairs", ())]
            for portion in _portions(await self._standing(wanted)):
                await self._portion(str(payload["stream"]), portion)

    async def _standing(self, wanted: Sequence[tuple[str, str]]) -> list[Pair]:
        now = self._clock.now()
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: _pairs(reading.connection(), wanted, now))

    async def _portion(self, stream_id: str, pairs: Sequence[Pair]) -> None:
        request = request_for(pairs)
        verdicts = self._answers.get(self._model.name, request) or await self._ask(stream_id, request, len(pairs))
        if verdicts is None:
            return
        self._answers.keep(self._model.name, request, verdicts)
        subject = pairs[0].new.subject
        judged = [(pair.new.id, pair.old.id, verdict) for pair, verdict in zip(pairs, verdicts, strict=True)]
        await self._database.write(lambda connection: self._consolidator.settle(connection, subject, judged))
        log.info("conflicts_judged", pairs=len(pairs), verdicts=dict(Counter(verdicts)))

    async def _ask(self, stream_id: str, request: Request, pairs: int) -> list[Verdict] | None:
        """Return the verdicts; None where the budget is spent, or no usable answer came: all stays as it is."""
        cost = count_tokens(request.order) + count_tokens(request.text)
        for _ in range(_ATTEMPTS):
            if not await self._allotment.affords(stream_id, cost):
                log.warning("llm_budget_spent", stream_id=stream_id, pairs=pairs, tokens=self._allotment.tokens)
                return None
            try:
                answer, spent = await self._model.answer(
                    request.order, request.text, schema=request.schema, max_tokens=ANSWER_TOKENS
                )
            except AnswerUnusable:  # was paid for too
                await self._allotment.spend(stream_id, cost)
                continue
            await self._allotment.spend(stream_id, spent)
            try:
                return verdicts_of(answer, pairs)
            except AnswerUnusable:
                continue
        log.warning("conflicts_left_open", pairs=pairs, reason="no usable answer", attempts=_ATTEMPTS)
        return None


def _pairs(connection: Connection, wanted: Sequence[tuple[str, str]], now: datetime) -> list[Pair]:
    """Return the pairs of which both facts stand."""
    told = beliefs.by_ids(connection, {fact for pair in wanted for fact in pair})
    held = {fact.id: fact for fact in facts.held(connection, {one.subject for one in told.values()})}
    return [
        Pair(new=held[new], old=held[old], new_text=told[new].text, old_text=told[old].text)
        for new, old in dict.fromkeys(wanted)
        if new in held and old in held and held[new].current(now) and held[old].current(now)
    ]


def _portions(pairs: Sequence[Pair]) -> Iterator[list[Pair]]:
    """Yield pairs of one viewer each, so many as are asked about at once."""
    by_subject: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_subject.setdefault(pair.new.subject, []).append(pair)
    for some in by_subject.values():
        for start in range(0, len(some), PAIRS):
            yield some[start : start + PAIRS]
