"""Fails every test in which a secret of a fake is found in output, logs or files: a plugin of pytest, as hooks."""

from collections.abc import Iterator
from typing import Any

import pytest
from fakes import issued


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin with an empty register."""
    issued.forget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Look through what a finished test wrote; where it wrote a secret, its report is a failure."""
    report: Any = yield
    if report.when == "teardown":
        for name, text in report.sections:
            issued.look_into(name, text)
        folder = getattr(item, "funcargs", {}).get("tmp_path")
        if folder is not None:
            issued.look_into_folder(folder)
        if issued.leaks():
            report.outcome = "failed"
            report.longrepr = f"a secret was written where none may be: {', '.join(issued.leaks())}"
            report.sections.clear()
    return report  # type: ignore[no-any-return] # the same
