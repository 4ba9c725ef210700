"""What is and was believed: facts and claims with their decisions read out, and single decisions taken back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, func, or_, select, update

from memory.model import Document
from memory.statements import Step
from memory.store import decisions
from memory.store.decisions import Ledger
from memory.store.document_writes import DOCUMENT, IDS, IN_SIGHT, SOURCE, packed
from memory.store.facts import FACT
from memory.store.hiding import RESTS_ON_LIVING_LINES
from memory.store.rows import document_of
from memory.store.scrub import clean
from memory.store.stamps import milliseconds, moment
from memory.timeline import Chronicle, Decision, believed, latest

_F, _D = FACT.c, DOCUMENT.c
_CHRONICLE = select(FACT, _D.at.label("said_at"), _D.provenance, _D.collection).join(DOCUMENT, _D.id == _F.id)
_SHORTEST_PREFIX = 8  # of an id that is given by its beginning
_AFTER_ALL = "\U0010ffff"


@dataclass(slots=True, kw_only=True)
class Changed:
    """Facts that were changed: `shown` must be indexed again, `hidden` (by collection) must leave the index."""

    facts: list[str] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    hidden: dict[str, list[str]] = field(default_factory=dict)


def chronicles(connection: Connection, viewer_id: str) -> list[Chronicle]:
    """Return every fact of a viewer, the claims about them, and those that they made, in the order of writing.

    What rests on an erased line is not among them.
    """
    whose = or_(_F.subject == clean(viewer_id), _F.speaker == clean(viewer_id))
    return _read(connection, connection.execute(_CHRONICLE.where(whose, RESTS_ON_LIVING_LINES).order_by(_D.seq)).all())


def found(connection: Connection, identity: str) -> Chronicle | None:
    """Return the fact or claim of this id, or the only one whose id begins so; None where there is none."""
    key = clean(identity)
    exact = connection.execute(_CHRONICLE.where(_F.id == key, RESTS_ON_LIVING_LINES)).all()
    if not exact and len(key) >= _SHORTEST_PREFIX:
        begins = _CHRONICLE.where(_F.id >= key, _F.id < key + _AFTER_ALL, RESTS_ON_LIVING_LINES)
        exact = connection.execute(begins.limit(2)).all()
    return _read(connection, exact)[0] if len(exact) == 1 else None


def by_ids(connection: Connection, ids: Iterable[str]) -> dict[str, Chronicle]:
    """Return these facts and claims, by id."""
    rows = connection.execute(_CHRONICLE.where(_F.id.in_(IDS), RESTS_ON_LIVING_LINES), {"ids": packed(ids)}).all()
    return {one.id: one for one in _read(connection, rows)}


def _read(connection: Connection, rows: Sequence[Row[Any]]) -> list[Chronicle]:
    decided = decisions.of_facts(connection, [row.id for row in rows])
    return [
        Chronicle(
            id=row.id,
            subject=row.subject,
            speaker=row.speaker,
            predicate=row.predicate,
            object=row.object,
            text=row.text,
            said_at=moment(row.said_at),
            provenance=tuple(row.provenance),
            valid_at=moment(row.valid_at),
            invalid_at=moment(row.invalid_at),
            created_at=moment(row.created_at),
            expired_at=moment(row.expired_at),
            superseded_by=row.superseded_by,
            precision=row.valid_precision,
            confidence=row.confidence,
            salience=row.salience,
            uses=row.uses,
            faded_at=moment(row.faded_at),
            decisions=tuple(decided.get(row.id, ())),
        )
        for row in rows
    ]


def known(connection: Connection, viewer_id: str, *, as_of: datetime | None, known_at: datetime) -> list[Document]:
    """Return the facts of a viewer that were believed at `known_at` to be true at `as_of`, the newest first.

    Each with the end that it had by then; what was erased since is in no answer.
    """
    own = [one for one in chronicles(connection, viewer_id) if one.speaker is None]
    held = {one.id: one for one in own if believed(one, as_of=as_of, known_at=known_at)}
    rows = connection.execute(select(DOCUMENT).where(_D.id.in_(IDS)), {"ids": packed(held)}).all()
    told = {row.id: document_of(row, invalid_at=_end(held[row.id], known_at)) for row in rows}
    return [told[one.id] for one in sorted(held.values(), key=lambda one: one.begins, reverse=True) if one.id in told]


def _end(fact: Chronicle, known_at: datetime) -> int | None:
    last = latest(fact.decisions, known_at)
    return milliseconds(last.invalid_at) if last else None


def claims_about(connection: Connection, viewer_id: str) -> list[Document]:
    """Return what others claim about a viewer, and what the viewer claims about others, newest first; past claims aside."""
    whose = or_(_F.subject == clean(viewer_id), _F.speaker == clean(viewer_id))
    living = select(DOCUMENT).join(FACT, _F.id == _D.id).where(whose, _F.speaker.is_not(None), _F.expired_at.is_(None))
    rows = connection.execute(living.where(IN_SIGHT, RESTS_ON_LIVING_LINES).order_by(_D.seq.desc()))
    return [document_of(row) for row in rows]


def told_since(connection: Connection, viewer_id: str, since: int) -> list[str]:
    """Return the ids of the facts and claims that a viewer stated since a moment and that stand, newest first."""
    author = func.coalesce(_F.speaker, _F.subject) == clean(viewer_id)
    told = select(_F.id).join(DOCUMENT, _D.id == _F.id).where(author, _D.at >= since).order_by(_D.seq.desc())
    return list(connection.scalars(told))


def ended_by(connection: Connection, ids: Iterable[str]) -> list[str]:
    """Return the ids of the facts that any of these ended, in the order of writing."""
    ended = select(_F.id).join(DOCUMENT, _D.id == _F.id).where(_F.superseded_by.in_(IDS)).order_by(_D.seq)
    return list(connection.scalars(ended, {"ids": packed(ids)}))


def put_back(connection: Connection, fact: Chronicle, to: Decision | None, *, ledger: Ledger, step: Step) -> Changed:
    """Make a fact stand as `to` left it (None: it was never stated), as a new decision in the ledger's present act."""
    row = connection.execute(_CHRONICLE.where(_F.id == fact.id)).one()
    changed = Changed(facts=[fact.id])
    if to is None or not to.stands:
        at = milliseconds(fact.begins)  # an empty interval: it never was true
        _set(connection, fact.id, {"invalid_at": at, "expired_at": ledger.at, "superseded_by": None}, None, hidden=True)
        ledger.note(fact.id, "retract", step)
        changed.hidden = {row.collection: [fact.id]}
    else:
        until = milliseconds(to.invalid_at)
        expired = ledger.at if to.by else None
        _set(connection, fact.id, {"invalid_at": until, "expired_at": expired, "superseded_by": to.by}, until, hidden=False)
        ledger.note(fact.id, "end" if to.by else "reopen", step, invalid_at=until, by=to.by)
        changed.shown = [fact.id]
    if fact.speaker is None:
        _date_messages(connection, fact.id)
    return changed


def _set(connection: Connection, fact_id: str, values: dict[str, Any], until: int | None, *, hidden: bool) -> None:
    connection.execute(update(FACT).where(_F.id == fact_id).values(**values))
    shown = {"superseded": hidden, "invalid_at": until, "indexed_model": None}
    connection.execute(update(DOCUMENT).where(_D.id == fact_id).values(**shown))


def _date_messages(connection: Connection, fact_id: str) -> None:
    """Let the messages behind a fact be past where all that they state is, and only there."""
    lines = select(SOURCE.c.line_seq).join(DOCUMENT, _D.seq == SOURCE.c.document_seq).where(_D.id == fact_id)
    for line in connection.scalars(lines).all():
        beside = select(SOURCE.c.document_seq).where(SOURCE.c.line_seq == line)
        said = select(_F.invalid_at).join(DOCUMENT, _D.id == _F.id)
        ends = list(connection.scalars(said.where(_D.seq.in_(beside), IN_SIGHT, _F.speaker.is_(None))))
        until = max(ends) if ends and None not in ends else None
        message = update(DOCUMENT).where(_D.seq.in_(beside), _D.kind == "message")
        connection.execute(message.values(invalid_at=until))
