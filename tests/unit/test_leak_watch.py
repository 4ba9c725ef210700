"""The watch over secrets finds them where a test leaves them, and nowhere else."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = """
import logging
from fakes import issued

SECRET = "very-" + "secret"

def test_output(): issued.issue(SECRET); print(SECRET)
def test_log(): issued.issue(SECRET); logging.getLogger("x").warning("got %s", SECRET)
def test_file(tmp_path): issued.issue(SECRET); (tmp_path / "x").write_text(SECRET)
def test_taken_output(capsys): issued.issue(SECRET); print(SECRET); capsys.readouterr()
def test_token_file(tmp_path): issued.issue(SECRET); (tmp_path / "twitch-tokens.json").write_text(SECRET)
def test_not_issued(): print(SECRET)
"""


def test_a_test_that_writes_a_secret_fails_wherever_it_stands(tmp_path: Path) -> None:
    (tmp_path / "test_leaky.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, tmp_path,
         "-p", "no:cacheprovider", "-o", f"pythonpath={ROOT} {ROOT / 'tests'}", "-q"],
        capture_output=True, text=True, check=False, cwd=tmp_path,
    )  # fmt: skip
    failed = {line.split("::")[1].split()[0] for line in done.stdout.splitlines() if line.startswith("ERROR")}
    assert failed == {"test_output", "test_log", "test_file", "test_taken_output"}, done.stdout
    assert "very-secret" not in done.stdout
