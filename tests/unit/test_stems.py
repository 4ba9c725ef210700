"""Words as the full-text index sees them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.store.stems import _ENGLISH, _ITALIAN, _stems_of, folded, forget, stems, word_stems


@pytest.mark.parametrize(
    ("one", "other"),
    [("gatti", "gatto"), ("perché", "PERCHE"), ("running", "runs"), ("Città", "citta'"), ("ﬁne", "fine")],
)
def test_forms_of_a_word_share_a_stem(one: str, other: str) -> None:
    assert set(stems(one).split()) & set(stems(other).split())


def test_different_words_share_no_stem() -> None:
    assert not set(stems("gatto cane").split()) & set(stems("pizza birra").split())


def test_repeats_and_order_are_kept() -> None:
    assert [found[0] for found in word_stems("pizza pasta pizza")] == ["pizz", "past", "pizz"]


def test_other_alphabets_are_spelt_in_ascii_and_stay_apart() -> None:
    assert stems("привет") != stems("пока")
    assert stems("привет").isascii()


def test_a_shout_of_any_length_stays_small() -> None:
    assert len(stems("a" * 1_000_000)) <= 40
    assert len(stems("word " * 100_000).split()) <= 2000


def test_no_word_is_remembered_but_where_it_can_be_forgotten() -> None:
    assert word_stems("gattini")
    forget()
    assert _stems_of.cache_info().currsize == 0
    assert (_ITALIAN.maxCacheSize, _ENGLISH.maxCacheSize) == (0, 0)


def test_folding_removes_accents_and_invisible_marks() -> None:
    assert folded("E\u0301TE\u0301") == "ete"


@given(st.text(st.characters(codec=None), max_size=60))
def test_every_stem_is_safe_to_quote_whatever_the_text(text: str) -> None:
    assert re.fullmatch(r"([a-z0-9_]+( [a-z0-9_]+)*)?", stems(text))
