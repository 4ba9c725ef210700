"""Structured state: the canonical present of requests, notes, relations, jokes and the channel. Read fresh, never cached."""

from memory.channels.scoped import Asking
from memory.model import Candidate, Document, Ranking, SourceRequest, StateRecord
from memory.ports import MemoryReader


class StateSource:
    """Answers from the live records of the domains asked for."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def ask(self, request: SourceRequest, asking: Asking) -> list[Ranking]:
        """Return the live records (channel `exact`), in the order of the store."""
        records = await self._reader.state(request.domains, request.viewer_ids, at=asking.at)
        return [
            Ranking(
                request=request,
                channel="exact",
                candidates=tuple(
                    Candidate(document=_document(record, asking), channel="exact", score=1.0 / rank, rank=rank)
                    for rank, record in enumerate(records[: asking.recipe.limits.state_hits], start=1)
                ),
            )
        ]


def _document(record: StateRecord, asking: Asking) -> Document:
    return Document(
        id=f"state:{record.id}",
        collection="state",
        kind="state",
        text=record.text,
        at=record.updated_at or record.created_at or asking.at,
        provenance=(f"state:{record.id}",),
        subject=record.viewers[0] if len(record.viewers) == 1 else None,
    )
