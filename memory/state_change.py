"""Changing structured state: one way for tools, commands, the command line and recorded logs. Each order is one transaction."""

from dataclasses import replace
from uuid import UUID, uuid5

from sqlalchemy import Connection

from memory.clock import Clock
from memory.events import StateCall
from memory.receipts import Receipt
from memory.state_orders import StateOrder, StateReceipt
from memory.state_verbs import verb_of
from memory.store import audit, echoes, meta, state, state_calls
from memory.store.database import Database
from memory.store.stamps import milliseconds

_RECORDS = UUID("e1b7f0f4-3a43-4f3b-8c0b-0c6f5b9d7d11")


class StateChanger:
    """Carries out orders: checked, authorised, once a key, written down without content."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Write to `database`."""
        self._database = database
        self._clock = clock

    async def change(self, order: StateOrder) -> StateReceipt:
        """Carry an order out; what was refused, or carried out before, changes nothing.

        With a key a new record needs no id: it gets one, and a value of the channel takes the place of the one of its name.

        Raises:
            InvalidRow: names the tool, the argument and what is wrong with it; nothing was changed.
            StoreUnavailable: nothing was changed; try again.
        """
        return await self._database.write(lambda connection: self._change(connection, order))

    def _change(self, connection: Connection, order: StateOrder) -> StateReceipt:
        call, domain = order.call, verb_of(order.call.tool).domain
        if order.key is not None and state_calls.known(connection, order.key):
            return StateReceipt(domain=domain, again=True)
        done = state.apply_call(connection, _with_id(connection, order), order.rights, source=order.source)
        if done.refused or done.after is None:
            return StateReceipt(domain=domain, before=done.before, refused=done.refused or "not_yours")
        receipt = StateReceipt(domain=domain, record=done.after, before=done.before)
        if order.key is not None:
            state_calls.note(connection, order, receipt.viewers)
        about = receipt.viewers[0] if receipt.viewers else None
        audit.note(connection, Receipt(verb=call.tool, at=call.at, viewer_id=about, records=1), order.by)
        return StateReceipt(
            domain=domain, record=done.after, before=done.before, touched=tuple(self._end_echoes(connection, order, receipt))
        )

    def _end_echoes(self, connection: Connection, order: StateOrder, receipt: StateReceipt) -> list[str]:
        """What was said before in the words of the record that is gone now is past too."""
        if receipt.before is None:
            return []
        closed = bool(verb_of(order.call.tool).closes)
        change = echoes.Change(was=receipt.before, now=None if closed else receipt.record, at=order.call.at)
        home = meta.channel_id(connection)
        whose = [*receipt.viewers, *(one for one in (order.by, home) if one)]
        return echoes.end(connection, change, whose, now=milliseconds(self._clock.now()))


def _with_id(connection: Connection, order: StateOrder) -> StateCall:
    call, verb = order.call, verb_of(order.call.tool)
    if order.key is None or verb.closes or "id" in call.arguments:
        return call
    known = state.channel_value(connection, str(call.arguments.get("key", ""))) if verb.domain == "channel" else None
    id_ = known or f"{verb.domain}-{uuid5(_RECORDS, order.key).hex[:10]}"
    return replace(call, arguments={**call.arguments, "id": id_})
