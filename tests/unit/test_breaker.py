from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from memory.breaker import Backoff, Breaker, fault, told
from memory.errors import IndexUnavailable, InvalidRow, LeaseLost, ModelUnavailable, StoreUnavailable

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidRow("x"), "permanent"),
        (StoreUnavailable("x"), "temporary"),
        (IndexUnavailable("x"), "temporary"),
        (ModelUnavailable("x"), "temporary"),
        (LeaseLost("x"), "temporary"),
        (TimeoutError(), "temporary"),
        (OSError(28, "full"), "temporary"),
        (ValueError("x"), "unknown"),
        (ExceptionGroup("g", [OSError(), TimeoutError()]), "temporary"),
        (ExceptionGroup("g", [OSError(), KeyError()]), "unknown"),
        (ExceptionGroup("g", [OSError(), ExceptionGroup("h", [KeyError(), InvalidRow("x")])]), "permanent"),
    ],
    ids=repr,
)
def test_an_error_tells_whether_to_try_again(error: Exception, expected: str) -> None:
    assert fault(error) == expected


def test_a_foreign_error_is_told_without_the_text_it_quotes() -> None:
    try:
        int("my secret chat line")
    except ValueError as error:
        line = told(error)
    assert line.startswith("ValueError at test_breaker.py:")
    assert "secret" not in line


def test_our_own_error_is_told_in_full_without_unstorable_characters() -> None:
    assert (
        told(IndexUnavailable("shard 3 is broken \ud800\x00; rebuild it"))
        == "IndexUnavailable: shard 3 is broken ?; rebuild it"
    )


def test_an_operating_system_error_is_told_by_its_number() -> None:
    assert told(OSError(28, "No space left on device", "/home/me/x")) == "OSError (errno 28)"


def test_a_group_of_errors_is_told_leaf_by_leaf() -> None:
    assert told(ExceptionGroup("g", [KeyError("a"), TimeoutError()])) == "KeyError; TimeoutError"


def test_waits_grow_to_the_cap_and_never_are_nothing() -> None:
    backoff = Backoff(5.0, 3600.0, Random(1))
    longest = [max(backoff.after(attempt).total_seconds() for _ in range(400)) for attempt in (1, 2, 6, 20, 5000)]
    shortest = min(backoff.after(1) for _ in range(400))
    assert [4 < longest[0] <= 5, 8 < longest[1] <= 10, 140 < longest[2] <= 160] == [True, True, True]
    assert 3000 < longest[3] <= 3600
    assert longest[4] <= 3600
    assert shortest >= timedelta(seconds=0.25)


def test_the_same_seed_gives_the_same_waits() -> None:
    first, second = Backoff(5, 60, Random(3)), Backoff(5, 60, Random(3))
    assert [first.after(n) for n in range(1, 9)] == [second.after(n) for n in range(1, 9)]


def test_three_temporary_errors_in_a_row_hold_a_kind_and_no_other() -> None:
    breaker = Breaker(5.0)
    for _ in range(2):
        breaker.failed("index", NOW)
    assert breaker.held_until("index", NOW) is None
    breaker.failed("index", NOW)
    assert breaker.held_until("index", NOW) == NOW + timedelta(seconds=5)
    assert breaker.held_until("index", NOW + timedelta(seconds=5)) is None
    assert breaker.held_until("purge", NOW) is None


def test_a_hold_doubles_to_five_minutes_and_ends_with_success() -> None:
    breaker = Breaker(5.0)
    for _ in range(4):
        breaker.failed("index", NOW)
    assert breaker.held_until("index", NOW) == NOW + timedelta(seconds=10)
    for _ in range(30):
        breaker.failed("index", NOW)
    assert breaker.held_until("index", NOW) == NOW + timedelta(seconds=300)
    breaker.succeeded("index")
    assert breaker.held_until("index", NOW) is None
    breaker.failed("index", NOW)
    assert breaker.held_until("index", NOW) is None
