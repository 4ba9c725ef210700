"""Corrections: a line gets new words, and everything that was made of the old ones is made again or goes."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from memory.normalise import words
from memory.store.document_writes import LINE, put
from memory.store.episodes import TURN, line_documents, lines_by_id, personal_documents, rows_of_turn, turn_document, turn_row
from memory.store.erase import Erasure, remove_documents, resting_on
from memory.store.rows import Values
from memory.store.scrub import clean, clean_or_none
from memory.store.streams import stream_for
from memory.store.tables import CorrectionRow, MemoryJob, table_of

CORRECTION = table_of(CorrectionRow)
JOB = table_of(MemoryJob)
_WORD = re.compile(r"\w+")
_LONGEST_COMPOSED = 200  # code points between two spaces
_KEPT = ("badges", "bits", "is_action", "is_bot", "source_channel", "mentions", "kind", "data")  # places in the old text go


def replaced(text: str, old: str, new: str) -> str | None:
    """Return `text` with the words of `old`, wherever they stand in a row, turned into `new`; None where they do not.

    Case, accents and what stands between the words make no difference.
    """
    wanted = words(old)
    shown = " ".join(_composed(part) for part in text.split(" "))
    found = [(word, match.span()) for match in _WORD.finditer(shown) for word in words(match.group())]
    if not wanted:
        return None
    pieces, end, at = [], 0, 0
    while at + len(wanted) <= len(found):
        if tuple(word for word, _ in found[at : at + len(wanted)]) == wanted:
            first, last = found[at][1], found[at + len(wanted) - 1][1]
            pieces += [shown[end : first[0]], new]
            end, at = last[1], at + len(wanted)
        else:
            at += 1
    return "".join([*pieces, shown[end:]]) if pieces else None


def _composed(part: str) -> str:
    """Return `part` with its accents and letters as one; what is no word stays: composing takes the square of its length."""
    return unicodedata.normalize("NFC", part) if len(part) <= _LONGEST_COMPOSED else part


def known(connection: Connection, key: str) -> bool:
    """Return whether this correction was made before."""
    return connection.scalar(select(CORRECTION.c.key).where(CORRECTION.c.key == key)) is not None


def note(connection: Connection, key: str, *, at: int, by: str | None, command_id: str | None, lines: Sequence[str]) -> None:
    """Write down that a correction was made, so that it is not made twice."""
    row = {"key": key, "at": at, "by": clean_or_none(by), "command_id": clean_or_none(command_id), "line_ids": list(lines)}
    connection.execute(insert(CORRECTION), [row])


def rewrite(connection: Connection, texts: Mapping[str, str], command_id: str | None, left_out: frozenset[str]) -> Erasure:
    """Give lines (by id) new words. Documents made of the lines are made again; facts drawn from the old words go.

    Return what changed for the index. `consolidation_of` names the jobs that draw the facts anew.
    """
    rows = list(lines_by_id(connection, list(texts)).values())
    for row in rows:
        values = {"text": clean(texts[row.id]), "detail": _detail(row, command_id)}
        connection.execute(update(LINE).where(LINE.c.seq == row.seq).values(**values))
    erasure = Erasure(lines=len(rows))
    gone: list[str] = []
    for document in resting_on(connection, [row.seq for row in rows]):
        if document.kind == "message":
            fresh = list(lines_by_id(connection, document.provenance).values())
            erasure.rewritten += put(
                connection, personal_documents(fresh, stream_for(connection, document.stream_id), left_out)
            )
        elif document.kind == "line":
            fresh = list(lines_by_id(connection, document.provenance).values())
            erasure.rewritten += put(connection, line_documents(fresh, stream_for(connection, document.stream_id)))
        elif document.kind == "turn":
            erasure.rewritten += _turn_again(connection, document.provenance)
        else:
            gone.append(document.id)
            stated = document.kind in {"fact", "claim"}
            erasure.unread += [source for source in document.provenance if stated and source not in texts]
    erasure.removed, restored = remove_documents(connection, gone)
    erasure.rewritten += restored
    return erasure


def _detail(row: Row[Any], command_id: str | None) -> Values:
    kept = {key: value for key, value in (row.detail or {}).items() if key in _KEPT}
    return kept | {"corrected_by": clean_or_none(command_id) or ""}


def _turn_again(connection: Connection, provenance: Sequence[str]) -> list[str]:
    row = next(iter(lines_by_id(connection, provenance).values()))
    turn = turn_row(connection, row.turn_id) if row.turn_id else None
    if turn is None:
        return []
    again = turn_document(turn, rows_of_turn(connection, turn), stream_for(connection, turn.stream_id))
    return put(connection, [again]) if again else []


def consolidation_of(connection: Connection, line_ids: Sequence[str]) -> dict[str, Values]:
    """Return the jobs (key to payload) that draw facts from the turns of these lines; held viewers stay held."""
    turns = [row.turn_id for row in lines_by_id(connection, line_ids).values() if row.turn_id]
    recorded = select(TURN.c.id).where(TURN.c.id.in_(turns), TURN.c.state == "recorded").order_by(TURN.c.seq)
    keys = {f"consolidate:{turn}": turn for turn in connection.scalars(recorded)}
    before = {row.key: row.payload for row in connection.execute(select(JOB.c.key, JOB.c.payload).where(JOB.c.key.in_(keys)))}
    return {key: before.get(key, {"turn": turn}) for key, turn in keys.items()}
