"""Fixtures of more than one file, and the watch that no test writes a secret."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from builders_cli import Run
from fakes import issued
from leak_watch import pytest_runtest_makereport as pytest_runtest_makereport
from leak_watch import pytest_runtest_setup as pytest_runtest_setup

from memory.store import migrate
from memory.store.schema import MIGRATIONS
from replays.cli import main

# As a shell's background and nohup ignore them: programs under test would inherit that.
for _ignored, _usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(_ignored) is signal.SIG_IGN:
        signal.signal(_ignored, _usual)
# The shipped program gives the index a process of its own, which takes a second to start: tests of that name it, and those that
# start the program as a process take no setting from here.
os.environ.setdefault("RICORDO_INDEX__OWN_PROCESS", "false")
# Measuring coverage nearly doubles the time of a test. It is measured in the tests of single parts and in these besides, which
# reach 96 of 100 branches that all tests reach; not in those that do one thing a thousand times or reach nothing by themselves.
MEASURED_FOLDERS = ("unit", "contract")
MEASURED = (
    "test_background",
    "test_drift",
    "test_erased_everywhere",
    "test_facts",
    "test_index_lost",
    "test_judge",
    "test_live_chat",
    "test_login",
    "test_model_reading",
    "test_recording",
    "test_retention",
    "test_tools",
    "test_viewer_book",
    "test_watch",
)
UNMEASURED = (
    "test_chatlog",
    "test_cli_benchmarks",
    "test_deploy",
    "test_import_",
    "test_plan_isolation",
    "test_recall_erasure_fuzz",
    "test_reconcile",
    "test_spread",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Measure no coverage where it would tell nothing new."""
    for item in items:
        measured = item.path.parent.name in MEASURED_FOLDERS or item.path.stem in MEASURED
        if not measured or item.path.name.startswith(UNMEASURED):
            item.add_marker("no_cover")


@pytest.fixture(scope="session", autouse=True)
def _empty_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Make one empty file by the migrations, and give each test of this process a copy of it: as it would make it, sooner."""
    made, real = tmp_path_factory.mktemp("empty") / "memory.db", migrate.upgrade

    def upgrade(path: Path, current: str, migrations: Path) -> None:
        if current or migrations != MIGRATIONS or path.stat().st_size:
            real(path, current, migrations)
            return
        if not made.exists():
            real(made, current, migrations)
        shutil.copyfile(made, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrate, "upgrade", upgrade)
        yield


@pytest.fixture(autouse=True)
def _plain_logs() -> None:
    """Forget how a test before set the logs up: its level would hold back what this one looks for."""
    structlog.reset_defaults()


@pytest.fixture
def capsys(capsys: pytest.CaptureFixture[str]) -> pytest.CaptureFixture[str]:
    """Pytest's own; what a test takes out of it is looked through as well."""
    read = capsys.readouterr

    def readouterr() -> Any:  # noqa: ANN401 - pytest's own named tuple is private
        shown = read()
        issued.look_into("captured output", shown.out + shown.err)
        return shown

    capsys.readouterr = readouterr  # type: ignore[method-assign] # every reader passes here
    return capsys


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
