"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    _stream()
    _viewer()
    _viewer_name()
    _line()
    _turn()
    _document()
    _document_source()
    _fact()
    _lore_entry()
    _state_record()
    _tombstone()
    _memory_job()
    _meta()


def _stream() -> None:
    op.create_table(
        "stream",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("channel", sa.JSON(), nullable=False),
        sa.Column("bot", sa.JSON(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.Column("title", sa.String(), nullable=True),
        sa.Column("category", sa.String(), nullable=True),
        sa.Column("temporary", sa.Boolean(), nullable=False),
        sa.Column("joined_to", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stream")),
    )
    op.create_index(op.f("ix_stream_started_at"), "stream", ["started_at"], unique=False)


def _viewer() -> None:
    op.create_table(
        "viewer",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("opted_out", sa.Boolean(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.Column("last_seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_viewer")),
        sqlite_with_rowid=False,
    )


def _viewer_name() -> None:
    op.create_table(
        "viewer_name",
        sa.Column("viewer_id", sa.String(), nullable=False),
        sa.Column("login", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("first_at", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("viewer_id", "login", "name", name=op.f("pk_viewer_name")),
        sqlite_with_rowid=False,
    )


def _line() -> None:
    op.create_table(
        "line",
        sa.Column("seq", KEY, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("stream_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("viewer_id", sa.String(), nullable=True),
        sa.Column("login", sa.String(), nullable=True),
        sa.Column("name", sa.String(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("reply_to", sa.String(), nullable=True),
        sa.Column("detail", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("hidden", sa.Boolean(), nullable=False),
        sa.Column("deleted_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_line")),
        sa.UniqueConstraint("id", name=op.f("uq_line_id")),
    )
    op.create_index(op.f("ix_line_stream_id_seq"), "line", ["stream_id", "seq"], unique=False)


def _turn() -> None:
    op.create_table(
        "turn",
        sa.Column("seq", KEY, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("stream_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("flush_reason", sa.String(), nullable=False),
        sa.Column("line_ids", sa.JSON(), nullable=False),
        sa.Column("reply_id", sa.String(), nullable=True),
        sa.Column("reply_state", sa.String(), nullable=True),
        sa.Column("reply_reason", sa.String(), nullable=True),
        sa.Column("model", sa.String(), nullable=True),
        sa.Column("prompt_tokens", sa.Integer(), nullable=False),
        sa.Column("completion_tokens", sa.Integer(), nullable=False),
        sa.Column("reply_seconds", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_turn")),
        sa.UniqueConstraint("id", name=op.f("uq_turn_id")),
    )
    op.create_index("ix_turn_open", "turn", ["seq"], unique=False, sqlite_where=sa.text("state = 'open'"))


def _document() -> None:
    op.create_table(
        "document",
        sa.Column("seq", KEY, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("collection", sa.String(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("subject", sa.String(), nullable=True),
        sa.Column("author", sa.String(), nullable=True),
        sa.Column("stream_id", sa.String(), nullable=True),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("stems", sa.String(), nullable=False),
        sa.Column("provenance", sa.JSON(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("valid_at", sa.BigInteger(), nullable=True),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("superseded", sa.Boolean(), nullable=False),
        sa.Column("indexed_model", sa.String(), nullable=True),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_document")),
        sa.UniqueConstraint("id", name=op.f("uq_document_id")),
    )
    op.create_index(op.f("ix_document_collection_seq"), "document", ["collection", "seq"], unique=False)
    op.create_index("ix_document_unindexed", "document", ["seq"], unique=False, sqlite_where=sa.text("indexed_model IS NULL"))


def _document_source() -> None:
    op.create_table(
        "document_source",
        sa.Column("line_seq", KEY, autoincrement=False, nullable=False),
        sa.Column("document_seq", KEY, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_seq"], ["document.seq"], name=op.f("fk_document_source_document_seq_document"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("line_seq", "document_seq", name=op.f("pk_document_source")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_document_source_document_seq"), "document_source", ["document_seq"], unique=False)


def _fact() -> None:
    op.create_table(
        "fact",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("predicate", sa.String(), nullable=False),
        sa.Column("object", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("valid_at", sa.BigInteger(), nullable=True),
        sa.Column("valid_precision", sa.String(), nullable=False),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expired_at", sa.BigInteger(), nullable=True),
        sa.Column("salience", sa.Float(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=False),
        sa.Column("superseded_by", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["id"], ["document.id"], name=op.f("fk_fact_id_document"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fact")),
    )
    op.create_index(op.f("ix_fact_subject_predicate"), "fact", ["subject", "predicate"], unique=False)


def _lore_entry() -> None:
    op.create_table(
        "lore_entry",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_lore_entry")),
    )


def _state_record() -> None:
    op.create_table(
        "state_record",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("domain", sa.String(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.Column("viewers", sa.JSON(), nullable=False),
        sa.Column("fields", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_state_record")),
    )
    op.create_index(op.f("ix_state_record_domain_status"), "state_record", ["domain", "status"], unique=False)


def _tombstone() -> None:
    op.create_table(
        "tombstone",
        sa.Column("scope", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name=op.f("pk_tombstone")),
        sqlite_with_rowid=False,
    )


def _memory_job() -> None:
    op.create_table(
        "memory_job",
        sa.Column("id", KEY, nullable=False),
        sa.Column("key", sa.String(length=160), nullable=False),
        sa.Column("kind", sa.String(length=40), nullable=False),
        sa.Column("state", sa.String(length=12), server_default="ready", nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("crashes", sa.Integer(), server_default="0", nullable=False),
        sa.Column("run_after", sa.BigInteger(), nullable=False),
        sa.Column("lease_until", sa.BigInteger(), nullable=True),
        sa.Column("lease_token", sa.String(length=32), nullable=True),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("last_error", sa.String(), nullable=True),
        sa.Column("error_kind", sa.String(length=12), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory_job")),
        sa.UniqueConstraint("key", name=op.f("uq_memory_job_key")),
    )
    op.create_index(
        "ix_memory_job_due", "memory_job", ["run_after", "id"], unique=False, sqlite_where=sa.text("state = 'ready'")
    )
    op.create_index(
        "ix_memory_job_lease", "memory_job", ["lease_until"], unique=False, sqlite_where=sa.text("state = 'leased'")
    )


def _meta() -> None:
    op.create_table(
        "meta",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("value", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_meta")),
    )
