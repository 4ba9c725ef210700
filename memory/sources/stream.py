"""One stream's memory: what happened, with what was said around it; what the window still shows is left to the window."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from memory.channels.scoped import Asking, ScopedSearch
from memory.fuse import fuse
from memory.model import Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.relevance import Relevance
from memory.sources import Found
from memory.store.collections import collection_name

PASSAGES = 3  # best hits that are shown with what was said around them
PASSAGE_LINES = 5  # of one passage
SPARE = 2  # more hits whose surroundings are read, for those that stand in a better one's passage
BESIDE = 2  # lines on either side of a hit
PAUSE = timedelta(minutes=2)  # what is further away belongs to something else


class StreamSource:
    """Answers for exactly one stream a request, present or past."""

    def __init__(self, reader: MemoryReader, search: ScopedSearch, relevance: Relevance | None = None) -> None:
        self._relevance = relevance
        self._reader = reader
        self._search = search

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the lines that say something to the question, the best ones as passages; a line is in one of them alone.

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
        order = [evidence.document for evidence in fuse(rankings, asking.recipe, self._relevance)]
        beside = await self._reader.around([document.id for document in order[: PASSAGES + SPARE]], BESIDE)
        passages, covered = _passages(order, beside)
        return Found(rankings=tuple(_shown(ranking, passages, covered) for ranking in rankings))


def _passages(
    order: Sequence[Document], beside: dict[str, tuple[list[Document], list[Document]]]
) -> tuple[dict[str, Document], set[str]]:
    """Return the best hits as passages, and the ids of the hits that stand in one of them as what was said beside."""
    passages: dict[str, Document] = {}
    covered: set[str] = set()
    for document in order:
        if len(passages) == PASSAGES:
            break
        if document.id in covered:
            continue
        before, after = beside.get(document.id, ([], []))
        passages[document.id] = passage(document, before, after)
        shown = set(passages[document.id].provenance)
        covered |= {one.id for one in (*before, *after) if shown.issuperset(one.provenance)}
    return passages, covered - passages.keys()


def passage(hit: Document, before: Sequence[Document], after: Sequence[Document]) -> Document:
    """Return the hit with the lines before and after it, `PASSAGE_LINES` in all, each with its provenance.

    The id and the time are the hit's. One of more lines than that stays as it is, and what was said long before or long after
    it is left out.
    """
    own = _lines(hit)
    room = PASSAGE_LINES - len(own)
    if not own or room <= 0:
        return hit
    later = [line for document in after if _near(document, hit) for line in _lines(document)][: room - room // 2]
    earlier = [line for document in before if _near(document, hit) for line in _lines(document)]
    earlier = earlier[-(room // 2) :] if room > 1 else []
    lines = [*earlier, *own, *later]
    return replace(hit, kind="turn", text="\n".join(text for _, text in lines), provenance=tuple(source for source, _ in lines))


def _near(document: Document, hit: Document) -> bool:
    return abs(document.at - hit.at) <= PAUSE


def _lines(document: Document) -> list[tuple[str, str]]:
    """Return (provenance, text) by line; none where the two cannot be told apart."""
    texts = document.text.split("\n")
    return list(zip(document.provenance, texts, strict=True)) if len(texts) == len(document.provenance) else []


def _shown(ranking: Ranking, passages: dict[str, Document], covered: set[str]) -> Ranking:
    return replace(
        ranking,
        candidates=tuple(
            replace(candidate, document=passages[candidate.document.id]) if candidate.document.id in passages else candidate
            for candidate in ranking.candidates
            if candidate.document.id not in covered
        ),
    )
