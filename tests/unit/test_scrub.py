"""What the store cannot hold."""

from memory.store.scrub import DOCUMENT_CHARACTERS, clean, clean_or_none, shortened


def test_only_nul_and_lone_surrogates_are_replaced() -> None:
    assert clean("a\x00b\ud800c\x07\u202e🦊") == "a\ufffdb\ufffdc\x07\u202e🦊"
    assert clean_or_none(None) is None


def test_a_long_text_is_cut_visibly_for_its_document() -> None:
    cut = shortened("x" * 1_000_000)
    assert len(cut) == DOCUMENT_CHARACTERS
    assert cut.endswith("…")
    assert shortened("short") == "short"
