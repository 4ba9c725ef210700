"""`ricordo eval`, `explain` and `report` from the command line, on a small log full of hostile text."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from builders_eval import BRUNO, NOTHING, WHERE, a_log, objects, probe, run, written

from replays.metrics import METRICS

Printed = pytest.CaptureFixture[str]
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)> \u202eabc\x07 </pre></details>'
RECIPES = ["full", "-recall", "history_only", "single_archive", "full_context"]
MISSED = probe(
    "p3", f"memo, {HOSTILE}", BRUNO, minute=52, category="ephemeral", gold=["m2"], answers=["Pallino"],
    forbidden=["m1"], forbidden_text=["Vicenza"],
)  # fmt: skip
ADMIT = probe(
    "p4", "memo, che lavoro faccio?", minute=53, category="abstain", abstain=True, settle=False, as_of="2026-03-01T20:30:00Z"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("eval")
    log = written(home / "casa.jsonl", a_log(WHERE, NOTHING, MISSED, ADMIT))
    assert run("eval", log, "--recipes", ",".join(RECIPES), "--out", home / "out", "--seed", "3") == 0
    return home / "out"


def test_the_summary_holds_every_figure_and_what_it_takes_to_run_it_again(folder: Path) -> None:
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["recipe"], summary["probes"], summary["seed"], summary["unasked"]) == ("full", 4, 3, [])
    assert set(summary["overall"]["metrics"]) == set(METRICS)
    assert set(summary["overall"]["metrics"]["evidence_recall"]) == {"value", "low", "high", "count"}
    assert list(summary["by_category"]) == ["recall", "none", "ephemeral", "abstain"]
    assert list(summary["recipes"]) == RECIPES
    assert list(summary["pairs"]) == RECIPES[1:]
    assert summary["versions"]["embedder"].startswith("use-m3")
    assert summary["versions"]["llm"] is None
    assert summary["configuration"]["history"]["messages"] == 30
    assert summary["wall_seconds"] > 0
    assert summary["asked_as_of"] == 1
    assert summary["noise_floor"]["blocks_that_differ"] == 0


def test_every_recipe_keeps_its_results_and_the_first_ones_are_the_results(folder: Path) -> None:
    for name in RECIPES:
        assert [line["id"] for line in objects(folder / "recipes" / name / "results.jsonl")] == ["p1", "p2", "p3", "p4"]
    assert (folder / "results.jsonl").read_bytes() == (folder / "recipes" / "full" / "results.jsonl").read_bytes()


def test_recipes_differ_as_their_names_say(folder: Path) -> None:
    first = {name: objects(folder / "recipes" / name / "results.jsonl")[0] for name in RECIPES}
    assert first["history_only"]["plan"] == ["history"]
    assert "viewer:1:recall" not in first["-recall"]["plan"]
    assert first["single_archive"]["plan"] == ["history", "archive"]
    assert len([item for item in first["single_archive"]["items"] if item["section"] == "recall"]) == 5
    assert len(first["full_context"]["items"]) == 42
    assert "Vicenza" in first["full_context"]["block"]


def test_configuration_secrets_are_not_written(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RICORDO_LLM__API_KEY", "sk-invented-secret")
    log = written(tmp_path / "casa.jsonl", a_log(NOTHING))
    assert run("eval", log, "--out", tmp_path / "out") == 0
    assert "sk-invented-secret" not in (tmp_path / "out" / "summary.json").read_text()


def test_explain_tells_what_was_wanted_found_and_missed(folder: Path, capsys: Printed) -> None:
    assert run("explain", folder, "p1") == 0
    told = capsys.readouterr().out
    assert "p1 · recall · casa, 01 Mar 2026 20:50" in told
    assert "Anna: memo, dove abito?" in told
    assert "“io abito a Vicenza da tre anni”" in told
    assert "found by viewer:1:" in told
    assert "evidence recall: 1" in told
    assert "</memory>" in told


def test_explain_another_recipe_says_why_it_misses(folder: Path, capsys: Printed) -> None:
    assert run("explain", folder, "p1", "--recipe", "history_only") == 0
    assert "missed: nothing was searched" in capsys.readouterr().out
    assert run("explain", folder, "p4", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["case"]["abstain"]
    assert run("explain", folder, "p4") == 0
    told = capsys.readouterr().out
    assert "asked before the background jobs ran" in told
    assert "asked as of 01 Mar 2026 20:30" in told
    assert "the memory must say that it does not know" in told


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["p99"], "holds no probe 'p99'; there are 4, such as p1, p2, p3"),
        (["p1", "--recipe", "-lore"], "holds no recipe '-lore', but full, -recall"),
    ],
)
def test_explain_of_what_is_not_there_names_what_is(folder: Path, arguments: list[str], problem: str, capsys: Printed) -> None:
    assert run("explain", folder, *arguments) == 2
    assert problem in capsys.readouterr().err


def test_a_folder_without_an_evaluation_is_refused(tmp_path: Path, capsys: Printed) -> None:
    for content, problem in ((None, "holds no evaluation"), ("{", "is not JSON any more"), ("{}", "is no summary")):
        if content is not None:
            (tmp_path / "summary.json").write_text(content)
        assert run("explain", tmp_path, "p1") == 2
        assert problem in capsys.readouterr().err
        assert run("report", tmp_path) == 2


def test_a_damaged_file_of_results_is_named_with_its_line(folder: Path, tmp_path: Path, capsys: Printed) -> None:
    shutil.copytree(folder, tmp_path / "out")
    (tmp_path / "out" / "cases.jsonl").write_text('{"id": "p1"}\n{half\n')
    assert run("explain", tmp_path / "out", "p1") == 2
    assert "cases.jsonl, line 2: not JSON" in capsys.readouterr().err
    (tmp_path / "out" / "cases.jsonl").unlink()
    assert run("report", tmp_path / "out") == 2
    assert "cannot be read" in capsys.readouterr().err


def test_against_another_configuration_shows_what_changed_and_why(tmp_path: Path, capsys: Printed) -> None:
    log = written(tmp_path / "casa.jsonl", a_log(WHERE, NOTHING))
    other = tmp_path / "b.toml"
    other.write_text('[retrieval]\nsources = ["lore"]\n')
    assert run("eval", log, "--out", tmp_path / "out", "--against", other) == 0
    told = capsys.readouterr().out
    assert "1 probes are answered differently by the second: 0 better, 1 worse" in told
    assert "p1 · recall · worse: memo, dove abito?" in told
    assert "not in the second: viewer:1:" in told
    assert "evidence recall: 1 → 0" in told
    [change] = json.loads((tmp_path / "out" / "changes.json").read_text())["changes"]
    assert change["lost"][0]["gold"]
    assert len(objects(tmp_path / "out" / "against" / "results.jsonl")) == 2


def test_json_is_the_summary_and_nothing_else(tmp_path: Path, capsys: Printed) -> None:
    log = written(tmp_path / "casa.jsonl", a_log(NOTHING))
    other = tmp_path / "b.toml"
    other.write_text("")
    assert run("eval", log, "--out", tmp_path / "out", "--against", other, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["probes"], told["changes"]) == (1, [])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--recipes", "full,-nose"], "--recipes: -nose is not known; there are full, -profile"),
        (["--recipes", ","], "--recipes: nothing is not known"),
        (["--llm", "maybe"], "--llm is none or configured, not 'maybe'"),
        (["--llm", "configured"], "no language model is configured"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: list[str], problem: str, capsys: Printed) -> None:
    log = written(tmp_path / "casa.jsonl", a_log(NOTHING))
    assert run("eval", log, "--out", tmp_path / "out", *options) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_bad_log_is_refused_before_anything_is_asked(tmp_path: Path, capsys: Printed) -> None:
    good, bad = written(tmp_path / "uno.jsonl", a_log(WHERE)), written(tmp_path / "due.jsonl", a_log())
    assert run("eval", good, bad, "--out", tmp_path / "out") == 2
    assert "due.jsonl: the log has no probes" in capsys.readouterr().err
    assert run("eval", good, good, "--out", tmp_path / "out") == 2
    assert "is given twice" in capsys.readouterr().err
    assert run("eval", tmp_path / "none.jsonl", "--out", tmp_path / "out") == 2
    assert "none.jsonl" in capsys.readouterr().err


def test_a_probe_that_could_not_be_asked_is_named_and_the_command_fails(tmp_path: Path, capsys: Printed) -> None:
    early = probe("p0", "c'è nessuno?", minute=0)
    log = written(tmp_path / "casa.jsonl", [early, *a_log(NOTHING)])
    assert run("eval", log, "--out", tmp_path / "out") == 1
    told = capsys.readouterr().err
    assert "casa, p0: could not be asked: p0: no stream has begun" in told
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["unasked"][0]["id"] == "p0"


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "out").write_text("a file")
    assert run("eval", written(tmp_path / "casa.jsonl", a_log(NOTHING)), "--out", tmp_path / "out") == 2
    assert "cannot be written" in capsys.readouterr().err


class _Page(HTMLParser):
    """Every element of a page, and what its scripts hold."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


@pytest.fixture(scope="module")
def page(folder: Path) -> Path:
    assert run("report", folder) == 0
    return folder / "report.html"


def test_the_page_needs_no_network_and_no_chat_text_is_code(page: Path) -> None:
    text, parsed = page.read_text(encoding="utf-8"), _Page()
    parsed.feed(text)
    assert parsed.tags.count("script") == 1
    assert "img" not in parsed.tags
    assert not [name for name, _ in parsed.attributes if name in {"src", "href", "srcset"} or name.startswith("on")]
    assert not re.search(r"https?://", text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert "\x07" not in text
    assert parsed.tags.count("details") - text.count("<details><summary") == 4


def test_the_page_shows_plots_tables_and_every_probe_with_its_verdict(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 6
    for title in ("Evidence recall by category", "Recall against tokens", "Latency", "Pairs", "The whole configuration"):
        assert title in text
    verdicts = dict(re.findall(r'data-category="(\w+)" data-verdict="([\w ]+)"', text))
    assert verdicts["recall"] == "fine"
    assert verdicts["none"] == "fine"
    assert "missed" in verdicts["ephemeral"].split()
    assert "<mark>Vicenza</mark>" in text


def test_the_page_of_one_recipe_has_no_comparison(tmp_path: Path) -> None:
    log = written(tmp_path / "casa.jsonl", a_log(NOTHING))
    assert run("eval", log, "--out", tmp_path / "out") == 0
    assert run("report", tmp_path / "out") == 0
    text = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    assert "Pairs" not in text
    assert text.count("<svg") == 3


CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), "")


@pytest.mark.skipif(not CHROMIUM, reason="needs Chromium to look at the page")
def test_a_real_browser_shows_the_page_and_its_filter_works(page: Path, tmp_path: Path) -> None:
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", "--window-size=1200,2400", f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    picture = tmp_path / "page.png"
    shoot: list[Any] = [CHROMIUM, *flags, f"--screenshot={picture}", page.as_uri()]
    subprocess.run(shoot, check=True, capture_output=True, timeout=90)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 50_000
    dump: list[Any] = [CHROMIUM, *flags, "--virtual-time-budget=2000", "--dump-dom", page.as_uri()]
    shown = subprocess.run(dump, check=True, capture_output=True, timeout=90).stdout.decode()
    assert re.search(r'id="count">4 of 4<', shown)
