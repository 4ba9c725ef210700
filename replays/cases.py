"""Probes as cases: read from an annotated log, checked against it, and refused by file, line and field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from lore.entry import LoreEntry
from memory import BotIdentity, BotReply, Command, Event, Message, Notice, Probe, StateCall, StreamEvent, Viewer, storable
from replays.log import read_log
from replays.log_report import LogReport

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What stands behind an id that a probe may name: who said what, and when."""

    who: str
    at: datetime | None
    text: str


@dataclass(slots=True)
class KnownIds:
    """What a log holds that a probe may name, gathered while reading it."""

    statements: dict[str, Statement] = field(default_factory=dict)
    authors: dict[str, str] = field(default_factory=dict)  # message, notice or reply id -> id of who wrote it
    bot_id: str = "bot"
    bot_name: str = "bot"

    @property
    def ids(self) -> set[str]:
        """Every id."""
        return set(self.statements)

    def see(self, event: Event) -> None:
        """Take note of one event."""
        match event:
            case StreamEvent(bot=BotIdentity() as bot):
                self.bot_id, self.bot_name = bot.id, bot.name
            case Message() | Notice():
                self._note(event.id, event.user, event.at, event.text or (event.kind if isinstance(event, Notice) else ""))
            case BotReply(id=str() as reply_id):
                self.statements[reply_id] = Statement(who=self.bot_name, at=event.at, text=event.text)
                self.authors[reply_id] = self.bot_id
            case Command(id=str() as command_id):
                self.statements[command_id] = Statement(who=event.user.name, at=event.at, text=event.text)
            case StateCall():
                told = " ".join(f"{key}={value}" for key, value in event.arguments.items() if key != "id")
                name = storable(f"state:{event.arguments.get('id')}")
                self.statements[name] = Statement(who=event.tool, at=event.at, text=told)
            case _:
                pass

    def see_canon(self, entries: Iterable[LoreEntry]) -> None:
        """Take note of the log's canon."""
        for entry in entries:
            self.statements[f"lore:{entry.id}"] = Statement(who=entry.title, at=None, text=entry.text)

    def _note(self, line_id: str, user: Viewer | None, at: datetime, text: str) -> None:
        self.statements[line_id] = Statement(who=user.name if user else "somebody", at=at, text=text)
        if user:
            self.authors[line_id] = user.id


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotatedLog:
    """A chat log with its probes, checked: every probe can be asked and scored."""

    path: Path
    name: str  # short, and unique in a run
    cases: tuple[Case, ...]
    known: KnownIds


def read_annotated(path: Path, canon: Sequence[LoreEntry], *, name: str) -> AnnotatedLog:
    """Read a log with its probes and check them against it.

    Raises:
        CaseError: a probe cannot be used, the log has none, or a line of it cannot be read; names file, line and field.
        LogError: the log cannot be read at all.
    """
    known, cases, report = KnownIds(), list[tuple[int, Case]](), LogReport(path=path)
    known.see_canon(canon)
    for logged in read_log(path, report):
        known.see(logged.event)
        if isinstance(logged.event, Probe):
            try:
                cases.append((logged.line, to_case(logged.event)))
            except CaseError as error:
                raise CaseError(f"{path.name}, line {logged.line}, {error}") from None
    if report.first_skipped:
        first = report.first_skipped[0]
        raise CaseError(
            f"{path.name}, line {first.line}, {first.reason}: a log that is measured must be readable to the last line. "
            "Mend or remove that line."
        )
    check_cases(cases, known, file=path.name)
    return AnnotatedLog(path=path, name=name, cases=tuple(case for _, case in cases), known=known)


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
        gold=frozenset(map(storable, _strings(keys, "gold"))),
        answers=_strings(keys, "answers"),
        answers_all=_strings(keys, "answers_all"),
        answer_inferred=_flag(keys, "answer_inferred"),
        forbidden=frozenset(map(storable, _strings(keys, "forbidden"))),
        forbidden_text=_strings(keys, "forbidden_text"),
        abstain=_flag(keys, "abstain"),
        settle=probe.settle,
        as_of=probe.as_of,
    )


def check_cases(cases: Sequence[tuple[int, Case]], known: KnownIds, *, file: str) -> None:
    """Refuse probes that name what the log does not hold, or share an id.

    Args:
        cases: (line number, case) pairs.
        known: what the log and its canon hold.
        file: the log's name, for the message.

    Raises:
        CaseError: names file, line and field.
    """
    if not cases:
        raise CaseError(f"{file}: the log has no probes. Annotate some (docs/evaluation.md), or use `ricordo replay`.")
    seen: dict[str, int] = {}
    for line, case in cases:
        if case.id in seen:
            raise CaseError(f"{file}, line {line}, id: {case.id!r} is used on line {seen[case.id]} already")
        seen[case.id] = line
        for name, ids in (("gold", case.gold), ("forbidden", case.forbidden)):
            if missing := sorted(ids - known.ids):
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
