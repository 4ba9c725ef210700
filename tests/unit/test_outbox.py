from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from builders_jobs import START
from sqlalchemy import Connection, create_engine
from sqlalchemy.exc import IntegrityError

from memory.model import Job
from memory.store import outbox
from memory.store.tables import METADATA

A, B = "a" * 32, "b" * 32
LEASE = timedelta(seconds=60)
LATER = START + timedelta(seconds=61)
SUSPICION = outbox.Suspicion(max_crashes=5, first_delay=timedelta(seconds=2), longest_delay=timedelta(seconds=9))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[Connection]:
    engine = create_engine(f"sqlite:///{tmp_path / 'jobs.db'}")
    METADATA.create_all(engine)
    with engine.connect() as connection:
        yield connection
    engine.dispose()


def add(connection: Connection, *keys: str, at: datetime = START, kind: str = "index", after: datetime | None = None) -> None:
    for key in keys:
        outbox.enqueue(connection, kind=kind, key=f"{kind}:{key}", payload={"turn": key}, now=at, run_after=after)


def claim(connection: Connection, limit: int = 16, *, token: str = A, now: datetime = START, early: bool = False) -> list[Job]:
    groups = {"index": limit, "purge": limit}
    return outbox.claim(connection, groups=groups, token=token, now=now, due=now, lease=LEASE, early=early)


def fail(connection: Connection, job: Job, retry_at: datetime | None = START) -> bool:
    return outbox.fail(connection, job, now=START, retry_at=retry_at, error="x" * 900, error_kind="temporary")


def keys(jobs: list[Job]) -> list[str]:
    return [job.payload["turn"] for job in jobs]


def test_a_key_that_is_known_is_not_added_twice(connection: Connection) -> None:
    first = outbox.enqueue(connection, kind="index", key="index:1", payload={"turn": "1"}, now=START)
    second = outbox.enqueue(connection, kind="index", key="index:1", payload={"turn": "2"}, now=LATER)
    assert (first, second) == (True, False)
    assert [job.payload for job in claim(connection)] == [{"turn": "1"}]


def test_a_finished_job_stays_finished_when_its_key_comes_again(connection: Connection) -> None:
    add(connection, "1")
    outbox.complete(connection, claim(connection), now=START)
    add(connection, "1")
    assert claim(connection) == []
    assert outbox.counts(connection) == {"ready": 0, "leased": 0, "done": 1, "dead": 0}


def test_again_arms_a_finished_job_with_the_new_payload(connection: Connection) -> None:
    add(connection, "1")
    outbox.complete(connection, claim(connection), now=START)
    assert outbox.enqueue(connection, kind="index", key="index:1", payload={"turn": "new"}, now=LATER, again=True)
    assert keys(claim(connection, now=LATER)) == ["new"]


def test_again_takes_the_lease_from_an_attempt_under_way(connection: Connection) -> None:
    add(connection, "1")
    under_way = claim(connection)
    outbox.enqueue(connection, kind="index", key="index:1", payload={"turn": "1"}, now=START, again=True)
    assert outbox.complete(connection, under_way, now=START) == 0
    assert keys(claim(connection, token=B)) == ["1"]


def test_a_null_in_a_needed_column_is_an_error_not_a_known_key(connection: Connection) -> None:
    with pytest.raises(IntegrityError):
        outbox.enqueue(connection, kind=None, key="k", payload={}, now=START)  # type: ignore[arg-type]  # the point


def test_jobs_are_claimed_in_the_order_in_which_they_fell_due(connection: Connection) -> None:
    add(connection, "late", at=START)
    add(connection, "early", at=START - timedelta(seconds=5))
    add(connection, "late too", at=START)
    assert keys(claim(connection, 2)) == ["early", "late"]
    assert keys(claim(connection, 2)) == ["late too"]


def test_a_job_is_not_claimed_before_its_time(connection: Connection) -> None:
    add(connection, "1", after=LATER)
    assert claim(connection) == []
    assert outbox.next_due(connection, ["index"]) == LATER
    assert outbox.next_due(connection, ["purge"]) is None
    assert keys(claim(connection, now=LATER)) == ["1"]


def test_early_takes_future_jobs_only_where_they_were_never_tried(connection: Connection) -> None:
    add(connection, "tried")
    fail(connection, claim(connection)[0], retry_at=LATER)
    add(connection, "fresh", after=LATER)
    assert keys(claim(connection, early=True)) == ["fresh"]
    assert claim(connection, early=True) == []


def test_a_group_holds_one_kind_the_one_due_first(connection: Connection) -> None:
    add(connection, "1")
    add(connection, "2", kind="purge")
    add(connection, "3")
    assert keys(claim(connection)) == ["1", "3"]
    assert keys(claim(connection)) == ["2"]


def test_a_kind_without_a_handler_is_left_alone(connection: Connection) -> None:
    add(connection, "1", kind="unheard")
    assert claim(connection) == []
    assert outbox.counts(connection)["ready"] == 1


def test_a_job_that_failed_comes_alone(connection: Connection) -> None:
    add(connection, "1", "2", "3")
    fail(connection, claim(connection, 1)[0])
    assert [keys(claim(connection)), keys(claim(connection))] == [["1"], ["2", "3"]]


def test_a_group_takes_no_job_along_that_failed(connection: Connection) -> None:
    add(connection, "fails", "2", "3")
    fail(connection, claim(connection, 1)[0], retry_at=START + timedelta(seconds=1))
    assert [keys(claim(connection, now=LATER)), keys(claim(connection, now=LATER))] == [["2", "3"], ["fails"]]


def test_only_the_holder_of_the_lease_finishes_a_job(connection: Connection) -> None:
    add(connection, "1")
    stale = claim(connection, token=A)
    assert outbox.recover(connection, now=LATER, suspicion=SUSPICION) == 1
    fresh = claim(connection, token=B, now=LATER)
    assert outbox.complete(connection, stale, now=LATER) == 0
    assert not fail(connection, stale[0])
    assert outbox.extend(connection, stale, now=LATER, lease=LEASE) == 0
    assert outbox.release(connection, stale, now=LATER) == 0
    assert outbox.complete(connection, fresh, now=LATER) == 1
    assert outbox.listed(connection)[0].state == "done"


def test_a_lease_that_was_extended_is_not_recovered(connection: Connection) -> None:
    add(connection, "1")
    assert outbox.extend(connection, claim(connection), now=START + LEASE, lease=LEASE) == 1
    assert outbox.recover(connection, now=LATER, suspicion=SUSPICION) == 0


def test_recovery_at_start_frees_leases_that_have_not_run_out(connection: Connection) -> None:
    add(connection, "1")
    claim(connection)
    assert outbox.recover(connection, now=START, suspicion=SUSPICION) == 0
    assert outbox.recover(connection, now=START, suspicion=SUSPICION, everything=True) == 1
    job = claim(connection)[0]
    assert (job.crashes, job.attempts) == (1, 0)


def test_jobs_of_a_process_that_died_come_in_ever_smaller_groups(connection: Connection) -> None:
    add(connection, *(f"{n:02}" for n in range(70)))
    sizes = []
    for _ in range(2):
        sizes.append(len(claim(connection, 64)))
        die(connection)
    while bystanders := claim(connection, 64):  # those two are not due yet
        sizes.append(len(bystanders))
        outbox.complete(connection, bystanders, now=START)
    assert sizes == [64, 2, *[2] * 31, 6]
    assert [len(claim(connection, 64, now=LATER)) for _ in range(3)] == [1, 1, 0]


def die(connection: Connection, at: datetime = START, *, max_crashes: int = 5) -> None:
    """The process of whoever holds a lease dies, and the next one starts."""
    suspicion = replace(SUSPICION, max_crashes=max_crashes)
    outbox.recover(connection, now=at, suspicion=suspicion, everything=True)


def test_a_job_that_keeps_crashing_alone_dies(connection: Connection) -> None:
    add(connection, "1")
    for _ in range(2):
        claim(connection, early=True)
        die(connection, max_crashes=2)
    row = outbox.listed(connection)[0]
    assert (row.state, row.crashes, row.error_kind) == ("dead", 2, "crash")


def test_a_job_that_was_never_alone_when_the_process_died_lives(connection: Connection) -> None:
    add(connection, "1", "2")
    for _ in range(3):
        claim(connection, 10**9, early=True)
        die(connection, max_crashes=1)
    assert [(row.state, row.crashes) for row in outbox.listed(connection)] == [("ready", 3), ("ready", 3)]


def test_a_job_in_hand_at_each_crash_waits_ever_longer_and_lets_the_others_go_first(connection: Connection) -> None:
    add(connection, "1")
    waits, now = [], START
    for _ in range(5):
        claim(connection, early=True, now=now)
        die(connection, now, max_crashes=100)
        waits.append(outbox.listed(connection)[0].run_after - now)
    assert [wait.total_seconds() for wait in waits] == [0, 2, 4, 8, 9]
    add(connection, "2", at=START + timedelta(seconds=1))
    assert keys(claim(connection, now=START + timedelta(seconds=1))) == ["2"]
    assert keys(claim(connection, now=START + timedelta(seconds=9))) == ["1"]


def test_no_number_of_crashes_is_too_much_for_the_delay(connection: Connection) -> None:
    add(connection, "1")
    for _ in range(80):
        claim(connection, early=True)
        die(connection, max_crashes=100)
    assert outbox.listed(connection)[0].run_after == START + SUSPICION.longest_delay


def test_a_failure_is_kept_short_and_dated(connection: Connection) -> None:
    add(connection, "1")
    fail(connection, claim(connection)[0], retry_at=LATER)
    row = outbox.listed(connection)[0]
    assert (row.state, row.attempts, row.run_after, row.error_kind) == ("ready", 1, LATER, "temporary")
    assert row.last_error == "x" * 500


def test_a_released_job_keeps_its_place_and_its_clean_record(connection: Connection) -> None:
    add(connection, "1", "2")
    outbox.release(connection, claim(connection, 1), now=LATER)
    assert keys(claim(connection)) == ["1", "2"]
    assert outbox.release(connection, None, now=LATER) == 2
    assert keys(claim(connection)) == ["1", "2"]


def test_listing_is_by_state_and_kind_oldest_first(connection: Connection) -> None:
    add(connection, "1", "2")
    add(connection, "3", kind="purge")
    outbox.complete(connection, claim(connection, 1), now=START)
    assert [row.key for row in outbox.listed(connection)] == ["index:2", "purge:3", "index:1"]
    assert [row.key for row in outbox.listed(connection, state="ready", kind="index")] == ["index:2"]
    assert [row.key for row in outbox.listed(connection, limit=1)] == ["index:2"]
    assert outbox.listed(connection)[0].created_at == START


def test_what_is_under_way_or_fails_is_listed_before_what_waits_and_what_is_finished(connection: Connection) -> None:
    add(connection, "done", "older", "failing", "dead", "under way", "waiting")
    outbox.complete(connection, claim(connection, 1), now=START)
    outbox.complete(connection, claim(connection, 1), now=LATER)
    outbox.fail(connection, claim(connection, 1)[0], now=START, retry_at=LATER, error="E: away", error_kind="temporary")
    outbox.fail(connection, claim(connection, 1)[0], now=START, retry_at=None, error="E: bad", error_kind="permanent")
    claim(connection, 1)
    rows = outbox.listed(connection)
    assert [row.key for row in rows] == [
        f"index:{name}" for name in ("under way", "failing", "dead", "waiting", "older", "done")
    ]
    assert rows[0].lease_until is not None
    assert (rows[1].run_after, rows[1].last_error, rows[1].lease_until) == (LATER, "E: away", None)
    assert rows[4].updated_at == LATER


def test_lag_is_the_age_of_the_oldest_waiting_job(connection: Connection) -> None:
    assert outbox.lag(connection, now=LATER) == (0, 0.0)
    add(connection, "1", "2")
    outbox.complete(connection, claim(connection, 1), now=START)
    assert outbox.lag(connection, now=LATER)[1] == 61.0


def test_retry_brings_dead_jobs_back_with_a_clean_record(connection: Connection) -> None:
    add(connection, "1", "2")
    for job in claim(connection):
        fail(connection, job, retry_at=None)
    assert outbox.retry(connection, now=LATER, ids=[1]) == 1
    assert [(job.id, job.attempts) for job in claim(connection, now=LATER)] == [(1, 0)]
    assert outbox.retry(connection, now=LATER, kind="index") == 1
    assert outbox.retry(connection, now=LATER, kind="purge") == 0


def test_retry_leaves_done_and_leased_jobs_alone(connection: Connection) -> None:
    add(connection, "1", "2")
    outbox.complete(connection, claim(connection, 1), now=START)
    claim(connection)
    assert outbox.retry(connection, now=LATER, ids=[1, 2]) == 0


def test_burying_ends_a_job_even_under_way(connection: Connection) -> None:
    add(connection, "1", "2", "3")
    outbox.complete(connection, claim(connection, 1), now=START)
    under_way = claim(connection, 1)
    assert outbox.bury(connection, [1, 2, 3], now=START) == 2
    assert outbox.complete(connection, under_way, now=START) == 0
    assert [row.state for row in outbox.listed(connection)] == ["dead", "dead", "done"]


def test_pruning_removes_what_ended_long_ago_and_nothing_that_waits(connection: Connection) -> None:
    add(connection, "done", "dead", "ready")
    done, dead = claim(connection, 2)
    outbox.complete(connection, [done], now=START)
    fail(connection, dead, retry_at=None)
    assert outbox.prune(connection, done_before=START, dead_before=START) == 0
    assert outbox.prune(connection, done_before=LATER, dead_before=START) == 1
    assert outbox.prune(connection, done_before=LATER, dead_before=LATER) == 1
    assert [row.key for row in outbox.listed(connection)] == ["index:ready"]
