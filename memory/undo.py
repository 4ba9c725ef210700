"""Taking back: what was decided about facts is reversed as a new decision, so that it can be taken back in its turn."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from memory.clock import Clock
from memory.errors import InvalidRow
from memory.receipts import Receipt, RollbackRequest, UndoRequest
from memory.statements import Step
from memory.store import audit, beliefs, decisions, outbox
from memory.store.beliefs import Changed
from memory.store.database import Database
from memory.store.decisions import Ledger
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.timeline import Chronicle, Decision, latest


class Undoer:
    """Reverses decisions about facts and claims, each time in one transaction. Messages are never touched."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Write to `database`."""
        self._database = database
        self._clock = clock

    async def undo(self, request: UndoRequest) -> Receipt:
        """Reverse the last decision about a fact, or everything that was decided in one act.

        Where a fact was ended by another, it is open again and the other stays. Where it was stated last, it is taken back, and
        what it had ended is open again. What was taken back stands again. Of an act, what was decided anew since is left alone.

        Raises:
            InvalidRow: the request names nothing.
            StoreUnavailable: nothing was changed; try again.
        """
        if not request.id and request.act is None:
            msg = "taking back needs the id of a fact or claim, or the number of an act: `ricordo memory history` shows both"
            raise InvalidRow(msg)

        def write(connection: Connection) -> Receipt:
            reversal = _Reversal(connection, milliseconds(self._clock.now()), "undo")
            whose = _undo_act(reversal, request.act) if request.act is not None else _undo_fact(reversal, request.id or "")
            return self._finish(reversal, Receipt(verb="undo", at=request.at, viewer_id=whose), request.by)

        return await self._database.write(write)

    async def rollback(self, request: RollbackRequest) -> Receipt:
        """Take back every fact and claim that one viewer stated since a moment; what they had ended is open again.

        Raises:
            StoreUnavailable: nothing was changed; try again.
        """

        def write(connection: Connection) -> Receipt:
            reversal = _Reversal(connection, milliseconds(self._clock.now()), "rollback")
            reversal.take_back(beliefs.told_since(connection, request.viewer_id, milliseconds(request.since)))
            receipt = Receipt(verb="rollback", at=request.at, viewer_id=clean(request.viewer_id))
            return self._finish(reversal, receipt, request.by)

        return await self._database.write(write)

    def _finish(self, reversal: "_Reversal", receipt: Receipt, by: str | None) -> Receipt:
        """Write what was decided, have the index follow, and note it."""
        if not reversal.changed.facts:
            return receipt
        reversal.ledger.write()
        connection, act, now = reversal.connection, reversal.ledger.number, self._clock.now()
        receipt = replace(receipt, documents=len(set(reversal.changed.facts)), act=act)
        for kind, payload in (("index", reversal.changed.shown), ("purge", reversal.changed.hidden)):
            if payload:
                key = f"{kind}:undone:{act}"
                outbox.enqueue(connection, kind=kind, key=key, payload={"documents": payload}, now=now, again=True)
        audit.note(connection, receipt, by)
        return receipt


def _undo_fact(reversal: "_Reversal", identity: str) -> str | None:
    fact = beliefs.found(reversal.connection, identity)
    last = latest(fact.decisions) if fact else None
    if fact is None or last is None:
        return None
    if last.verb == "end":
        reversal.reverse(last)
    elif last.verb == "assert":
        reversal.take_back([fact.id])
    else:
        _undo_act(reversal, last.act)
    return fact.speaker or fact.subject


def _undo_act(reversal: "_Reversal", act: int) -> str | None:
    decided = decisions.of_act(reversal.connection, act)
    reversal.take_back([one.fact_id for one in decided if one.verb == "assert"])
    for one in reversed(decided):
        if one.verb not in {"assert", "confirm"}:
            reversal.reverse(one)
    facts = beliefs.by_ids(reversal.connection, [one.fact_id for one in decided])
    owners = {fact.speaker or fact.subject for fact in facts.values()}
    return next(iter(owners)) if len(owners) == 1 else None


class _Reversal:
    """What one call takes back, as one act."""

    def __init__(self, connection: Connection, now: int, step: Step) -> None:
        self.connection = connection
        self.ledger = Ledger(connection, now)
        self.ledger.act()
        self.changed = Changed()
        self._step = step

    def reverse(self, decision: Decision) -> None:
        """Make a fact stand as before this decision, if it is still the last one about it."""
        fact = beliefs.by_ids(self.connection, [decision.fact_id]).get(decision.fact_id)
        if fact is None or fact.id in self.changed.facts or latest(fact.decisions) != decision:
            return
        self._put_back(fact, latest([one for one in fact.decisions if one.seq < decision.seq]))

    def take_back(self, ids: Sequence[str]) -> None:
        """Take facts back altogether; what they ended is open again, or ended by what ended them."""
        gone = beliefs.by_ids(self.connection, ids)
        ended = beliefs.by_ids(self.connection, beliefs.ended_by(self.connection, ids))
        for fact in ended.values():
            if fact.id not in gone:
                self._put_back(fact, self._without(fact, gone))
        for fact in gone.values():
            if not fact.retracted:
                self._put_back(fact, None)

    def _without(self, fact: Chronicle, gone: Mapping[str, Chronicle]) -> Decision | None:
        """Return how a fact stood, or would have stood, without those that are taken back."""
        before = latest([one for one in fact.decisions if one.by not in gone])
        heir, seen = fact.superseded_by, set[str]()
        while heir is not None and heir in gone and heir not in seen:
            seen.add(heir)
            heir = gone[heir].superseded_by
        other = beliefs.by_ids(self.connection, [heir]).get(heir) if heir and heir not in gone else None
        if other is not None and before is not None:
            return replace(before, verb="end", by=other.id, invalid_at=other.begins)
        last = latest(fact.decisions)
        return before or (replace(last, by=None, invalid_at=None) if last else None)

    def _put_back(self, fact: Chronicle, to: Decision | None) -> None:
        change = beliefs.put_back(self.connection, fact, to, ledger=self.ledger, step=self._step)
        self.changed.facts += change.facts
        self.changed.shown += change.shown
        for collection, ids in change.hidden.items():
            self.changed.hidden.setdefault(collection, []).extend(ids)
