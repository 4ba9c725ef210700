"""What was removed and put right in one memory, carried over to an older copy of it: a backup never brings it back.

It is read as ids, times and the new words of corrections, and applied to the copy in one transaction, down to the words.
Nothing here touches the vector index: whoever opens the copy builds it anew.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from sqlalchemy import Connection, Row, func, insert, or_, select, update

from memory.store import audit, clearing, hiding, optouts, outbox, records, tombstones
from memory.store.collections import collection_name
from memory.store.corrections import CORRECTION, rewrite
from memory.store.document_writes import LINE, chunks
from memory.store.erase import purge_lines, remove_documents
from memory.store.streams import home
from memory.store.tombstones import EVERYBODY, TOMBSTONE

_L = LINE.c
_AUDITED = ("at", "verb", "by", "viewer_id", "lines", "replies", "documents", "records")


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """A correction that was made, with the words that stand there now."""

    row: Mapping[str, Any]
    texts: Mapping[str, str]  # line id -> words


@dataclass(frozen=True, slots=True, kw_only=True)
class Removals:
    """What must not come back. Tombstones by (scope, key), with their times."""

    tombstones: Mapping[tuple[str, str], int] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)  # ids of lines that are gone, with the times
    corrections: Sequence[Correction] = ()
    audit: Sequence[Mapping[str, Any]] = ()
    opted_in: Mapping[str, int] = field(default_factory=dict)  # viewer -> when they opted in again
    state: str = ""  # the fingerprint of the memory they were read from


def fingerprint(connection: Connection) -> str:
    """Return a short name for the state of what was removed: the same as long as nothing more is."""
    sums = [
        connection.execute(select(func.count(), func.max(TOMBSTONE.c.at))).one(),
        connection.execute(select(func.count()).select_from(LINE).where(_L.deleted_at.is_not(None))).one(),
        connection.execute(select(func.count(), func.max(audit.AUDIT.c.seq))).one(),
        connection.execute(select(func.count()).select_from(CORRECTION)).one(),
    ]
    return hashlib.sha256(repr([tuple(row) for row in sums]).encode()).hexdigest()[:16]


def read(connection: Connection) -> Removals:
    """Return what was removed and put right in this memory."""
    stones = connection.execute(select(TOMBSTONE.c.scope, TOMBSTONE.c.key, TOMBSTONE.c.at))
    gone = connection.execute(select(_L.id, _L.deleted_at).where(_L.deleted_at.is_not(None)))
    entries = [dict(row) for row in connection.execute(select(audit.AUDIT).order_by(audit.AUDIT.c.seq)).mappings()]
    made = connection.execute(select(CORRECTION).order_by(CORRECTION.c.at, CORRECTION.c.key)).mappings().all()
    words = _words(connection, [line for row in made for line in row["line_ids"]])
    return Removals(
        tombstones={(row.scope, row.key): row.at for row in stones},
        deleted={row.id: row.deleted_at for row in gone},
        corrections=[
            Correction(row=dict(row), texts={line: words[line] for line in row["line_ids"] if line in words}) for row in made
        ],
        audit=entries,
        opted_in={entry["viewer_id"]: entry["at"] for entry in entries if entry["verb"] == "opt_in"},
        state=fingerprint(connection),
    )


def _words(connection: Connection, ids: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for piece in chunks(list(dict.fromkeys(ids))):
        living = select(_L.id, _L.text).where(_L.id.in_(piece), _L.deleted_at.is_(None))
        found |= {row.id: row.text for row in connection.execute(living)}
    return found


def apply(connection: Connection, removals: Removals, now: datetime) -> int:
    """Remove from this older copy what was removed since, put right what was put right, and take all hidden words out.

    Return how many lines lost their words or got others. Doing it again changes nothing.
    """
    missing = _missing(connection, removals)
    _opt(connection, missing, removals)
    wiped = 0
    if (at := missing.get(("viewer", EVERYBODY))) is not None:
        cleared = clearing.clear(connection, at)
        wiped = cleared.lines + cleared.replies
    for (scope, key), at in missing.items():
        if scope != "line" or key not in removals.deleted:
            _remove(connection, scope, key, at)
    gone = [row for row in _of(connection, removals.deleted) if row.deleted_at is None]
    records.drop_made_of(connection, list(removals.deleted))
    _hide(connection, gone, removals.deleted, replies=False)  # those that went with them are named themselves
    for (scope, key), at in missing.items():
        tombstones.bury(connection, scope, [key], at)
    purged, unread = _purge_hidden(connection)
    corrected = sum(_put_right(connection, correction) for correction in removals.corrections)
    _add_audit(connection, removals.audit)
    if unread:
        key = f"consolidate:restored:{uuid5(NAMESPACE_OID, ','.join(unread))}"
        outbox.enqueue(connection, kind="consolidate", key=key, payload={"lines": unread}, now=now, again=True)
    return wiped + purged + corrected


def _missing(connection: Connection, removals: Removals) -> dict[tuple[str, str], int]:
    known = {(row.scope, row.key): row.at for row in connection.execute(select(TOMBSTONE))}
    return {stone: at for stone, at in removals.tombstones.items() if known.get(stone, -1) < at}


def _opt(connection: Connection, missing: Mapping[tuple[str, str], int], removals: Removals) -> None:
    """Opt out who opted out since, and in who opted in since."""
    for (scope, key), at in missing.items():
        if scope == "opt_out":
            optouts.shut(connection, key, at)
    for viewer_id, since in optouts.all_of(connection).items():
        if since < removals.opted_in.get(viewer_id, -1) and ("opt_out", viewer_id) not in removals.tombstones:
            optouts.open_again(connection, viewer_id)


def _remove(connection: Connection, scope: str, key: str, at: int) -> None:
    if scope == "line":
        records.drop_made_of(connection, [key])
        lines = [row for row in _of(connection, {key: at}) if row.deleted_at is None]
        _hide(connection, lines, {key: at})
    elif scope == "viewer" and key != EVERYBODY:
        lines = hiding.lines_of(connection, key, at)
        records.erase(connection, key, at)
        remove_documents(connection, hiding.unfounded(connection, collection_name("viewer", key), at))
        _hide(connection, lines, {row.id: at for row in lines})
    elif scope == "stream_user":
        stream_id, _, viewer_id = key.partition("\x1f")
        lines = [row for row in hiding.lines_of(connection, viewer_id, at) if _stream_of(connection, row) == stream_id]
        _hide(connection, lines, {row.id: at for row in lines})
    elif scope == "stream_chat":
        shown = (_L.stream_id == home(connection, key), _L.hidden.is_(False), _L.at <= at)
        connection.execute(update(LINE).where(*shown).values(hidden=True))
    elif scope == records.SCOPE:
        records.erase_again(connection, key, at)


def _stream_of(connection: Connection, row: Row[Any]) -> str:
    return home(connection, connection.scalar(select(_L.stream_id).where(_L.seq == row.seq)) or "")


def _of(connection: Connection, ids: Mapping[str, int]) -> list[Row[Any]]:
    found: list[Row[Any]] = []
    for piece in chunks(list(ids)):
        found += connection.execute(select(LINE).where(_L.id.in_(piece))).all()
    return sorted(found, key=lambda row: row.seq)


def _hide(connection: Connection, lines: Sequence[Row[Any]], times: Mapping[str, int], *, replies: bool = True) -> None:
    """Hide lines, with the bot's replies to them or made of them where asked."""
    if lines:
        own = {row.seq for row in lines}
        made = [row for row in hiding.replies_made_of(connection, lines) if row.seq not in own] if replies else []
        hiding.hide(connection, lines, made, max(times[row.id] for row in lines))


def _purge_hidden(connection: Connection) -> tuple[int, list[str]]:
    """Take the words of every hidden line out; return how many lines, and what is to be read again."""
    bare = func.json(_L.detail) == func.json_object("kind", func.json_extract(_L.detail, "$.kind"))
    wordy = or_(_L.text != "", _L.reply_to.is_not(None), _L.detail.is_not(None) & ~((_L.kind == "notice") & bare))
    hidden = connection.execute(select(_L.seq, _L.viewer_id, _L.at).where(_L.deleted_at.is_not(None), wordy)).all()
    forgotten = tombstones.of_scope(connection, "viewer", {*(row.viewer_id for row in hidden if row.viewer_id), EVERYBODY})
    everybody = forgotten.get(EVERYBODY, -1)
    nameless = {row.seq for row in hidden if row.at <= max(everybody, forgotten.get(row.viewer_id or "", -1))}
    unread: list[str] = []
    for named in (False, True):
        seqs = [row.seq for row in hidden if (row.seq not in nameless) is named]
        unread += purge_lines(connection, seqs, nameless=not named).unread if seqs else []
    return len(hidden), sorted(set(unread))


def _put_right(connection: Connection, correction: Correction) -> int:
    if connection.scalar(select(CORRECTION.c.key).where(CORRECTION.c.key == correction.row["key"])) is not None:
        return 0
    connection.execute(insert(CORRECTION), [dict(correction.row)])
    held = {row.id: row.text for row in _of(connection, dict.fromkeys(correction.texts, 0)) if row.deleted_at is None}
    texts = {line: text for line, text in correction.texts.items() if line in held and held[line] != text}
    if texts:
        rewrite(connection, texts, correction.row["command_id"], frozenset())
    return len(texts)


def _add_audit(connection: Connection, entries: Sequence[Mapping[str, Any]]) -> None:
    known = {tuple(row) for row in connection.execute(select(*(audit.AUDIT.c[name] for name in _AUDITED)))}
    fresh = [{name: entry[name] for name in _AUDITED} for entry in entries]
    lacking = [entry for entry in fresh if tuple(entry[name] for name in _AUDITED) not in known]
    if lacking:
        connection.execute(insert(audit.AUDIT), lacking)
