"""The graph channel: what is related to what a question names, over edges that one query read. Pure."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence

from memory.relations import Edge

NAME = "graph"
HOPS = 3  # edges between two entities that are asked about at most
EDGES = 400  # read at most: of something that everybody shares, the newest


def around(edges: Sequence[Edge], starts: Collection[str]) -> list[tuple[str, float]]:
    """Return the facts that relate somebody to one of `starts`, in the order of `edges`, each with 1: who shares it."""
    return [(edge.fact_id, 1.0) for edge in edges if edge.tail in starts]


def between(edges: Sequence[Edge], one: str, other: str, hops: int = HOPS) -> list[tuple[str, float]]:
    """Return the facts on a shortest way from one entity to another, in its order, each with 1 / length; or none."""
    beside = _neighbours(edges)
    came_by: dict[str, Edge | None] = {one: None}
    waiting = deque([(one, 0)])
    while waiting and other not in came_by:
        entity, length = waiting.popleft()
        if length == hops:
            continue
        for edge in beside.get(entity, ()):
            next_ = edge.tail if edge.head == entity else edge.head
            if next_ not in came_by:
                came_by[next_] = edge
                waiting.append((next_, length + 1))
    way: list[str] = []
    entity, step = other, came_by.get(other)
    while step is not None:
        way.append(step.fact_id)
        entity = step.tail if step.head == entity else step.head
        step = came_by[entity]
    return [(fact_id, 1 / len(way)) for fact_id in reversed(way)]


def _neighbours(edges: Sequence[Edge]) -> Mapping[str, list[Edge]]:
    beside: dict[str, list[Edge]] = {}
    for edge in edges:
        for entity in dict.fromkeys((edge.head, edge.tail)):
            beside.setdefault(entity, []).append(edge)
    return beside
