"""What is said twice is shown once."""

from dataclasses import replace

import pytest
from builders_plan import a_batch, a_document, a_message, a_request, a_turn, a_window, an_evidence, texts

from memory.dedup import drop_repeats
from memory.model import Evidence, SourceKind, Window
from memory.recipes import FULL, recipes

PROFILE, EPISODE = a_request(SourceKind.PROFILE), a_request(SourceKind.EPISODE, None)
EMPTY, BATCH = Window(stream_id="s3"), a_batch("nuvola dove abito?")


def kept(*evidence: Evidence, window: Window = EMPTY) -> list[str]:
    return texts(drop_repeats(evidence, window, BATCH, FULL)[0])


@pytest.mark.parametrize("again", ["Abito a Gubbio!!", "abito  a\u200b GUBBIO", "àbito a gubbio", "\u202eabito a gubbio"])
def test_the_same_text_is_shown_once_whatever_its_dress(again: str) -> None:
    one, two = an_evidence(a_document("abito a Gubbio", "m1")), an_evidence(a_document(again, "m2"))
    evidence, left = drop_repeats([one, two], EMPTY, BATCH, FULL)
    assert texts(evidence) == ["abito a Gubbio"]
    assert [(item.document_id, item.reason) for item in left] == [("m2", "repeat")]


def test_the_same_words_about_another_viewer_are_no_repeat() -> None:
    other = an_evidence(a_document("abito a Gubbio", "m2", subject="3", author="3"), a_request(viewer_id="3"))
    assert len(kept(an_evidence(a_document("abito a Gubbio", "m1")), other)) == 2


def test_what_stands_in_the_history_or_the_batch_is_not_repeated() -> None:
    window = a_window(("2", "abito a Gubbio"), ("3", "vivo a Bari"))
    items = [
        an_evidence(a_document("abito a Gubbio", "h0")),
        an_evidence(a_document("ABITO a gubbio", "m7")),  # said before, and again just now
        an_evidence(a_document("vivo a Bari", "m8")),  # Gigi's, not Rosalba's
        an_evidence(a_document("nuvola dove abito?", "q0")),
        an_evidence(a_document("Gigi abita a Gubbio", "f1", kind="fact", provenance=("h0",)), PROFILE),
        an_evidence(a_document("Gigi abita a Gubbio", "f2", kind="fact", provenance=("h0", "m1")), PROFILE),
    ]
    evidence, left = drop_repeats(items, window, BATCH, FULL)
    assert [item.document.id for item in evidence] == ["m8", "f2"]
    assert {item.reason for item in left} == {"in_history"}


def test_a_fact_goes_before_the_message_that_says_no_more() -> None:
    message = an_evidence(a_document("abito a Gubbio", "m1"))
    fact = an_evidence(a_document("abito a Gubbio da tempo", "f1", kind="fact", provenance=("m1",)), PROFILE)
    assert kept(message, fact) == ["abito a Gubbio da tempo"]


def test_a_message_that_says_more_stays_beside_its_fact() -> None:
    message = an_evidence(a_document("abito a Gubbio, terzo piano, con vista sulla funivia e due gatti", "m1"))
    fact = an_evidence(a_document("abita a Gubbio", "f1", kind="fact", provenance=("m1",)), PROFILE)
    assert len(kept(message, fact)) == 2


def test_two_facts_of_one_message_are_both_shown() -> None:
    facts = [a_document(text, text, kind="fact", provenance=("m1",)) for text in ("abita a Gubbio", "ha due gatti")]
    assert len(kept(*(an_evidence(fact, PROFILE) for fact in facts))) == 2


def test_messages_with_a_common_source_are_one() -> None:
    corrected = an_evidence(a_document("abito a Bari", "c1", provenance=("m1", "c1")))
    assert kept(corrected, an_evidence(a_document("abito a Gubbio", "m1"))) == ["abito a Bari"]


def test_a_turn_loses_the_lines_shown_elsewhere() -> None:
    turn = an_evidence(a_turn("Gigi: abito a Gubbio", "Rosalba: bello", "Moon: wow"), EPISODE)
    evidence, _ = drop_repeats([turn, an_evidence(a_document("abito a Gubbio", "l0"))], EMPTY, BATCH, FULL)
    assert evidence[0].document.text == "Rosalba: bello\nMoon: wow"
    assert evidence[0].document.provenance == ("l1", "l2")


def test_a_turn_with_nothing_new_goes() -> None:
    line = replace(a_window(("2", "a")).lines[0], id="l0")
    turn = an_evidence(a_turn("Gigi: a", "Gigi: b"), EPISODE)
    recalled = an_evidence(a_document("b", "l1"))
    assert kept(turn, recalled, window=Window(stream_id="s3", lines=(line,))) == ["b"]
    assert kept(turn, an_evidence(a_turn("Gigi: a", "Gigi: b", document_id="t2"), EPISODE)) == ["Gigi: a\nGigi: b"]


def test_a_turn_whose_lines_cannot_be_told_apart_goes_only_as_a_whole() -> None:
    document = replace(a_turn("Gigi: a", "Gigi: b"), provenance=("h0",))
    assert kept(an_evidence(document, EPISODE)) == ["Gigi: a\nGigi: b"]
    assert kept(an_evidence(document, EPISODE), window=a_window(("2", "a"))) == []


def test_the_canon_is_never_in_the_history() -> None:
    entry = a_document("Un faro.", "lore:faro", kind="lore", subject=None, author=None)
    request = a_request(SourceKind.LORE, None)
    assert kept(an_evidence(entry, request), an_evidence(entry, request)) == ["Un faro."]


def test_the_order_of_what_stays_is_the_order_it_came_in() -> None:
    message = an_evidence(a_document("uno", "m1"))
    fact = an_evidence(a_document("due", "f1", kind="fact"), PROFILE)
    assert kept(message, fact) == ["uno", "due"]


def test_switched_off_everything_stays() -> None:
    one = an_evidence(a_document("abito a Gubbio", "q0"))
    batch = a_batch(a_message("abito a Gubbio", message_id="q0"))
    assert drop_repeats([one, one], EMPTY, batch, recipes()["-dedup"]) == ((one, one), ())
