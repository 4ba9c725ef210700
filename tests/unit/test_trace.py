import asyncio
import threading

import pytest
from builders_recall import a_clock

from memory.errors import IndexUnavailable
from memory.trace import Abandoned, Trace


def a_trace(abandoned: Abandoned | None = None, *, total_seconds: float = 5.0) -> Trace:
    return Trace(a_clock(), total_seconds=total_seconds, abandoned=abandoned)


async def _give(value: list[int], after: float = 0.0) -> list[int]:
    await asyncio.sleep(after)
    return value


async def _fail(error: BaseException) -> list[int]:
    raise error


async def test_work_in_time_gives_its_result_and_says_ok() -> None:
    trace = a_trace()
    assert await trace.run("look", _give([1, 2]), within=1, otherwise=[]) == [1, 2]
    (step,) = trace.steps
    assert (step.step, step.state, step.items_out, step.error) == ("look", "ok", 2, None)


async def test_late_work_is_replaced_and_left_behind() -> None:
    abandoned = Abandoned()
    trace = a_trace(abandoned)
    assert await trace.run("look", _give([1], after=60), within=0.02, otherwise=[9]) == [9]
    assert trace.names("timed_out") == ("look",)
    assert abandoned.total == 1
    await asyncio.sleep(0.01)
    assert len(abandoned) == 0  # it could be cancelled


async def test_work_that_refuses_to_be_cancelled_does_not_hold_the_deadline() -> None:
    let_go = asyncio.Event()

    async def stubborn() -> list[int]:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        raise ValueError

    abandoned = Abandoned()
    trace = a_trace(abandoned)
    assert await asyncio.wait_for(trace.run("look", stubborn(), within=0.02, otherwise=[]), 2) == []
    await abandoned.close(within=0.02)
    assert len(abandoned) == 1
    let_go.set()
    await abandoned.close()
    assert len(abandoned) == 0


async def test_a_hung_thread_does_not_hold_the_deadline() -> None:
    let_go = threading.Event()
    trace = a_trace()
    try:
        work = asyncio.to_thread(let_go.wait, 5)
        assert await asyncio.wait_for(trace.run("look", work, within=0.02, otherwise=False), 2) is False
    finally:
        let_go.set()
    assert trace.names("timed_out") == ("look",)


async def test_a_failure_of_ours_is_said_in_full() -> None:
    trace = a_trace()
    assert await trace.run("look", _fail(IndexUnavailable("rebuild it")), within=1, otherwise=[]) == []
    assert trace.steps[0].state == "failed"
    assert trace.steps[0].error == "IndexUnavailable: rebuild it"


async def test_a_foreign_failure_is_named_with_its_place_and_without_its_text() -> None:
    trace = a_trace()
    await trace.run("look", _fail(RuntimeError("parameters: what Alice wrote")), within=1, otherwise=[])
    assert (trace.steps[0].error or "").startswith("RuntimeError at test_trace.py:")


async def test_a_cancellation_from_within_is_a_failure_not_the_callers() -> None:
    trace = a_trace()
    assert await trace.run("look", _fail(asyncio.CancelledError()), within=1, otherwise=[7]) == [7]
    assert trace.steps[0].state == "failed"


async def test_the_callers_cancellation_passes_through_and_says_cancelled() -> None:
    trace = a_trace()
    abandoned_work = asyncio.create_task(trace.run("look", _give([1], after=60), within=60, otherwise=[]))
    await asyncio.sleep(0.01)
    abandoned_work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await abandoned_work
    assert trace.names("cancelled") == ("look",)


async def test_the_total_caps_every_step() -> None:
    trace = a_trace(total_seconds=0.02)
    assert await asyncio.wait_for(trace.run("look", _give([1], after=60), within=60, otherwise=[]), 2) == []
    assert trace.remaining_seconds == 0.0
    assert await trace.run("again", _give([1], after=60), within=60, otherwise=[]) == []
    assert trace.names("timed_out") == ("look", "again")


def _sorted(values: list[int]) -> list[int]:
    return sorted(values)


def test_a_step_can_say_how_many_came_out_of_it_and_how_many_were_cached() -> None:
    trace = a_trace()
    trace.cached("split")
    trace.step("split", lambda values: (values[:2], values[2:]), [1, 2, 3], count=lambda pair: len(pair[0]))
    assert (trace.steps[0].items_out, trace.steps[0].cache_hits) == (2, 1)


def test_a_pure_step_is_timed_and_counted() -> None:
    trace = a_trace()
    assert trace.step("sort", _sorted, [3, 1]) == [1, 3]
    assert (trace.steps[0].state, trace.steps[0].items_in, trace.steps[0].items_out) == ("ok", 2, 2)


def test_a_pure_step_that_raises_is_noted_and_raises() -> None:
    trace = a_trace()
    with pytest.raises(ZeroDivisionError):
        trace.step("divide", lambda: 1 / 0)
    assert trace.names("failed") == ("divide",)


def test_a_step_that_is_switched_off_is_noted() -> None:
    trace = a_trace()
    trace.skip("dedup")
    assert trace.names("switched_off") == ("dedup",)
