"""Correcting: a viewer's own words are put right where they stand, and what was made of the wrong ones follows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid5

from sqlalchemy import Connection

from memory.clock import Clock
from memory.errors import InvalidRow
from memory.forget import order_purge
from memory.normalise import holds, spaced, visible
from memory.receipts import CorrectRequest, Receipt
from memory.store import audit, corrections, hiding, outbox, tombstones
from memory.store.database import Database
from memory.store.erase import Erasure
from memory.store.scrub import clean, clean_or_none
from memory.store.stamps import milliseconds

_CORRECTIONS = UUID("5a0a3d5e-6a53-4f4e-9a83-0d9b8d0a6f31")
_LONGEST = 500  # code points of a correction, as of a chat line


class Corrector:
    """Carries out corrections. Once a call returned, the old words can be read from SQL no more."""

    def __init__(self, database: Database, clock: Clock, *, ignored: frozenset[str] = frozenset()) -> None:
        """Write to `database`; `ignored` are viewers (other bots) who have no personal memory."""
        self._database = database
        self._clock = clock
        self._ignored = ignored

    async def correct(self, request: CorrectRequest) -> Receipt:
        """Put right what the request names; the same order again changes nothing.

        Raises:
            InvalidRow: the request names nothing, or holds no new words; nothing was changed.
            StoreUnavailable: nothing was changed; try again.
        """
        if not visible(request.new, _LONGEST):
            msg = "a correction needs the new words: to take words away, forget them instead"
            raise InvalidRow(msg)
        if not request.id and not (request.viewer_id and spaced(request.old).strip()):
            msg = "a correction needs the id of a memory, or a viewer and the old words"
            raise InvalidRow(msg)

        def write(connection: Connection) -> Receipt:
            receipt = self._carry_out(connection, request)
            audit.note(connection, receipt, request.by)
            return receipt

        return await self._database.write(write)

    def _carry_out(self, connection: Connection, request: CorrectRequest) -> Receipt:
        nothing = Receipt(verb="correct", at=request.at, viewer_id=clean_or_none(request.viewer_id))
        if request.viewer_id is not None and request.only not in {None, request.viewer_id}:
            return replace(nothing, refused=True)
        key, at = _key(request), milliseconds(request.at)
        if corrections.known(connection, key):
            return nothing
        lines = _lines(connection, request, at)
        owners = {row.viewer_id if row.kind != "reply" else None for row in lines}
        if request.only is not None and owners - {clean(request.only)}:
            return replace(nothing, viewer_id=None, refused=True)
        if len(owners) != 1 or owners == {None}:
            return nothing  # nothing was found, or a whole conversation, or the bot's own words
        receipt = self._put_right(connection, lines, request, replace(nothing, viewer_id=next(iter(owners))))
        if receipt.total:
            changed = [row.id for row in lines]
            corrections.note(connection, key, at=at, by=request.by, command_id=request.command_id, lines=changed)
        return receipt

    def _put_right(self, connection: Connection, lines: Sequence[Any], request: CorrectRequest, receipt: Receipt) -> Receipt:
        """Give the lines their new words. Of several lines behind one memory the newest gets them, and the others go."""
        new, at = visible(request.new, _LONGEST), milliseconds(request.at)
        if request.id:
            texts, others = {lines[-1].id: new}, lines[:-1]
        else:
            texts, others = {row.id: corrections.replaced(row.text, request.old, new) or row.text for row in lines}, []
        texts = {row.id: texts[row.id] for row in lines if row.id in texts and texts[row.id] != row.text}
        if not texts:
            return receipt
        replies = [row for row in hiding.replies_made_of(connection, lines, at) if _tells(row, request, lines)]
        tombstones.bury(connection, "line", [row.id for row in others], at)
        hidden = hiding.hide(connection, others, replies, at)
        order_purge(connection, hidden, self._clock)
        rewritten = corrections.rewrite(connection, texts, request.command_id, self._ignored)
        self._follow_up(connection, _key(request), rewritten, list(texts))
        documents = len(rewritten.rewritten) + sum(map(len, rewritten.removed.values())) + hidden.documents
        return replace(receipt, lines=len(texts) + hidden.lines, replies=hidden.replies, documents=documents)

    def _follow_up(self, connection: Connection, key: str, changed: Erasure, lines: Sequence[str]) -> None:
        now = self._clock.now()
        jobs: list[tuple[str, str, dict[str, Any]]] = [
            ("index", f"index:corrected:{key}", {"documents": changed.rewritten}),
            ("purge", f"purge:corrected:{key}", {"documents": changed.removed, "clean": True}),
        ]
        if changed.unread:
            jobs.append(("consolidate", f"consolidate:corrected:{key}", {"lines": changed.unread}))
        jobs += [("consolidate", name, payload) for name, payload in corrections.consolidation_of(connection, lines).items()]
        for kind, name, payload in jobs:
            outbox.enqueue(connection, kind=kind, key=name, payload=payload, now=now, again=True)


def _lines(connection: Connection, request: CorrectRequest, at: int) -> list[Any]:
    if request.id:
        return [row for row in hiding.lines_behind(connection, request.id) if row.at <= at]
    return hiding.lines_of(connection, request.viewer_id or "", at, request.old)


def _tells(reply: Any, request: CorrectRequest, lines: Sequence[Any]) -> bool:  # noqa: ANN401 - rows of lines
    """Return whether a reply may tell the old words, as they are or in its own: one that was made from them may.

    Where the old words are not known, every answer to them may, too.
    """
    made_of = not {row.id for row in lines}.isdisjoint(hiding.rests_on(reply))
    return made_of or not request.old or holds(reply.text, request.old)


def _key(request: CorrectRequest) -> str:
    """Return the order's own id: of the command that gave it, else of who gave it, when, about whom. Never of its words."""
    named = (
        request.key
        or request.command_id
        or f"{request.by}\x1f{milliseconds(request.at)}\x1f{request.viewer_id}\x1f{request.id}"
    )
    return str(uuid5(_CORRECTIONS, clean(named)))
