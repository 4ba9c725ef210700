"""The benchmarks run, and say what they measured."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


def figures_of(out: Path, *names: str) -> dict[tuple[str, str], dict[str, Any]]:
    command = [sys.executable, "-m", "bench", *names, "--quick", "--json", "--out", str(out)]
    environment = os.environ | {"RICORDO_DATA": str(out / "absent")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert f"{names[0]} …" in ended.stderr
    figures = {(row["bench"], row["name"]): row for row in json.loads(ended.stdout)}
    assert {bench for bench, _ in figures} - {"embed"} == set(names)  # searching measures embedding beside
    return figures


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_quick_benchmarks_without_data_print_every_figure(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "replay", "record")
    assert figures[("replay", "messages")]["value"] == 1200
    assert figures[("replay", "dead jobs")]["met"]
    assert figures[("replay", "recalls asked")]["value"] > 10
    assert figures[("record", "observe + record, 20 lines p99")]["baseline"] > 0


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_the_other_quick_benchmarks_without_data_print_every_figure(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "replay", "consolidate", "search", "answer", "burst", "forget")
    assert figures[("burst", "messages lost")]["value"] == 0
    assert figures[("burst", "messages out of order")]["value"] == 0
    assert figures[("consolidate", "messages / s of processor time")]["value"] > 0


@pytest.mark.chaos
@pytest.mark.timeout(600)
def test_the_long_benchmarks_without_data_print_every_figure(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "live", "evening", "restart")
    assert figures[("live", "observe + record, 20 lines, worker busy p99")]["value"] > 0
    assert figures[("live", "stalls over 50 ms")]["value"] >= 0
    assert figures[("evening", "faults")]["value"] == 20
    assert [
        name for (bench, name), row in figures.items() if bench == "evening" and row["goal"] == "<= 0" and not row["met"]
    ] == []


def test_benchmarks_without_data_say_where_to_get_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "replay", "--out", str(tmp_path)]
    environment = os.environ | {"RICORDO_DATA": str(tmp_path / "absent")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "--quick" in ended.stderr


def test_an_unknown_benchmark_is_refused_with_the_names_of_all(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bench", "speed", "--out", str(tmp_path)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "replay, record, consolidate, search, answer, restart, forget, burst, live, evening" in ended.stderr


@pytest.mark.parametrize("content", [None, "no chat"])
def test_a_log_that_cannot_be_read_is_one_error_that_names_it(tmp_path: Path, content: str | None) -> None:
    log = tmp_path / "chat.jsonl"
    if content is not None:
        log.write_text(content)
    command = [sys.executable, "-m", "bench", "record", "--quick", "--log", str(log), "--out", str(tmp_path / "out")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    begun, error, failed = ended.stderr.splitlines()
    assert (begun, failed) == ("record …", "record failed")
    assert error.startswith("error: ")
    assert "chat.jsonl" in error
