"""One viewer's memory: the profile (what is true now) and the recall (what answers the question)."""

from memory.caches import Cache
from memory.channels.scoped import Asking, ScopedSearch, true_at
from memory.model import Candidate, Document, Ranking, SourceKind, SourceRequest
from memory.ports import MemoryReader
from memory.sources import Found
from memory.store.collections import collection_name

PROFILE_FACTS = 24  # newest facts looked at; the block's budget decides how many are shown


class ViewerSource:
    """Answers for exactly one viewer a request; a request without one is a programming error."""

    def __init__(self, reader: MemoryReader, search: ScopedSearch, profiles: Cache[tuple[str, str], list[Document]]) -> None:
        self._reader = reader
        self._search = search
        self._profiles = profiles

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the viewer's facts (channel `exact`) or what their own messages and facts say to the question."""
        if request.viewer_id is None:
            msg = f"a {request.kind} request names no viewer"
            raise ValueError(msg)
        if request.kind is SourceKind.PROFILE:
            return Found(rankings=(await self._profile(request, asking, request.viewer_id),))
        rankings = await self._search.rank(
            request,
            asking,
            collection=collection_name("viewer", request.viewer_id),
            limit=asking.recipe.limits.viewer_hits,
            belongs=lambda document: document.subject == request.viewer_id,
        )
        return Found(rankings=tuple(rankings))

    async def _profile(self, request: SourceRequest, asking: Asking, viewer_id: str) -> Ranking:
        key = (viewer_id, request.as_of.isoformat() if request.as_of else "")
        if self._profiles.holds(key):
            asking.trace.cached(request.name)
        tags = (collection_name("viewer", viewer_id),)
        facts = await self._profiles.get(key, lambda: self._reader.facts(viewer_id, as_of=request.as_of), tags=tags)
        moment = request.as_of or asking.at
        own = [fact for fact in facts if fact.subject == viewer_id and true_at(fact, moment)]
        excluded = set(request.exclude)
        fresh = [fact for fact in own if excluded.isdisjoint(fact.provenance)][:PROFILE_FACTS]
        return Ranking(
            request=request,
            channel="exact",
            candidates=tuple(
                Candidate(document=fact, channel="exact", score=1.0 / rank, rank=rank)
                for rank, fact in enumerate(fresh, start=1)
            ),
        )
