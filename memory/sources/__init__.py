"""Places to look. Each answers the requests of its kinds; none of them knows another."""

from dataclasses import dataclass
from typing import Protocol

from memory.channels.scoped import Asking
from memory.model import Ranking, SourceRequest, StateRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a source answers: rankings of documents, to be fused, or records of structured state, which stand as they are."""

    rankings: tuple[Ranking, ...] = ()
    records: tuple[StateRecord, ...] = ()

    def __len__(self) -> int:
        """Return the number of hits, a document found by two channels counted twice."""
        return sum(len(ranking.candidates) for ranking in self.rankings) + len(self.records)


class Source(Protocol):
    """A place to look."""

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return what each channel found, best first.

        Raises:
            BotMemoryError: the place cannot be read; the retrieval names it and goes on without it.
        """
        ...
