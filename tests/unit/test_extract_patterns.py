"""The notation of the extraction's patterns, the tokens they are matched on, and what is said about wrong rule files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from memory.extract.languages import FOLDER, load_languages, load_slots
from memory.extract.patterns import Compiler, Vocabulary
from memory.extract.rules import RuleExtractor
from memory.extract.tokens import joined, sentences, unquoted
from memory.rules import RulesInvalid

COMPILER = Compiler(
    Vocabulary(stops=frozenset({"ma", "e"}), lists={"animal": ["gatto", "pesce rosso"], "number": ["due"], "wild": ["sposat*"]})
)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("vivo a {x}", "vivo a San Benedetto del Tronto", {"x": "san benedetto del tronto"}),
        ("vivo a {x}", "vivo a Torino, forse", {"x": "torino"}),
        ("vivo a {x}", "vivo a Torino ma viaggio", {"x": "torino"}),
        ("vivo a {x}", "vivo a ma", None),
        ("vivo a {x}", "rivivo a Torino", None),
        ("ho {number} gatti", "ho due gatti", {"number": "due"}),
        ("ho {number} gatti", "ho 12 gatti", {"number": "12"}),
        ("ho un {list:animal}", "ho un pesce rosso grande", {"animal": "pesce rosso"}),
        ("il mio {key:animal} e {x}", "il mio gatto è nero", {"key": "gatto", "x": "nero"}),
        ("sono {list:wild}", "sono sposatissima", {"wild": "sposatissima"}),
        ("sono di {x}$", "sono di Roma", {"x": "roma"}),
        ("sono {one}$", "sono alto due metri", None),
        ("sono {one}$", "sono alto e bello", {"one": "alto"}),
        ("un _? {list:animal}", "un bel gatto", {"animal": "gatto"}),
        ("un _? {list:animal}", "un pesce rosso", {"animal": "pesce rosso"}),
        ("vivo .. a {one}", "vivo da solo qui a Roma", {"one": "roma"}),
        ("no ,? {one}", "no, Roma", {"one": "roma"}),
        ("no ,? {one}", "no Roma", {"one": "roma"}),
        ("mi chiamo {name}", "mi chiamo Zoë", {"name": "zoe"}),
        ("(nel|nell anno) {year}", "nell'anno 1999", {"year": "1999"}),
    ],
)
def test_a_pattern_captures_what_its_notation_says(pattern: str, text: str, found: dict[str, str] | None) -> None:
    (sentence,) = sentences(text)
    match = COMPILER.pattern(pattern).regex.search(sentence.spaced)
    captured = {name: value.strip() for name, value in match.groupdict().items() if value} if match else None
    assert captured == found


@pytest.mark.parametrize(
    "pattern", ["", "{x}", "_", "(a|b", "a)b", "{nothing}", "{list:nothing} a", "a+", "(a|)", "{x} a {x}", "a** b", "di?"]
)
def test_a_pattern_outside_the_notation_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        COMPILER.pattern(pattern)


def test_a_pattern_names_the_words_it_cannot_do_without() -> None:
    assert COMPILER.pattern("(vivo|abito) a {x}").anchors == frozenset({"vivo", "abito"})
    assert COMPILER.pattern("ho? {list:animal} nero").anchors == frozenset({"gatto", "pesce"})
    assert COMPILER.pattern("sposat* {x}").anchors is None
    assert COMPILER.pattern("^io sono").opens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Ciao! Come va? Bene", [("ciao",), ("come", "va"), ("bene",)]),
        ("l'amica dell'Anna", [("l", "amica", "dell", "anna")]),
        ("guarda https://x.y/z?q=1 che bello", [("guarda", ",", "che", "bello")]),
        ("@bob ciao, io 😀 qui <3", [("ciao", ",", "io", ",", "qui")]),
        ("v1.5 vale 3,5", [("v1", ",", "5", "vale", "3,5")]),
        ("...", []),
    ],
)
def test_a_line_is_cut_into_sentences_of_folded_words(text: str, words: list[tuple[str, ...]]) -> None:
    assert [sentence.words for sentence in sentences(text)] == words


def test_only_the_sentence_that_ends_in_a_question_mark_asks() -> None:
    assert [sentence.asks for sentence in sentences("vivo qui. e tu?! boh")] == [False, True, False]


def test_the_names_of_emotes_are_no_words() -> None:
    assert [sentence.words for sentence in sentences("vivo a Kappa Torino", {"Kappa"})] == [("vivo", "a", ",", "torino")]


def test_words_are_put_together_again_as_they_were_written() -> None:
    (sentence,) = sentences("Half-Life e l'altro C++ , già")
    assert joined(sentence.said) == "Half-Life e l'altro C++ già"


@pytest.mark.parametrize(
    "text", ['lui: "vivo a Roma"', "«vivo a Roma»", "“vivo a Roma”", "*vivo a Roma*", "'ma io vivo a Roma'"]
)
def test_what_stands_in_quotation_marks_is_taken_out(text: str) -> None:
    assert "Roma" not in unquoted(text)


def test_an_apostrophe_quotes_nothing() -> None:
    assert unquoted("l'altro giorno dall'amico vivo a Roma") == "l'altro giorno dall'amico vivo a Roma"


@pytest.mark.parametrize(
    ("name", "change", "says"),
    [
        ("it.toml", lambda text: text.replace('language = "it"', 'langage = "it"', 1), "language"),
        ("it.toml", lambda text: "[[[", "cannot be read"),
        ("it.toml", lambda text: text.replace('stops = """', 'stops = 3\nstop = """', 1), "stop"),
        ("slots.toml", lambda text: text.replace('contrary = "like"', 'contrary = "lyke"'), "lyke"),
        ("slots.toml", lambda text: text.replace("importance = 0.9", "importance = 9", 1), "importance"),
    ],
)
def test_a_wrong_rule_file_is_refused_with_its_name_and_key(
    tmp_path: Path, name: str, change: Callable[[str], str], says: str
) -> None:
    for file in FOLDER.glob("*.toml"):
        text = file.read_text(encoding="utf-8")
        (tmp_path / file.name).write_text(change(text) if file.name == name else text, encoding="utf-8")
    with pytest.raises(RulesInvalid, match=says) as refused:
        load_slots(tmp_path), load_languages(("it",), tmp_path)
    assert name in str(refused.value)


def test_a_missing_language_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RulesInvalid, match=r"xx\.toml"):
        load_languages(("xx",), tmp_path)
    with pytest.raises(RulesInvalid, match="no language"):
        load_languages(())


@pytest.mark.parametrize("language", ["it", "en"])
def test_every_shipped_rule_compiles_and_names_a_slot_with_a_label(language: str) -> None:
    slots = load_slots()
    (rules,) = load_languages((language,))
    RuleExtractor((rules,), slots)
    assert (
        {rule.slot for rule in rules.rule} | {question.slot for question in rules.asked} <= slots.keys() == rules.labels.keys()
    )
