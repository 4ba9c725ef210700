"""The writing side of the memory: each verb is one transaction, with the jobs that follow from it inside.

Doing a verb again changes nothing: ids are given or derived, and jobs have keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID, uuid5

from sqlalchemy import Connection, Row, select, update

from lore.entry import LoreEntry
from memory.clock import Clock
from memory.errors import InvalidRow
from memory.events import BotReply, Deletion
from memory.model import Batch, Stream, Turn
from memory.receipts import Receipt
from memory.store import audit, episodes, fading, lore, optouts, state_calls, streams, tombstones, viewers
from memory.store.collections import collection_name
from memory.store.database import Database
from memory.store.document_writes import LINE, put
from memory.store.erase import Erasure, erase_lines
from memory.store.scrub import clean
from memory.store.stamps import milliseconds
from memory.store.viewers import ViewerBook

_JOBS = UUID("0b7d1e52-88c4-4a0f-8f0a-5b6c8c1f9f77")


class Enqueue(Protocol):
    """Adds a background job to the transaction of `connection`; a known key changes nothing, unless `again` arms it anew."""

    def __call__(
        self, connection: Connection, *, kind: str, key: str, payload: Mapping[str, Any], now: datetime, again: bool = False
    ) -> object:
        """Add the job. The payload holds ids, never text."""
        ...


class Recorder:
    """Every change to the memory that chat causes. Rolls back whole on any error.

    Every verb raises StoreUnavailable where the file cannot be written (nothing was stored: try again), MemoryClosed after its
    database was closed, and InvalidRow for a stream that never began.
    """

    def __init__(
        self, database: Database, *, enqueue: Enqueue, clock: Clock, book: ViewerBook, ignored: frozenset[str] = frozenset()
    ) -> None:
        """Write to `database`; `ignored` are viewers (other bots) who get no personal memory."""
        self._database = database
        self._enqueue = enqueue
        self._clock = clock
        self._book = book
        self._ignored = ignored
        self._streams: dict[str, Stream] = {}
        self._closed_turns: set[str] | None = None  # recorded ones, once somebody asked

    async def begin_stream(self, stream: Stream) -> None:
        """Store or resume a stream; open temporary streams are joined to a real one, their memory moves along."""

        def write(connection: Connection) -> None:
            for temporary in streams.begin(connection, stream):
                self._move_index(connection, temporary, stream.id)

        self._streams.clear()
        await self._database.write(write)
        self._streams.clear()

    def _stream(self, connection: Connection, stream_id: str) -> Stream:
        """Return the stream an id stands for. Kept between calls: only `begin_stream` changes what an id stands for."""
        if stream_id not in self._streams:
            self._streams[stream_id] = streams.stream_for(connection, stream_id)
        return self._streams[stream_id]

    def _move_index(self, connection: Connection, temporary: str, real: str) -> None:
        moved = streams.unindexed(connection, real)
        if moved:
            self._index(connection, f"index:join:{temporary}", moved)
        self._purge(connection, f"purge:join:{temporary}", {}, collections=[collection_name("stream", temporary)])

    async def end_stream(self, stream_id: str, at: datetime) -> None:
        """Note when a stream ended."""
        await self._database.write(lambda connection: streams.end(connection, stream_id, milliseconds(at)))

    async def observe(self, batch: Batch) -> episodes.Stored:
        """Store the batch's lines and viewers and open its turn; return what was stored."""

        def write(connection: Connection) -> tuple[episodes.Stored, viewers.Seen]:
            return self._observe(connection, batch)

        return (await self._database.write(write, committed=lambda done: self._book.note(done[1])))[0]

    async def observe_all(self, batches: Sequence[Batch]) -> int:
        """Do the same with many batches in one transaction; return how many lines were new."""

        def write(connection: Connection) -> list[tuple[episodes.Stored, viewers.Seen]]:
            return [self._observe(connection, batch) for batch in batches]

        def note(done: list[tuple[episodes.Stored, viewers.Seen]]) -> None:
            for _, seen in done:
                self._book.note(seen)

        return sum(stored.new for stored, _ in await self._database.write(write, committed=note))

    def _observe(self, connection: Connection, batch: Batch) -> tuple[episodes.Stored, viewers.Seen]:
        stream, kept = self._stream(connection, batch.stream_id), _without_opted_out(connection, batch)
        nothing = episodes.Stored(stream_id=stream.id, new=0, shown=())
        return _observe(connection, kept, stream) if kept else (nothing, viewers.Seen())

    async def record(self, turn: Turn) -> bool:
        """Store what came of a turn: its reply, its documents and its jobs; return whether the history has new lines by it.

        A recorded turn stays as it is.
        """

        def write(connection: Connection) -> tuple[bool, viewers.Seen]:
            return self._record(connection, turn)

        grown, _ = await self._database.write(write, committed=lambda done: self._book.note(done[1]))
        if self._closed_turns is not None:
            self._closed_turns.add(turn.batch.id)
        return grown

    def _record(self, connection: Connection, turn: Turn) -> tuple[bool, viewers.Seen]:
        stream = self._stream(connection, turn.batch.stream_id)
        seen, grown, kept = viewers.Seen(), False, _without_opted_out(connection, turn.batch)
        if kept is None:
            return False, seen
        turn, turn_id = replace(turn, batch=kept), kept.id
        row = episodes.close_turn(connection, turn, turn_id, stream)
        if row is None:
            if episodes.turn_row(connection, turn_id) is not None:
                return False, seen
            seen, grown = _observe(connection, turn.batch, stream)[1], True
            row = episodes.close_turn(connection, turn, turn_id, stream)
        if row is not None:
            self._remember(connection, turn, row, stream)
            _note_use(connection, turn)
        return grown or (row is not None and row.reply_id is not None), seen

    def _remember(self, connection: Connection, turn: Turn, row: Row[Any], stream: Stream) -> None:
        lines = [line for line in episodes.rows_of_turn(connection, row) if line.turn_id == row.id]
        held_back = sorted({*map(clean, turn.held_viewers), *state_calls.held_in(connection, row.id)})
        left_out = self._ignored | set(held_back)
        documents = [*episodes.personal_documents(lines, stream, left_out), *episodes.line_documents(lines, stream)]
        put(connection, documents, {line.id: line.seq for line in lines})
        payload: dict[str, Any] = {"turn": row.id}
        held = {"held": held_back} if held_back else {}
        self._job(connection, "index", f"index:{row.id}", payload)
        self._job(connection, "consolidate", f"consolidate:{row.id}", payload | held)

    async def record_reply(self, stream_id: str, reply: BotReply) -> str:
        """Store something the bot said outside of `record`; return its id."""

        def write(connection: Connection) -> str:
            stream = self._stream(connection, stream_id)
            again = episodes.repeated_by(connection, reply, stream)
            reply_id = episodes.store_reply(connection, reply, stream, rests_on=again)
            document = episodes.reply_document(episodes.lines_by_id(connection, [reply_id])[reply_id], stream)
            if document is not None:
                put(connection, [document])
                self._job(connection, "index", f"index:reply:{reply_id}", {"reply": reply_id})
            return reply_id

        return await self._database.write(write)

    async def recorded(self, turn_id: str) -> bool:
        """Return whether the turn was recorded. Every id is read at the first call: a resumed replay asks about each turn."""
        if self._closed_turns is None:
            async with self._database.reading() as session:
                self._closed_turns = await session.run_sync(lambda reading: episodes.recorded_turns(reading.connection()))
        return turn_id in self._closed_turns

    async def unrecorded(self) -> list[Batch]:
        """Return the batches that were observed but whose turn was never recorded, oldest first."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: episodes.open_batches(reading.connection()))

    async def newest_lines(self, limit: int) -> list[str]:
        """Return the ids of the lines stored last, oldest first."""
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: episodes.newest_lines(reading.connection(), limit))

    async def delete(self, stream_id: str, deletion: Deletion) -> int:
        """Erase what moderation removed, known or still to come; return how many lines disappeared from the history.

        Raises:
            InvalidRow: the deletion lacks the id that its scope needs.
        """
        return await self._database.write(lambda connection: self._delete(connection, stream_id, deletion))

    def _delete(self, connection: Connection, stream_id: str, deletion: Deletion) -> int:
        at = milliseconds(deletion.at)
        home = streams.home(connection, stream_id)
        if deletion.scope == "chat":
            tombstones.bury(connection, "stream_chat", [home], at)
            visible = (LINE.c.stream_id == home, LINE.c.hidden.is_(False), LINE.c.deleted_at.is_(None), LINE.c.at <= at)
            return connection.execute(update(LINE).where(*visible).values(hidden=True)).rowcount
        target = deletion.message_id if deletion.scope == "message" else deletion.user_id
        if not target:
            raise InvalidRow(f"a deletion of scope {deletion.scope!r} needs the id of a {deletion.scope}: it has none")
        ids = [clean(target)]
        if deletion.scope == "user":
            tombstones.bury(connection, "stream_user", [tombstones.stream_user(home, ids[0])], at)
            # What was written after it is a new matter, also where a log is played again.
            written = (LINE.c.stream_id == home, LINE.c.viewer_id == ids[0], LINE.c.deleted_at.is_(None), LINE.c.at <= at)
            ids = list(connection.scalars(select(LINE.c.id).where(*written).order_by(LINE.c.seq)))
        erasure = erase_lines(connection, ids, at)
        self._after_erasure(connection, ids, erasure)
        _write_down(connection, deletion, clean(target), erasure)
        return erasure.lines

    def _after_erasure(self, connection: Connection, ids: Sequence[str], erasure: Erasure) -> None:
        name = str(uuid5(_JOBS, "\x1f".join(sorted(ids))))
        if erasure.lines or erasure.removed:  # also where nothing was made of them yet: their bytes are to leave the files
            self._purge(connection, f"purge:{name}", erasure.removed)
        if erasure.rewritten:
            self._index(connection, f"index:erased:{name}", erasure.rewritten)
        if erasure.unread:
            self._job(connection, "consolidate", f"consolidate:erased:{name}", {"lines": erasure.unread}, again=True)

    async def sync_lore(self, entries: Sequence[LoreEntry]) -> int:
        """Make the canon equal to `entries`; return how many changed."""
        now = self._clock.now()

        def write(connection: Connection) -> int:
            change = lore.synchronise(connection, entries, now)
            name = str(uuid5(_JOBS, "\x1f".join((*change.written, *(entry.digest for entry in entries)))))
            if change.written:
                self._index(connection, f"index:lore:{name}", change.written)
            if change.removed:
                self._purge(connection, f"purge:lore:{name}", change.removed)
            return change.entries

        return await self._database.write(write)

    def _index(self, connection: Connection, key: str, documents: Sequence[str]) -> None:
        self._job(connection, "index", key, {"documents": list(documents)}, again=True)

    def _purge(
        self, connection: Connection, key: str, documents: Mapping[str, Sequence[str]], *, collections: Sequence[str] = ()
    ) -> None:
        self._job(connection, "purge", key, {"documents": dict(documents), "collections": list(collections)}, again=True)

    def _job(self, connection: Connection, kind: str, key: str, payload: Mapping[str, Any], *, again: bool = False) -> None:
        self._enqueue(connection, kind=kind, key=key, payload=payload, now=self._clock.now(), again=again)


def _write_down(connection: Connection, deletion: Deletion, target: str, erasure: Erasure) -> None:
    """Note in the audit what moderation took back, and whose it was; the platform does not say by whom."""
    whose = target if deletion.scope == "user" else connection.scalar(select(LINE.c.viewer_id).where(LINE.c.id == target))
    documents = sum(map(len, erasure.removed.values()))
    done = Receipt(verb="moderated", at=deletion.at, viewer_id=whose, lines=erasure.lines, documents=documents)
    audit.note(connection, done, None)


def _note_use(connection: Connection, turn: Turn) -> None:
    """What stood behind a reply that was sent is remembered the longer."""
    if turn.said.state != "sent" or turn.recall is None:
        return
    stated = [item for item in turn.recall.block.items if item.kind in {"fact", "claim"}]
    if stated:
        fading.note_use(connection, {source for item in stated for source in item.provenance}, turn.batch.closed_at)


def _without_opted_out(connection: Connection, batch: Batch) -> Batch | None:
    """Return the batch as it may be stored, None where nothing of it may."""
    lines = optouts.stored(connection, batch.lines)
    if len(lines) == len(batch.lines):
        return batch
    return replace(batch, lines=lines) if lines else None


def _observe(connection: Connection, batch: Batch, stream: Stream) -> tuple[episodes.Stored, viewers.Seen]:
    return episodes.store_lines(connection, batch, stream), viewers.see(connection, batch.lines)
