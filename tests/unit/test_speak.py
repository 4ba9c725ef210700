import pytest
from builders_live import START, at

from bot.speak import ConsoleVoice, Delivery, DryVoice, Pace, Speaker, SpeakSettings
from memory import VirtualClock


class Paused:
    """A virtual clock whose pauses are noted and take their time."""

    def __init__(self) -> None:
        self.clock = VirtualClock(START)
        self.pauses: list[float] = []

    async def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.move_to(at((self.clock.now() - START).total_seconds() + seconds))


def speaker(time: Paused, heard: list[str], **rules: float) -> Speaker:
    settings = SpeakSettings(**rules)  # type: ignore[arg-type] # fields by name, checked at run time
    return Speaker(ConsoleVoice(heard.append), settings, time.clock, pause=time.pause)


async def say(target: Speaker, text: str, *, wanted: bool = True) -> Delivery:
    return await target.say(text, "m1", wanted=lambda: wanted)


async def test_a_second_line_waits_for_its_turn() -> None:
    time, heard = Paused(), list[str]()
    target = speaker(time, heard, spacing_seconds=1.5)
    assert [(await say(target, text)).state for text in ("uno", "due")] == ["sent", "sent"]
    assert heard == ["uno", "due"]
    assert time.pauses == [1.5]


async def test_the_window_is_never_overdrawn_and_what_would_wait_too_long_is_dropped() -> None:
    time, heard = Paused(), list[str]()
    target = speaker(time, heard, per_window=3, window_seconds=30, spacing_seconds=0, longest_wait_seconds=5)
    states = [await say(target, f"riga {number}") for number in range(4)]
    assert [state.reason for state in states] == ["", "", "", "rate_limited"]
    time.clock.move_to(at(26))
    assert (await say(target, "riga 5")).state == "sent"
    assert time.pauses == [4]


async def test_the_same_words_within_the_platforms_time_are_not_posted() -> None:
    time, heard = Paused(), list[str]()
    target = speaker(time, heard, spacing_seconds=0)
    await say(target, "Ciao!")
    assert (await say(target, "ciao! \u034f")).reason == "duplicate"
    time.clock.move_to(at(31))
    assert (await say(target, "Ciao!")).state == "sent"


async def test_what_is_no_longer_wanted_after_the_wait_is_withheld() -> None:
    time, heard = Paused(), list[str]()
    target = speaker(time, heard)
    assert await say(target, "ciao", wanted=False) == Delivery(state="withheld", reason="deleted")
    assert heard == []


async def test_a_dry_run_shows_its_lines_to_its_owner_alone() -> None:
    shown: list[str] = []
    assert (await DryVoice(shown.append).say("ciao", None)).state == "withheld"
    assert (await DryVoice().say("ciao", None)).reason == "dry_run"
    assert shown == ["ciao"]


async def test_a_console_without_a_writer_says_its_lines_to_nobody() -> None:
    assert (await ConsoleVoice().say("ciao", None)).state == "sent"


@pytest.mark.parametrize(("per_window", "posts"), [(20, 60), (3, 10)])
def test_no_window_ever_holds_more_posts_than_allowed(per_window: int, posts: int) -> None:
    pace = Pace(SpeakSettings(per_window=per_window, window_seconds=30, spacing_seconds=1))
    moments, now = list[float](), 0.0
    for _ in range(posts):
        now += pace.wait(at(now))
        pace.take(at(now))
        moments.append(now)
    for number, moment in enumerate(moments):
        assert sum(moment <= other < moment + 30 for other in moments[number:]) <= per_window
