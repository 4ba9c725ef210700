"""Fixtures of more than one file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from builders_cli import Run

from replays.cli import main


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """Run a command of the program in an empty folder; give its exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr("sys.excepthook", lambda *_: None)

    def run_(*arguments: str | Path) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    yield run_
    structlog.reset_defaults()  # its events went to a stream that is closed by now
