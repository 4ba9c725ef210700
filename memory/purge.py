"""The `purge` job: what was hidden goes for good, from SQL, the vector index and the cache of embeddings, down to the bytes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid5

import structlog
from sqlalchemy import Connection

from memory.clock import Clock
from memory.ports import Embedder, Forgetful, JobHandler
from memory.store import fulltext, hiding, outbox, stems
from memory.store.database import Database
from memory.store.erase import purge_lines
from memory.store.meta import store_value, value_of
from memory.store.stamps import milliseconds
from memory.worthiness import ever_embedded

_CLEANED = "cleaned_at"
_AFTER_CLEANING = timedelta(
    seconds=10
)  # what is left gets its new vectors once the old bytes are gone; words find it meanwhile
_CHUNK = 100  # lines a transaction, some 15 ms: chat is stored in between
log = structlog.get_logger(__name__)


class Purger:
    """Handles `purge` jobs. Their payload: `lines` (keys of hidden lines), what `Indexer.purge` takes, and `clean`."""

    def __init__(
        self,
        database: Database,
        *,
        embedder: Embedder,
        clock: Clock,
        unindex: JobHandler,
        vacuum: Callable[[], Awaitable[object]],
        backups: Callable[[], Awaitable[object]] | None = None,
        recordings: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """`unindex` takes documents out of the index, `vacuum` the bytes of what was taken out, the others those beside it."""
        self._database = database
        self._embedder = embedder
        self._clock = clock
        self._unindex = unindex
        self._vacuum = vacuum
        self._backups = backups
        self._recordings = recordings

    async def purge(self, payloads: Sequence[Mapping[str, Any]]) -> None:
        """Do what these jobs say; doing it again changes nothing.

        Raises:
            StoreUnavailable, IndexUnavailable: repeat the call.
        """
        for payload in payloads:
            await self._lines(payload.get("lines", ()), nameless=payload.get("nameless", False))
        await self._unindex([payload for payload in payloads if "documents" in payload or "collections" in payload])
        stems.forget()
        cleaning = [payload for payload in payloads if payload.get("clean") and not payload.get("lines")]
        if any("documents" in payload or "collections" in payload for payload in cleaning):
            await self._forget_vectors()  # the words of what was rewritten or dropped are known no more
        if cleaning:
            await self.clean()

    async def clean(self) -> None:
        """Take the bytes of what was deleted out of every file.

        Raises:
            StoreUnavailable, IndexUnavailable: bytes may be left; repeat the call.
        """
        now = milliseconds(self._clock.now())
        await self._vacuum()
        await self._database.write(fulltext.optimise)
        await self._database.scrub()
        if self._backups is not None:
            await self._backups()
        if self._recordings is not None:
            await self._recordings()
        await self._database.write(lambda connection: store_value(connection, _CLEANED, str(now)))
        log.info("erased_bytes_removed")

    async def clean_if_needed(self) -> None:
        """Clean where something was purged since the last time, moderation's deletions among it: the nightly chore.

        Then no vector stays in the cache of embeddings: questions and records of whoever was forgotten left some there, too.

        Raises:
            StoreUnavailable, IndexUnavailable: as `clean`.
        """
        async with self._database.reading() as session:
            cleaned = await session.run_sync(lambda reading: value_of(reading.connection(), _CLEANED))
            purged = await session.run_sync(lambda reading: outbox.newest_done(reading.connection(), "purge"))
        if purged is not None and purged >= int(cleaned or 0):
            await self._forget_vectors()
            await self.clean()
        elif self._recordings is not None:  # a line may have been recorded after its own removal
            await self._recordings()

    async def _lines(self, seqs: Sequence[int], *, nameless: bool) -> None:
        for start in range(0, len(seqs), _CHUNK):
            piece = list(seqs[start : start + _CHUNK])
            if isinstance(self._embedder, Forgetful):  # before the words are gone, so that a crash in between loses none
                await self._embedder.forget(await self._words(piece))
            await self._database.write(lambda connection: self._erase(connection, piece, nameless=nameless))  # noqa: B023 - run before the next turn of the loop
        if seqs:
            await self._database.write(lambda connection: self._follow(connection, seqs))
            log.info("lines_purged", lines=len(seqs))

    async def _words(self, seqs: Sequence[int]) -> list[str]:
        """Return the words of lines and of what rests on them, as they are and as they were embedded."""
        async with self._database.reading() as session:
            found = await session.run_sync(lambda reading: hiding.words_of(reading.connection(), seqs))
        return list(dict.fromkeys(one for kind, words in found for one in (words, *ever_embedded(kind, words))))

    async def _forget_vectors(self) -> None:
        if isinstance(self._embedder, Forgetful):
            await self._embedder.forget_everything()

    def _erase(self, connection: Connection, seqs: Sequence[int], *, nameless: bool) -> None:
        erasure = purge_lines(connection, seqs, nameless=nameless)
        now, name = self._clock.now(), _name(seqs)
        if erasure.removed:
            payload: dict[str, Any] = {"documents": erasure.removed}
            outbox.enqueue(connection, kind="purge", key=f"purge:lines:{name}", payload=payload, now=now, again=True)
        if (
            erasure.rewritten
        ):  # their old vectors go first: a new one under the same id would leave the old numbers in the files
            payload = {"documents": {}, "stale": erasure.rewritten}
            outbox.enqueue(connection, kind="purge", key=f"purge:stale:{name}", payload=payload, now=now, again=True)
            payload, key, later = {"documents": erasure.rewritten}, f"index:purged:{name}", now + _AFTER_CLEANING
            outbox.enqueue(connection, kind="index", key=key, payload=payload, now=now, run_after=later, again=True)
        if erasure.unread:
            key, payload = f"consolidate:purged:{name}", {"lines": erasure.unread}
            outbox.enqueue(connection, kind="consolidate", key=key, payload=payload, now=now, again=True)

    def _follow(self, connection: Connection, seqs: Sequence[int]) -> None:
        """Order the cleaning, which comes after everything that was ordered before it."""
        key = f"purge:clean:{_name(seqs)}"
        outbox.enqueue(connection, kind="purge", key=key, payload={"clean": True}, now=self._clock.now(), again=True)


def _name(seqs: Sequence[int]) -> str:
    return str(uuid5(NAMESPACE_OID, ",".join(map(str, seqs))))
