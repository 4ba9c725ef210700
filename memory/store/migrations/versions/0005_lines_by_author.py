"""Lines found by their author, and the bot's replies among them, without reading every line's words."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_index(op.f("ix_line_seq_viewer_id"), "line", ["seq", "viewer_id"], unique=False)
    op.create_index("ix_line_reply", "line", ["seq"], unique=False, sqlite_where=sa.text("kind = 'reply'"))
