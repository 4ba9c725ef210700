"""One collection asked through every channel: the ids become living documents, and whoever does not belong is turned away."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from memory import worthiness
from memory.caches import Cache, Hits
from memory.channels import Channel, exchange, recency, taken_back
from memory.dedup import told_by_facts
from memory.model import Candidate, Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.recipes import Recipe
from memory.rules import Rules
from memory.trace import Trace

CANDIDATES = 32  # of each channel, at least: how much they say of their author is known only when they are read
CHANNEL_SHARE = 0.8  # of a source's deadline: the rest is for turning ids into documents
_DEPTH_STEP = 16

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What every source of one recall is told besides its request."""

    recipe: Recipe
    at: datetime
    trace: Trace
    shown: frozenset[str] = field(default_factory=frozenset)  # ids of the lines that the window shows


class ScopedSearch:
    """Searches single collections; a channel that is late or fails leaves the others standing."""

    def __init__(
        self,
        channels: Sequence[Channel],
        reader: MemoryReader,
        hits: Cache[tuple[str, str, str, int], Hits],
        *,
        rules: Sequence[Rules] = (),
        behind: taken_back.TakenBack | None = None,
        before: exchange.Exchange | None = None,
    ) -> None:
        """Ask `channels`; with `rules`, what a line says of its author counts too, with `before` what it answers.

        With `behind`, what was taken back right behind it is passed over.
        """
        self._behind = behind
        self._before = before
        self._channels = tuple(channels)
        self._reader = reader
        self._hits = hits
        self._weigher = worthiness.Weigher(rules) if rules else None

    async def rank(
        self, request: SourceRequest, asking: Asking, *, collection: str, limit: int, belongs: Callable[[Document], bool]
    ) -> list[Ranking]:
        """Return one ranking a channel: the best living documents of each, `limit` at least, with what the others gave them.

        `belongs` says whose documents may come back. The collection is the scope already, so a document that does not belong is
        a fault of the index: it is dropped and reported, never shown. A message whose words a fact drawn from it holds is left
        to the fact, so that one statement does not take two places.
        """
        if not request.query.strip():
            return []
        limit = max(limit, CANDIDATES)
        depth = _depth(limit, len(asking.shown) + len(request.exclude))
        found = await self._ask_channels(request, asking, collection, depth)
        documents = await self._reader.documents(list({id_ for hits in found.values() for id_, _ in hits}))
        kept = {document.id: document for document in documents.values() if _fits(document, request, asking, belongs)}
        for told in told_by_facts(kept.values()):
            del kept[told.id]
        kept = {document.id: document for document in await self.standing(request, asking, list(kept.values()))}
        alive = {name: [hit for hit in hits if hit[0] in kept] for name, hits in found.items()}
        best = {id_ for hits in alive.values() for id_, _ in hits[:limit]}
        if recency.NAME in asking.recipe.channels:
            alive[recency.NAME] = recency.by_recency((kept[id_] for id_ in best), asking.at)
        if worthiness.NAME in asking.recipe.channels and self._weigher is not None:
            alive[worthiness.NAME] = self._weigher.by_worth(kept[id_] for id_ in best)
        if exchange.NAME in asking.recipe.channels and self._before is not None:
            alive[exchange.NAME] = await self._exchanged(request, asking, [kept[id_] for id_ in best], self._before)
        return [
            _ranking(request, name, [(kept[id_], score) for id_, score in hits if id_ in best]) for name, hits in alive.items()
        ]

    async def standing(self, request: SourceRequest, asking: Asking, found: Sequence[Document]) -> list[Document]:
        """Return what nobody took back; all of it where that cannot be told in time, which the trace says."""
        if self._behind is None or not found or taken_back.NAME not in asking.recipe.channels:
            return list(found)
        within = asking.recipe.deadlines.source_seconds * CHANNEL_SHARE / 2
        step = f"{request.name}/{taken_back.NAME}"
        return await asking.trace.run(step, self._behind.standing(found), within=within, otherwise=list(found))

    async def _exchanged(
        self, request: SourceRequest, asking: Asking, found: Sequence[Document], before: exchange.Exchange
    ) -> Hits:
        within = asking.recipe.deadlines.source_seconds * (1 - CHANNEL_SHARE) / 2
        return await asking.trace.run(
            f"{request.name}/{exchange.NAME}", before.weigh(request.query, found), within=within, otherwise=[]
        )

    async def _ask_channels(self, request: SourceRequest, asking: Asking, collection: str, depth: int) -> Mapping[str, Hits]:
        within = asking.recipe.deadlines.source_seconds * CHANNEL_SHARE
        async with asyncio.TaskGroup() as group:
            arms = {
                channel.name: group.create_task(
                    asking.trace.run(
                        f"{request.name}/{channel.name}",
                        self._find(channel, request, asking, collection=collection, depth=depth),
                        within=within,
                        otherwise=[],
                    ),
                )
                for channel in self._channels
                if channel.name in asking.recipe.channels
            }
        return {name: arm.result() for name, arm in arms.items()}

    async def _find(self, channel: Channel, request: SourceRequest, asking: Asking, *, collection: str, depth: int) -> Hits:
        key = (channel.name, collection, request.query, depth)
        if self._hits.holds(key):
            asking.trace.cached(f"{request.name}/{channel.name}")
        return await self._hits.get(key, lambda: channel.find(collection, request.query, depth), tags=(collection,))


def true_at(document: Document, moment: datetime) -> bool:
    """Return whether the document's valid time, as far as it has one, covers the moment."""
    begun = document.valid_at is None or document.valid_at <= moment
    return begun and (document.invalid_at is None or moment < document.invalid_at)


def _depth(limit: int, hidden: int) -> int:
    """Enough hits that more than `limit` are left when every hidden line was among them.

    In steps, so that cached hits are met again; more, so that the best of one channel keep what another gave them.
    """
    return ((limit + hidden) // _DEPTH_STEP + 1) * _DEPTH_STEP


def _fits(document: Document, request: SourceRequest, asking: Asking, belongs: Callable[[Document], bool]) -> bool:
    if not belongs(document):
        log.error("foreign_document_dropped", source=request.name, document_id=document.id, collection=document.collection)
        return False
    if not asking.shown.isdisjoint(document.provenance) and asking.shown.issuperset(document.provenance):
        return False
    if not set(request.exclude).isdisjoint(document.provenance):
        return False
    return true_at(document, request.as_of or asking.at)


def _ranking(request: SourceRequest, channel: str, found: Sequence[tuple[Document, float]]) -> Ranking:
    return Ranking(
        request=request,
        channel=channel,
        candidates=tuple(
            Candidate(document=document, channel=channel, score=float(score), rank=rank)
            for rank, (document, score) in enumerate(found, start=1)
        ),
    )
