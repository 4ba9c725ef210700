"""What a viewer states about themselves, as values: slots, statements as they are read, and facts as they are held. No I/O.

A slot is what a statement is about ("home"); its predicate is the slot's name, with what is favoured, owned or named behind a
colon where there may be one of each (`favourite:film`), and with `not:` before it where it says that something ended.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Precision = Literal["year", "month", "day", "minute", ""]  # of a date as it was said; empty: none was said
Effect = Literal["is", "ends", "corrects"]
# What settled a statement: nothing was known, said before, the slot, order in time, likeness, a correction, a record of state …
# "open": nothing did, both stand until a judge says more.
Step = Literal["new", "repeat", "slot", "time", "similarity", "correction", "judge", "open", "record", "undo", "rollback"]
CONFLICT_STEPS: tuple[Step, ...] = ("slot", "time", "similarity", "correction", "judge", "open")
ENDED = "not:"  # before the predicate of a statement that something is no longer so


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """What statements can be about, and how they bear on each other."""

    name: str
    single: bool = False  # a new value supersedes the old one; otherwise values add up
    group: tuple[str, ...] = ()  # slots that change with it: with a new job the old work place is past too
    contrary: str = ""  # the slot that the same object cannot be in as well
    stable: bool = False  # true before it was said: where somebody was born
    importance: float = 0.5  # 0 to 1: where salience begins


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that one message says about its author, or, as the author's claim, about somebody else."""

    subject: str
    slot: Slot
    predicate: str
    object: str  # the viewer's own words; empty: nothing more than that the slot ended
    text: str  # the sentence it stands in
    at: datetime  # when it was said
    source: str  # the message's id
    effect: Effect = "is"
    change: bool = False  # says that it is new: what else is in the group is past
    valid_at: datetime | None = None  # since when, or when; None: nothing was said of it
    precision: Precision = ""
    invalid_at: datetime | None = None  # until when
    confidence: float = 0.9
    corrects: str = ""  # the message that it takes back
    speaker: str | None = None  # whose claim it is; None: the subject's own statement

    @property
    def begins(self) -> datetime:
        """From when it holds, as far as is known: the moment it was said, where no other was named."""
        return self.valid_at or self.at


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement as it is held, with both times and what became of it."""

    id: str
    subject: str
    predicate: str
    object: str
    at: datetime  # when it was said first
    sources: tuple[str, ...]
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    expired_at: datetime | None = None
    salience: float = 0.5
    stream_id: str | None = None
    speaker: str | None = None  # whose claim it is; None: the subject's own statement

    @property
    def begins(self) -> datetime:
        """From when it holds, as far as is known."""
        return self.valid_at or self.at

    def current(self, at: datetime) -> bool:
        """Whether it is believed, and nothing has ended it by `at`; what was only ever so for a while is, until then."""
        return self.expired_at is None and (self.invalid_at is None or self.invalid_at > at)


def slot_of(predicate: str) -> str:
    """Return the name of a predicate's slot: `home` of `not:home`, `pet` of `pet:rex`."""
    return predicate.removeprefix(ENDED).partition(":")[0]
