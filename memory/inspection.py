"""A look into a memory from beside it: read while the bot runs, without its lock, its index or a model; and its job desk."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection

from memory.breaker import Outage
from memory.clock import Clock
from memory.jobs import Jobs
from memory.model import Document, HistoryLine, JobRow, KnownViewer, StateRecord, Stream
from memory.personal import Personal
from memory.receipts import AuditEntry
from memory.store import documents, overview, recent
from memory.store.collections import collection_name
from memory.store.database import Database
from memory.store.instance_lock import InstanceLock
from memory.store.reader import Reader
from memory.store.recent import PastTurn
from memory.timeline import Chronicle

T = TypeVar("T")
DATABASE = "memory.db"
_STATEMENTS = ("message", "fact", "claim", "reply", "lore")  # a stream's lines repeat what its messages say


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A memory in numbers."""

    viewers: int
    streams: int
    messages: int
    turns: int
    documents: int
    by_kind: Mapping[str, int]  # living documents
    unindexed: int  # living documents without a vector yet: found by words, not by meaning
    removals: int  # lines and viewers that stay removed
    jobs: Mapping[str, int]  # state -> count
    lag_jobs: int  # that wait
    lag_seconds: float  # age of the oldest of them
    embedder: str | None  # that built the index; None: nothing was indexed yet
    first_at: datetime | None
    last_at: datetime | None
    file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A memory that a search found. `score` is comparable within one search only."""

    document: Document
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """How a memory is at this moment: what is quick to find out, for a look every second."""

    jobs: Mapping[str, int]  # state -> count
    lag_jobs: int
    lag_seconds: float
    heard: tuple[int, ...]  # messages and notices since each moment that was asked about
    turns: tuple[PastTurn, ...]  # that had a reply, or should have had one; newest first


class Inspection:
    """What a memory holds. Made by `inspect_memory`; every method raises StoreUnavailable where the file cannot be read."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Look into an open database."""
        self._database = database
        self._clock = clock
        self._reader = Reader(database)
        self._jobs = Jobs(database, clock)
        self._personal = Personal(database)

    async def viewers(self) -> list[KnownViewer]:
        """Return everybody the memory knows, opted-out viewers aside."""
        return await self._reader.known_viewers()

    async def named(self, name: str) -> list[KnownViewer]:
        """Return whom `name` means: the viewer of that id, else of that login, display name, or former name; case aside."""
        everybody = await self.viewers()
        wanted = name.strip().removeprefix("@").casefold()
        ways: tuple[Callable[[KnownViewer], bool], ...] = (
            lambda viewer: viewer.id == name.strip(),
            lambda viewer: viewer.login.casefold() == wanted,
            lambda viewer: viewer.name.casefold() == wanted,
            lambda viewer: wanted in {former.casefold() for former in viewer.former},
        )
        return next((found for way in ways if (found := [viewer for viewer in everybody if way(viewer)])), [])

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Document]:
        """Return what is true of a viewer, by their own words, newest first: now, or at `as_of`, as believed at `known_at`."""
        found = await self._reader.facts(viewer_id, as_of=as_of, known_at=known_at)
        now = known_at or self._clock.now()
        return [fact for fact in found if as_of is not None or fact.invalid_at is None or fact.invalid_at > now]

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer, and what the viewer claims about others; newest first."""
        return await self._personal.claims(viewer_id)

    async def history(self, viewer_id: str) -> list[Chronicle]:
        """Return every fact of a viewer, the claims about them and those they made, with all that was decided; oldest first."""
        return await self._personal.history(viewer_id)

    async def settled(self) -> dict[str, int]:
        """Return how many conflicts between statements each step settled."""
        return await self._personal.settled()

    async def messages(self, viewer_id: str, limit: int) -> list[Document]:
        """Return a viewer's own messages that are remembered, newest first."""
        asked = limit
        while True:  # facts and claims stand among them
            held = await self._reader.newest(collection_name("viewer", viewer_id), asked)
            found = [document for document in held if document.kind == "message"]
            if len(found) >= limit or len(held) < asked:
                return found[:limit]
            asked *= 2

    async def search(self, words: str, *, viewer_id: str | None = None, limit: int = 20) -> list[Found]:
        """Return memories that hold these words, best first: of everybody, or out of one viewer's memory."""
        if viewer_id is None:
            hits = await self._read(lambda read: overview.with_words(read, words, kinds=_STATEMENTS, limit=2 * limit))
            return _told_once([Found(document=document, score=float(score)) for document, score in hits])[:limit]
        scored = await self._reader.full_text(collection_name("viewer", viewer_id), words, 2 * limit)
        held = await self._reader.documents([id_ for id_, _ in scored])
        return _told_once([Found(document=held[id_], score=score) for id_, score in scored if id_ in held])[:limit]

    async def streams(self, limit: int) -> list[Stream]:
        """Return the streams that began up to now, newest first."""
        return await self._reader.streams(before=self._clock.now(), limit=limit)

    async def jobs(self, *, state: str | None = None, kind: str | None = None, limit: int = 100) -> list[JobRow]:
        """Return background jobs: under way, failing, dead, waiting, then finished ones, newest first.

        Raises:
            ValueError: there is no such state; says which there are.
        """
        return await self._jobs.listed(state=state, kind=kind, limit=limit)

    async def outages(self) -> list[Outage]:
        """Return what background jobs wait for, since it does not answer: as the bot saw it last; oldest first."""
        return await self._jobs.outages()

    async def state(self, domains: Sequence[str], *, viewer_ids: Sequence[str] = ()) -> list[StateRecord]:
        """Return the records of structured state that hold now, newest first; only those about these viewers where named."""
        return await self._reader.state(domains, viewer_ids, at=self._clock.now())

    async def export(self, viewer_id: str) -> dict[str, Any]:
        """Return everything that is held of a viewer: the viewer, lines, replies, memories, records, audit."""
        return await self._personal.export(viewer_id)

    async def audit(self, viewer_id: str | None, limit: int) -> list[AuditEntry]:
        """Return who erased or corrected how much of whom, newest first; only by or to one viewer where named."""
        return await self._personal.audit(viewer_id, limit)

    async def figures(self) -> Figures:
        """Return the memory in numbers."""
        waiting, seconds = await self._jobs.lag()
        async with self._database.reading() as session:
            embedder = await documents.embedder(session)
        sums = await self._read(overview.sums)
        first, last = await self._read(overview.span)
        path = self._database.path
        return Figures(
            viewers=sums["viewers"],
            streams=sums["streams"],
            messages=sums["messages"],
            turns=sums["turns"],
            documents=sums["documents"],
            by_kind=await self._read(overview.documents_by_kind),
            unindexed=await self._read(overview.unindexed),
            removals=await self._read(overview.tombstones),
            jobs=await self._jobs.counts(),
            lag_jobs=waiting,
            lag_seconds=seconds,
            embedder=embedder,
            first_at=first,
            last_at=last,
            file_bytes=sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*")),
        )

    async def present(self, *, since: Sequence[datetime], turns: int) -> Present:
        """Return how the memory is now: what was heard since each of these moments, and the last turns with a reply."""
        waiting, seconds = await self._jobs.lag()
        return Present(
            jobs=await self._jobs.counts(),
            lag_jobs=waiting,
            lag_seconds=seconds,
            heard=tuple(await self._read(lambda read: recent.heard_since(read, since))),
            turns=tuple(await self._read(lambda read: recent.spoken_turns(read, turns))),
        )

    async def sums(self) -> dict[str, int]:
        """Return how many viewers, streams, messages, turns and documents there are; slow where there are many."""
        return await self._read(overview.sums)

    async def lines(self, ids: Sequence[str]) -> dict[str, HistoryLine]:
        """Return the messages, notices and replies of these ids; what was erased is missing."""
        return await self._read(lambda read: recent.living_lines(read, ids))

    async def faults(self) -> list[str]:
        """Return what is wrong with the database file, nothing where it is sound. Reads the whole file."""
        return await self._read(overview.faults)

    async def _read(self, fn: Callable[[Connection], T]) -> T:
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: fn(reading.connection()))


@asynccontextmanager
async def inspect_memory(directory: Path, clock: Clock) -> AsyncIterator[Inspection]:
    """Give a look into the memory in `directory`, whether or not a bot works in it; nothing is changed.

    Raises:
        StoreUnavailable: there is none, it cannot be read, or an older program wrote it.
        SchemaTooNew: a newer program wrote it.
    """
    database = await Database.open_existing(directory / DATABASE)
    try:
        yield Inspection(database, clock)
    finally:
        await database.close()


@asynccontextmanager
async def job_desk(directory: Path, clock: Clock) -> AsyncIterator[Jobs]:
    """Give the jobs of the memory in `directory` to try again or to bury, whether or not a bot works in it.

    A bot that does sees the change at once: each statement is one transaction, and an attempt of it that is under way has lost
    its lease.

    Raises:
        StoreUnavailable, SchemaTooNew: as `inspect_memory`.
    """
    async with _beside(directory) as database:
        yield Jobs(database, clock)


def refuse_in_use(directory: Path) -> None:
    """Return where no other memory is open in `directory`, which need not exist.

    Raises:
        DirectoryInUse: a bot works in it.
        StoreUnavailable: that cannot be found out.
    """
    if directory.is_dir():
        InstanceLock.take(directory).release()


async def doubt_index(directory: Path) -> None:
    """Take the vectors of every document for lost, and build the full text anew: the next `reindex` makes all of them again.

    Raises:
        DirectoryInUse: a bot works in it.
        StoreUnavailable, SchemaTooNew: as `inspect_memory`.
    """
    async with _locked(directory) as database:
        await database.write(overview.doubt_index)


@asynccontextmanager
async def _locked(directory: Path) -> AsyncIterator[Database]:
    await (await Database.open_existing(directory / DATABASE)).close()  # a folder without a memory gets none from this
    lock = InstanceLock.take(directory)
    try:
        async with _beside(directory) as database:
            yield database
    finally:
        lock.release()


@asynccontextmanager
async def _beside(directory: Path) -> AsyncIterator[Database]:
    """Open the database to write to it, as it is: one that another version must bring up to date is refused."""
    path = directory / DATABASE
    await (await Database.open_existing(path)).close()
    database = await Database.open(path)
    try:
        yield database
    finally:
        await database.close()


def _told_once(found: list[Found]) -> list[Found]:
    """Return the hits without facts whose message was found too: the same words, as they were said."""
    said = {source for hit in found if hit.document.kind == "message" for source in hit.document.provenance}
    return [hit for hit in found if hit.document.kind not in {"fact", "claim"} or not said.issuperset(hit.document.provenance)]
