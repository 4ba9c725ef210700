"""Tool calls that were carried out, each once."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "state_call",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("turn_id", sa.String(), nullable=True),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("held", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_state_call")),
        sqlite_with_rowid=False,
    )
    op.create_index(op.f("ix_state_call_turn_id"), "state_call", ["turn_id"], unique=False)
