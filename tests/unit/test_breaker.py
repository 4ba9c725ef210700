from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from memory.breaker import Backoff, Breaker, Outage, dependency, fault, told
from memory.errors import (
    CollectionLost,
    IndexUnavailable,
    InvalidRow,
    LanguageModelUnavailable,
    ModelUnavailable,
    StoreUnavailable,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (InvalidRow("x"), "permanent"),
        (StoreUnavailable("x"), "temporary"),
        (IndexUnavailable("x"), "temporary"),
        (ModelUnavailable("x"), "temporary"),
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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (IndexUnavailable("x"), "vector index"),
        (ModelUnavailable("x"), "embedder"),
        (LanguageModelUnavailable("x"), "language model"),
        (ExceptionGroup("g", [ModelUnavailable("x"), ModelUnavailable("y")]), "embedder"),
        (ExceptionGroup("g", [ModelUnavailable("x"), IndexUnavailable("y")]), None),
        (CollectionLost("x", ("viewer_1",)), None),
        (StoreUnavailable("x"), None),
        (TimeoutError(), None),
    ],
    ids=repr,
)
def test_an_error_names_what_failed(error: Exception, expected: str | None) -> None:
    assert dependency(error) == expected


def test_what_fails_holds_every_kind_that_needs_it_and_no_other() -> None:
    breaker = Breaker(5.0)
    for kind in ("index", "drift"):
        breaker.needs(kind, ("vector index", "embedder"))
    breaker.needs("purge", ("vector index",))
    outages = [breaker.failed(kind, NOW, what="embedder", why="away") for kind in ("index", "drift", "index")]
    held = {kind: breaker.held_until(kind, NOW) for kind in ("index", "drift", "purge")}
    assert held == {"index": NOW + timedelta(seconds=5), "drift": NOW + timedelta(seconds=5), "purge": None}
    assert outages[:2] == [None, None]
    until = NOW + timedelta(seconds=5)
    assert outages[2] == Outage(what="embedder", since=NOW, until=until, kinds=("drift", "index"), why="away")


def test_only_a_kind_that_met_the_outage_ends_it() -> None:
    breaker = Breaker(5.0)
    for kind in ("index", "drift"):
        breaker.needs(kind, ("vector index", "embedder"))
    for _ in range(3):
        breaker.failed("index", NOW, what="embedder")
    assert breaker.succeeded("drift") == ()  # found nothing to embed: says nothing of the embedder
    assert breaker.held_until("drift", NOW) is not None
    assert breaker.succeeded("index") == ("embedder",)
    assert breaker.held_until("drift", NOW) is None


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
