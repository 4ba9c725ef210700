"""The second reading: a language model points out what the rules missed, in the background. The handler of `llm` jobs.

Lines are offered by consolidation and gather for a while, so that several are asked about at once. What comes back is judged
by the rules' vetoes and reconciled like anything else; where the rules found something of that slot, theirs stands. Answers
are remembered as places in lines, by what was asked, in memory alone: a job that is tried again costs nothing, and no words
lie in a second place.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid5

import structlog
from sqlalchemy import Connection

from memory.allotment import Allotment
from memory.answers import Answers
from memory.clock import Clock
from memory.consolidate import Consolidator
from memory.errors import AnswerUnusable
from memory.extract.llm import ModelReader, Pointed, Request, pointed, request_for
from memory.extract.rules import Spoken
from memory.ports import JsonModel
from memory.retelling import Late
from memory.statements import ENDED, Statement
from memory.store import facts, outbox
from memory.store.database import Database
from memory.tokens import count_tokens

KIND = "llm"
GROUP = 16  # jobs in one call of the handler
LINES = 20  # asked about at once
ANSWER_TOKENS = 1500  # at most, of one answer
_JOBS = UUID("8a2f4f0e-2e38-4d4b-a3f3-0d9a6a7f0c11")
log = structlog.get_logger(__name__)


class ModelReading:
    """Asks a language model about lines, and keeps what may be believed of its answers."""

    def __init__(
        self,
        database: Database,
        model: JsonModel,
        consolidator: Consolidator,
        *,
        reader: Callable[[], ModelReader],
        clock: Clock,
        wait_seconds: float,
        allotment: Allotment,
    ) -> None:
        """`database`, `model` and `allotment` stay the caller's; `reader` is made when it is needed first.

        Lines gather for `wait_seconds`.
        """
        self._database = database
        self._model = model
        self._consolidator = consolidator
        self._make = reader
        self._clock = clock
        self._wait = timedelta(seconds=wait_seconds)
        self._allotment = allotment
        self._answers: Answers[tuple[list[Pointed], int]] = Answers()

    def offer(self, lines: Sequence[Spoken]) -> list[str]:
        """Return the ids of the lines that are worth asking about."""
        reader = self._make()
        return [line.id for line in lines if reader.worth_asking(line)]

    def enqueue(self, connection: Connection, lines: Sequence[str]) -> None:
        """Have these lines read, with others that come within the time to gather."""
        now = self._clock.now()
        key = f"{KIND}:{uuid5(_JOBS, chr(31).join(lines))}"
        due = now + self._wait
        outbox.enqueue(connection, kind=KIND, key=key, payload={"lines": list(lines)}, now=now, run_after=due, again=True)

    async def read(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Read the `lines` of these payloads; those beyond their stream's budget are left, which the log says.

        Raises:
            LanguageModelUnavailable: the model cannot be reached; what was not read is tried again.
            AnswerUnusable: its answer is none; what was read before it is kept.
            StoreUnavailable: the file cannot be read or written.
        """
        ids = [line for payload in payloads for line in payload.get("lines", ())]
        streams, lines = await self._consolidator.lines_of((), ids)
        for stream_id, some in _portions([line for line in lines if line.id in streams], streams):
            await self._portion(stream_id, some, streams)

    async def _portion(self, stream_id: str, lines: Sequence[Spoken], streams: Mapping[str, str]) -> None:
        reader = await asyncio.to_thread(self._make)
        request = request_for(lines, reader.slots)
        cost = count_tokens(request.order) + count_tokens(request.text)
        known = self._answers.get(self._model.name, request)
        if known is None and not await self._allotment.affords(stream_id, cost):
            log.warning("llm_budget_spent", stream_id=stream_id, lines=len(lines), tokens=self._allotment.tokens)
            return
        if known is None:
            known, cost = await self._ask(stream_id, request, lines, reader, cost=cost)
            self._answers.keep(self._model.name, request, known)
        else:
            cost = 0
        found, nowhere = known
        judged = await asyncio.to_thread(reader.judged, found, lines)
        late = await self._database.write(lambda connection: self._keep(connection, judged.statements, streams))
        await self._consolidator.retell(late, streams)
        refused = dict(judged.refused) | ({"points to nothing": nowhere} if nowhere else {})
        log.info("llm_lines_read", lines=len(lines), believed=len(judged.statements), refused=refused, tokens=cost)

    async def _ask(
        self, stream_id: str, request: Request, lines: Sequence[Spoken], reader: ModelReader, *, cost: int
    ) -> tuple[tuple[list[Pointed], int], int]:
        try:
            answer, spent = await self._model.answer(
                request.order, request.text, schema=request.schema, max_tokens=ANSWER_TOKENS
            )
        except AnswerUnusable:  # was paid for too
            await self._allotment.spend(stream_id, cost)
            raise
        await self._allotment.spend(stream_id, spent)
        return pointed(answer, lines, reader.slots), spent

    def _keep(self, connection: Connection, stated: Sequence[Statement], streams: Mapping[str, str]) -> Late:
        """Keep what the rules did not find: of a slot that they found in a line, theirs stands."""
        held = facts.held(connection, {one.subject for one in stated})
        known = {(source, _slot(fact.predicate)) for fact in held for source in fact.sources}
        new = [one for one in stated if (one.source, one.slot.name) not in known]
        return self._consolidator.keep(connection, new, streams) if new else Late()


def _portions(lines: Sequence[Spoken], streams: Mapping[str, str]) -> Iterator[tuple[str, list[Spoken]]]:
    by_stream: dict[str, list[Spoken]] = {}
    for line in lines:
        by_stream.setdefault(streams[line.id], []).append(line)
    for stream_id, some in by_stream.items():
        for start in range(0, len(some), LINES):
            yield stream_id, some[start : start + LINES]


def _slot(predicate: str) -> str:
    return predicate.removeprefix(ENDED).split(":", 1)[0]
