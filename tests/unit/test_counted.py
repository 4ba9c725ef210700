"""Numbers with their words: one thing, and many, in both languages, wherever the program tells how many there are."""

import re
from collections.abc import Iterator
from dataclasses import fields

import pytest

from bot.cli.doctor_texts import TEXTS
from bot.cli.jobs import jobs_told, lag_told
from bot.cli.mending import WORDS as DRIFT
from bot.cli.top_texts import TOP
from bot.obey_texts import WORDS as CHAT
from memory import counted
from replays.log_report import warned

PLURAL = {
    "en": re.compile(r"\b1 (?!is\b|has\b|was\b|ms\b|s\b|looks could)\w+s\b"),
    "it": re.compile(r"\b1 (?!di\b)(?:\w+i\b|cose|voci|risposte|raccolte|iscrizioni|volte)"),
}


@pytest.mark.parametrize(("number", "told"), [(0, "0 lines"), (1, "1 line"), (2, "2 lines"), (2000, "2,000 lines")])
def test_a_number_has_the_word_that_agrees_with_it(number: int, told: str) -> None:
    assert counted("{lines:line|lines}", lines=number) == told


@pytest.mark.parametrize(
    ("template", "number", "told"),
    [
        ("{n:riga, e|righe, e}", 2000, "2.000 righe, e"),
        ("{n:,} ms", 1_234_567, "1.234.567 ms"),
        ("{n:,.1f} GB", 1234.5, "1.234,5 GB"),
        ("{n:riga|righe}", 1, "1 riga"),
        ("{n}", "1,234.5", "1,234.5"),
    ],
)
def test_an_italian_number_has_italian_marks_and_its_words_keep_theirs(template: str, number: object, told: str) -> None:
    assert counted(template, "it", n=number) == told


def test_everything_else_in_a_template_is_filled_in_as_ever() -> None:
    told = counted("{who} of {all:,}: {share:.1f}, {n:riga|righe} {{}}", who="a|b", all=1000, share=0.25, n=1)
    assert told == "a|b of 1,000: 0.2, 1 riga {}"


def _texts(language: str) -> Iterator[str]:
    for words in (CHAT[language], TOP[language], DRIFT[language]):  # type: ignore[index]
        yield from (text for one in fields(words) if isinstance(text := getattr(words, one.name), str))
    yield from (part for said in TEXTS.values() for part in said[language])  # type: ignore[index]


@pytest.mark.parametrize("language", ["en", "it"])
def test_of_one_thing_no_text_speaks_as_of_many(language: str) -> None:
    wrong = []
    for text in _texts(language):
        told = counted(text, **{name: 1 if spec else "X" for name, spec in re.findall(r"\{(\w+)(:?)", text)})
        wrong += [told] if PLURAL[language].search(told) else []
    assert wrong == []


def test_jobs_and_their_lag_are_told_in_numbers_that_agree() -> None:
    assert lag_told(1, 86_400) == "1 job waits, the oldest since 1 day"
    assert lag_told(2, 200_000) == "2 jobs wait, the oldest since 2 days"
    assert lag_told(1, 86_400, "it") == "1 lavoro in attesa, il più vecchio da 1 giorno"
    assert lag_told(1200, 86_400 * 1000, "it") == "1.200 lavori in attesa, il più vecchio da 1.000 giorni"
    assert jobs_told({"done": 1, "dead": 2000}, "it") == "1 finito, 2.000 morti"
    assert jobs_told({}, "it") == "nessuno"


def test_warnings_of_a_log_agree_with_their_number() -> None:
    assert warned("gzip_cut", 1).startswith("1 packed file that breaks off:")
    assert warned("no_id", 1200).startswith("1,200 messages without an id,")
    assert warned("something_else", 2) == "2 something_else"
