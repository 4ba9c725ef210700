"""Forgetting: chosen, hidden and written down in one transaction. The words themselves are taken out by the `purge` job."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from memory.clock import Clock
from memory.errors import InvalidRow
from memory.normalise import spaced
from memory.receipts import ForgetRequest, Receipt
from memory.store import audit, clearing, hiding, outbox, records, tombstones
from memory.store.collections import collection_name
from memory.store.database import Database
from memory.store.erase import remove_documents
from memory.store.hiding import Hidden
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds

_NEEDED = {"viewer": "viewer_id", "words": "viewer_id", "item": "id", "last": "stream_id"}


class Forgetter:
    """Carries out what is to be forgotten. Once a call returned, nothing of it can be read from SQL any more."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Write to `database`."""
        self._database = database
        self._clock = clock

    async def forget(self, request: ForgetRequest) -> Receipt:
        """Hide what the request names and order its purge; asking again changes nothing more.

        Raises:
            InvalidRow: the request lacks what its scope needs; nothing was changed.
            StoreUnavailable: nothing was changed; try again.
        """
        needed = _NEEDED.get(request.scope)
        if needed is not None and not getattr(request, needed):
            raise InvalidRow(f"forgetting {request.scope!r} needs {needed}: it has none")
        if request.scope == "words" and not spaced(request.words).strip():
            msg = "forgetting by words needs at least one word: use the scope 'viewer' to forget everything"
            raise InvalidRow(msg)

        def write(connection: Connection) -> Receipt:
            receipt = self.hide(connection, request)
            audit.note(connection, receipt, request.by)
            return receipt

        return await self._database.write(write)

    def hide(self, connection: Connection, request: ForgetRequest) -> Receipt:
        """Do it within a transaction of the caller's, without writing it down."""
        at = milliseconds(request.at)
        nothing = Receipt(verb="forget", at=request.at, viewer_id=clean_or_none(request.viewer_id))
        match request.scope:
            case "everything":
                return self._everything(connection, request, nothing)
            case "viewer" | "words":
                if request.only not in {None, request.viewer_id}:
                    return replace(nothing, refused=True)
                return self._of_viewer(connection, request, nothing)
            case "item":
                lines = [row for row in hiding.lines_behind(connection, request.id or "") if row.at <= at]
            case _:
                viewer_id = request.only or request.viewer_id
                lines = hiding.newest_line(connection, request.stream_id or "", at, viewer_id)
        owners = {row.viewer_id if row.kind != "reply" else None for row in lines}
        if request.only is not None and owners - {clean(request.only)}:
            return replace(nothing, viewer_id=None, refused=True)
        whose = next(iter(owners)) if len(owners) == 1 else None
        return self._hide(connection, lines, at, replace(nothing, viewer_id=whose))

    def _of_viewer(self, connection: Connection, request: ForgetRequest, nothing: Receipt) -> Receipt:
        viewer_id, words = clean(request.viewer_id or ""), request.words if request.scope == "words" else ""
        at = milliseconds(request.at)
        lines = hiding.lines_of(connection, viewer_id, at, words)
        if request.at_most is not None and len(lines) > request.at_most:
            return replace(nothing, lines=len(lines), refused=True)
        erased = records.erase(connection, viewer_id, at, words)
        self._drop(connection, hiding.claims_about(connection, viewer_id, at, words))
        if request.scope == "viewer":
            tombstones.bury(connection, "viewer", [viewer_id], at)
            self._drop(connection, hiding.unfounded(connection, collection_name("viewer", viewer_id), at))
        receipt = replace(nothing, records=len(erased))
        return self._hide(connection, lines, at, receipt, whole=request.scope == "viewer", told=erased)

    def _drop(self, connection: Connection, ids: Sequence[str]) -> None:
        """Delete memories whose lines are not the viewer's, or gone: others' claims, facts whose lines were pruned."""
        removed, _ = remove_documents(connection, ids)
        if removed:
            payload = {"documents": removed, "clean": True}
            outbox.enqueue(connection, kind="purge", key=f"purge:{uuid4().hex}", payload=payload, now=self._clock.now())

    def _hide(
        self,
        connection: Connection,
        lines: Sequence[Any],
        at: int,
        receipt: Receipt,
        *,
        whole: bool = False,
        told: Sequence[str] = (),
    ) -> Receipt:
        """Hide lines, and the replies made of them, or of the records that went: `told`, and those that the lines asked for."""
        chosen, ids = {line.seq for line in lines}, [row.id for row in lines]
        if not whole:
            tombstones.bury(connection, "line", ids, at)
        asked_for = records.drop_made_of(connection, ids)
        gone = [records.named(one) for one in (*told, *asked_for)]
        replies = [row for row in hiding.replies_made_of(connection, lines, also=gone) if row.seq not in chosen]
        hidden = hiding.hide(connection, lines, replies, at)
        order_purge(connection, hidden, self._clock, nameless=whole)
        own = [row for row in lines if row.kind == "reply"]
        return replace(
            receipt,
            lines=hidden.lines - len(own),
            replies=hidden.replies + len(own),
            documents=hidden.documents,
            records=receipt.records + len(asked_for),
        )

    def _everything(self, connection: Connection, request: ForgetRequest, nothing: Receipt) -> Receipt:
        if request.only is not None:
            return replace(nothing, refused=True)
        tombstones.bury(connection, "viewer", [tombstones.EVERYBODY], milliseconds(request.at))
        cleared = clearing.clear(connection, milliseconds(request.at))
        payload = {"collections": cleared.collections, "clean": True}
        outbox.enqueue(connection, kind="purge", key=f"purge:all:{uuid4().hex}", payload=payload, now=self._clock.now())
        return replace(
            nothing, lines=cleared.lines, replies=cleared.replies, documents=cleared.documents, records=cleared.records
        )


def order_purge(connection: Connection, hidden: Hidden, clock: Clock, *, nameless: bool = False) -> None:
    """Have the words of what was hidden taken out of every file. The job holds keys, no words."""
    if not hidden.seqs:
        return
    payload = {"lines": list(hidden.seqs), "nameless": nameless, "clean": True}
    outbox.enqueue(connection, kind="purge", key=f"purge:forget:{uuid4().hex}", payload=payload, now=clock.now())
