"""One signal asks the bot to end, a second one presses, a third ends the process."""

import asyncio
import os
import signal
from threading import Event

import pytest

from bot import stopping as stopping_module
from bot.stopping import Stopping, stopping_on_signals


@pytest.fixture
def left() -> list[int]:
    return []


async def test_the_first_signal_asks_and_the_second_presses(left: list[int]) -> None:
    stopping = Stopping(left.append)
    stopping.ask(signal.SIGTERM)
    assert (stopping.asked.is_set(), stopping.pressed.is_set()) == (True, False)
    stopping.leave_if_pressed()
    assert left == []
    stopping.ask(signal.SIGTERM)
    assert stopping.pressed.is_set()
    assert left == []
    stopping.leave_if_pressed()
    assert left == [128 + signal.SIGTERM]


async def test_a_third_signal_ends_the_process_whatever_is_left_to_do(left: list[int]) -> None:
    stopping = Stopping(left.append)
    for _ in range(3):
        stopping.ask(signal.SIGINT)
    assert left == [130]


async def test_a_second_signal_after_everything_is_stored_ends_the_process_there_and_then(left: list[int]) -> None:
    stopping = Stopping(left.append)
    stopping.ask(signal.SIGINT)
    stopping.stored = True
    stopping.ask(signal.SIGINT)
    assert left == [130]


@pytest.mark.parametrize(("stored", "code"), [(True, 0), (False, 1)])
async def test_what_hangs_does_not_keep_the_process(
    left: list[int], monkeypatch: pytest.MonkeyPatch, stored: bool, code: int
) -> None:
    monkeypatch.setattr(stopping_module, "_EXIT_SECONDS", 0.01)
    stopping = Stopping(left.append)
    stopping.stored = stored
    stopping.ask(signal.SIGTERM)
    async with asyncio.timeout(10):
        while not left:  # noqa: ASYNC110 - a thread writes it
            await asyncio.sleep(0.01)
    assert left == [code]


async def test_a_log_that_takes_no_more_does_not_keep_the_process(left: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    never = Event()

    class Full:
        """As a pipe is whose reader stopped reading."""

        def warning(self, *_: object, **__: object) -> None:
            never.wait()

    monkeypatch.setattr(stopping_module, "_EXIT_SECONDS", 0.01)
    monkeypatch.setattr(stopping_module, "_TELL_SECONDS", 0.01)
    monkeypatch.setattr(stopping_module, "log", Full())
    Stopping(left.append).ask(signal.SIGTERM)
    try:
        async with asyncio.timeout(10):
            while not left:  # noqa: ASYNC110 - a thread writes it
                await asyncio.sleep(0.01)
    finally:
        never.set()
    assert left == [1]


async def test_a_signal_during_the_start_cuts_it_off(left: list[int]) -> None:
    stopping = Stopping(left.append)
    with stopping_on_signals(stopping):
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(asyncio.CancelledError):
            await asyncio.sleep(30)
    assert stopping.asked.is_set()


async def test_a_signal_to_a_bot_that_is_live_cuts_nothing_off(left: list[int]) -> None:
    stopping = Stopping(left.append)
    stopping.live = True
    with stopping_on_signals(stopping):
        os.kill(os.getpid(), signal.SIGINT)
        async with asyncio.timeout(10):
            await stopping.asked.wait()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
