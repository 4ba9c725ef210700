"""Structured state: the canonical present of requests, notes, relations, jokes and the channel. Read fresh, never cached."""

from collections.abc import Sequence

from memory.channels.near import NAME, Near
from memory.channels.scoped import CHANNEL_SHARE, Asking
from memory.model import SourceRequest, StateRecord
from memory.ports import MemoryReader
from memory.sources import Found

COMPARED = 64  # newest records that a question which names no kind of record is compared with
WORDS = 0.5  # weight of shared words beside nearness of meaning
OWN, SHARED = 0.27, 0.5  # nearness from which a record of the people asked about counts, and one that is everybody's
_EVERYBODYS = frozenset({"joke", "channel"})  # domains whose records are; and a note of nobody


class StateSource:
    """Answers from the live records of the domains asked for."""

    def __init__(self, reader: MemoryReader, near: Near | None = None) -> None:
        """`near` compares questions that name no kind of record with what the records say."""
        self._reader = reader
        self._near = near

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the live records, in the order of the store; of a strict request those that the question comes near to."""
        if not request.strict:
            return Found(records=tuple(await self._reader.state(request.domains, request.viewer_ids, at=asking.at)))
        records = (await self._reader.state(request.domains, (), at=asking.at))[:COMPARED] if self._near is not None else []
        if self._near is None or not records:
            return Found()
        scores = await self._scores(request, asking, records, self._near)
        people = set(request.viewer_ids)
        near = [
            record
            for record, score in zip(records, scores, strict=True)
            if score >= (SHARED if _is_everybodys(record) else OWN)
            and (_is_everybodys(record) or people.intersection(record.viewers))
        ]
        return Found(records=tuple(near))

    async def _scores(self, request: SourceRequest, asking: Asking, records: Sequence[StateRecord], near: Near) -> list[float]:
        texts = [record.text for record in records]
        channels = asking.recipe.channels
        meaning = [0.0] * len(texts)
        if "dense" in channels:
            meaning = await asking.trace.run(
                f"{request.name}/{NAME}",
                _listed(request.query, texts, near),
                within=asking.recipe.deadlines.source_seconds * CHANNEL_SHARE,
                otherwise=meaning,
            )
        words = near.shared(request.query, texts) if "lexical" in channels else [0.0] * len(texts)
        return [means + WORDS * float(says) for means, says in zip(meaning, words, strict=True)]


def _is_everybodys(record: StateRecord) -> bool:
    return record.domain in _EVERYBODYS or not record.viewers


async def _listed(query: str, texts: Sequence[str], near: Near) -> list[float]:
    return [float(cosine) for cosine in await near.cosines(query, texts)]
