"""What stays loaded is no longer looked through."""

import gc
from collections.abc import Iterator

import pytest

from bot.steady import pass_over_loaded
from replays.hurry import loading


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_what_is_loaded_by_now_is_passed_over() -> None:
    held: list[list[int]] = [[] for _ in range(1000)]
    pass_over_loaded()
    assert gc.get_freeze_count() > len(held)
    assert gc.isenabled()


def test_what_loads_is_passed_over_and_later_garbage_is_found() -> None:
    gc.unfreeze()
    with loading():
        assert not gc.isenabled()
        held: list[list[int]] = [[] for _ in range(1000)]
    assert gc.isenabled()
    assert gc.get_freeze_count() > len(held)
    cycle: list[object] = []
    cycle.append(cycle)
    del cycle
    assert gc.collect() >= 1
