"""The memory's reader, in memory: the same answers as the SQL one for what the hot path asks, without a database."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from lore.entry import LoreEntry
from memory.model import Document, HistoryLine, KnownViewer, StateRecord, Stream
from memory.relations import Edge


class InMemoryReader:
    """Lists and dictionaries that a test fills; full text counts shared words."""

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        self.held: dict[str, Document] = {document.id: document for document in documents}
        self.lines: dict[str, list[HistoryLine]] = {}
        self.known: list[KnownViewer] = []
        self.known_streams: list[Stream] = []
        self.entries: list[LoreEntry] = []
        self.records: list[StateRecord] = []
        self.links: list[Edge] = []
        self.calls: list[str] = []

    async def stream(self, stream_id: str) -> Stream | None:
        self.calls.append("stream")
        return next((stream for stream in self.known_streams if stream.id == stream_id), None)

    async def streams(self, *, before: datetime, limit: int) -> list[Stream]:
        self.calls.append("streams")
        earlier = [stream for stream in self.known_streams if stream.started_at < before]
        return sorted(earlier, key=lambda stream: stream.started_at, reverse=True)[:limit]

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        self.calls.append("history")
        return self.lines.get(stream_id, [])[-limit:] if limit > 0 else []

    async def known_viewers(self) -> list[KnownViewer]:
        return list(self.known)

    async def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        self.calls.append("documents")
        return {id_: self.held[id_] for id_ in ids if id_ in self.held}

    async def full_text(self, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
        self.calls.append("full_text")
        words = set(query.casefold().split())
        scored = [
            (document.id, float(len(words & set(document.text.casefold().split()))))
            for document in self.held.values()
            if document.collection == collection
        ]
        return sorted((hit for hit in scored if hit[1] > 0), key=lambda hit: (-hit[1], hit[0]))[:limit]

    async def newest(self, collection: str, limit: int) -> list[Document]:
        self.calls.append("newest")
        inside = [document for document in self.held.values() if document.collection == collection]
        return sorted(inside, key=lambda document: (document.at, document.id), reverse=True)[:limit]

    async def around(self, ids: Sequence[str], each_side: int) -> dict[str, tuple[list[Document], list[Document]]]:
        found: dict[str, tuple[list[Document], list[Document]]] = {}
        for document in self.held.values():
            if document.id in ids:
                beside = [one for one in self.held.values() if one.collection == document.collection]
                place = [one.id for one in beside].index(document.id)
                found[document.id] = (beside[max(0, place - each_side) : place], beside[place + 1 : place + 1 + each_side])
        return found

    async def answered(self, line_ids: Sequence[str]) -> dict[str, tuple[str, bool]]:
        self.calls.append("answered")
        found: dict[str, tuple[str, bool]] = {}
        for lines in self.lines.values():
            by_id = {line.id: line for line in lines}
            for place, line in enumerate(lines):
                if line.id not in line_ids:
                    continue
                before = lines[max(0, place - 8) : place]
                others = [one for one in before if one.author != line.author]
                two = len({one.author and one.author.id for one in (*before, line)}) == 2
                parent = by_id.get(line.reply_to) if line.reply_to else others[-1] if others and two else None
                if parent is not None:
                    found[line.id] = (parent.text, line.reply_to is not None)
        return found

    async def aftermath(self, line_ids: Sequence[str]) -> dict[str, dict[str, str]]:
        self.calls.append("aftermath")
        found: dict[str, dict[str, str]] = {}
        for lines in self.lines.values():
            for place, line in enumerate(lines):
                if line.id in line_ids:
                    behind = lines[place + 1 :]
                    others = [one for one in behind if one.author != line.author]
                    said = {
                        "own": [one for one in behind if one.author == line.author],
                        "answer": [one for one in others if one.reply_to == line.id],
                        "other": others,
                    }
                    found[line.id] = {whose: next((one.text for one in ones), "") for whose, ones in said.items()}
        return found

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None) -> list[Document]:
        self.calls.append("facts")
        own = [document for document in self.held.values() if document.kind == "fact" and document.subject == viewer_id]
        return sorted(own, key=lambda document: (document.at, document.id), reverse=True)

    async def claims(self, viewer_id: str) -> list[Document]:
        self.calls.append("claims")
        told = [document for document in self.held.values() if document.kind == "claim" and document.subject == viewer_id]
        return sorted(told, key=lambda document: (document.at, document.id), reverse=True)

    async def edges(self, starts: Sequence[str], *, hops: int, most: int) -> list[Edge]:
        self.calls.append("edges")
        return [edge for edge in self.links if {edge.head, edge.tail} & set(starts) or hops][:most]

    async def lore(self) -> list[LoreEntry]:
        self.calls.append("lore")
        return list(self.entries)

    async def state(self, domains: Sequence[str], viewer_ids: Sequence[str], *, at: datetime) -> list[StateRecord]:
        self.calls.append("state")
        wanted = set(viewer_ids)
        return [
            record
            for record in self.records
            if record.domain in domains
            and record.status != "deleted"
            and (not wanted or not record.viewers or wanted & set(record.viewers))
            and (record.expires_at is None or at < record.expires_at)
        ]
