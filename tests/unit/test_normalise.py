"""Text made comparable, and kept on one line."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.normalise import LONGEST_TEXT, fold, holds, same_key, spaced, stem, visible, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Perché NO?!", "perche no"),
        ("ciao   mondo", "ciao mondo"),
        ("ci\u200bao\u200d mon\u00addo", "ciao mondo"),
        ("\u202eciao\u202c", "ciao"),
        ("ｃｉａｏ", "ciao"),
        ("c\u0336i\u0336a\u0336o\u0336", "ciao"),
        ("ciao\U000e0000", "ciao"),
        ("it's", "its"),
        ("STRASSE", "straße"),
        ("ﬁne", "fine"),
    ],
)
def test_texts_that_look_or_sound_alike_have_one_key(one: str, other: str) -> None:
    assert same_key(one) == same_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("Napoli", "Inter"), ("14 marzo", "15 marzo"), ("", "a"), ("😀", "😂"), ("!!!", "")]
)
def test_texts_that_differ_keep_different_keys(one: str, other: str) -> None:
    assert same_key(one) != same_key(other)


def test_words_are_folded_and_apostrophes_separate() -> None:
    assert words("Cos'è l'ALTRA_volta, eh?") == ("cos", "e", "l", "altra_volta", "eh")
    assert spaced(" Cos'è? ") == " cos e "
    assert spaced("") == "  "


def test_a_word_loses_its_longest_ending_and_keeps_three_letters() -> None:
    endings = ("ando", "o", "a")
    assert stem("mangiando", endings) == "mangi"
    assert stem("casa", endings) == "cas"
    assert stem("oca", endings) == "oca"


def test_a_megabyte_is_read_only_at_its_beginning() -> None:
    assert len(fold("è" * 1_000_000)) == LONGEST_TEXT
    assert words("a" * 1_000_000) == ("a" * 40,)
    assert visible("x" * 1_000_000, 10) == "x" * 9 + "…"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\nb\r\nc\td", "a b c d"),
        ("\x00a\x1b[31mb\x85c", "a [31mb c"),
        ("\u202eevil\u2066", "evil"),
        ("a\u2028b\u2029c", "a b c"),
        ("perché", "perché"),
        ("z" + "\u0337" * 50, "z" + "\u0337" * 3),
        ("\ud800ok", "ok"),
    ],
)
def test_visible_text_is_one_line_without_controls(text: str, shown: str) -> None:
    assert visible(text) == unicodedata.normalize("NFC", shown)


@given(st.text(st.characters(codec=None)))
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert same_key(same_key(text)) == same_key(text)


@given(st.text(st.characters(codec=None)), st.integers(1, 80))
def test_visible_text_never_holds_a_line_break_or_a_format_character(text: str, longest: int) -> None:
    shown = visible(text, longest)
    assert len(shown) <= longest
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in shown)


def test_a_ligature_that_stands_for_many_letters_does_not_make_a_text_longer_than_the_limit() -> None:
    assert len(fold("\ufdfa" * LONGEST_TEXT)) <= LONGEST_TEXT


@pytest.mark.parametrize("before", ["x ", "\u00e8 bello, ", "a" * 40, "\ufdfa ", "c\u0301\u0316 "])
@pytest.mark.parametrize("length", [0, 1900, 1999, 2000, 2001, 9000])
def test_words_are_found_wherever_they_stand_in_a_text(before: str, length: int) -> None:
    text = (before * (length // len(before) + 1))[:length] + " Via dei T\u00ecgli, 4"
    assert holds(text + " e poi" * 3000, "VIA dei tigli")
    assert not holds(text, "via tigli")
    assert not holds(text, "ia dei tigl")


@pytest.mark.parametrize("wanted", ["", " ", "?!"])
def test_no_words_stand_nowhere(wanted: str) -> None:
    assert not holds("ciao?!", wanted)


def test_of_long_wanted_words_all_count() -> None:
    wanted = "ciao " * 1000
    assert holds(f"{wanted}a tutti", f"{wanted}a tutti")
    assert not holds(f"{wanted}a tutti", f"{wanted}a nessuno")


def test_a_tower_of_marks_takes_no_longer_than_other_texts() -> None:
    assert holds("a" + "\u0301\u0316" * 1_000_000 + " Birba", "birba")  # sorting the marks would take hours


@given(st.text(st.characters(codec=None), max_size=100), st.text(st.characters(codec=None), max_size=4))
def test_in_a_short_text_words_are_found_as_folding_has_them(text: str, wanted: str) -> None:
    assert holds(text, wanted) == (bool(words(wanted)) and spaced(wanted) in spaced(text))
