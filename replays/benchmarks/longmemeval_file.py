"""The LongMemEval files: one question with its whole history each, in the official schema."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from memory import Viewer
from replays.benchmarks.feeding import Session, Utterance, chat_lines
from replays.benchmarks.loading import BenchmarkError, Fields, read_json, read_list

TYPES = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "knowledge-update",
    "temporal-reasoning",
    "multi-session",
)
USER = Viewer(id="user", login="lme_user_0", name="lme_user_0")
ASSISTANT = Viewer(id="assistant", login="lme_assistant_0", name="lme_assistant_0")
QUESTIONS = "questions.json"
_DATE = "%Y/%m/%d (%a) %H:%M"
_PIECE = "#"  # between a turn's id and the number of its chat line


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A question and the history before it. `gold_turns` is None where the file does not say which turns hold the answer."""

    id: str
    type: str
    text: str
    at: datetime
    answer: str
    audit_answer: str
    gold_sessions: frozenset[str]
    gold_turns: frozenset[str] | None
    sessions: tuple[Session, ...]
    later: int  # sessions dated after the question, left out

    @property
    def abstention(self) -> bool:
        """Whether the history does not hold the answer."""
        return self.id.endswith("_abs")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """Where an instance stands; it is read when its turn comes, since one is half a megabyte."""

    id: str
    type: str
    file: Path
    place: int | None  # in a file that holds a list
    audit_answer: str


def list_instances(path: Path) -> list[Listed]:
    """Return the questions of a folder (`questions.json`, `instances/`), or of one file that holds a list of them.

    Raises:
        BenchmarkError: nothing of the kind is there; names file and field.
    """
    if path.is_dir():
        return [
            Listed(
                id=entry.need("question_id", str),
                type=_type(entry),
                file=path / entry.need("instance", str),
                place=None,
                audit_answer=entry.optional("audit_answer"),
            )
            for entry in read_list(path / QUESTIONS)
        ]
    entries = read_list(path)
    if not entries:
        raise BenchmarkError(f"{path} holds no question")
    return [
        Listed(id=entry.need("question_id", str), type=_type(entry), file=path, place=place, audit_answer="")
        for place, entry in enumerate(entries)
    ]


def read_instance(listed: Listed) -> Instance:
    """Return one question with its history; sessions dated after the question are left out and counted.

    Raises:
        BenchmarkError: the file is unreadable or of another version; names file and field.
    """
    document = read_json(listed.file)
    if listed.place is not None and isinstance(document, list):
        document = document[listed.place]
    entry = Fields(document, file=listed.file)
    at = entry.moment("question_date", _DATE)
    dates = [_moment(entry, place, date) for place, date in enumerate(entry.texts("haystack_dates"))]
    talks, ids = entry.need("haystack_sessions", list), entry.texts("haystack_session_ids")
    if not len(dates) == len(talks) == len(ids):
        entry.refuse("haystack_sessions", "as long as haystack_dates and haystack_session_ids", len(talks))
    gold = frozenset(entry.texts("answer_session_ids"))
    kept = [(id_, date, talk) for id_, date, talk in zip(ids, dates, talks, strict=True) if date < at]
    flags: dict[str, bool] = {}
    sessions = tuple(_session(id_, date, talk, file=listed.file, flags=flags) for id_, date, talk in _distinct(kept))
    return Instance(
        id=listed.id,
        type=listed.type,
        text=entry.need("question", str),
        at=at,
        answer=entry.optional("answer"),
        audit_answer=listed.audit_answer or entry.optional("answer"),
        gold_sessions=gold,
        gold_turns=frozenset(turn for turn, right in flags.items() if right) if any(flags.values()) else None,
        sessions=sessions,
        later=len(ids) - len(kept),
    )


def turn_of(source: str) -> str:
    """Return the turn of which a chat line is a part."""
    return source.rpartition(_PIECE)[0]


def session_of(source: str) -> str:
    """Return the session of a turn, or of a chat line."""
    return source.rpartition("/")[0]


def _type(entry: Fields) -> str:
    found = entry.need("question_type", str)
    if found not in TYPES:
        entry.refuse("question_type", f"one of {', '.join(TYPES)}", found)
    return found


def _moment(entry: Fields, place: int, date: str) -> datetime:
    return Fields({f"haystack_dates[{place}]": date}, file=entry.file).moment(f"haystack_dates[{place}]", _DATE)


def _distinct(kept: Sequence[tuple[str, datetime, object]]) -> Sequence[tuple[str, datetime, object]]:
    """Return the sessions with a session that is there twice taken once."""
    by_id: Mapping[str, tuple[str, datetime, object]] = {entry[0]: entry for entry in reversed(kept)}
    return list(by_id.values())[::-1]


def _session(name: str, at: datetime, talk: object, *, file: Path, flags: dict[str, bool]) -> Session:
    turns = Fields({"haystack_sessions": talk}, file=file, where=name).parts("haystack_sessions")
    lines: list[Utterance] = []
    for place, turn in enumerate(turns):
        role, id_ = turn.need("role", str), f"{name}/{place}"
        if role not in {"user", "assistant"}:
            turn.refuse("role", "user or assistant", role)
        flags[id_] = turn.all.get("has_answer") is True
        speaker, is_bot = (USER, False) if role == "user" else (ASSISTANT, True)
        pieces = chat_lines(turn.need("content", str))
        lines += [
            Utterance(id=f"{id_}{_PIECE}{number}", speaker=speaker, text=piece, is_bot=is_bot)
            for number, piece in enumerate(pieces)
        ]
    return Session(id=name, at=at, lines=tuple(lines))
