from datetime import UTC, datetime, timedelta, timezone

import pytest

from bot.cli.memory import size
from bot.cli.terminal import day, minute, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ciao  a\ttutti\r\n", "ciao a tutti"),
        ("\x1b[2J\x1b]0;titolo\x07", "[2J]0;titolo"),
        ("a\u202eb\u2066c\u200bd\ufeff", "abcd"),
        ("due\nrighe\u2028e\x85tre", "due righe e tre"),
        ("e\u0301\u0301\u0301\u0301\u0301!", "e\u0301\u0301!"),
        ("\ud800x\x00", "x"),
        ("日本 😀", "日本 😀"),
    ],
)
def test_what_a_terminal_obeys_is_left_out(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert printable("parola " * 1000, 12) == "parola paro…"
    assert len(printable("x" * 1_000_000)) == 2000


def test_times_are_told_in_the_zone_asked_for() -> None:
    at = datetime(2026, 9, 4, 22, 30, tzinfo=UTC)
    rome = timezone(timedelta(hours=2))
    assert (day(at, rome), minute(at, rome)) == ("5 Sep 2026", "2026-09-05 00:30")
    assert (day(at, UTC), minute(at, UTC)) == ("4 Sep 2026", "2026-09-04 22:30")


def test_sizes_are_told_for_people() -> None:
    assert [size(0), size(1023), size(1536), size(5 << 30)] == ["0 bytes", "1,023 bytes", "1.5 KiB", "5.0 GiB"]
