"""What was kept long enough: found by page, deleted by kind. Whatever somebody erased stays written down, as ids alone.

A line goes only when nothing rests on it any more, so that erasing it reaches all that was made of it as long as that is held.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, and_, bindparam, delete, func, or_, select

from memory.store.audit import AUDIT
from memory.store.collections import collection_name
from memory.store.corrections import CORRECTION
from memory.store.document_writes import DOCUMENT, IDS, LINE, SOURCE, packed, remove
from memory.store.episodes import TURN
from memory.store.facts import FACT
from memory.store.state import STATE
from memory.store.state_calls import CALL
from memory.store.viewers import NAME, VIEWER

_D, _L, _T = DOCUMENT.c, LINE.c, TURN.c
_OLD = (
    select(_D.seq, _D.id)
    .where(_D.seq > bindparam("after"), _D.at < bindparam("before"), _D.kind.in_(bindparam("kinds", expanding=True)))
    .order_by(_D.seq)
    .limit(bindparam("most"))
)
_OLD_FACTS = (
    select(_D.seq, _D.id)
    .join(FACT, FACT.c.id == _D.id)
    .where(_D.seq > bindparam("after"), _D.kind == bindparam("kind"))
    .where(func.max(_D.at, func.coalesce(FACT.c.used_at, 0)) < bindparam("before"))  # SQLite's scalar function: the later
    .order_by(_D.seq)
    .limit(bindparam("most"))
)
_ENDED_BY = select(FACT.c.id).where(FACT.c.superseded_by.in_(IDS))
_UNFOUNDED = ~select(SOURCE.c.document_seq).where(SOURCE.c.line_seq == _L.seq).correlate(LINE).exists()
_OPEN = select(_T.id).where(_T.state == "open")
_FREE = (_L.deleted_at.is_(None), _UNFOUNDED, or_(_L.turn_id.is_(None), _L.turn_id.not_in(_OPEN)))
_OLD_LINES = (
    select(_L.seq)
    .where(_L.seq > bindparam("after"), *_FREE)
    .where(
        or_(and_(_L.kind != "reply", _L.at < bindparam("messages")), and_(_L.kind == "reply", _L.at < bindparam("episodes")))
    )
    .order_by(_L.seq)
    .limit(bindparam("most"))
)
_OLD_TURNS = (
    select(_T.seq, _T.line_ids, _T.reply_id)
    .where(_T.seq > bindparam("after"), _T.state == "recorded", _T.at < bindparam("before"))
    .order_by(_T.seq)
    .limit(bindparam("most"))
)
_UNSEEN = (
    select(VIEWER.c.id)
    .where(VIEWER.c.id > bindparam("after"), VIEWER.c.last_seen < bindparam("before"), VIEWER.c.opted_out.is_(False))
    .order_by(VIEWER.c.id)
    .limit(bindparam("most"))
)


def old_documents(connection: Connection, kinds: Sequence[str], *, before: int, after: int, most: int) -> Sequence[Any]:
    """Return (seq, id) of the next documents of these kinds that are older."""
    values = {"kinds": list(kinds), "before": before, "after": after, "most": most}
    return connection.execute(_OLD, values).all()


def old_statements(connection: Connection, kind: str, *, before: int, after: int, most: int) -> Sequence[Any]:
    """Return (seq, id) of the next facts, or claims, that were last said and last used before."""
    return connection.execute(_OLD_FACTS, {"kind": kind, "before": before, "after": after, "most": most}).all()


def drop_documents(connection: Connection, ids: Iterable[str]) -> dict[str, list[str]]:
    """Delete documents, and facts that these had ended: nothing may be true again for that. Return what went, by collection."""
    found = dict.fromkeys(ids)
    newer = list(found)
    while newer:
        newer = [one for one in connection.scalars(_ENDED_BY, {"ids": packed(newer)}) if one not in found]
        found |= dict.fromkeys(newer)
    return remove(connection, list(found))


def old_lines(connection: Connection, *, messages: int, episodes: int, after: int, most: int) -> list[int]:
    """Return the keys of the next lines that nothing rests on and that are older; of the bot's replies as `episodes` says."""
    return list(connection.scalars(_OLD_LINES, {"messages": messages, "episodes": episodes, "after": after, "most": most}))


def drop_lines(connection: Connection, seqs: Sequence[int]) -> int:
    """Delete these lines, unless something was made of them meanwhile; return how many went."""
    return connection.execute(delete(LINE).where(_L.seq.in_(IDS), *_FREE), {"ids": packed(seqs)}).rowcount


def old_turns(connection: Connection, *, before: int, after: int, most: int) -> Sequence[Any]:
    """Return (seq, line_ids, reply_id) of the next recorded turns that are older."""
    return connection.execute(_OLD_TURNS, {"before": before, "after": after, "most": most}).all()


def drop_turns(connection: Connection, turns: Sequence[Any]) -> int:
    """Delete those of these turns of which no line is left; return how many went."""
    ids = {one for turn in turns for one in (*turn.line_ids, *([turn.reply_id] if turn.reply_id else []))}
    living = set(connection.scalars(select(_L.id).where(_L.id.in_(IDS)), {"ids": packed(sorted(ids))}))
    gone = [turn.seq for turn in turns if living.isdisjoint({*turn.line_ids, turn.reply_id})]
    return connection.execute(delete(TURN).where(_T.seq.in_(IDS)), {"ids": packed(gone)}).rowcount


def drop_closed_records(connection: Connection, before: int) -> int:
    """Delete records that were closed, or ran out, before, and what is noted of tool calls older than that."""
    closed = and_(STATE.c.status != "open", STATE.c.updated_at < before)
    gone = connection.execute(delete(STATE).where(or_(closed, STATE.c.expires_at < before))).rowcount
    connection.execute(delete(CALL).where(CALL.c.at < before))
    return gone


def drop_audit(connection: Connection, before: int) -> int:
    """Delete what was written down of orders before."""
    connection.execute(delete(CORRECTION).where(CORRECTION.c.at < before))
    return connection.execute(delete(AUDIT).where(AUDIT.c.at < before)).rowcount


def unseen_viewers(connection: Connection, *, before: int, after: str, most: int) -> list[str]:
    """Return the next viewers who were last seen before."""
    return list(connection.scalars(_UNSEEN, {"before": before, "after": after, "most": most}))


def drop_viewers(connection: Connection, ids: Sequence[str]) -> int:
    """Delete the names of those of these viewers of whom nothing else is held; return how many went."""
    collections = {collection_name(kind, id_): id_ for id_ in ids for kind in ("viewer", "claims")}
    held = connection.scalars(select(_D.collection).where(_D.collection.in_(IDS)).distinct(), {"ids": packed(collections)})
    known = {collections[name] for name in held}
    known.update(connection.scalars(select(_L.viewer_id).where(_L.viewer_id.in_(IDS)).distinct(), {"ids": packed(ids)}))
    known.update(one for row in connection.execute(select(STATE.c.viewers)) for one in row.viewers)
    gone = packed([id_ for id_ in ids if id_ not in known])
    connection.execute(delete(NAME).where(NAME.c.viewer_id.in_(IDS)), {"ids": gone})
    return connection.execute(delete(VIEWER).where(VIEWER.c.id.in_(IDS)), {"ids": gone}).rowcount
