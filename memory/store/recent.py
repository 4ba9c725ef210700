"""What was heard and said lately, for whoever looks at a running bot. Every call reads a bounded number of rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, and_, func, or_, select

from memory.model import HistoryLine
from memory.store.document_writes import LINE, chunks
from memory.store.episodes import TURN
from memory.store.rows import history_of
from memory.store.stamps import milliseconds, moment

_NEWEST_LINES, _NEWEST_TURNS = 20_000, 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PastTurn:
    """A turn that was recorded, and its reply where it still stands."""

    id: str
    at: datetime
    line_ids: tuple[str, ...]
    reply: str | None  # None: none was sent, or it was erased since
    in_reply_to: tuple[str, ...]  # message ids
    rests_on: tuple[str, ...]  # ids of the lines behind the memories that it was made from
    reply_state: str
    reply_reason: str
    model: str | None
    prompt_tokens: int
    completion_tokens: int
    reply_seconds: float


def heard_since(connection: Connection, moments: Sequence[datetime]) -> list[int]:
    """Return how many messages and notices of viewers came since each moment, among the newest 20,000 lines."""
    newest = select(LINE.c.at, LINE.c.kind).order_by(LINE.c.seq.desc()).limit(_NEWEST_LINES).subquery()
    counted = [func.count().filter(newest.c.at >= milliseconds(at)) for at in moments]
    return list(connection.execute(select(*counted).where(newest.c.kind != "reply")).one())


def spoken_turns(connection: Connection, limit: int) -> list[PastTurn]:
    """Return the last turns that had a reply, or should have had one, newest first; among the newest 5,000."""
    floor = select(func.max(TURN.c.seq) - _NEWEST_TURNS).scalar_subquery()
    meant = or_(TURN.c.reply_state != "silent", TURN.c.reply_reason.like("responder%"))
    reply = and_(LINE.c.id == TURN.c.reply_id, LINE.c.deleted_at.is_(None), LINE.c.hidden.is_(False))
    asked = select(TURN, LINE.c.text, LINE.c.detail).join(LINE, reply, isouter=True)
    newest = asked.where(TURN.c.seq > floor, TURN.c.state == "recorded", meant).order_by(TURN.c.seq.desc()).limit(limit)
    return [_past(row) for row in connection.execute(newest)]


def living_lines(connection: Connection, ids: Sequence[str]) -> dict[str, HistoryLine]:
    """Return the lines of these ids; what was erased or cleared away is missing."""
    shown = (
        select(LINE).where(LINE.c.id.in_(piece), LINE.c.deleted_at.is_(None), LINE.c.hidden.is_(False)) for piece in chunks(ids)
    )
    return {row.id: history_of(row) for statement in shown for row in connection.execute(statement)}


def _past(row: Row[Any]) -> PastTurn:
    detail = row.detail or {}
    return PastTurn(
        id=row.id,
        at=moment(row.at),
        line_ids=tuple(row.line_ids),
        reply=row.text,
        in_reply_to=tuple(detail.get("in_reply_to", ())),
        rests_on=tuple(detail.get("rests_on", ())),
        reply_state=row.reply_state or "",
        reply_reason=row.reply_reason or "",
        model=row.model,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        reply_seconds=row.reply_seconds,
    )
