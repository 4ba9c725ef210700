"""What a newcomer sees: `ricordo run` without an account, then what it says to try next, and the first screen of the README."""

import re
import subprocess
from pathlib import Path

import pytest
from builders_cli import ROOT, ricordo

pytestmark = pytest.mark.timeout(400)  # several processes a test, each of which loads everything
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    folder = tmp_path_factory.mktemp("newcomer")
    return folder, ricordo("run", cwd=folder)


Played = tuple[Path, subprocess.CompletedProcess[str]]


def test_without_an_account_the_bundled_chat_is_played_and_that_is_said(played: Played) -> None:
    _, done = played
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("No Twitch account is configured: playing the bundled chat.")
    assert "no language model is configured: the replies were made from the memory alone" in done.stdout
    assert done.stderr == ""
    assert max(len(line) for line in done.stdout.splitlines()) <= 100
    assert "\x1b" not in done.stdout


def test_each_reply_says_whom_it_answers_and_what_it_rests_on(played: Played) -> None:
    replies = re.findall(r"^  ▸ Memo to (\w+): ", played[1].stdout, re.MULTILINE)
    assert len(replies) >= 15
    assert {"Brando88", "noor_plays", "GattoMatto"} <= set(replies)
    assert re.search(r"^       └ \w+ wrote, \d+ \w+ 2026: ", played[1].stdout, re.MULTILINE)


def test_the_chat_of_the_readme_is_what_the_program_prints(played: Played) -> None:
    chat = re.findall(r"```text\n(.*?)```", README, flags=re.DOTALL)[0].splitlines()
    assert 8 <= len(chat) <= 12
    assert [line for line in chat if line not in played[1].stdout.splitlines()] == []


def test_what_it_says_to_try_next_works(played: Played) -> None:
    folder, done = played
    offered = done.stdout.partition("try next:")[2]
    assert "ricordo memory show gattomatto --data out/demo/memory" in offered
    shown = ricordo("memory", "show", "gattomatto", "--data", "out/demo/memory", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "la mia gatta si chiama Briciola" in shown.stdout
    assert ricordo("config", "init", cwd=folder).returncode == 0
    assert ricordo("config", "check", cwd=folder).returncode == 0


def test_an_unexpected_error_is_one_line_and_debug_shows_where(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import replays.show\ndef broken(*_):\n    raise ZeroDivisionError('boom')\nreplays.show.zone_of = broken\n"
    )
    environment = {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = ricordo("run", cwd=tmp_path, environment=environment)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("error: unexpected ZeroDivisionError in sitecustomize.py, line 3: boom.")
    assert "Traceback" not in done.stderr
    assert "Traceback" in ricordo("run", "--debug", cwd=tmp_path, environment=environment).stderr
