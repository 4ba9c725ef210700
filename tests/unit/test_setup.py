"""The set-up, answered by a script."""

import io
import stat
import tomllib
from pathlib import Path

import pytest
from builders_cli import Run
from fakes import issued

from bot.cli.setup_texts import TEXTS

ANSWERS = ["https://www.twitch.tv/Casa/", "@Ricordo_Bot", "abc123def", "n", "1", "n"]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "en_GB.UTF-8")
    monkeypatch.delenv("LC_ALL", raising=False)


def answers(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def written(folder: Path) -> dict[str, dict[str, str]]:
    return tomllib.loads((folder / "ricordo.toml").read_text())


@pytest.mark.usefixtures("script")
def test_a_streamer_is_led_from_nothing_to_a_configuration(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "", *ANSWERS)
    code, shown, _ = run("setup")
    assert written(tmp_path) == {
        "twitch": {"channel": "casa", "bot": "ricordo_bot", "client_id": "abc123def"},
        "commands": {"language": "en"},
        "budget": {"language": "en"},
    }
    assert "OAuth Redirect URLs: http://localhost:17563" in shown
    assert "Wrote ricordo.toml" in shown
    assert "WRONG Twitch: #casa is configured, but the bot's account is not connected" in shown
    assert code == 1  # the doctor's word
    assert not (tmp_path / "ricordo.secrets.toml").exists()


def test_it_speaks_italian_where_that_is_chosen(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    answers(monkeypatch, "tedesco", "it", *ANSWERS)
    shown = run("setup")[1]
    assert "en or it" in shown
    assert "Il tuo canale" in shown
    assert "Your channel" not in shown
    assert written(tmp_path)["commands"]["language"] == "it"


def test_answers_that_will_not_do_are_asked_again(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(
        monkeypatch, "né", "x", "casa", "bot_1", "NOT AN ID", "abc123def", "forse", "n",
        "9", "6", "ftp://x", "http://127.0.0.1:9/v1", "", "my-model", "", "s", "n",
    )  # fmt: skip
    shown = run("setup", "--language", "en")[1]
    assert shown.count("A Twitch name has 3 to 25 letters") == 2
    for told in ("small letters and digits", "A number from 1 to 6", "begins with http", "Something is needed", "y or n"):
        assert told in shown
    assert written(tmp_path)["llm"] == {"base_url": "http://127.0.0.1:9/v1", "model": "my-model"}


def test_secrets_go_into_their_own_file_and_are_not_repeated(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret, key = issued.issue("the-client-secret"), issued.issue("the-api-key")
    answers(monkeypatch, "casa", "ricordo_bot", "abc123def", "y", secret, "4", "", "some-model", key, "n")
    shown = run("setup", "--language", "en")[1]
    file = tmp_path / "ricordo.secrets.toml"
    assert tomllib.loads(file.read_text()) == {"twitch": {"client_secret": secret}, "llm": {"api_key": key}}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert written(tmp_path)["llm"]["base_url"] == "https://api.openai.com/v1"
    assert "which you alone can read" in shown


def test_an_existing_configuration_is_offered_as_the_default_and_kept(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = '# mine\n[twitch]\nchannel = "casa"\nbot = "ricordo_bot"\nclient_id = "abc123def"\n[batching]\nsize = 7 # seven\n'
    (tmp_path / "ricordo.toml").write_text(mine + '[llm]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n')
    secrets = tmp_path / "ricordo.secrets.toml"
    secrets.write_text('[llm]\napi_key = "former-key"\n')
    secrets.chmod(0o600)
    answers(monkeypatch, "", "", "", "n", "", "", "", "", "n")
    shown = run("setup", "--language", "it")[1]
    assert (tmp_path / "ricordo.toml").read_text().startswith(mine)
    assert written(tmp_path)["llm"] == {"base_url": "http://127.0.0.1:9/v1", "model": "m"}
    assert "Ho cambiato ricordo.toml: twitch.channel" in shown
    assert "former-key" in secrets.read_text()
    answers(monkeypatch, "", "", "", "n", "1", "n")
    run("setup", "--language", "it")
    assert written(tmp_path)["llm"] == {"base_url": "", "model": ""}


def test_a_configuration_is_written_anew_where_that_is_asked_for(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ricordo.toml").write_text("twitch = {channel = 'x'}\n")
    answers(monkeypatch, *ANSWERS)
    code, _, told = run("setup", "--language", "en")
    assert (code, "cannot be changed safely" in told) == (2, True)
    answers(monkeypatch, *ANSWERS)
    assert "The former file is ricordo.toml.old" in run("setup", "--language", "en", "--force")[1]
    assert written(tmp_path)["twitch"]["channel"] == "casa"
    assert (tmp_path / "ricordo.toml.old").read_text() == "twitch = {channel = 'x'}\n"


def test_answers_that_end_too_early_write_nothing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, "casa", "ricordo_bot")
    code, _, told = run("setup", "--language", "it")
    assert (code, "nulla è stato scritto" in told) == (2, True)
    assert list(tmp_path.iterdir()) == []


def test_answers_that_end_behind_the_writing_leave_it_and_say_how_to_go_on(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers(monkeypatch, *ANSWERS[:-1])
    code, _, told = run("setup", "--language", "it")
    assert (code, "quel che è scritto resta" in told, "nulla è stato scritto" in told) == (2, True, False)
    assert written(tmp_path)["twitch"]["channel"] == "casa"


def test_a_folder_that_cannot_be_written_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    answers(monkeypatch, *ANSWERS)
    code, _, told = run("setup", "--language", "en", "--config", tmp_path / "file" / "ricordo.toml")
    assert (code, "cannot be written" in told) == (1, True)


def test_every_text_is_in_both_languages_with_the_same_blanks() -> None:
    for name, texts in TEXTS.items():
        blanks = [sorted(part.split("}")[0] for part in text.split("{")[1:]) for text in texts.values()]
        assert blanks[0] == blanks[1], name
