"""Who writes again after a while: what a greeting may be answered with more than a greeting for. No I/O."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.events import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class _Return:
    message_id: str
    away: timedelta


class Absences:
    """Remembers when each viewer was heard last, and with which message they came back."""

    def __init__(self) -> None:
        self._heard: dict[str, tuple[datetime, str]] = {}
        self._back: dict[str, _Return] = {}

    def hear(self, messages: Iterable[Message], last_seen: Callable[[str], datetime | None]) -> None:
        """Note the messages of one batch; `last_seen` says when a viewer was seen before this program began, None: never.

        The same batch again changes nothing.
        """
        firsts: dict[str, Message] = {}
        lasts: dict[str, Message] = {}
        for message in messages:
            firsts.setdefault(message.user.id, message)
            lasts[message.user.id] = message
        self._note(firsts, lasts, last_seen)

    def _note(
        self, firsts: Mapping[str, Message], lasts: Mapping[str, Message], last_seen: Callable[[str], datetime | None]
    ) -> None:
        for viewer_id, first in firsts.items():
            before, known = self._heard.get(viewer_id, (last_seen(viewer_id), ""))
            if known == lasts[viewer_id].id:
                continue
            if before is not None:
                self._back[viewer_id] = _Return(message_id=first.id, away=first.at - before)
            self._heard[viewer_id] = (lasts[viewer_id].at, lasts[viewer_id].id)

    def back_after(self, messages: Iterable[Message], away: timedelta) -> frozenset[str]:
        """Return who, with one of these messages, wrote for the first time after so long."""
        back = ((message, self._back.get(message.user.id)) for message in messages)
        return frozenset(
            message.user.id for message, one in back if one is not None and one.message_id == message.id and one.away >= away
        )
