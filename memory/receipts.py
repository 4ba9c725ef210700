"""What may be asked of the memory about what it holds of a person, and what came of it: ids and counts, never words."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

ForgetScope = Literal["viewer", "words", "item", "last", "everything"]
Verb = str  # forget | correct | moderated | opt_out | opt_in | undo | rollback, or the name of a state tool


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """What is to be forgotten. What was written after `at` stays: an order that is carried out again does no more harm.

    Scopes: `viewer` (all that `viewer_id` wrote, and what came of it), `words` (of it, what holds `words` in a row), `item`
    (one message or memory, by `id` or an unambiguous beginning of it), `last` (the newest message of `stream_id`, of
    `viewer_id` where one is named), `everything`.
    """

    scope: ForgetScope
    at: datetime
    viewer_id: str | None = None
    words: str = ""
    id: str | None = None
    stream_id: str | None = None
    only: str | None = None  # nothing but this viewer's own may be touched; None: anybody's
    by: str | None = None  # who asked, a viewer id; None: whoever runs the program
    at_most: int | None = None  # refused where words would take more lines with them; the receipt says how many


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectRequest:
    """What is to be corrected: an item, named by `id`, gets the text `new`; else `old` becomes `new` in a viewer's words."""

    at: datetime
    new: str
    old: str = ""
    viewer_id: str | None = None
    id: str | None = None
    only: str | None = None  # as in `ForgetRequest`
    by: str | None = None
    command_id: str | None = None  # the message that ordered it: becomes part of the provenance
    key: str | None = None  # of the order, where one message gives several; with it the order is carried out once


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoRequest:
    """What is to be taken back: the last decision about a fact or claim, by its `id`, or all of one `act`."""

    at: datetime
    id: str | None = None
    act: int | None = None
    by: str | None = None  # who asked, a viewer id; None: whoever runs the program


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackRequest:
    """Every fact and claim that `viewer_id` stated since a moment is taken back; the messages stay."""

    at: datetime
    viewer_id: str
    since: datetime
    by: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What was done, in numbers. All zero: there was nothing to do. `refused`: it was somebody else's, and nothing changed."""

    verb: Verb
    at: datetime
    viewer_id: str | None = None  # whose it was, where it was one viewer's
    lines: int = 0  # messages and notices
    replies: int = 0  # of the bot
    documents: int = 0  # memories derived from them
    records: int = 0  # of structured state
    refused: bool = False
    act: int | None = None  # of an undo or a rollback: the number by which it can be taken back

    @property
    def total(self) -> int:
        """How many things were touched."""
        return self.lines + self.replies + self.documents + self.records


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How much is held of one viewer, and the ids of the newest memories; no words."""

    viewer_id: str
    messages: int = 0
    facts: int = 0
    claims: int = 0
    records: int = 0
    newest: tuple[str, ...] = ()
    opted_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Who did what to whom, and when: without any content."""

    at: datetime
    verb: Verb
    by: str | None  # a viewer id; None: whoever runs the program, or the platform's moderation
    viewer_id: str | None
    lines: int
    replies: int
    documents: int
    records: int
