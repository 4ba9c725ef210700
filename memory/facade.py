"""The memory as everything outside sees it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

from lore.entry import LoreEntry
from memory.clock import Clock
from memory.events import BotReply, Channel, Deletion, StateCall
from memory.model import Batch, Document, Health, JobRow, KnownViewer, Recall, Stream, Turn
from memory.ports import Embedder
from memory.recipes import MemorySettings, Recipe


class Memory:
    """One channel's memory. Made by `open_memory`; every method may be called from one event loop only."""

    async def begin_stream(self, stream: Stream) -> None:
        """Make `stream` the current one; a known id is resumed. An open temporary stream is joined to a real one."""
        raise NotImplementedError

    async def end_stream(self, stream_id: str, at: datetime) -> None:
        """Close a stream. Its memory stays searchable."""
        raise NotImplementedError

    async def observe(self, batch: Batch) -> int:
        """Make the batch's lines durable and part of the history; return how many were new. Known ids change nothing.

        Raises:
            StoreUnavailable: nothing was stored; the caller keeps the batch and may try again.
        """
        raise NotImplementedError

    async def recall(self, batch: Batch, recipe: Recipe | None = None, *, as_of: datetime | None = None) -> Recall:
        """Return what the memory has for this batch, always within its deadline; late and broken sources are named, not raised.

        The batch need not have been observed (a probe is not) and leaves no trace.
        """
        raise NotImplementedError

    async def record(self, turn: Turn) -> None:
        """Store the turn, its reply and its jobs in one transaction. Recording the same turn again changes nothing."""
        raise NotImplementedError

    async def record_reply(self, stream_id: str, reply: BotReply) -> None:
        """Store something the bot said outside of `record` (a log's own replies), with its job."""
        raise NotImplementedError

    async def recorded(self, turn_id: str) -> bool:
        """Return whether the turn was recorded (a replay that was killed goes on from there)."""
        raise NotImplementedError

    async def unrecorded(self) -> list[Batch]:
        """Return batches that were observed but whose turn a crash cut off; the live bot records them as silent turns."""
        raise NotImplementedError

    async def delete(self, stream_id: str, deletion: Deletion) -> int:
        """Erase what moderation removed, whichever of message and deletion comes first; return the number of lines hidden."""
        raise NotImplementedError

    async def apply_state(self, call: StateCall) -> None:
        """Carry out one structured-state tool call.

        Raises:
            InvalidRow: the tool or an argument is not one of the contract's.
        """
        raise NotImplementedError

    async def sync_lore(self, entries: Sequence[LoreEntry]) -> int:
        """Make the canon equal to `entries`; return how many changed."""
        raise NotImplementedError

    async def run_jobs(self) -> int:
        """Run every due job to its end, now, in a fixed order; return how many ran. Replay settles with this."""
        raise NotImplementedError

    async def start_worker(self) -> None:
        """Begin working through jobs in the background, with the scheduler's pokes, until `close`."""
        raise NotImplementedError

    async def viewers(self) -> list[KnownViewer]:
        """Return everybody the memory knows."""
        raise NotImplementedError

    async def documents_of(self, viewer_id: str) -> list[Document]:
        """Return everything held in one viewer's personal memory, newest first."""
        raise NotImplementedError

    async def jobs(self, *, state: str | None = None, kind: str | None = None, limit: int = 100) -> list[JobRow]:
        """Return background jobs, oldest first."""
        raise NotImplementedError

    async def reindex(self) -> int:
        """Rebuild the vector index and full text from SQL with the present model; return the number of documents."""
        raise NotImplementedError

    async def health(self) -> Health:
        """Return counts, lag and problems."""
        raise NotImplementedError

    async def close(self) -> None:
        """Stop the worker, give back its leases, close everything. Closing twice is fine."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        """Return the memory itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close it."""
        await self.close()


async def open_memory(settings: MemorySettings, *, channel: Channel, embedder: Embedder, clock: Clock) -> Memory:
    """Open (or create) the channel's memory in `settings.data_dir`, migrate it, and recover leases that a crash left.

    Raises:
        DirectoryInUse: another process has it open.
        WrongChannel: the directory holds another channel's memory.
        ModelMismatch: the index was built by another embedder; says how to rebuild it.
        SchemaTooNew: a newer program wrote it.
        StoreUnavailable: the directory cannot be written.
    """
    raise NotImplementedError
