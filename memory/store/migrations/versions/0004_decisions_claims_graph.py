"""What was decided about facts, claims beside facts, edges between entities, and what fades.

Facts from before get the decisions that their rows tell of; their edges come with the next statement.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
KEY = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_ASSERTED = """
INSERT INTO decision (act, fact_id, at, verb, step, invalid_at, by_id)
SELECT rowid, id, created_at, 'assert', CASE WHEN expired_at = created_at THEN 'time' ELSE 'new' END,
  CASE WHEN expired_at IS NULL OR expired_at = created_at THEN invalid_at END,
  CASE WHEN expired_at = created_at THEN superseded_by END
FROM fact ORDER BY rowid"""
_ENDED = """
INSERT INTO decision (act, fact_id, at, verb, step, invalid_at, by_id)
SELECT coalesce((SELECT newer.rowid FROM fact AS newer WHERE newer.id = fact.superseded_by), rowid),
  id, expired_at, 'end', 'slot', invalid_at, superseded_by
FROM fact WHERE expired_at > created_at ORDER BY rowid"""


def upgrade() -> None:
    op.add_column("fact", sa.Column("speaker", sa.String(), nullable=True))
    op.add_column("fact", sa.Column("uses", sa.Integer(), server_default="0", nullable=False))
    op.add_column("fact", sa.Column("used_at", sa.BigInteger(), nullable=True))
    op.add_column("fact", sa.Column("faded_at", sa.BigInteger(), nullable=True))
    op.create_index("ix_fact_speaker", "fact", ["speaker"], unique=False, sqlite_where=sa.text("speaker IS NOT NULL"))
    _decision()
    _edge()
    op.execute(_ASSERTED)
    op.execute(_ENDED)


def _decision() -> None:
    op.create_table(
        "decision",
        sa.Column("seq", KEY, nullable=False),
        sa.Column("act", sa.BigInteger(), nullable=False),
        sa.Column("fact_id", sa.String(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("verb", sa.String(length=8), nullable=False),
        sa.Column("step", sa.String(length=12), nullable=False),
        sa.Column("invalid_at", sa.BigInteger(), nullable=True),
        sa.Column("by_id", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["fact_id"], ["fact.id"], name=op.f("fk_decision_fact_id_fact"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_decision")),
    )
    op.create_index(op.f("ix_decision_fact_id"), "decision", ["fact_id"], unique=False)
    op.create_index(op.f("ix_decision_act"), "decision", ["act"], unique=False)


def _edge() -> None:
    op.create_table(
        "edge",
        sa.Column("fact_id", sa.String(), nullable=False),
        sa.Column("head", sa.String(), nullable=False),
        sa.Column("relation", sa.String(), nullable=False),
        sa.Column("tail", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["fact_id"], ["fact.id"], name=op.f("fk_edge_fact_id_fact"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("fact_id", name=op.f("pk_edge")),
    )
    op.create_index(op.f("ix_edge_head"), "edge", ["head"], unique=False)
    op.create_index(op.f("ix_edge_tail"), "edge", ["tail"], unique=False)
