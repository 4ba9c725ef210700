"""The LoCoMo file: conversations, questions, and the corrections of its audit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from memory import Viewer
from replays.benchmarks.feeding import Session, Utterance
from replays.benchmarks.loading import BenchmarkError, Fields, read_list

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
ADVERSARIAL = "adversarial"
AUDIT = "errors.json"  # beside the conversations
_DATE = "%I:%M %p on %d %B, %Y"
_TURN = re.compile(r"D:?(\d+):(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question with what a right answer needs. `trap` is the wrong answer that an adversarial question asks for."""

    id: str
    text: str
    category: str
    gold: tuple[str, ...]
    answer: str
    trap: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Two people's sessions and the questions about them."""

    id: str
    speakers: tuple[Viewer, Viewer]
    sessions: tuple[Session, ...]
    questions: tuple[Asked, ...]

    @property
    def authors(self) -> dict[str, str]:
        """Return who said which turn."""
        return {line.id: line.speaker.id for session in self.sessions for line in session.lines}


@dataclass(slots=True)
class Repairs:
    """What was mended while reading: counts that the summary shows."""

    counts: dict[str, int] = field(default_factory=dict)

    def note(self, what: str) -> None:
        """Count one repair."""
        self.counts[what] = self.counts.get(what, 0) + 1


def read_locomo(path: Path, repairs: Repairs) -> list[Conversation]:
    """Return the conversations of a LoCoMo file, with the keys that `errors.json` beside it corrects.

    Raises:
        BenchmarkError: a file is unreadable or of another version; names file and field.
    """
    audit = _audit(path.parent / AUDIT, repairs)
    conversations = [_conversation(sample, audit, repairs) for sample in read_list(path)]
    if not conversations:
        raise BenchmarkError(f"{path} holds no conversation")
    return conversations


def _audit(path: Path, repairs: Repairs) -> dict[tuple[str, int], Fields]:
    if not path.exists():
        repairs.note("no errors.json: original keys")
        return {}
    return {(error.need("sample_id", str), error.need("qa_index", int)): error for error in read_list(path)}


def _conversation(sample: Fields, audit: Mapping[tuple[str, int], Fields], repairs: Repairs) -> Conversation:
    name, talk = sample.need("sample_id", str), sample.inside("conversation")
    people = [talk.need(key, str) for key in ("speaker_a", "speaker_b")]
    by_name = {person: Viewer(id=f"{name}:{person}", login=person.lower().replace(" ", "_"), name=person) for person in people}
    sessions = tuple(_sessions(talk, by_name))
    known = {line.id for session in sessions for line in session.lines}
    questions = tuple(
        _asked(question, f"{name}:{place}", known=known, error=audit.get((name, place)), repairs=repairs)
        for place, question in enumerate(sample.parts("qa"))
    )
    return Conversation(id=name, speakers=(by_name[people[0]], by_name[people[1]]), sessions=sessions, questions=questions)


def _sessions(talk: Fields, by_name: Mapping[str, Viewer]) -> Sequence[Session]:
    numbers = sorted(int(key[len("session_") :]) for key in talk.all if re.fullmatch(r"session_\d+", key))
    sessions = []
    for number in numbers:  # dates of sessions that do not exist are passed over
        lines = tuple(_utterance(turn, by_name) for turn in talk.parts(f"session_{number}"))
        if lines:
            at = talk.moment(f"session_{number}_date_time", _DATE)
            sessions.append(Session(id=f"session-{number}", at=at, lines=lines))
    return sessions


def _utterance(turn: Fields, by_name: Mapping[str, Viewer]) -> Utterance:
    who = turn.need("speaker", str)
    if who not in by_name:
        turn.refuse("speaker", f"one of {', '.join(by_name)}", who)
    caption = turn.optional("blip_caption")
    text = turn.need("text", str) + (f" [picture: {caption}]" if caption else "")
    return Utterance(id=turn.need("dia_id", str), speaker=by_name[who], text=text)


def _asked(question: Fields, name: str, *, known: set[str], error: Fields | None, repairs: Repairs) -> Asked:
    number = question.need("category", int)
    if number not in CATEGORIES:
        question.refuse("category", "1 to 5", number)
    answer, evidence = question.optional("answer"), question.texts("evidence")
    if error is not None:
        repairs.note(f"corrected key: {error.optional('error_type')}")
        answer = error.optional("correct_answer") or answer
        evidence = error.texts("correct_evidence") or evidence
    return Asked(
        id=name,
        text=question.need("question", str),
        category=CATEGORIES[number],
        gold=_turns(evidence, known, repairs),
        answer=answer,
        trap=question.optional("adversarial_answer"),
    )


def _turns(evidence: Sequence[str], known: set[str], repairs: Repairs) -> tuple[str, ...]:
    """Return the turns that are named, whatever stands between them; those that do not exist are counted and dropped."""
    found: dict[str, None] = {}
    for entry in evidence:
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _TURN.findall(entry)]
        if named != [entry]:
            repairs.note("malformed evidence read" if named else "evidence that names no turn")
        for turn in named:
            if turn in known:
                found[turn] = None
            else:
                repairs.note("evidence that does not exist")
    if not found:
        repairs.note("questions without evidence: no recall")
    return tuple(found)


def after(conversation: Conversation) -> timedelta:
    """Return how long after the last session the questions are asked."""
    return timedelta(days=1) if conversation.sessions else timedelta()
