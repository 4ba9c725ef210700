"""What happened, with what was said around it."""

from dataclasses import replace
from datetime import timedelta

from builders_recall import a_whole_turn

from memory.sources.stream import PASSAGE_LINES, PAUSE, passage

HIT = a_whole_turn("t5", "A: come lo chiamiamo?", provenance=("m5",))
BEFORE = [a_whole_turn(f"t{n}", f"B: prima {n}", provenance=(f"m{n}",)) for n in range(5)]
AFTER = [a_whole_turn(f"t{n}", f"C: dopo {n}\nD: e {n}", provenance=(f"m{n}", f"n{n}")) for n in range(6, 9)]


def test_a_hit_is_shown_with_the_lines_beside_it() -> None:
    shown = passage(HIT, BEFORE, AFTER)
    assert shown.provenance == ("m3", "m4", "m5", "m6", "n6")
    assert shown.text.split("\n")[2] == "A: come lo chiamiamo?"
    assert (shown.id, shown.at, shown.kind) == (HIT.id, HIT.at, "turn")
    assert len(shown.provenance) == PASSAGE_LINES


def test_at_the_edge_of_a_stream_there_is_less_to_show() -> None:
    assert passage(HIT, [], []) == HIT
    assert passage(HIT, BEFORE[:1], []).provenance == ("m0", "m5")


def test_a_long_turn_stays_as_it_is() -> None:
    long = a_whole_turn("t", "\n".join("abcdefgh"), provenance=tuple("abcdefgh"))
    assert passage(long, BEFORE, AFTER) == long


def test_lines_that_cannot_be_told_apart_are_left_out() -> None:
    torn = a_whole_turn("t", "A: uno\nB: due", provenance=("m",))
    assert passage(torn, BEFORE, AFTER) == torn
    assert passage(HIT, [torn], []).provenance == ("m5",)


def test_what_was_said_before_a_long_pause_is_another_scene() -> None:
    earlier = [replace(one, at=HIT.at - PAUSE - timedelta(seconds=1)) for one in BEFORE]
    later = [replace(AFTER[0], at=HIT.at + PAUSE), replace(AFTER[1], at=HIT.at + 2 * PAUSE)]
    assert passage(HIT, earlier, later).provenance == ("m5", "m6", "n6")
