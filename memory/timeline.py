"""What was believed, and when: the decisions about a fact, read in their order. Pure.

Valid time is when something was true in the world, transaction time when the memory believed it. A fact's row says what is
believed now; its decisions say what was believed at any moment before.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from memory.statements import Step

Verb = Literal["assert", "confirm", "end", "reopen", "retract"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about one fact, and how the fact stands from it on."""

    seq: int
    act: int  # what was decided together has one number
    fact_id: str
    at: datetime  # transaction time
    verb: Verb
    step: Step  # what settled it
    invalid_at: datetime | None = None
    by: str | None = None  # the fact that says so

    @property
    def stands(self) -> bool:
        """Whether the fact is believed from here on, be it as one that ended."""
        return self.verb != "retract"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chronicle:
    """A fact or a claim with its four times, what replaced it, and every decision about it, oldest first."""

    id: str
    subject: str
    speaker: str | None  # of a claim; None: a fact
    predicate: str
    object: str
    text: str
    said_at: datetime
    provenance: tuple[str, ...]
    valid_at: datetime | None
    invalid_at: datetime | None
    created_at: datetime
    expired_at: datetime | None
    superseded_by: str | None
    precision: str = ""
    confidence: float = 1.0
    salience: float = 0.0
    uses: int = 0
    faded_at: datetime | None = None
    decisions: tuple[Decision, ...] = ()

    @property
    def begins(self) -> datetime:
        """From when it holds, as far as is known."""
        return self.valid_at or self.said_at

    @property
    def retracted(self) -> bool:
        """Whether it was taken back altogether."""
        last = latest(self.decisions)
        return last is not None and not last.stands


def latest(decisions: Sequence[Decision], known_at: datetime | None = None) -> Decision | None:
    """Return the decision that says how a fact stood at a moment (None: now); None where it was not known yet.

    A confirmation changes nothing about that.
    """
    telling = [one for one in decisions if one.verb != "confirm" and (known_at is None or one.at <= known_at)]
    return max(telling, key=lambda one: one.seq, default=None)


def believed(fact: Chronicle, *, as_of: datetime | None, known_at: datetime | None) -> bool:
    """Return whether, by what was known at `known_at` (None: now), the fact was true at `as_of`.

    Without `as_of`, whether it was then taken for true still; what begins later (a plan) counts.
    """
    last = latest(fact.decisions, known_at)
    if last is None or not last.stands:
        return False
    if as_of is None:
        return last.by is None and (last.invalid_at is None or (known_at is not None and last.invalid_at > known_at))
    return fact.begins <= as_of and (last.invalid_at is None or as_of < last.invalid_at)
