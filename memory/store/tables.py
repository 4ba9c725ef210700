"""The tables, as SQLModel rows. They never leave `memory.store`; times are integer milliseconds since 1970, UTC.

Integer keys come first everywhere a table grows with the chat, and secondary indexes are few: each one on a scattered key
(uuid, viewer) costs a page a row in the write-ahead log (20 messages: 45 KB without an index on the viewer, 129 KB with it).
"""

from typing import Any, ClassVar

from sqlalchemy import JSON, BigInteger, Column, ForeignKey, Index, Integer, MetaData, String, Table, UniqueConstraint, text
from sqlmodel import Field, SQLModel

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_KEY = BigInteger().with_variant(Integer, "sqlite")  # a bare BigInteger key is no rowid alias on SQLite


class Row(SQLModel):
    """Base of every table: one metadata of our own, so that constraints have stable names for migrations."""

    metadata: ClassVar[MetaData] = METADATA


def table_of(row: type[SQLModel]) -> Table:
    """Return the Core table of a row class: the hot path inserts through it."""
    return METADATA.tables[str(row.__tablename__)]


def _key() -> Any:  # noqa: ANN401 - SQLModel's Field is typed Any by its own authors
    return Field(default=None, sa_column=Column(_KEY, primary_key=True))


class StreamRow(Row, table=True):
    """One stream, or the temporary stand-in until the real one is named."""

    __tablename__ = "stream"
    id: str = Field(primary_key=True)
    channel: dict[str, Any] = Field(sa_type=JSON)  # id, login, name
    bot: dict[str, Any] = Field(sa_type=JSON)  # id, login, name, aliases
    started_at: int = Field(sa_type=BigInteger, index=True)
    ended_at: int | None = Field(default=None, sa_type=BigInteger)
    title: str | None = None
    category: str | None = None
    temporary: bool = False
    joined_to: str | None = None  # the real stream that a temporary one became


class ViewerRow(Row, table=True):
    """Somebody seen in this channel, under the newest names."""

    __tablename__ = "viewer"
    __table_args__ = ({"sqlite_with_rowid": False},)
    id: str = Field(primary_key=True)
    login: str
    name: str
    is_bot: bool = False
    opted_out: bool = False
    first_seen: int = Field(sa_type=BigInteger)
    last_seen: int = Field(sa_type=BigInteger)


class ViewerNameRow(Row, table=True):
    """A pair of names that a viewer had, and when it was first and last noticed as such."""

    __tablename__ = "viewer_name"
    __table_args__ = ({"sqlite_with_rowid": False},)
    viewer_id: str = Field(primary_key=True)
    login: str = Field(primary_key=True)
    name: str = Field(primary_key=True)
    first_at: int = Field(sa_type=BigInteger)
    last_at: int = Field(sa_type=BigInteger)


class LineRow(Row, table=True):
    """A message, notice or bot reply. An erased line keeps its id, without words, so that it cannot come back."""

    __tablename__ = "line"
    __table_args__ = (
        UniqueConstraint("id"),
        Index(None, "stream_id", "seq"),
        Index(
            None, "seq", "viewer_id"
        ),  # read whole to find a viewer's lines; in the order of writing, it costs next to nothing
        Index("ix_line_reply", "seq", sqlite_where=text("kind = 'reply'")),
    )
    seq: int | None = _key()
    id: str
    stream_id: str
    kind: str = Field(sa_type=String(8))  # message | notice | reply
    viewer_id: str | None = None
    login: str | None = None  # as it was at that moment
    name: str | None = None
    at: int = Field(sa_type=BigInteger)
    text: str = ""
    reply_to: str | None = None
    detail: dict[str, Any] | None = Field(default=None, sa_column=Column(JSON(none_as_null=True)))
    turn_id: str | None = None
    hidden: bool = False  # out of the history only (the chat was cleared)
    deleted_at: int | None = Field(default=None, sa_type=BigInteger)


class TurnRow(Row, table=True):
    """A batch that was observed, and what came of it once recorded."""

    __tablename__ = "turn"
    __table_args__ = (UniqueConstraint("id"), Index("ix_turn_open", "seq", sqlite_where=text("state = 'open'")))
    seq: int | None = _key()
    id: str
    stream_id: str
    at: int = Field(sa_type=BigInteger)
    state: str = Field(sa_type=String(8))  # open | recorded
    flush_reason: str = ""
    line_ids: list[str] = Field(sa_type=JSON)  # in the batch's order
    reply_id: str | None = None
    reply_state: str | None = None
    reply_reason: str | None = None
    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    reply_seconds: float = 0.0


class DocumentRow(Row, table=True):
    """A memory: the unit that is found, shown, corrected and erased."""

    __tablename__ = "document"
    __table_args__ = (
        UniqueConstraint("id"),
        Index(None, "collection", "seq"),
        Index("ix_document_unindexed", "seq", sqlite_where=text("indexed_model IS NULL")),
    )
    seq: int | None = _key()
    id: str
    collection: str
    kind: str = Field(sa_type=String(8))  # message | line | turn | reply | fact | claim | lore
    subject: str | None = None
    author: str | None = None
    stream_id: str | None = None
    text: str
    stems: str  # what the full-text index reads
    provenance: list[str] = Field(sa_type=JSON)
    at: int = Field(sa_type=BigInteger)
    valid_at: int | None = Field(default=None, sa_type=BigInteger)
    invalid_at: int | None = Field(default=None, sa_type=BigInteger)
    superseded: bool = False
    indexed_model: str | None = None  # embedder whose vector is in the index; None: still to be indexed


class DocumentSourceRow(Row, table=True):
    """Which documents rest on a line: the way back from a line to everything derived from it. Integers, always appended."""

    __tablename__ = "document_source"
    __table_args__ = ({"sqlite_with_rowid": False},)
    line_seq: int = Field(sa_column=Column(_KEY, primary_key=True, autoincrement=False))
    document_seq: int = Field(
        sa_column=Column(
            _KEY, ForeignKey("document.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False, index=True
        )
    )


class HiddenDocumentRow(Row, table=True):
    """A document that rests on a line which is to be forgotten: out of everybody's sight until its purge.

    Kept apart from the documents, which are spread over the whole file: an order to forget writes a few pages, not hundreds.
    """

    __tablename__ = "hidden_document"
    __table_args__ = ({"sqlite_with_rowid": False},)
    document_seq: int = Field(
        sa_column=Column(_KEY, ForeignKey("document.seq", ondelete="CASCADE"), primary_key=True, autoincrement=False)
    )


class FactRow(Row, table=True):
    """A bi-temporal statement, a fact or a claim; the document of the same id holds its text, collection and provenance."""

    __tablename__ = "fact"
    __table_args__ = (
        Index(None, "subject", "predicate"),
        Index("ix_fact_speaker", "speaker", sqlite_where=text("speaker IS NOT NULL")),
        Index("ix_fact_superseded_by", "superseded_by", sqlite_where=text("superseded_by IS NOT NULL")),
    )
    id: str = Field(sa_column=Column(String, ForeignKey("document.id", ondelete="CASCADE"), primary_key=True))
    subject: str
    predicate: str
    object: str
    text: str
    valid_at: int | None = Field(default=None, sa_type=BigInteger)
    valid_precision: str = ""  # year | month | day | minute; empty: unknown
    invalid_at: int | None = Field(default=None, sa_type=BigInteger)
    created_at: int = Field(sa_type=BigInteger)
    expired_at: int | None = Field(default=None, sa_type=BigInteger)
    salience: float = 0.0
    confidence: float = 1.0
    superseded_by: str | None = None
    speaker: str | None = None  # who claims it; None: a fact, which its subject stated
    uses: int = Field(sa_column=Column(Integer, nullable=False, server_default="0"))  # answers that it stood behind
    used_at: int | None = Field(default=None, sa_type=BigInteger)
    faded_at: int | None = Field(default=None, sa_type=BigInteger)  # out of retrieval since then, never out of the record


class DecisionRow(Row, table=True):
    """What was decided about a fact, always appended: what was believed when can be read from it, and taken back."""

    __tablename__ = "decision"
    __table_args__ = (Index(None, "fact_id"), Index(None, "act"))
    seq: int | None = _key()
    act: int = Field(sa_type=BigInteger)  # what was decided together
    fact_id: str = Field(sa_column=Column(String, ForeignKey("fact.id", ondelete="CASCADE"), nullable=False))
    at: int = Field(sa_type=BigInteger)
    verb: str = Field(sa_type=String(8))  # assert | confirm | end | reopen | retract
    step: str = Field(sa_type=String(12))  # what settled it
    invalid_at: int | None = Field(default=None, sa_type=BigInteger)  # until when it holds, from here on
    by_id: str | None = None  # the fact that says so


class EdgeRow(Row, table=True):
    """An entity and what a fact or claim relates it to. Its times, and its provenance, are those of the fact."""

    __tablename__ = "edge"
    __table_args__ = (Index(None, "head"), Index(None, "tail"))
    fact_id: str = Field(sa_column=Column(String, ForeignKey("fact.id", ondelete="CASCADE"), primary_key=True))
    head: str  # "viewer:101"
    relation: str
    tail: str  # "place:torino", "viewer:202"
    name: str  # of the tail, as it was said


class LoreEntryRow(Row, table=True):
    """An entry of the canon, as last synchronised."""

    __tablename__ = "lore_entry"
    id: str = Field(primary_key=True)
    title: str
    aliases: list[str] = Field(sa_type=JSON)
    text: str
    digest: str


class StateRecordRow(Row, table=True):
    """A record of structured state."""

    __tablename__ = "state_record"
    __table_args__ = (Index(None, "domain", "status"),)
    id: str = Field(primary_key=True)
    domain: str
    text: str
    viewers: list[str] = Field(sa_type=JSON)
    fields: dict[str, Any] = Field(sa_type=JSON)
    status: str
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)
    expires_at: int | None = Field(default=None, sa_type=BigInteger)


class TombstoneRow(Row, table=True):
    """What was removed, without its content: it stays removed whatever arrives later."""

    __tablename__ = "tombstone"
    __table_args__ = ({"sqlite_with_rowid": False},)
    scope: str = Field(primary_key=True)  # line | viewer | stream_user | stream_chat | opt_out
    key: str = Field(primary_key=True)
    at: int = Field(sa_type=BigInteger)


class AuditRow(Row, table=True):
    """Who erased or corrected how much of whom, and when: no content."""

    __tablename__ = "audit"
    seq: int | None = _key()
    at: int = Field(sa_type=BigInteger)
    verb: str = Field(sa_type=String(12))  # forget | correct | moderated | opt_out | opt_in | undo | rollback | a state tool
    by: str | None = None
    viewer_id: str | None = None
    lines: int = 0
    replies: int = 0
    documents: int = 0
    records: int = 0


class CorrectionRow(Row, table=True):
    """A correction that was made, so that the same order is not carried out twice."""

    __tablename__ = "correction"
    key: str = Field(primary_key=True)
    at: int = Field(sa_type=BigInteger)
    by: str | None = None
    command_id: str | None = None
    line_ids: list[str] = Field(sa_type=JSON)


class StateCallRow(Row, table=True):
    """A tool call on structured state that was carried out: its key, its turn, and whom it keeps out of that turn's facts."""

    __tablename__ = "state_call"
    __table_args__ = ({"sqlite_with_rowid": False},)
    key: str = Field(primary_key=True)
    turn_id: str | None = Field(default=None, index=True)
    at: int = Field(sa_type=BigInteger)
    held: list[str] = Field(sa_type=JSON)  # viewer ids


class MemoryJob(Row, table=True):
    """The outbox: background work, written in the transaction that causes it. Statements on it are in `outbox`."""

    __tablename__ = "memory_job"
    __table_args__ = (
        UniqueConstraint("key"),
        Index("ix_memory_job_due", "run_after", "id", sqlite_where=text("state = 'ready'")),
        Index("ix_memory_job_lease", "lease_until", sqlite_where=text("state = 'leased'")),
    )
    id: int | None = _key()
    key: str = Field(sa_type=String(160))  # "<kind>:<id>", the idempotency key
    kind: str = Field(sa_type=String(40))
    state: str = Field(sa_column=Column(String(12), nullable=False, server_default="ready"))  # ready | leased | done | dead
    attempts: int = Field(sa_column=Column(Integer, nullable=False, server_default="0"))  # errors of the handler
    crashes: int = Field(sa_column=Column(Integer, nullable=False, server_default="0"))  # leases lost with the process
    run_after: int = Field(sa_type=BigInteger)
    lease_until: int | None = Field(default=None, sa_type=BigInteger)
    lease_token: str | None = Field(default=None, sa_type=String(32))
    payload: dict[str, Any] = Field(sa_type=JSON)  # ids, never text
    last_error: str | None = None
    error_kind: str | None = Field(default=None, sa_type=String(12))  # temporary | permanent | unknown | crash
    created_at: int = Field(sa_type=BigInteger)
    updated_at: int = Field(sa_type=BigInteger)


class MetaRow(Row, table=True):
    """Single values about the whole memory: the channel, the embedder, the counters."""

    __tablename__ = "meta"
    key: str = Field(primary_key=True)
    value: str
