"""One viewer's memory: the profile (what is true now) and the recall (what answers the question)."""

from collections.abc import Sequence
from dataclasses import replace

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
        """Return the viewer's facts (channel `exact`) or what their own messages and facts say to the question.

        Where somebody else asks, the latter comes with what others claim about the viewer, under a request of its own: the gate
        keeps it only where the viewer's own memory has nothing.
        """
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
        claims = await self._claims(request, asking, request.viewer_id)
        return Found(rankings=(*rankings, claims) if claims.candidates else tuple(rankings))

    async def _claims(self, request: SourceRequest, asking: Asking, viewer_id: str) -> Ranking:
        apart = replace(request, kind=SourceKind.CLAIMS)
        if not asking.recipe.limits.claim_hits or not request.hearsay:
            return Ranking(request=apart, channel="exact")
        tags = (collection_name("claims", viewer_id), collection_name("viewer", viewer_id))
        told = await self._profiles.get((viewer_id, "claims"), lambda: self._reader.claims(viewer_id), tags=tags)
        hidden = asking.shown.union(request.exclude)
        moment = request.as_of or asking.at
        fit = [one for one in told if true_at(one, moment) and hidden.isdisjoint(one.provenance)]
        return _exact(apart, [one for one in fit if one.subject == viewer_id != one.author])

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
        return _exact(request, await self._search.standing(request, asking, fresh))


def _exact(request: SourceRequest, found: Sequence[Document]) -> Ranking:
    return Ranking(
        request=request,
        channel="exact",
        candidates=tuple(
            Candidate(document=document, channel="exact", score=1.0 / rank, rank=rank)
            for rank, document in enumerate(found, start=1)
        ),
    )
