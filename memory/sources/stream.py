"""One stream's memory: what happened, with what was said around it; what the window still shows is left to the window."""

from collections.abc import Sequence
from dataclasses import replace

from memory.block import TURN_LINES
from memory.channels.scoped import Asking, ScopedSearch
from memory.fuse import fuse
from memory.model import Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.sources import Found
from memory.store.collections import collection_name

PASSAGES = 4  # best hits that are shown with what was said around them
LINES = 3  # lines on either side of it that are read, at most


class StreamSource:
    """Answers for exactly one stream a request, present or past."""

    def __init__(self, reader: MemoryReader, search: ScopedSearch) -> None:
        self._reader = reader
        self._search = search

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the turns that say something to the question, the best ones as passages.

        An answer seldom repeats the words of what it answers: it stands a line or two beside them.
        """
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
        best = [evidence.document for evidence in fuse(rankings, asking.recipe)[:PASSAGES]]
        beside = await self._reader.around([document.id for document in best], LINES)
        passages = {document.id: passage(document, *beside.get(document.id, ([], []))) for document in best}
        return Found(rankings=tuple(_shown(ranking, passages) for ranking in rankings))


def passage(hit: Document, before: Sequence[Document], after: Sequence[Document]) -> Document:
    """Return the hit with the lines before and after it, `TURN_LINES` in all, each with its provenance.

    The id and the time are the hit's. One of more lines than that stays as it is.
    """
    own = _lines(hit)
    room = TURN_LINES - len(own)
    if not own or room <= 0:
        return hit
    later = [line for document in after for line in _lines(document)][: room - room // 2]
    earlier = [line for document in before for line in _lines(document)][-(room // 2) :] if room > 1 else []
    lines = [*earlier, *own, *later]
    return replace(hit, kind="turn", text="\n".join(text for _, text in lines), provenance=tuple(source for source, _ in lines))


def _lines(document: Document) -> list[tuple[str, str]]:
    """Return (provenance, text) by line; none where the two cannot be told apart."""
    texts = document.text.split("\n")
    return list(zip(document.provenance, texts, strict=True)) if len(texts) == len(document.provenance) else []


def _shown(ranking: Ranking, passages: dict[str, Document]) -> Ranking:
    return replace(
        ranking,
        candidates=tuple(
            replace(candidate, document=passages.get(candidate.document.id, candidate.document))
            for candidate in ranking.candidates
        ),
    )
