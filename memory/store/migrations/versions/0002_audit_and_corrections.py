"""Who erased and corrected what, without content."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("seq", KEY, nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verb", sa.String(length=12), nullable=False),
        sa.Column("by", sa.String(), nullable=True),
        sa.Column("viewer_id", sa.String(), nullable=True),
        sa.Column("lines", sa.Integer(), nullable=False),
        sa.Column("replies", sa.Integer(), nullable=False),
        sa.Column("documents", sa.Integer(), nullable=False),
        sa.Column("records", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_audit")),
    )
    op.create_table(
        "correction",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("by", sa.String(), nullable=True),
        sa.Column("command_id", sa.String(), nullable=True),
        sa.Column("line_ids", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_correction")),
    )
