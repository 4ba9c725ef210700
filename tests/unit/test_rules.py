"""The notation of the rule files, and what is said about wrong ones."""

import time
from pathlib import Path

import pytest

from memory.normalise import spaced
from memory.phrases import compiled
from memory.rules import FOLDER, RulesInvalid, load_rules


@pytest.mark.parametrize(
    ("phrase", "text", "found"),
    [
        ("dove abito", "ma dove abito?", True),
        ("dove abito", "dove abitolo", False),
        ("ricord*", "che bei ricordi", True),
        ("*avo", "io mangiavo", True),
        ("*avo", "io mangiavano", False),
        ("(io|tu) vado", "tu vado", True),
        ("(io|tu) vado", "lui vado", False),
        ("(ti ricordi|sai) di", "ti ricordi di me", True),
        ("(l|d) altra volta", "l'altra volta", True),
        ("cosa ti? ricordi", "cosa ricordi", True),
        ("cosa ti? ricordi", "cosa ti ricordi", True),
        ("chi _ vinto", "chi ha vinto", True),
        ("chi _ vinto", "chi vinto", False),
        ("chi .. vinto", "chi di voi ha vinto", True),
        ("chi .. vinto", "chi di voi due ieri ha vinto", False),
        ("^prima", "prima c'era", True),
        ("^prima", "la prima", False),
        ("perché", "PERCHE", True),
    ],
)
def test_a_phrase_matches_whole_words_as_its_notation_says(phrase: str, text: str, found: bool) -> None:
    assert compiled([phrase]).found(spaced(text)) is found


def test_removing_phrases_keeps_the_rest_matchable() -> None:
    phrases = compiled(["^tell me", "please"])
    assert phrases.removed(spaced("tell me please where i live")) == " where i live "
    assert phrases.first(spaced("now please")) == "please"
    assert compiled([]).first(spaced("now")) is None
    assert compiled([]).removed(" now ") == " now "
    assert not compiled([]).found(" now ")


@pytest.mark.parametrize("phrase", ["", "_", "..", "a?", "(a|b", "a)b", "a+", "(a|)", ".*", "a||b", "[x]", "a**"])
def test_a_phrase_outside_the_notation_is_refused(phrase: str) -> None:
    with pytest.raises(ValueError, match="phrase"):
        compiled([phrase])


@pytest.mark.parametrize("word", ["a", "io", "prima", "what did", "the", "chi ha", "xo", "i", "who _"])
@pytest.mark.parametrize("language", ["it", "en", "es"])
def test_no_rule_blows_up_on_repetition(language: str, word: str) -> None:
    rules = load_rules((language,))[0]
    text = spaced(f"{word} " * 2000 + "o" * 500)
    started = time.process_time()
    rules.person.first.removed(text)
    rules.episode.event.found(text)
    rules.question.found(text)
    rules.recall.found(text)
    assert time.process_time() - started < 5  # a backtracking blow-up would take hours


def test_rules_come_in_the_order_asked_for() -> None:
    assert [rules.language for rules in load_rules(("en", "it"))] == ["en", "it"]


def a_file(folder: Path, old: str, new: str) -> Path:
    text = (FOLDER / "en.toml").read_text(encoding="utf-8")
    assert old in text
    (folder / "en.toml").write_text(text.replace(old, new, 1), encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('language = "en"', 'language = "fr"', r"en\.toml.*'language'.*'fr'"),
        ('language = "en"', 'language = "en"\ncolour = 1', r"en\.toml.*'colour'"),
        ('endings = "', 'end = "', r"en\.toml.*'(endings|end)'"),
        ("question = [", 'question = [ "((", ', r"en\.toml.*'question'.*\(\("),
        ("question = [", "question = [ 7, ", r"en\.toml.*'question'.*list of phrases"),
        ('stop = """', 'stop = ["a"]\nrest = """', r"en\.toml.*'(stop|rest)'"),
        ('unit = "year"', 'unit = "century"', r"en\.toml.*'period.0.unit'"),
        ('language = "en"', "language = ", r"en\.toml.*TOML"),
        ("january = 1", 'january = "one"', r"en\.toml.*'months.january'"),
    ],
)
def test_a_wrong_rule_file_is_refused_with_file_and_key(tmp_path: Path, old: str, new: str, says: str) -> None:
    with pytest.raises(RulesInvalid, match=says):
        load_rules(("en",), a_file(tmp_path, old, new))


def test_a_language_without_a_file_is_refused_with_those_there_are() -> None:
    with pytest.raises(RulesInvalid, match=r"'xx'.*en, es, it"):
        load_rules(("xx",))
    with pytest.raises(RulesInvalid, match="at least one"):
        load_rules(())


def test_a_third_language_is_a_file_alone(tmp_path: Path) -> None:
    text = (FOLDER / "en.toml").read_text(encoding="utf-8").replace('language = "en"', 'language = "es"')
    (tmp_path / "es.toml").write_text(text, encoding="utf-8")
    assert load_rules(("es",), tmp_path)[0].language == "es"
