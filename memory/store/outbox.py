"""The outbox: every statement on the `memory_job` table.

Each function takes an open SQLAlchemy connection and belongs to the caller's transaction, so that a turn and its jobs are
written together or not at all. A job is `ready`, `leased`, `done` or `dead`. A lease carries a token: whoever lost the lease
can neither complete nor fail the job. Times are stored as whole milliseconds since the epoch, UTC.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Row, and_, case, delete, func, literal, not_, or_, select, update
from sqlalchemy.dialects.sqlite import insert

from memory.model import Job, JobRow
from memory.store.prepared import Prepared
from memory.store.stamps import milliseconds, moment
from memory.store.tables import MemoryJob, table_of

ErrorKind = Literal["temporary", "permanent", "unknown", "crash"]
STATES = ("ready", "leased", "done", "dead")
ERROR_CHARACTERS = 500
_FEWER = 5  # bits: a 32nd
_DOUBLED = 20  # at most so often is the first delay doubled: SQLite counts to 2^63


_JOB = table_of(MemoryJob)
_C = _JOB.c
_FREE = {"lease_until": None, "lease_token": None}
_NEVER_FAILED = _C.attempts == 0
_FRESH = and_(_NEVER_FAILED, _C.crashes == 0)
_LEASED = _C.state == "leased"
# Statements of the hot path are built once: building them each time costs more than running them.
_ADDED = insert(_JOB)
_ADD = Prepared(_ADDED.on_conflict_do_nothing(index_elements=["key"]), without=("id",))
_RANK = case(
    (_C.state == "leased", 0),
    (and_(_C.state == "ready", not_(_FRESH)), 1),
    (_C.state == "dead", 2),
    (_C.state == "ready", 3),
    else_=4,
)
_DUE = case((_C.state.in_(("leased", "ready")), _C.run_after), else_=0)
_CLEARED = {"state": "ready", "attempts": 0, "crashes": 0, "last_error": None, "error_kind": None}
_ARMED = {name: _ADDED.excluded[name] for name in ("payload", "run_after", "updated_at")}
_ARM = Prepared(_ADDED.on_conflict_do_update(index_elements=["key"], set_={**_ARMED, **_CLEARED, **_FREE}), without=("id",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspicion:
    """How long a job that was in hand when the process died is believed to be innocent."""

    max_crashes: int
    first_delay: timedelta
    longest_delay: timedelta


def enqueue(
    connection: Connection,
    *,
    kind: str,
    key: str,
    payload: Mapping[str, Any],
    now: datetime,
    run_after: datetime | None = None,
    again: bool = False,
) -> bool:
    """Add a job, due at `run_after` (at once where None); return whether that made work.

    A known key changes nothing, not even a finished job. With `again` a known job is armed anew with this payload: a purge or
    reindex that must run once more. An attempt of it that is under way loses its lease, since it may have read too early.
    """
    at = milliseconds(now)
    row = {
        "kind": kind,
        "key": key,
        "payload": dict(payload),
        "run_after": milliseconds(run_after or now),
        "created_at": at,
        "updated_at": at,
    }
    return (_ARM if again else _ADD).run(connection, [row]) > 0


def claim(
    connection: Connection,
    *,
    groups: Mapping[str, int],
    token: str,
    now: datetime,
    due: datetime,
    lease: timedelta,
    early: bool = False,
) -> list[Job]:
    """Lease the next jobs, in the order in which they fell due; return them, none where nothing is due.

    The oldest due job names the kind. Jobs that never failed come together with others of that kind, as many as `groups` allows
    for it; a job that failed before comes alone. Jobs whose process died come in groups of a 32nd for each time it did: most of
    them were only near the one that is at fault, and that one stands alone in the end. Kinds that `groups` does not name are
    left where they are. `early` also takes jobs that lie in the future, but only such as never failed.
    """
    waiting = and_(_C.state == "ready", _C.kind.in_(tuple(groups)))
    at = _C.run_after <= milliseconds(due)
    ripe = and_(waiting, or_(at, _NEVER_FAILED) if early else at)
    order = (_C.run_after, _C.id)
    first = connection.execute(select(_C.id, _C.kind, _C.attempts, _C.crashes).where(ripe).order_by(*order).limit(1)).first()
    if first is None:
        return []
    alike = and_(ripe, _C.kind == first.kind, _C.attempts == first.attempts, _C.crashes == first.crashes)
    most = 1 if first.attempts else max(1, groups[first.kind] >> _FEWER * first.crashes)
    chosen = select(_C.id).where(alike).order_by(*order).limit(most)
    leased = (
        update(_JOB)
        .where(_C.id.in_(chosen))
        .values(state="leased", lease_until=milliseconds(now + lease), lease_token=token, updated_at=milliseconds(now))
        .returning(_C.id, _C.key, _C.kind, _C.attempts, _C.crashes, _C.payload, _C.run_after)
    )
    rows = sorted(connection.execute(leased).all(), key=lambda row: (row.run_after, row.id))
    return [_job(row, token) for row in rows]


def _job(row: Row[Any], token: str) -> Job:
    return Job(
        id=row.id,
        key=row.key,
        kind=row.kind,
        attempts=row.attempts,
        crashes=row.crashes,
        payload=row.payload,
        token=token,
    )


def complete(connection: Connection, jobs: Sequence[Job], *, now: datetime) -> int:
    """Mark leased jobs as done; return how many still held their lease."""
    return _change(connection, jobs, state="done", updated_at=milliseconds(now), last_error=None, error_kind=None, **_FREE)


def fail(
    connection: Connection,
    job: Job,
    *,
    now: datetime,
    retry_at: datetime | None,
    error: str,
    error_kind: ErrorKind,
) -> bool:
    """Count a failed attempt: due again at `retry_at`, dead where None; return False where the lease was lost."""
    change: dict[str, Any] = {"state": "dead"} if retry_at is None else {"state": "ready", "run_after": milliseconds(retry_at)}
    told = {"last_error": error[:ERROR_CHARACTERS], "error_kind": error_kind, "attempts": job.attempts + 1}
    return _change(connection, [job], **change, **told, updated_at=milliseconds(now), **_FREE) == 1


def extend(connection: Connection, jobs: Sequence[Job], *, now: datetime, lease: timedelta) -> int:
    """Lengthen leases to `now + lease`; return how many were still held."""
    return _change(connection, jobs, lease_until=milliseconds(now + lease), updated_at=milliseconds(now))


def release(connection: Connection, jobs: Sequence[Job] | None, *, now: datetime) -> int:
    """Give leased jobs (all there are where None) back untried, in their old place; return how many were still held."""
    values = {"state": "ready", "updated_at": milliseconds(now), **_FREE}
    if jobs is None:
        return connection.execute(update(_JOB).where(_LEASED).values(**values)).rowcount
    return _change(connection, jobs, **values)


def _change(connection: Connection, jobs: Sequence[Job], **values: Any) -> int:  # noqa: ANN401 - values of any column
    """Change jobs whose lease is still the one they were claimed with."""
    changed = 0
    for token in dict.fromkeys(job.token for job in jobs):
        ids = [job.id for job in jobs if job.token == token]
        held = and_(_C.id.in_(ids), _C.lease_token == token, _LEASED)
        changed += connection.execute(update(_JOB).where(held).values(**values)).rowcount
    return changed


def recover(connection: Connection, *, now: datetime, suspicion: Suspicion, everything: bool = False) -> int:
    """Free leases that ran out, or `everything` leased (at start, when nobody else can hold one); return how many.

    Each counts as a crash. The first is nothing to wait for: most jobs were only near it. From the second on the job comes
    back after a delay that doubles, so that it is not in hand whenever somebody kills the process, and cannot keep a process
    from living that it does kill. One that was alone in hand at its last allowed crash is dead.
    """
    at = milliseconds(now)
    lost = _LEASED if everything else and_(_LEASED, _C.lease_until < at)
    alone = select(_C.lease_token).where(_LEASED).group_by(_C.lease_token).having(func.count() == 1)
    guilty = and_(_C.crashes + 1 >= suspicion.max_crashes, _C.lease_token.in_(alone))
    doubled = _whole(suspicion.first_delay).op("<<")(func.min(_C.crashes - 1, _DOUBLED))
    delay = case((_C.crashes == 0, 0), else_=func.min(doubled, _whole(suspicion.longest_delay)))
    freed = {"state": case((guilty, "dead"), else_="ready"), "crashes": _C.crashes + 1, "error_kind": "crash"}
    due = {"run_after": at + delay, "updated_at": at}
    return connection.execute(update(_JOB).where(lost).values(**freed, **due, **_FREE)).rowcount


def _whole(delay: timedelta) -> ColumnElement[int]:
    return literal(delay // timedelta(milliseconds=1))


def rewind(connection: Connection, *, now: datetime) -> int:
    """Make due what waits by a clock that was set back since, and would wait as long again; return how many jobs."""
    at = milliseconds(now)
    ahead = and_(_C.state == "ready", _C.updated_at > at)
    return connection.execute(update(_JOB).where(ahead).values(run_after=at, updated_at=at)).rowcount


def listed(connection: Connection, *, state: str | None = None, kind: str | None = None, limit: int = 100) -> list[JobRow]:
    """Return jobs of one state and kind where named: under way, failing, dead, waiting (as they fall due), then finished.

    Finished ones come newest first.
    """
    statement = select(_JOB).order_by(_RANK, _DUE, _C.updated_at.desc(), _C.id).limit(limit)
    if state is not None:
        statement = statement.where(_C.state == state)
    if kind is not None:
        statement = statement.where(_C.kind == kind)
    return [_shown(row) for row in connection.execute(statement)]


def keyed(connection: Connection, prefix: str) -> list[JobRow]:
    """Return the jobs whose key begins so, in the order in which they were made."""
    begins = (_C.key >= prefix, _C.key < prefix + "\U0010ffff")
    return [_shown(row) for row in connection.execute(select(_JOB).where(*begins).order_by(_C.id))]


def _shown(row: Row[Any]) -> JobRow:
    return JobRow(
        id=row.id,
        key=row.key,
        kind=row.kind,
        state=row.state,
        attempts=row.attempts,
        crashes=row.crashes,
        created_at=moment(row.created_at),
        run_after=moment(row.run_after),
        last_error=row.last_error,
        error_kind=row.error_kind,
        updated_at=moment(row.updated_at),
        lease_until=moment(row.lease_until),
        payload=row.payload,
    )


def counts(connection: Connection) -> dict[str, int]:
    """Return how many jobs are in each state, zeros included."""
    found = connection.execute(select(_C.state, func.count().label("jobs")).group_by(_C.state))
    return dict.fromkeys(STATES, 0) | {row.state: row.jobs for row in found}


def lag(connection: Connection, *, now: datetime, kinds: Sequence[str] | None = None) -> tuple[int, float]:
    """Return how many jobs wait, of `kinds` alone where named, and the age in seconds of the oldest; 0.0 where none does."""
    waiting = select(func.count(), func.min(_C.created_at)).where(_C.state == "ready")
    number, oldest = connection.execute(waiting if kinds is None else waiting.where(_C.kind.in_(kinds))).one()
    return number, 0.0 if oldest is None else max(0.0, (milliseconds(now) - oldest) / 1000)


def waiting(connection: Connection, kind: str) -> int:
    """Return how many jobs of this kind wait to be run."""
    found: int = connection.execute(select(func.count()).where(_C.state == "ready", _C.kind == kind)).scalar_one()
    return found


def newest_done(connection: Connection, kind: str) -> int | None:
    """Return when a job of this kind was last done, in milliseconds; None where none was."""
    newest: int | None = connection.scalar(select(func.max(_C.updated_at)).where(_C.kind == kind, _C.state == "done"))
    return newest


def next_due(connection: Connection, kinds: Sequence[str]) -> datetime | None:
    """Return when the next waiting job of these kinds falls due, None where there is none."""
    first = connection.scalar(select(func.min(_C.run_after)).where(_C.state == "ready", _C.kind.in_(kinds)))
    return None if first is None else moment(first)


def retry(connection: Connection, *, now: datetime, ids: Sequence[int] = (), kind: str | None = None) -> int:
    """Make dead and waiting jobs due now with a clean record: those of `ids`, and all dead ones of `kind`; return how many."""
    named: ColumnElement[bool] = and_(_C.id.in_(ids), _C.state.in_(("ready", "dead")))
    wanted = named if kind is None else or_(named, and_(_C.kind == kind, _C.state == "dead"))
    at = milliseconds(now)
    clean = {"state": "ready", "attempts": 0, "crashes": 0, "run_after": at, "updated_at": at}
    return connection.execute(update(_JOB).where(wanted).values(**clean)).rowcount


def bury(connection: Connection, ids: Sequence[int], *, now: datetime) -> int:
    """Make unfinished jobs dead by hand; an attempt under way can no longer finish them. Return how many."""
    dead = {"state": "dead", "last_error": "buried by hand", "error_kind": "permanent", "updated_at": milliseconds(now)}
    unfinished = and_(_C.id.in_(ids), _C.state.in_(("ready", "leased")))
    return connection.execute(update(_JOB).where(unfinished).values(**dead, **_FREE)).rowcount


def prune(connection: Connection, *, done_before: datetime, dead_before: datetime) -> int:
    """Delete done and dead jobs that have not changed since; return how many."""
    old_done = and_(_C.state == "done", _C.updated_at < milliseconds(done_before))
    old_dead = and_(_C.state == "dead", _C.updated_at < milliseconds(dead_before))
    return connection.execute(delete(_JOB).where(or_(old_done, old_dead))).rowcount
