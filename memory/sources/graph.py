"""The graph: who shares what a question names, and what two viewers have to do with each other. Facts alone, never claims."""

from memory.channels import graph
from memory.channels.scoped import Asking, true_at
from memory.model import Candidate, Document, Ranking, SourceRequest
from memory.ports import MemoryReader
from memory.relations import entities_in, viewer
from memory.sources import Found


class GraphSource:
    """Answers from viewers' own facts, each under its own subject, over edges between what they name."""

    def __init__(self, reader: MemoryReader) -> None:
        self._reader = reader

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        """Return the facts of those who share what is named, the asker (`viewer_id`) aside; of two viewers, what links them."""
        people = [viewer(one) for one in request.viewer_ids]
        linked = len(people) > 1
        starts = people if linked else list(entities_in(request.query))
        edges = await self._reader.edges(starts, hops=graph.HOPS - 1 if linked else 0, most=graph.EDGES)
        hits = graph.between(edges, people[0], people[1]) if linked else graph.around(edges, frozenset(starts))
        documents = await self._reader.documents([fact_id for fact_id, _ in hits])
        asker = None if linked else request.viewer_id
        moment = request.as_of or asking.at
        hidden = asking.shown.union(request.exclude)

        def fits(document: Document) -> bool:
            own = document.kind == "fact" and document.subject == document.author != asker
            return own and true_at(document, moment) and hidden.isdisjoint(document.provenance)

        found = [(documents[id_], score) for id_, score in hits if id_ in documents and fits(documents[id_])]
        candidates = tuple(
            Candidate(document=document, channel=graph.NAME, score=score, rank=rank)
            for rank, (document, score) in enumerate(found, start=1)
        )
        return Found(rankings=(Ranking(request=request, channel=graph.NAME, candidates=candidates),))
