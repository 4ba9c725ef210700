"""The architecture's limits, as the code stands: sizes, complexity of shape, and the directions of imports."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("bot", "memory", "lore", "config", "replays")
FORBIDDEN_NAMES = {
    "utils", "common", "core", "manager", "engine", "service", "base", "helpers", "helper",
    "context", "entity", "node", "data", "info", "process",
}  # fmt: skip
FILE_LINES, BODY_LINES = 400, 40
BROAD_EXCEPTS = {"memory/worker.py", "memory/trace.py", "bot/loop.py"}  # the job worker, Trace.run, the chat loop

FILES = sorted(path for package in (*PACKAGES, "tests", "bench") for path in (ROOT / package).rglob("*.py"))
SOURCES = [path for path in FILES if path.relative_to(ROOT).parts[0] in PACKAGES]


def _name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    first = body[1] if documented and len(body) > 1 else body[0]
    return (function.end_lineno or 0) - first.lineno + 1


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_every_file_stays_within_four_hundred_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= FILE_LINES


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_function_body_fits_a_screen(path: Path) -> None:
    long = {f.name: _body_lines(f) for f in _functions(path) if _body_lines(f) > BODY_LINES}
    assert not long


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_every_file_name_says_what_it_holds(path: Path) -> None:
    assert path.stem not in FORBIDDEN_NAMES


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_broad_excepts_stand_only_where_the_design_allows_them(path: Path) -> None:
    if _name(path) in BROAD_EXCEPTS:
        return
    tree = ast.parse(path.read_text())
    broad = [
        handler.lineno
        for handler in ast.walk(tree)
        if isinstance(handler, ast.ExceptHandler)
        and (handler.type is None or (isinstance(handler.type, ast.Name) and handler.type.id in {"Exception", "BaseException"}))
    ]
    assert not broad


@pytest.mark.parametrize("path", SOURCES, ids=_name)
def test_no_source_prints_or_imports_ours_inside_a_function(path: Path) -> None:
    found = []
    for function in _functions(path):
        for node in ast.walk(function):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in PACKAGES:
                found.append(f"{function.name}: import of {node.module}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                found.append(f"{function.name}: print")
    assert not found


def test_imports_point_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
