"""The graph in SQL: edges beside the facts and claims that they are derived from, whose times and erasure they share.

Entities have no table of their own: one is what edges meet in, so that none outlives what it was derived from.
"""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import Connection, Row, insert, or_, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from memory.relations import Edge
from memory.store.document_writes import packed
from memory.store.facts import FACT
from memory.store.scrub import clean
from memory.store.tables import EdgeRow, table_of

EDGE = table_of(EdgeRow)
# Out from the entities asked about, step by step, over what is believed now; both the steps and the entities are bounded.
_NEAR = text("""
WITH RECURSIVE near(entity, steps) AS (
  SELECT value, 0 FROM json_each(:starts)
  UNION
  SELECT CASE edge.head WHEN near.entity THEN edge.tail ELSE edge.head END, near.steps + 1
  FROM near JOIN edge ON edge.head = near.entity OR edge.tail = near.entity
  JOIN fact ON fact.id = edge.fact_id AND fact.expired_at IS NULL AND fact.faded_at IS NULL AND fact.speaker IS NULL
  WHERE near.steps < :hops
  LIMIT :most)
SELECT DISTINCT entity FROM near""")


def add(connection: Connection, edge: Edge) -> None:
    """Store the edge of a fact or claim, which must be there."""
    names = {name: clean(getattr(edge, name)) for name in ("head", "relation", "tail", "name")}
    connection.execute(insert(EDGE).values(fact_id=edge.fact_id, **names))


async def near(session: AsyncSession, starts: Iterable[str], *, hops: int, most: int) -> list[Edge]:
    """Return the edges of facts believed now around these entities, up to `hops` steps away, the newest first."""
    reached = await session.execute(_NEAR, {"starts": packed(map(clean, starts)), "hops": hops, "most": most})
    entities = [row.entity for row in reached]
    if not entities:
        return []
    listed = select(text("value FROM json_each(:ids)"))
    present = (FACT.c.expired_at.is_(None), FACT.c.faded_at.is_(None), FACT.c.speaker.is_(None))
    wanted = (
        select(EDGE)
        .join(FACT, FACT.c.id == EDGE.c.fact_id)
        .where(or_(EDGE.c.head.in_(listed), EDGE.c.tail.in_(listed)), *present)
    )
    rows = await session.execute(wanted.order_by(FACT.c.created_at.desc(), FACT.c.id).limit(most), {"ids": packed(entities)})
    return [_edge(row) for row in rows.all()]


def _edge(row: Row[Any]) -> Edge:
    return Edge(fact_id=row.fact_id, head=row.head, relation=row.relation, tail=row.tail, name=row.name)
