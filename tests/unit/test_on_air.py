"""Streams that began or ended while nobody heard it are found; what Twitch merely lists late is not believed."""

from datetime import timedelta

from builders_live import START

from bot.on_air import OnAir
from memory import StreamEvent, VirtualClock


class Clock(VirtualClock):
    """A virtual clock whose durations are virtual, too."""

    def elapsed(self) -> float:
        return (self.now() - START).total_seconds()


def told(event: StreamEvent | None) -> tuple[str, str] | None:
    return (event.event, event.stream_id) if event is not None else None


def test_a_stream_that_nobody_told_of_is_told_of_once() -> None:
    on_air = OnAir(Clock(START))
    assert told(on_air.look(None)) is None
    assert told(on_air.look("77")) == ("online", "77")
    assert told(on_air.look("77")) is None


def test_a_stream_that_an_event_told_of_and_one_that_is_over_and_still_listed_are_no_news() -> None:
    on_air = OnAir(Clock(START))
    on_air.began("77")
    assert told(on_air.look("77")) is None
    on_air.over()
    assert told(on_air.look("77")) is None
    assert told(on_air.look("78")) == ("online", "78")


def test_an_end_is_believed_once_the_list_has_been_without_the_stream_for_long_enough() -> None:
    clock = Clock(START)
    on_air = OnAir(clock, patience=300)
    on_air.began("77")
    for after in (0, 200, 100):  # 300 seconds after the first look, and not a moment before
        clock.advance(timedelta(seconds=after))
        missed = on_air.look(None)
        assert (missed is not None) == (after == 100)
    assert told(missed) == ("offline", "77")
    assert told(on_air.look(None)) is None


def test_a_stream_that_was_over_and_stays_listed_goes_on() -> None:
    clock = Clock(START)
    on_air = OnAir(clock, patience=300)
    on_air.began("77")
    on_air.over()
    assert on_air.look("77") is None
    clock.advance(timedelta(seconds=300))
    assert told(on_air.look("77")) == ("online", "77")
    assert on_air.look("77") is None


def test_a_list_that_had_a_gap_ends_nothing() -> None:
    clock = Clock(START)
    on_air = OnAir(clock, patience=300)
    on_air.began("77")
    for listed in (None, "77", None):
        clock.advance(timedelta(seconds=200))
        assert on_air.look(listed) is None
