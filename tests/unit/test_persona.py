from pathlib import Path

import pytest

from bot.persona import RICORDO, PersonaError, load_persona

GOOD = """
name = "Faro"
aliases = ["Il Faro", "faretto"]
[description]
it = "Sei  un faro."
[tone]
it = ["Breve.", "Gentile."]
en = ["Short."]
"""


def test_without_a_file_the_bot_is_ricordo() -> None:
    assert load_persona(None) is RICORDO
    assert RICORDO.name == "Ricordo"
    assert RICORDO.described("it") != RICORDO.described("en") == RICORDO.described("fr")


def test_file_gives_the_persona_with_fallbacks_between_languages(tmp_path: Path) -> None:
    path = tmp_path / "persona.toml"
    path.write_text(GOOD)
    persona = load_persona(path)
    assert (persona.name, persona.aliases) == ("Faro", ("il faro", "faretto"))
    assert persona.described("en") == persona.described("it") == "Sei un faro."
    assert persona.rules("it") == ("Breve.", "Gentile.")
    assert persona.rules("de") == ("Short.",)


def test_persona_of_a_name_alone_has_no_rules(tmp_path: Path) -> None:
    path = tmp_path / "persona.toml"
    path.write_text('name = "Faro"')
    assert load_persona(path).described("it") == ""
    assert load_persona(path).rules("it") == ()


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ("", "name: must be a text"),
        ("name = 3", "name: must be a text"),
        ("name = [", "not TOML"),
        (GOOD.replace("aliases", "alias"), "alias: unknown field; there are name, aliases, description, tone"),
        ('name = "F"\naliases = "x"', "aliases: must be a list"),
        ('name = "F"\ndescription = "x"', "description: must be a table by language"),
        (f'name = "F"\n[description]\nit = "{"è" * 751}"', r"description\.it: longer than 1500"),
        (f'name = "F"\n[tone]\nit = ["{"x" * 800}", "{"x" * 800}"]', r"tone\.it: longer than 1500"),
        ('name = "F"\n[tone]\nit = [" "]', r"tone\.it: must be a text that is not empty"),
    ],
)
def test_broken_file_is_refused_with_file_and_field(tmp_path: Path, content: str, match: str) -> None:
    path = tmp_path / "persona.toml"
    path.write_text(content)
    with pytest.raises(PersonaError, match=match) as caught:
        load_persona(path)
    assert str(path) in str(caught.value)


def test_missing_and_binary_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match="cannot be read"):
        load_persona(tmp_path / "gone.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PersonaError, match="not TOML"):
        load_persona(tmp_path / "binary.toml")
