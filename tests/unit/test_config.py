"""The configuration through its front door: `load_settings` on real files and variables."""

import os
from pathlib import Path

import pytest

from config.document import PAGE, TOML_FILE, as_page, as_toml
from config.errors import ConfigError
from config.settings import Settings, keys, load_settings


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("RICORDO_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def a_file(tmp_path: Path, text: str, name: str = "ricordo.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return str(caught.value)


def test_no_file_gives_the_defaults() -> None:
    assert load_settings() == Settings()
    assert load_settings().batching.size == 20


def test_file_wins_over_defaults_and_environment_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_file(tmp_path, "[batching]\nsize = 7\nquiet_seconds = 3\n")
    monkeypatch.setenv("RICORDO_BATCHING__SIZE", "9")
    settings = load_settings(path)
    assert (settings.batching.size, settings.batching.quiet_seconds) == (9, 3.0)


def test_file_in_the_working_folder_is_found(tmp_path: Path) -> None:
    a_file(tmp_path, "[history]\nmessages = 5\n")
    assert load_settings().history.messages == 5


def test_unknown_key_names_file_line_and_nearest_key(tmp_path: Path) -> None:
    path = a_file(tmp_path, "[log]\nlevel = 'info'\n\n[batching]\nsice = 7\n")
    assert refusal(path) == (
        f"{path}, line 5, batching.sice: unknown key 'sice'. Did you mean size? "
        "Allowed: addressed_grace_seconds, longest_wait_seconds, quiet_seconds, size."
    )


def test_unknown_section_names_the_nearest_section(tmp_path: Path) -> None:
    path = a_file(tmp_path, "[bathing]\nsize = 7\n")
    assert refusal(path).startswith(f"{path}, line 1, bathing: unknown key 'bathing'. Did you mean batching?")


def test_wrong_value_says_what_is_allowed(tmp_path: Path) -> None:
    path = a_file(tmp_path, "[budget]\nlanguage = 'fr'\n")
    assert refusal(path) == f"{path}, line 2, budget.language: Input should be 'it' or 'en'"


def test_every_problem_is_told_at_once(tmp_path: Path) -> None:
    path = a_file(tmp_path, "[budget]\nlanguage = 'fr'\nblock_tokens = -1\n")
    assert len(refusal(path).splitlines()) == 2


def test_unknown_variable_is_refused_with_the_nearest_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BATCHING__SISE", "9")
    assert "Did you mean RICORDO_BATCHING__SIZE?" in refusal()


def test_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_BATCHING__SIZE", "many")
    assert refusal().startswith("environment variable RICORDO_BATCHING__SIZE: ")


def test_secret_in_the_ordinary_file_is_refused_without_repeating_it(tmp_path: Path) -> None:
    path = a_file(tmp_path, "[llm]\napi_key = 'sk-very-secret'\n")
    text = refusal(path)
    assert "RICORDO_LLM__API_KEY" in text
    assert "sk-very-secret" not in text


def test_secrets_come_from_a_private_file_or_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = a_file(tmp_path, "[llm]\nmodel = 'm'\n")
    a_file(tmp_path, "[llm]\napi_key = 'from-file'\n", "ricordo.secrets.toml").chmod(0o600)
    settings = load_settings(path)
    assert (settings.llm.model, settings.llm.api_key.get_secret_value()) == ("m", "from-file")
    monkeypatch.setenv("RICORDO_LLM__API_KEY", "from-environment")
    assert load_settings(path).llm.api_key.get_secret_value() == "from-environment"
    assert "from-environment" not in repr(load_settings(path))


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_secrets_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    secrets = a_file(tmp_path, "[llm]\napi_key = 'x'\n", "ricordo.secrets.toml")
    secrets.chmod(0o644)
    assert refusal() == f"{secrets.name}: others may read this file of secrets. Run: chmod 600 {secrets.name}"


def test_missing_file_says_how_to_write_one(tmp_path: Path) -> None:
    assert "ricordo config init" in refusal(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"[batching\nsize=1", "not valid TOML"), (b"\xff\xfe\x00", "not UTF-8"), (b"size = 3\n", "unknown key 'size'")],
)
def test_broken_file_is_one_clear_error(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content)
    text = refusal(path)
    assert text.startswith(str(path))
    assert words in text


def test_deadlines_and_counts_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    assert "viewers must not exceed viewers_max" in refusal(a_file(tmp_path, "[planner]\nviewers = 6\n"))
    assert "must be below" in refusal(a_file(tmp_path, "[retrieval]\nsource_seconds = 2\n"))


def test_written_files_hold_every_key_and_are_up_to_date() -> None:
    assert TOML_FILE.read_text(encoding="utf-8") == as_toml()
    assert PAGE.read_text(encoding="utf-8") == as_page()
    assert all(f"| `{key}` |" in as_page() for _, key in keys(Settings))


def test_written_toml_loads_to_the_defaults(tmp_path: Path) -> None:
    assert load_settings(a_file(tmp_path, as_toml())) == Settings()


@pytest.mark.parametrize("host", ["10.0.0.1", "::", "192.168.1.5", "example.org", "127.0.0.1.evil.example"])
def test_a_watch_address_that_others_reach_is_refused_unless_it_is_meant(tmp_path: Path, host: str) -> None:
    text = f'[watch]\nport = 9464\nhost = "{host}"\n'
    assert "outside = true" in refusal(a_file(tmp_path, text))
    assert load_settings(a_file(tmp_path, text + "outside = true\n")).watch.host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.9"])
def test_a_watch_address_of_this_machine_is_taken(tmp_path: Path, host: str) -> None:
    assert load_settings(a_file(tmp_path, f'[watch]\nhost = "{host}"\n')).watch.port == 0
