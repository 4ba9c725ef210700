"""The memory's own values: what goes in, what is planned, found and packed, and what comes out. No I/O here.

Times are aware UTC. A `score` is comparable within one list only. `provenance` is always a tuple of message, reply, notice,
lore (`lore:<id>`) or state (`state:<id>`) ids: what stands behind a statement.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from typing import Any, Literal, Self
from uuid import UUID, uuid5

from memory.events import BotIdentity, Channel, Line, Message, Notice, Viewer, storable

_TURNS = UUID("6d1cf1a5-33c5-4c5f-9a3e-0a2b7f1f6c55")
Section = Literal["history", "profile", "recall", "episode", "lore", "state"]
SECTIONS: tuple[Section, ...] = ("history", "profile", "recall", "episode", "lore", "state")


def turn_id(stream_id: str, lines: tuple[Line, ...]) -> str:
    """Return the id of the turn that answers `lines`: the same lines in the same stream always give the same id."""
    return _turn_id(stream_id, lines[0].id, lines[-1].id, len(lines))


@lru_cache(maxsize=256)  # a turn asks for its own id a dozen times
def _turn_id(stream_id: str, first: str, last: str, lines: int) -> str:
    return str(uuid5(_TURNS, storable("\x1f".join((stream_id, first, last, str(lines))))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One stream of the channel, or the temporary stand-in until the platform names the real one."""

    id: str
    channel: Channel
    bot: BotIdentity
    started_at: datetime
    ended_at: datetime | None = None
    title: str | None = None
    category: str | None = None
    temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Lines of one stream that are handled in one turn, in their order; never empty."""

    stream_id: str
    lines: tuple[Line, ...]
    closed_at: datetime  # when the batch was closed: the moment of the turn
    flush_reason: str = "size"  # addressed | quiet | size | waited | command | end | probe

    @property
    def id(self) -> str:
        """The turn's id."""
        return turn_id(self.stream_id, self.lines)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The chat messages alone."""
        return tuple(line for line in self.lines if isinstance(line, Message))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The platform notices alone."""
        return tuple(line for line in self.lines if isinstance(line, Notice))


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryLine:
    """One line of the working history."""

    id: str
    at: datetime
    kind: Literal["message", "notice", "reply"]
    author: Viewer | None  # None: an anonymous notice; the bot's replies carry the bot as author
    text: str
    reply_to: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The recent history of the current stream, oldest first."""

    stream_id: str
    lines: tuple[HistoryLine, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownViewer:
    """What the planner may know about somebody: names past and present, and when they were last seen."""

    id: str
    login: str
    name: str
    former: tuple[str, ...] = ()  # older logins and display names
    is_bot: bool = False
    last_seen: datetime | None = None


class SourceKind(StrEnum):
    """A place to look."""

    PROFILE = "profile"  # one viewer's current facts
    RECALL = "recall"  # one viewer's own messages and facts, by the question
    CLAIMS = "claims"  # what others said about one viewer; never planned, asked along with the recall
    GRAPH = "graph"  # facts of whoever shares what is named
    EPISODE = "episode"  # what was said in one stream, by anybody
    LORE = "lore"
    STATE = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRequest:
    """One look into one place, with its question and its reason."""

    kind: SourceKind
    why: str
    query: str = ""  # what is searched for; empty for profile and state
    viewer_id: str | None = None  # profile, recall; graph: who asks
    stream_id: str | None = None  # episode
    domains: tuple[str, ...] = ()  # state: request, note, relation, joke, channel
    viewer_ids: tuple[str, ...] = ()  # state: whose records; empty: everybody's. Graph: between whom
    lore_ids: tuple[str, ...] = ()  # lore: entries named outright; empty: search
    as_of: datetime | None = None  # valid time asked about
    exclude: tuple[str, ...] = ()  # message ids that must not come back (the batch itself)
    strict: bool = False  # lore, state: only what the question comes near to by itself; nothing else speaks for asking there
    hearsay: bool = False  # recall: somebody else asks, and may be told what others said of the viewer

    @property
    def name(self) -> str:
        """The source's name, as the evaluation contract writes it."""
        match self.kind:
            case SourceKind.PROFILE | SourceKind.RECALL | SourceKind.CLAIMS:
                return f"viewer:{self.viewer_id}:{self.kind.value}"
            case SourceKind.EPISODE:
                return f"stream:{self.stream_id}:episode"
            case _:
                return self.kind.value

    @property
    def place(self) -> str:
        """What competes with each other: a viewer's memory, and all the streams that one question points to."""
        return "episode" if self.kind is SourceKind.EPISODE else self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A viewer whom the turn is about, how strongly, and why."""

    viewer_id: str
    score: float
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where to look in this turn. No requests: ordinary chat, or what is asked stands in the history."""

    requests: tuple[SourceRequest, ...] = ()
    targets: tuple[Target, ...] = ()
    reasons: tuple[str, ...] = ()  # every decision, taken or not, in words
    explicit_recall: bool = False  # a question about memory itself: an empty result must be admitted
    asks_memory: bool = False  # a question that only memory can answer (abstain if nothing is found)
    covered: bool = False  # the history answers it
    as_of: datetime | None = None
    language: str = "en"  # of the batch, as far as rules can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A memory as it is stored in SQL and indexed: the unit that can be found, shown, corrected and erased."""

    id: str
    collection: str
    kind: Literal["message", "line", "turn", "reply", "fact", "claim", "lore"]  # turn: several lines, as older memories have
    text: str
    at: datetime  # when it was said
    provenance: tuple[str, ...]
    subject: str | None = None  # viewer id whom it is about
    author: str | None = None  # viewer id who said it; None: the bot, several people, or canon
    stream_id: str | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    about: str = ""  # of a fact or claim, what kind of thing it states: its slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A hit of one channel in one source."""

    document: Document
    channel: str  # dense | lexical | graph | recency | exact
    score: float  # the channel's own measure, higher is better
    rank: int  # 1 is best


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """What one channel found in one source, best first."""

    request: SourceRequest
    channel: str
    candidates: tuple[Candidate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A candidate that survived fusion."""

    request: SourceRequest
    section: Section
    document: Document
    score: float  # fused
    channels: Mapping[str, float] = field(default_factory=dict)  # what each channel gave
    calibrated: bool = False  # the score is the chance that it answers, by `memory.relevance`


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One entry of the block, as the model reads it and as the evaluation scores it."""

    section: Section
    source: str
    subject: str | None
    author: str | None
    text: str  # the line in the block
    provenance: tuple[str, ...]
    tokens: int
    score: float
    at: datetime | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    current: bool = True
    kind: str = ""  # the document's kind; empty where unknown
    words: str = ""  # the statement alone, without who and when: for whoever phrases it anew; empty: read it out of `text`
    subject_name: str | None = None  # display names as of now, for the same purpose
    author_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A piece of evidence that did not get into the block, and why."""

    source: str
    document_id: str
    reason: str  # repeat | in_history | below_gate | section_full | block_full | superseded
    score: float
    provenance: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The memory block: text for the prompt, its items, and what was left out. `text` is empty where nothing is to be said."""

    text: str = ""
    items: tuple[Item, ...] = ()
    tokens: int = 0
    left_out: tuple[LeftOut, ...] = ()
    abstained: bool = False  # the block tells the model to admit that it does not know


StepState = Literal["ok", "timed_out", "failed", "cancelled", "switched_off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """How one step of the recall went."""

    step: str
    state: StepState
    seconds: float
    items_in: int = 0
    items_out: int = 0
    cache_hits: int = 0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What the memory gives a turn: always an answer, in time, that says what is missing from it."""

    plan: Plan
    window: Window
    block: Block
    steps: tuple[StepTrace, ...] = ()
    timed_out: tuple[str, ...] = ()  # source names left out for lateness
    failed: tuple[str, ...] = ()  # source names left out for an error
    candidates: tuple[Evidence, ...] = ()  # all that was found, before the gate

    @property
    def degraded(self) -> bool:
        """True where a source, or a whole step, was late or failed."""
        return bool(self.timed_out or self.failed) or any(step.state in {"timed_out", "failed"} for step in self.steps)


ReplyState = Literal["sent", "silent", "failed", "withheld", "ambiguous"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What became of the turn's reply. `text` is what was posted; only a `sent` reply is remembered."""

    state: ReplyState
    reason: str = ""
    text: str | None = None
    telling: str | None = None  # what of the text tells something, where the rest are set phrases; None: all of it
    reply_id: str | None = None
    at: datetime | None = None
    in_reply_to: tuple[str, ...] = ()
    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A batch with what was recalled for it and what was answered: the unit that is recorded."""

    batch: Batch
    recall: Recall | None
    said: Said
    changed_domains: tuple[str, ...] = ()  # ingestion barrier: state domains that tools changed in this turn
    held_viewers: tuple[str, ...] = ()  # ingestion barrier: viewers kept out of personal consolidation

    def silent(self, reason: str) -> Self:
        """Return the same turn without a reply."""
        return replace(self, said=Said(state="silent", reason=reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class StateRecord:
    """One record of structured state: the canonical present of a request, note, relation, joke or channel value."""

    id: str
    domain: Literal["request", "note", "relation", "joke", "channel"]
    text: str  # as it is shown
    viewers: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    status: str = "open"  # open | done | deleted
    created_at: datetime | None = None
    updated_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A leased unit of background work. The payload holds ids, never text."""

    id: int
    key: str
    kind: str
    attempts: int
    crashes: int
    payload: Mapping[str, Any]
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job as `ricordo jobs` shows it."""

    id: int
    key: str
    kind: str
    state: str
    attempts: int
    crashes: int
    created_at: datetime
    run_after: datetime
    last_error: str | None
    error_kind: str | None
    updated_at: datetime  # when it last changed
    lease_until: datetime | None  # whose attempt is under way: until when it holds the job
    payload: Mapping[str, Any]  # ids, never text


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the memory is: for `doctor`, `jobs` and the log."""

    viewers: int
    streams: int
    messages: int
    turns: int
    documents: int
    jobs: Mapping[str, int]  # state -> count
    lag_jobs: int  # that wait
    lag_seconds: float  # age of the oldest of them
    embedder: str
    dimension: int
    problems: tuple[str, ...] = ()
