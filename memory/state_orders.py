"""An order to change structured state, who may give it, and what came of it, as values. No I/O."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from memory.events import StateCall
from memory.model import StateRecord
from memory.state_verbs import Domain

Refusal = Literal["", "moderators_only", "not_yours", "absent", "opted_out"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rights:
    """Who really asks, and who was there. A moderator may change anything; a viewer what is theirs."""

    viewer_id: str
    moderator: bool = False
    present: frozenset[str] = frozenset()  # who wrote in the batch


@dataclass(frozen=True, slots=True, kw_only=True)
class StateOrder:
    """A tool call that is to be carried out. With a `key` it is carried out once, however often it is given."""

    call: StateCall
    rights: Rights | None = None  # None: whoever runs the program, or a recorded log
    key: str | None = None
    turn_id: str | None = None  # the turn in which it was called
    source: str | None = None  # the message that asked for it: a record goes with it when it is deleted or forgotten
    held: tuple[str, ...] = ()  # viewers kept out of that turn's personal consolidation

    @property
    def by(self) -> str | None:
        """Who asked for it, None for whoever runs the program."""
        return self.rights.viewer_id if self.rights else None


@dataclass(frozen=True, slots=True, kw_only=True)
class StateReceipt:
    """What came of an order: the record as it is now, or why nothing was changed."""

    domain: Domain
    record: StateRecord | None = None
    before: StateRecord | None = None  # as it was, where it was there
    refused: Refusal = ""
    again: bool = False  # it had been carried out before, and was not again
    touched: tuple[str, ...] = ()  # viewers of whose older memories some are past now

    @property
    def viewers(self) -> tuple[str, ...]:
        """Whom the record is, or was, about."""
        known = [one.viewers for one in (self.before, self.record) if one is not None]
        return tuple(dict.fromkeys(viewer for viewers in known for viewer in viewers))


def refusal(rights: Rights | None, domain: Domain, *, now: Sequence[str] | None, before: Sequence[str] | None) -> Refusal:
    """Return why an order is refused, empty where it may be carried out.

    Args:
        rights: of who asks; None may do anything.
        domain: of the record.
        now: whom the record is about once it is set; None where it is closed.
        before: whom the known record is about; None where there is none.
    """
    if rights is None or rights.moderator:
        return ""
    if domain == "channel":
        return "moderators_only"
    for named in (before, now):
        if named is not None and rights.viewer_id not in named:
            return "not_yours" if named else "moderators_only"
    return "absent" if now is not None and not rights.present.issuperset(now) else ""
