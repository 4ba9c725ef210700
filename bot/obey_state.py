"""Carries `!state` out for moderators, by the same way as the tools of a language model."""

from collections.abc import Callable

from bot.obey_texts import CommandWords
from bot.plain import visible
from bot.state_command import StateCommand
from memory import DOMAINS, Command, Memory, Message, Rights, StateCall, StateOrder, StateRecord

Whom = Callable[[str], str | None]
_VIEWERS = ("viewer", "subject", "object")
_LISTED, _SHOWN = 6, 40  # records in one answer, and characters of each
_ID_LETTERS = 14


class RecordKeeper:
    """Lists and changes records of structured state for a moderator."""

    def __init__(self, memory: Memory, words: CommandWords) -> None:
        """Take whose records they are and how to answer."""
        self._memory = memory
        self._words = words

    async def carry_out(self, asked: StateCommand, given: Command | Message, *, whom: Whom) -> str:
        """Return the answer; `whom` gives the viewer behind a name, None where it is not clear.

        Raises:
            InvalidRow: something typed is too long, or no day that there is.
        """
        if not asked.tool and not asked.drop:
            return await self._list(asked, given, whom)
        try:
            call = await self._call(asked, given, whom)
        except LookupError:
            return self._words.unknown_name
        if call is None:
            return self._words.none_listed
        rights = Rights(viewer_id=given.user.id, moderator=True)
        order = StateOrder(call=call, rights=rights, key=f"command:{given.id or f'{given.user.id}:{given.at.isoformat()}'}")
        receipt = await self._memory.change_state(order)
        if receipt.refused:
            return self._words.refused_out
        return f"{self._words.done} {self._shown(receipt.record)}" if receipt.record else self._words.done

    async def _call(self, asked: StateCommand, given: Command | Message, whom: Whom) -> StateCall | None:
        """Return the tool call that is meant, None where it closes a record that there is not."""
        tool, arguments = asked.tool, dict(asked.arguments)
        if asked.id:
            record = self._by_id(asked.id, await self._memory.state(DOMAINS, given.at))
            tool = tool or (f"{record.domain}_delete" if record else "")
            if record is None or tool in {"request_delete", "channel_delete"}:
                return None
            return StateCall(at=given.at, tool=tool, arguments={"id": record.id})
        for name in _VIEWERS:
            if arguments.get(name) is not None:
                arguments[name] = _found(whom(arguments[name]))
        if "participants" in arguments:
            arguments["participants"] = [_found(whom(name)) for name in arguments["participants"]]
        return StateCall(at=given.at, tool=tool, arguments=arguments)

    async def _list(self, asked: StateCommand, given: Command | Message, whom: Whom) -> str:
        viewers: tuple[str, ...] = ()
        domains = tuple(one for one in DOMAINS if asked.name.casefold() in {one, self._words.kinds[one]}) or DOMAINS
        if asked.name and domains == DOMAINS:
            id_ = whom(asked.name)
            if id_ is None:
                return self._words.unknown_name
            viewers = (id_,)
        records = await self._memory.state(domains, given.at, viewer_ids=viewers)
        shown = " · ".join(self._shown(record) for record in records[:_LISTED])
        more = f" (+{len(records) - _LISTED})" if len(records) > _LISTED else ""
        return f"{shown}{more}" if records else self._words.none_listed

    def _by_id(self, id_: str, records: list[StateRecord]) -> StateRecord | None:
        exact = [record for record in records if record.id == id_]
        found = exact or [record for record in records if record.id.startswith(id_)]
        return found[0] if len(found) == 1 else None

    def _shown(self, record: StateRecord) -> str:
        text = visible(record.text)
        cut = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        names = ", ".join(viewer.name for viewer in self._memory.people(record.viewers))
        kind = self._words.kinds[record.domain] + (f" {names}" if names else "")
        status = " ✓" if record.status == "done" else ""
        return f"#{record.id[:_ID_LETTERS]} {kind}: {cut}{status}"


def _found(id_: str | None) -> str:
    if id_ is None:
        msg = "nobody is called so, or several are"
        raise LookupError(msg)
    return id_
