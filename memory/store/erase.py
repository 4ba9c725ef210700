"""Erasing lines, with everything that rests on them alone, in one transaction.

What rests on other lines too is made again without the erased ones. What must leave the vector index is returned as ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, Row, case, func, null, select, text, update

from memory.store import facts, hiding, records, tombstones
from memory.store.document_writes import DOCUMENT, IDS, LINE, SOURCE, chunks, packed, remove
from memory.store.episodes import lines_by_id, turn_row
from memory.store.prepared import Prepared
from memory.store.remnants import Left, make_again

_L = LINE.c
# A notice keeps its kind: without it, it could not be told from a message.
_KIND_ALONE = func.json_object("kind", func.json_extract(_L.detail, "$.kind"))
_NOTICE = (_L.kind == "notice") & _L.detail.is_not(None)
_WORDS: dict[str, Any] = {"text": "", "reply_to": None, "detail": case((_NOTICE, _KIND_ALONE), else_=null())}
_BLANK = update(LINE).where(_L.seq.in_(IDS)).values(**_WORDS)
_BLANK_NAMELESS = Prepared(_BLANK.values(viewer_id=None, login=None, name=None))
_BLANK_NAMED = Prepared(_BLANK)
_UNLINK = Prepared(text("DELETE FROM document_source WHERE line_seq IN (SELECT value FROM json_each(:ids))"))
_SHOW_AGAIN = Prepared(
    text(
        "DELETE FROM hidden_document WHERE document_seq IN "
        "(SELECT document_seq FROM document_source WHERE line_seq IN (SELECT value FROM json_each(:ids)))"
    )
)
_MARKED = Prepared(select(LINE).where(_L.seq.in_(IDS), _L.deleted_at.is_not(None)).order_by(_L.seq))
_RESTING = Prepared(
    select(DOCUMENT)
    .where(DOCUMENT.c.seq.in_(select(SOURCE.c.document_seq).where(SOURCE.c.line_seq.in_(IDS))))
    .order_by(DOCUMENT.c.seq)
)


@dataclass(slots=True, kw_only=True)
class Erasure:
    """What went. `removed` and `rewritten` hold document ids, for the jobs that bring the vector index after."""

    lines: int = 0
    removed: dict[str, list[str]] = field(default_factory=dict)  # collection -> ids
    rewritten: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)  # lines whose fact had the words of an erased one: to be consolidated again


def erase_lines(connection: Connection, ids: Sequence[str], at: int) -> Erasure:
    """Erase lines, known or still to come, and what was derived from them alone; tombstones keep them out.

    The bot's replies to nothing but erased lines go too, and those that were made from any. A fact that an erased one had
    superseded is true again.
    """
    tombstones.bury(connection, "line", ids, at)
    told = [records.named(id_) for id_ in records.drop_made_of(connection, ids)]
    rows = [row for row in lines_by_id(connection, list(dict.fromkeys(ids))).values() if row.deleted_at is None]
    replies = _replies_to(connection, {row.id for row in rows}, rows)
    replies += hiding.replies_resting_on(connection, [*rows, *replies], also=told)
    for piece in chunks([row.seq for row in (*rows, *replies)]):
        connection.execute(update(LINE).where(LINE.c.seq.in_(piece)).values(deleted_at=at))
    erasure = Erasure(lines=len(rows))
    _purge(connection, [*rows, *replies], erasure, nameless=False)
    return erasure


def purge_lines(connection: Connection, seqs: Sequence[int], *, nameless: bool = False) -> Erasure:
    """Take the words of lines that were marked as deleted out of every table, with what rested on them alone.

    `nameless` takes out who wrote them, too. Lines that are not marked are left alone.
    """
    rows = _MARKED.all(connection, {"ids": packed(seqs)})
    erasure = Erasure(lines=len(rows))
    _purge(connection, rows, erasure, nameless=nameless)
    return erasure


def _purge(connection: Connection, rows: Sequence[Row[Any]], erasure: Erasure, *, nameless: bool) -> None:
    seqs = [row.seq for row in rows]
    (_BLANK_NAMELESS if nameless else _BLANK_NAMED).run(connection, [{"ids": packed(seqs)}])
    resting = resting_on(connection, seqs)
    _SHOW_AGAIN.run(connection, [{"ids": packed(seqs)}])  # what is made again loses its links to them
    known = lines_by_id(connection, list(dict.fromkeys(one for document in resting for one in document.provenance)))
    gone: list[str] = []
    kept: list[Left] = []
    for document in resting:
        left = _living(known, document.provenance)
        if left and document.kind in {"fact", "claim"} and document.provenance[0] not in left:
            gone.append(document.id)  # its words are those of the message that goes
            erasure.unread += left
        elif left:
            kept.append((document, left))
        else:
            gone.append(document.id)
    erasure.rewritten += make_again(connection, kept, known)
    _UNLINK.run(connection, [{"ids": packed(seqs)}])
    removed, restored = remove_documents(connection, gone)
    erasure.removed = removed
    erasure.rewritten += restored


def remove_documents(connection: Connection, ids: Sequence[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Delete documents; return what went, by collection, and the ids of the facts that are true again without them."""
    restored = facts.restore(connection, ids)
    return remove(connection, ids), restored


def _living(known: Mapping[str, Any], provenance: Sequence[str]) -> list[str]:
    """Return what is left of a provenance, nothing where no line of it lives: a command alone holds nothing up."""
    left = [one for one in provenance if one not in known or known[one].deleted_at is None]
    return left if any(one in known for one in left) else []


def _replies_to(connection: Connection, erased: set[str], rows: Sequence[Row[Any]]) -> list[Row[Any]]:
    """Find the bot's replies that answer erased lines and nothing else; they come after what they answer."""
    found = []
    for stream_id in sorted({row.stream_id for row in rows}):
        first = min(row.seq for row in rows if row.stream_id == stream_id)
        later = select(LINE).where(
            LINE.c.stream_id == stream_id, LINE.c.seq > first, LINE.c.kind == "reply", LINE.c.deleted_at.is_(None)
        )
        found += [
            row for row in connection.execute(later).all() if row.id not in erased and _answered(connection, row) <= erased
        ]
    return found


def _answered(connection: Connection, reply: Row[Any]) -> set[str]:
    """Return what a reply answers: the lines that it names, or else those of its turn, or else itself."""
    named = set((reply.detail or {}).get("in_reply_to", ()))
    turn = turn_row(connection, reply.turn_id) if reply.turn_id and not named else None
    return named or set(turn.line_ids if turn else ()) or {reply.id}


def resting_on(connection: Connection, seqs: Sequence[int]) -> Sequence[Any]:
    """Return the documents that rest on any of these lines, in the order of writing."""
    return _RESTING.all(connection, {"ids": packed(seqs)})
