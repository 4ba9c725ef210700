import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from builders_cli import Run

from bot.cli.logs import scrub


def test_a_configuration_is_written_once_checked_and_shown(run: Run, tmp_path: Path) -> None:
    assert "wrote ricordo.toml" in run("config", "init")[1]
    code, _, told = run("config", "init")
    assert code == 2
    assert "Add --force to overwrite it" in told
    assert run("config", "init", "--force")[0] == 0
    assert run("config", "check")[1] == "the configuration is fine\n"
    shown = tomllib.loads(run("config", "show")[1])
    assert shown["batching"]["size"] == 20
    assert shown["manners"]["strip_links"] is True
    assert run("config", "init", tmp_path / "none" / "x.toml")[0] == 1


def test_shown_secrets_are_masked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LLM__API_KEY", "sk-very-secret-key")
    shown = run("config", "show")[1] + run("config", "show", "--json")[1]
    assert "very-secret" not in shown
    assert json.loads(run("config", "show", "--json")[1])["llm"]["api_key"] == "**********"


def test_a_wrong_configuration_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    (tmp_path / "ricordo.toml").write_text("[batching]\nsizze = 3\n")
    code, _, told = run("config", "check")
    assert code == 2
    assert "size" in told


def test_secrets_do_not_get_into_the_log_by_key_or_by_text() -> None:
    event = scrub(None, "", {"access_token": "abc", "text": "got Bearer abcdefghijk and sk-1234567890", "lines": 3})
    assert event == {"access_token": "***", "text": "got Bearer *** and sk-***", "lines": 3}


def test_secrets_are_masked_at_any_depth() -> None:
    event = scrub(None, "", {"sent": {"refresh_token": "abc", "headers": ["Bearer abcdefghijk"]}, "count": 3})
    assert event == {"sent": {"refresh_token": "***", "headers": ["Bearer ***"]}, "count": 3}


def test_what_a_library_logs_is_masked_and_cannot_begin_a_line_of_its_own() -> None:
    program = (
        "import logging; from bot.cli.logs import set_up_logs; from config.sections import Log; set_up_logs(Log());"
        "logging.getLogger('other').warning('got oauth:abcdefghij\\n2026 [error] forged \\x1b[31m \\u202e')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stderr == "WARNING other got oauth:***\n    2026 [error] forged \\x1b[31m \\u202e\n"
