import json
from pathlib import Path
from typing import Any

import pytest
from builders_benchmarks import a_case, a_precision_folder, a_question, a_sample, an_instance, write

from bot.cli.shell import out
from replays.cli import main
from replays.cli_benchmarks import NO_LLM, show_summary


def run(capsys: pytest.CaptureFixture[str], *args: str | Path) -> tuple[int, str, str]:
    code = 0
    try:
        main([str(arg) for arg in args])
    except SystemExit as left:
        code = int(left.code or 0)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture(autouse=True)
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "summary.json").read_text())
    return found


def test_a_narrow_terminal_cuts_no_figures_name(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "width", 80)
    shown = {"benchmark": "locomo", "seconds": 1, "cpu_seconds": 1, "llm": NO_LLM}
    systems = {"memory, both speakers asked": {"recall@5": 0.25, "recall@10": {"value": 0.5, "count": 2}}}
    show_summary({**shown, "systems": systems}, as_json=False, columns=("recall@5", "recall@10", "mrr", *("recall 1k",) * 4))
    told = capsys.readouterr().out
    assert "recall@5" in told
    assert "recall@10" in told
    assert "0.250" in told
    assert "…" not in told


@pytest.mark.slow
def test_each_benchmark_runs_resumes_and_ends_in_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    locomo = write(tmp_path / "locomo.json", [a_sample(a_question("What is the ferret of Noemi called?", "D1:1"))])
    lme = write(tmp_path / "lme.json", [an_instance()])
    precise = a_precision_folder(tmp_path / "p", [a_case("c", "Kubernetes?", expect={})])
    runs = (("eval-locomo", locomo), ("eval-longmemeval", lme), ("eval-precision", precise))
    for command, path in runs:
        code, told, _ = run(capsys, command, path, "--out", tmp_path / command)
        assert code == 0
        assert "only retrieval is measured" in told
        assert "memory" in told
        assert summary(tmp_path / command)["cpu_seconds"] > 0
    code, told, _ = run(capsys, "eval-locomo", locomo, "--out", tmp_path / "eval-locomo", "--json")
    assert json.loads(told)["resumed_questions"] == 1
    (tmp_path / "docs").mkdir()
    code, told, _ = run(capsys, "results", *(tmp_path / command for command, _ in runs))
    assert code == 0
    assert "written from 3 summaries" in told
    assert (tmp_path / "docs" / "results.md").read_text().count("### Published") == 3


def test_a_file_of_another_version_is_one_clear_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "old.json", [{"id": 1}])
    for command in ("eval-locomo", "eval-longmemeval"):
        code, _, told = run(capsys, command, path)
        assert code == 2
        assert "old.json: [0]." in told
        assert "is missing" in told
        assert "Traceback" not in told


def test_other_settings_are_another_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = a_precision_folder(tmp_path / "p", [])
    assert run(capsys, "eval-precision", folder, "--out", tmp_path / "o")[0] == 0
    (tmp_path / "other.toml").write_text("[retrieval]\nviewer_hits = 9\n")
    code, _, told = run(capsys, "eval-precision", folder, "--out", tmp_path / "o", "--config", tmp_path / "other.toml")
    assert code == 2
    assert "holds another run" in told
