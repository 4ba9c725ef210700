from pathlib import Path

import pytest
from builders_cli import ROOT, Run

from bot.cli.login_texts import TEXTS, language_of
from bot.scopes import scopes_of
from config.sections import Twitch


@pytest.mark.parametrize(
    ("arguments", "config", "told"),
    [
        (["login"], 'client_id = "c"\nchannel = "casa"', "twitch.bot is not set"),
        (["login"], 'bot = "b"', "twitch.client_id is not set"),
        (["login", "--broadcaster"], 'client_id = "c"', "twitch.channel is not set"),
        (["login", "--redirect"], 'client_id = "c"\nbot = "b"', "needs the client secret"),
        (["login", "--language", "de"], "", "--language is it or en"),
    ],
)
def test_what_a_login_needs_is_named(run: Run, tmp_path: Path, arguments: list[str], config: str, told: str) -> None:  # noqa: PLR0917 - one table
    (tmp_path / "ricordo.toml").write_text(f"[twitch]\n{config}\n")
    code, _, said = run(*arguments)
    assert code == 2
    assert told in said


def test_a_logout_without_a_login_says_so(run: Run) -> None:
    code, said, _ = run("logout", "--language", "en")
    assert (code, "nobody is logged in" in said) == (0, True)


def test_an_account_that_is_not_connected_is_no_reason_for_a_demo(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ricordo.toml").write_text('[twitch]\nclient_id = "c"\nchannel = "casa"\n')
    code, _, said = run("run")
    assert code == 4
    assert "run `ricordo login`" in said


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({"LANG": "it_IT.UTF-8"}, "it"),
        ({"LANG": "it_IT", "LC_ALL": "C"}, "en"),
        ({"LC_MESSAGES": "it_CH", "LANG": "de_CH"}, "it"),
        ({}, "en"),
    ],
)
def test_the_language_is_that_of_the_machine(environ: dict[str, str], language: str) -> None:
    assert language_of(environ) == language


def test_what_is_asked_for_stands_in_the_documents() -> None:
    page = (ROOT / "docs" / "connecting.md").read_text(encoding="utf-8")
    for scope in (*scopes_of("bot"), *scopes_of("broadcaster")):
        assert f"{scope.name} " in page or f"`{scope.name}`" in page
    assert f"http://localhost:{Twitch().redirect_port}" in page


def test_every_text_is_in_both_languages_with_the_same_blanks() -> None:
    for name, texts in TEXTS.items():
        blanks = [sorted(part.split("}")[0] for part in text.split("{")[1:]) for text in texts.values()]
        assert blanks[0] == blanks[1], name
