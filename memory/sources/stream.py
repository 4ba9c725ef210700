"""One stream's memory: what happened, turn by turn; what the window still shows is left to the window."""

from memory.channels.scoped import Asking, ScopedSearch
from memory.model import SourceRequest
from memory.sources import Found
from memory.store.collections import collection_name


class StreamSource:
    """Answers for exactly one stream a request, present or past."""

    def __init__(self, search: ScopedSearch) -> None:
        self._search = search

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the turns that say something to the question."""
        if request.stream_id is None:
            msg = f"a {request.kind} request names no stream"
            raise ValueError(msg)
        rankings = await self._search.rank(
            request,
            asking,
            collection=collection_name("stream", request.stream_id),
            limit=asking.recipe.limits.episode_hits,
            belongs=lambda document: document.stream_id == request.stream_id,
        )
        return Found(rankings=tuple(rankings))
