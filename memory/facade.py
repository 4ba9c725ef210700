"""The memory as everything outside sees it."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from datetime import datetime
from typing import Any, Self, TypeVar

import structlog

from lore.entry import LoreEntry
from memory.clock import Clock
from memory.errors import MemoryClosed, StoreUnavailable
from memory.events import BotReply, Channel, Deletion, StateCall
from memory.model import Batch, Document, Health, JobRow, KnownViewer, Recall, StateRecord, Stream, Turn
from memory.opening import Parts, open_parts
from memory.ports import Embedder, JsonModel
from memory.receipts import AuditEntry, CorrectRequest, ForgetRequest, Holding, Receipt, RollbackRequest, UndoRequest
from memory.recipes import MemorySettings, Recipe
from memory.spending import ModelSpent, ModelUse
from memory.state_orders import StateOrder, StateReceipt
from memory.store.collections import LORE, collection_name
from memory.timeline import Chronicle

_CLOSED = "the memory was closed; open it again"
_MOST_DOCUMENTS = 1_000_000
_MANY_LINES = 40  # two batches
log = structlog.get_logger(__name__)
T = TypeVar("T")


class Memory:
    """One channel's memory. Made by `open_memory`; every method may be called from one event loop only.

    Every method but `close` raises MemoryClosed after it.
    """

    def __init__(self, parts: Parts, recipe: Recipe) -> None:
        """Take the open parts; `open_memory` makes them."""
        self._open_parts: Parts | None = parts
        self._recipe = recipe
        self._erasing: set[asyncio.Task[Any]] = set()

    @property
    def _parts(self) -> Parts:
        if self._open_parts is None:
            raise MemoryClosed(_CLOSED)
        return self._open_parts

    async def begin_stream(self, stream: Stream) -> None:
        """Make `stream` the current one; a known id is resumed. An open temporary stream is joined to a real one."""
        parts = self._parts
        try:
            await parts.recorder.begin_stream(stream)
        finally:
            parts.caches.index_changed()
            parts.history.begin(stream.id)
        await parts.surroundings.load_streams()
        await parts.upkeep.warm(parts.canon.warm)
        await _show(parts)

    async def end_stream(self, stream_id: str, at: datetime) -> None:
        """Close a stream. Its memory stays searchable."""
        await self._parts.recorder.end_stream(stream_id, at)
        await self._parts.surroundings.load_streams()

    async def observe(self, batch: Batch) -> int:
        """Make the batch's lines durable and part of the history; return how many were new. Known ids change nothing.

        Raises:
            StoreUnavailable: nothing was stored; the caller keeps the batch and may try again.
        """
        parts = self._parts
        since = parts.history.changes
        parts.surroundings.hear(batch.messages)
        with parts.precedence.serving():
            stored = await parts.recorder.observe(batch)
        if not parts.history.append(stored.stream_id, stored.shown, since=since):
            await _show(parts)
        return stored.new

    async def observe_all(self, batches: Sequence[Batch]) -> int:
        """Do the same for a backlog, in one transaction: for a bot that has no time left. Return how many lines were new.

        Raises:
            StoreUnavailable: nothing was stored; the caller keeps the batches and may try again.
        """
        parts = self._parts
        with parts.precedence.serving():
            new = await parts.recorder.observe_all(batches)
        await _show(parts)
        return new

    async def recall(self, batch: Batch, recipe: Recipe | None = None, *, as_of: datetime | None = None) -> Recall:
        """Return what the memory has for this batch, always within its deadline; late and broken sources are named, not raised.

        The batch need not have been observed (a probe is not) and leaves no trace.

        Raises:
            InvalidRow: the batch's stream never began.
        """
        parts = self._parts
        with parts.precedence.serving():
            return await parts.recaller.recall(batch, recipe or self._recipe, as_of=as_of)

    async def record(self, turn: Turn) -> None:
        """Store the turn, its reply and its jobs in one transaction. Recording the same turn again changes nothing."""
        parts = self._parts
        with parts.precedence.serving():
            if await parts.recorder.record(turn):
                parts.history.changed()
        authors = {line.user.id for line in turn.batch.lines if line.user is not None}
        self._grown(turn.batch.stream_id, authors)

    async def record_reply(self, stream_id: str, reply: BotReply) -> None:
        """Store something the bot said outside of `record` (a log's own replies), with its job."""
        parts = self._parts
        await parts.recorder.record_reply(stream_id, reply)
        parts.history.changed()
        self._grown(stream_id, ())

    async def recorded(self, turn_id: str) -> bool:
        """Return whether the turn was recorded (a replay that was killed goes on from there)."""
        return await self._parts.recorder.recorded(turn_id)

    async def unrecorded(self) -> list[Batch]:
        """Return batches that were observed but whose turn a crash cut off; the live bot records them as silent turns."""
        return await self._parts.recorder.unrecorded()

    async def newest_lines(self, limit: int) -> list[str]:
        """Return the ids of the lines stored last, oldest first: what comes again after a restart is known by them."""
        return await self._parts.recorder.newest_lines(limit)

    async def delete(self, stream_id: str, deletion: Deletion) -> int:
        """Erase what moderation removed, whichever of message and deletion comes first; return the number of lines hidden."""
        return await self._erase(self._parts.recorder.delete(stream_id, deletion))

    async def forget(self, request: ForgetRequest) -> Receipt:
        """Make what the request names unrecallable, at once and for good; `purge` jobs take its bytes out of every file.

        Raises:
            InvalidRow: the request lacks what its scope needs.
        """
        return await self._erase(self._forget(self._parts, request))

    async def correct(self, request: CorrectRequest) -> Receipt:
        """Put a viewer's own words right, everywhere; the old ones cannot be recalled any more.

        Raises:
            InvalidRow: the request names nothing, or holds no new words.
        """
        return await self._erase(self._parts.corrector.correct(request))

    async def opt_out(self, viewer_id: str, at: datetime, *, by: str | None = None) -> Receipt:
        """Forget everything of a viewer, and store nothing of them until they opt in."""
        return await self._erase(self._opt_out(self._parts, viewer_id, at, by))

    async def opt_in(self, viewer_id: str, at: datetime, *, by: str | None = None) -> Receipt:
        """Store what a viewer writes again. What was forgotten stays so."""
        return await self._parts.opt_outs.opt_in(viewer_id, at, by=by)

    def opted_out(self, viewer_id: str, at: datetime) -> bool:
        """Return whether what this viewer wrote at that moment must be passed over."""
        return self._parts.opt_outs.covers(viewer_id, at)

    def named(self, name: str) -> tuple[KnownViewer, ...]:
        """Return who is called so now, by login or display name; where nobody is, who once was. Several: it is not clear."""
        viewers = self._parts.surroundings.viewers
        return tuple(viewer for hit in viewers.exact(name) if (viewer := viewers.get(hit.viewer_id)) is not None)

    def people(self, viewer_ids: Iterable[str]) -> tuple[KnownViewer, ...]:
        """Return those of these viewers who are known, under their present names."""
        viewers = self._parts.surroundings.viewers
        return tuple(viewer for id_ in viewer_ids if (viewer := viewers.get(id_)) is not None)

    async def facts(self, viewer_id: str, *, as_of: datetime | None = None, known_at: datetime | None = None) -> list[Document]:
        """Return what a viewer stated about themselves, newest first, on both axes of time.

        True now, or at `as_of` (when it was so in the world), as believed now, or at `known_at` (when the memory believed it).
        """
        found = await self._parts.reader.facts(viewer_id, as_of=as_of, known_at=known_at)
        now = known_at or self._parts.clock.now()
        return [fact for fact in found if as_of is not None or fact.invalid_at is None or fact.invalid_at > now]

    async def claims(self, viewer_id: str) -> list[Document]:
        """Return what others claim about a viewer, and what the viewer claims about others: never facts; newest first."""
        return await self._parts.personal.claims(viewer_id)

    async def fact_history(self, viewer_id: str) -> list[Chronicle]:
        """Return every fact of a viewer and every claim about or by them, with all that was decided; oldest first."""
        return await self._parts.personal.history(viewer_id)

    async def settled(self) -> dict[str, int]:
        """Return how many conflicts between statements each step settled: slot, time, similarity, correction, judge."""
        return await self._parts.personal.settled()

    async def undo(self, request: UndoRequest) -> Receipt:
        """Reverse the last decision about a fact or claim, or one act; the receipt's `act` takes that back in its turn.

        Raises:
            InvalidRow: the request names nothing.
        """
        return await self._erase(self._parts.undoer.undo(request))

    async def rollback(self, request: RollbackRequest) -> Receipt:
        """Take back every fact and claim that a viewer stated since a moment; messages stay. `act` undoes it."""
        return await self._erase(self._parts.undoer.rollback(request))

    async def held(self, viewer_id: str) -> Holding:
        """Return how much is held of a viewer: counts and ids, no words."""
        return await self._parts.personal.held(viewer_id)

    async def export(self, viewer_id: str) -> dict[str, Any]:
        """Return everything that is held of a viewer: the viewer, lines, replies, memories, records, audit."""
        return await self._parts.personal.export(viewer_id)

    async def audit(self, *, viewer_id: str | None = None, limit: int = 100) -> list[AuditEntry]:
        """Return who erased or corrected how much of whom, newest first, without content."""
        return await self._parts.personal.audit(viewer_id, limit)

    async def _forget(self, parts: Parts, request: ForgetRequest) -> Receipt:
        receipt = await parts.forgetter.forget(request)
        if request.scope == "everything" and not receipt.refused:
            parts.surroundings.viewers.clear()
            parts.reader.forget_viewers()
            await parts.surroundings.load_streams()
        return receipt

    async def _opt_out(self, parts: Parts, viewer_id: str, at: datetime, by: str | None) -> Receipt:
        receipt = await parts.opt_outs.opt_out(viewer_id, at, by=by)
        parts.surroundings.viewers.remove(viewer_id)
        parts.reader.forget_viewers()
        return receipt

    async def _erase(self, work: Coroutine[Any, Any, T]) -> T:
        """See an erasure through, and let nobody read from memory what it took away."""
        parts = self._parts
        erasing = asyncio.create_task(work)
        self._erasing.add(erasing)
        erasing.add_done_callback(lambda _: self._erased(parts, erasing))
        return await asyncio.shield(erasing)  # a caller that is cancelled cannot stop the store from going on

    def _erased(self, parts: Parts, erasing: asyncio.Task[Any]) -> None:
        self._erasing.discard(erasing)
        if not erasing.cancelled():
            erasing.exception()  # read, so that asyncio does not report it where the caller is gone
        parts.history.removed()
        parts.caches.erased()
        parts.upkeep.poke()

    async def apply_state(self, call: StateCall) -> None:
        """Carry out a structured-state tool call of a recorded log: nobody's rights are asked.

        Raises:
            InvalidRow: the tool or an argument is not one of the contract's.
        """
        await self.change_state(StateOrder(call=call))

    async def change_state(self, order: StateOrder) -> StateReceipt:
        """Set or close a record of structured state, as far as the order's rights go; the receipt says what came of it.

        Raises:
            InvalidRow: the tool or an argument is not one of the contract's; says which, and what is wrong.
        """
        receipt = await self._parts.states.change(order)
        if receipt.touched:
            self._parts.caches.changed(*(collection_name("viewer", id_) for id_ in receipt.touched))
        return receipt

    async def state(self, domains: Sequence[str], at: datetime, *, viewer_ids: Sequence[str] = ()) -> list[StateRecord]:
        """Return the live records of these domains, newest first; of these viewers alone where some are named."""
        return await self._parts.reader.state(domains, viewer_ids, at=at)

    async def sync_lore(self, entries: Sequence[LoreEntry]) -> int:
        """Make the canon equal to `entries`; return how many changed."""
        parts = self._parts
        changed = await parts.recorder.sync_lore(entries)
        parts.caches.changed(LORE)
        await parts.surroundings.load_lore()
        parts.upkeep.poke()
        return changed

    async def run_jobs(self, limit: int | None = None) -> int:
        """Run every due job, or `limit` of them, to its end, now, in a fixed order; return how many ran. Replay settles so."""
        return await self._parts.upkeep.run_jobs(limit)

    async def begin_jobs(self) -> int:
        """Run every due job now, but only begin to index, beside what is done next; return how many ran.

        The next call, `run_jobs`, `index_now` and `indexed` wait for it. Until then a search may find some of it, or none.
        """
        return await self._parts.upkeep.begin_jobs()

    async def index_now(self) -> int:
        """Index all that was recorded so far, and run no other jobs; return how many ran."""
        return await self._parts.upkeep.index_now()

    async def indexed(self) -> int:
        """Wait for the indexing that `begin_jobs` began, if any; return how many jobs it ran."""
        return await self._parts.upkeep.indexed()

    def embed_ahead(self, turn_ids: Sequence[str]) -> None:
        """Begin to embed what these recorded turns left, so that `run_jobs` finds it ready: for who settles now and then."""
        self._parts.upkeep.embed_ahead(turn_ids)

    async def start_worker(self) -> None:
        """Begin working through jobs in the background, with the scheduler's pokes, until `close`."""
        await self._parts.upkeep.start()

    async def spent(self, stream_id: str) -> ModelSpent:
        """Return what a language model's answers cost in this stream, and in the hour before the last of them."""
        return await self._parts.spending.of(stream_id)

    async def note_spent(self, uses: Sequence[ModelUse]) -> None:
        """Count what answers cost. StoreUnavailable: nothing was counted."""
        await self._parts.spending.add(uses)

    def waiting(self, lines: int) -> None:
        """Take note of how many lines of chat wait to be served: where they are many, background work waits for them."""
        self._parts.precedence.behind(behind=lines > _MANY_LINES)

    async def viewers(self) -> list[KnownViewer]:
        """Return everybody the memory knows."""
        return await self._parts.reader.known_viewers()

    async def documents_of(self, viewer_id: str) -> list[Document]:
        """Return everything held in one viewer's personal memory, newest first."""
        return await self._parts.reader.newest(collection_name("viewer", viewer_id), _MOST_DOCUMENTS)

    async def jobs(self, *, state: str | None = None, kind: str | None = None, limit: int = 100) -> list[JobRow]:
        """Return background jobs: under way, failing, dead, waiting, then finished ones, newest first."""
        return await self._parts.upkeep.jobs(state=state, kind=kind, limit=limit)

    async def reindex(self, passed: Callable[[int], None] | None = None) -> int:
        """Rebuild the vector index and full text from SQL with the present model; return the number of documents.

        `passed` is told how many more documents were gone through.
        """
        return await self._parts.upkeep.reindex(passed)

    async def health(self) -> Health:
        """Return counts, lag and problems."""
        return await self._parts.upkeep.health()

    async def close(self) -> None:
        """Stop the worker, give back its leases, close everything but the embedder, which is the caller's. Twice is fine."""
        parts, self._open_parts = self._open_parts, None
        if parts is not None:
            await parts.held.aclose()

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()

    def _grown(self, stream_id: str, viewer_ids: Iterable[str]) -> None:
        """What these viewers said, and the stream, can be found in full text now, and soon in the index."""
        parts = self._parts
        parts.caches.changed(collection_name("stream", stream_id), *(collection_name("viewer", id_) for id_ in viewer_ids))
        parts.upkeep.poke()


async def _show(parts: Parts) -> None:
    """Make the history show what was just stored. A failure here is not the caller's: the next look reads again."""
    try:
        await parts.history.added()
    except StoreUnavailable as error:
        log.warning("history_not_read", error=str(error))


async def open_memory(
    settings: MemorySettings,
    *,
    channel: Channel,
    embedder: Embedder,
    clock: Clock,
    any_model: bool = False,
    model: JsonModel | None = None,
) -> Memory:
    """Open (or create) the channel's memory in `settings.data_dir`, migrate it, and recover leases that a crash left.

    `any_model` opens an index that another embedder built, for `reindex`, which is the first thing to do then. `model` reads
    lines a second time, for facts that rules miss. It and the embedder stay the caller's, to be closed after the memory.

    Raises:
        DirectoryInUse: another process has it open.
        WrongChannel: the directory holds another channel's memory.
        ModelMismatch: the index was built by another embedder; says how to rebuild it.
        SchemaTooNew: a newer program wrote it.
        StoreUnavailable: the directory cannot be written.
    """
    parts = await open_parts(settings, channel=channel, embedder=embedder, clock=clock, any_model=any_model, model=model)
    return Memory(parts, settings.recipe)
