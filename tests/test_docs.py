"""Every setting, recipe, job kind, metric and word has its place in the documents, and every command they name exists."""

import re
import shlex
from pathlib import Path
from typing import Any

import module_map
import pytest
import typer

from config.document import PAGE, as_page
from config.settings import Settings
from memory import recipes
from replays.cli import command_line
from replays.metrics import METRICS

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
WORDS = (
    "working memory", "episode", "fact", "claim", "profile", "lore", "turn", "source", "channel", "candidate", "evidence",
    "item", "provenance", "valid time", "transaction time", "salience", "RRF", "consolidation", "reconcile", "recipe",
    "ablation", "deadline", "degraded", "outbox", "lease", "bury", "barrier", "tombstone", "purge", "receipt", "drift", "leak",
    "abstention",
)  # fmt: skip
KIND = re.compile(r"""(?:register\(|_job\(\w+, |enqueue\([^)]*?kind=)["'](\w+)["']""")
COMMENT = re.compile(r"\s+#.*$")


def _sources(folder: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / folder).rglob("*.py")))


def _commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
    return [COMMENT.sub("", line).strip() for block in blocks for line in block.splitlines() if line.strip()]


def test_every_setting_is_on_the_page_written_from_them() -> None:
    assert PAGE.read_text(encoding="utf-8") == as_page(), "run `make docs`"


def test_every_recipe_is_told() -> None:
    assert [name for name in recipes() if f"| `{name}` |" not in ARCHITECTURE] == []


def test_every_kind_of_job_is_told() -> None:
    kinds = set(KIND.findall(_sources("memory")))
    assert {"index", "purge", "drift", "consolidate"} <= kinds
    assert sorted(kind for kind in kinds if f"| `{kind}` |" not in ARCHITECTURE) == []


def test_every_metric_is_told() -> None:
    assert [name for name in METRICS if f"- `{name}`: " not in GLOSSARY] == []


@pytest.mark.parametrize("word", WORDS)
def test_every_word_is_in_the_glossary(word: str) -> None:
    assert f"**{word}**" in GLOSSARY


def test_the_map_of_the_code_is_complete_and_up_to_date() -> None:
    assert module_map.with_map(ARCHITECTURE) == ARCHITECTURE, "run `make docs`"
    assert "`plan.py`: The planner" in ARCHITECTURE


def test_every_make_target_that_is_named_exists_and_has_its_help() -> None:
    made = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = {
        found for page in PAGES for found in re.findall(r"`make ([a-z-]+)`|^make ([a-z-]+)", page.read_text(), re.MULTILINE)
    }
    targets = {target for pair in named for target in pair if target}
    assert {"run", "test", "check", "help", "clean"} <= targets
    assert [target for target in sorted(targets) if not re.search(rf"^{target}:.*## ", made, re.MULTILINE)] == []


@pytest.mark.parametrize("line", [line for line in _commands() if line.startswith("ricordo ")])
def test_every_command_of_the_readme_can_be_called_so(line: str) -> None:
    command: Any = typer.main.get_command(command_line())
    name, *arguments = shlex.split(line)
    if arguments == ["--help"]:
        return
    while arguments and (inner := getattr(command, "commands", {}).get(arguments[0])) is not None:
        command, name = inner, arguments.pop(0)
    assert name != "ricordo", f"{line}: there is no such command"
    command.make_context(name, arguments)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_file_and_module_that_is_named_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]+)\.(?!py`)([a-z_]+)(?: = [^`]*)?`", text)
    sections = {name: field.annotation for name, field in Settings.model_fields.items()}
    unknown = [f"{name}.{key}" for name, key in named if name in sections and key not in sections[name].model_fields]  # type: ignore[union-attr] # each is a section
    files = re.findall(r"`((?:memory|bot|replays|bench|tests|config|lore|deploy|docs)/[\w/.-]+)`", text)
    modules = [name.replace(".", "/") for name in re.findall(r"python -m (bench[.\w]*|config\.\w+)", text)]
    lost = [file for file in (*files, *modules) if not any((ROOT / f"{file}{end}").exists() for end in ("", ".py"))]
    assert unknown + lost == []


def test_every_decision_that_is_named_exists_and_stands_in_the_list() -> None:
    files = {int(path.name[:4]): path.name for path in (ROOT / "docs" / "decisions").glob("*.md")}
    assert [name for name in files.values() if f"(decisions/{name})" not in ARCHITECTURE] == []
    named = {int(number) for page in PAGES for number in re.findall(r"[Dd]ecisions? (\d+)", page.read_text(encoding="utf-8"))}
    assert named - files.keys() == set()


def test_decisions_are_numbered_without_a_gap() -> None:
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
