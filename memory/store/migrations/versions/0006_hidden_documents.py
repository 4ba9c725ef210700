"""Documents that are to be forgotten, hidden in a table of their own until their purge; facts found by what ended them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "hidden_document",
        sa.Column("document_seq", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["document_seq"],
            ["document.seq"],
            name=op.f("fk_hidden_document_document_seq_document"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_seq", name=op.f("pk_hidden_document")),
        sqlite_with_rowid=False,
    )
    ended = sa.text("superseded_by IS NOT NULL")
    op.create_index("ix_fact_superseded_by", "fact", ["superseded_by"], unique=False, sqlite_where=ended)
