"""Probes as cases: read from an annotated log, checked against it, and refused by file, line and field."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from memory import BotReply, Command, Event, Message, Notice, Probe, StateCall

CATEGORIES = (
    "recall",
    "update",
    "attribution",
    "ephemeral",
    "history",
    "episode",
    "past_stream",
    "lore",
    "state",
    "multi",
    "temporal",
    "forget",
    "correct",
    "deleted",
    "abstain",
    "injection",
    "none",
)


class CaseError(Exception):
    """A probe cannot be used. The text names file, line and field."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One probe with what a right answer needs."""

    id: str
    at: datetime
    category: str
    batch: tuple[Message, ...]
    gold: frozenset[str] = frozenset()
    answers: tuple[str, ...] = ()
    answers_all: tuple[str, ...] = ()
    answer_inferred: bool = False
    forbidden: frozenset[str] = frozenset()
    forbidden_text: tuple[str, ...] = ()
    abstain: bool = False
    settle: bool = True
    as_of: datetime | None = None


@dataclass(slots=True)
class KnownIds:
    """What a log holds that a probe may name, gathered while reading it."""

    ids: set[str] = field(default_factory=set)
    authors: dict[str, str] = field(default_factory=dict)  # message or notice id -> viewer id

    def see(self, event: Event) -> None:
        """Take note of one event."""
        match event:
            case Message():
                self.ids.add(event.id)
                self.authors[event.id] = event.user.id
            case Notice():
                self.ids.add(event.id)
                if event.user:
                    self.authors[event.id] = event.user.id
            case BotReply() | Command():
                if event.id:
                    self.ids.add(event.id)
            case StateCall():
                self.ids.add(f"state:{event.arguments.get('id')}")
            case _:
                pass


def to_case(probe: Probe) -> Case:
    """Return the case of a probe as annotated.

    Raises:
        CaseError: names the field; the caller adds file and line.
    """
    keys = probe.case
    if probe.category not in CATEGORIES:
        raise CaseError(f"category: {probe.category!r} is not one of {', '.join(CATEGORIES)}")
    if not probe.batch:
        message = "batch: is empty; a probe asks with at least one message"
        raise CaseError(message)
    return Case(
        id=probe.id,
        at=probe.at,
        category=probe.category,
        batch=probe.batch,
        gold=frozenset(_strings(keys, "gold")),
        answers=_strings(keys, "answers"),
        answers_all=_strings(keys, "answers_all"),
        answer_inferred=_flag(keys, "answer_inferred"),
        forbidden=frozenset(_strings(keys, "forbidden")),
        forbidden_text=_strings(keys, "forbidden_text"),
        abstain=_flag(keys, "abstain"),
        settle=probe.settle,
        as_of=probe.as_of,
    )


def check_cases(cases: Sequence[tuple[int, Case]], known: KnownIds, lore_ids: set[str], *, file: str) -> None:
    """Refuse probes that name what the log does not hold, or share an id.

    Args:
        cases: (line number, case) pairs.
        known: every id of the log.
        lore_ids: the ids of the log's canon.
        file: the log's name, for the message.

    Raises:
        CaseError: names file, line and field.
    """
    if not cases:
        raise CaseError(f"{file}: the log has no probes. Annotate some (docs/evaluation.md), or use `ricordo replay`.")
    seen: dict[str, int] = {}
    allowed = known.ids | {f"lore:{lore_id}" for lore_id in lore_ids}
    for line, case in cases:
        if case.id in seen:
            raise CaseError(f"{file}, line {line}, id: {case.id!r} is used on line {seen[case.id]} already")
        seen[case.id] = line
        for name, ids in (("gold", case.gold), ("forbidden", case.forbidden)):
            if missing := sorted(ids - allowed):
                raise CaseError(f"{file}, line {line}, {name}: {missing[0]!r} stands nowhere in the log or its canon")


def _strings(keys: Mapping[str, Any], name: str) -> tuple[str, ...]:
    value = keys.get(name) or ()
    if isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise CaseError(f"{name}: must be a list of strings, not {value!r}")
    return tuple(value)


def _flag(keys: Mapping[str, Any], name: str) -> bool:
    value = keys.get(name, False)
    if not isinstance(value, bool):
        raise CaseError(f"{name}: must be true or false, not {value!r}")
    return value
