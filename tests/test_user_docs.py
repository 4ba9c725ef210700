"""The pages for streamers say what is so: examples load, commands are all there, links find their headings."""

import re
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer

from bot.commands import DEFAULT_WORDS
from bot.reply import _KINDS
from bot.watch import Watch
from config.chat_sections import Commands
from config.settings import Settings, load_settings
from memory import Health, VirtualClock
from replays.cli import command_line

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
DOCS = ROOT / "docs"
SECRETS = "# ricordo.secrets.toml"


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def blocks(language: str) -> list[Any]:
    found = [
        (page, block) for page in PAGES for block in re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    ]
    return [pytest.param(block, id=f"{page.name}-{number}") for number, (page, block) in enumerate(found)]


def command_lines() -> list[str]:
    lines = (line for parameter in blocks("sh") for line in str(parameter.values[0]).splitlines())
    return sorted({re.sub(r"\s+#.*$", "", line).strip() for line in lines if line.startswith("ricordo ")})


def commands_of(group: Any, before: str = "") -> set[str]:  # noqa: ANN401 - click's types are typer's own affair
    found: set[str] = set()
    for name, command in group.commands.items():
        inner = getattr(command, "commands", None)
        found |= commands_of(command, f"{before}{name} ") if inner else set()
        if not inner or command.invoke_without_command:
            found.add(before + name)
    return found


def slugs(page: Path) -> set[str]:
    """The anchors that a page's headings get: lower case, blanks become hyphens, everything else but words goes."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("block", blocks("toml"))
def test_every_example_of_a_configuration_can_be_used(block: str, tmp_path: Path) -> None:
    file, secrets = tmp_path / "ricordo.toml", tmp_path / "ricordo.secrets.toml"
    file.write_text("" if block.startswith(SECRETS) else block, encoding="utf-8")
    if block.startswith(SECRETS):
        secrets.write_text(block, encoding="utf-8")
        secrets.chmod(0o600)
    assert load_settings(file, environ={}) != Settings() or "every_hours = 24.0" in block  # says something, and is taken


def test_the_examples_of_language_models_are_those_that_are_named() -> None:
    page = text_of("llm.md")
    for name in ("Ollama", "LM Studio", "OpenAI", "OpenRouter"):
        section = page.split(f"## {name}\n")[1].split("\n## ")[0]
        assert "base_url" in section
        assert "model" in section


@pytest.mark.parametrize("line", command_lines())
def test_every_command_of_the_pages_can_be_called_so(line: str) -> None:
    command: Any = typer.main.get_command(command_line())
    name, *arguments = shlex.split(line)
    if arguments == ["--help"]:
        return
    while arguments and (inner := getattr(command, "commands", {}).get(arguments[0])) is not None:
        command, name = inner, arguments.pop(0)
    assert name != "ricordo", f"{line}: there is no such command"
    command.make_context(name, arguments)


def test_the_table_of_the_command_line_is_the_command_line() -> None:
    table = text_of("commands.md").split("## On the command line")[1]
    assert set(re.findall(r"^\| `([a-z -]+)` \|", table, re.MULTILINE)) == commands_of(typer.main.get_command(command_line()))


def test_every_chat_command_stands_in_the_table_with_all_its_words() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text_of("commands.md").split("## On the")[0], re.MULTILINE))
    settings = Commands()
    assert set(DEFAULT_WORDS) <= set(rows)
    for command in DEFAULT_WORDS:
        assert re.findall(r"`!(\w+)`", rows[command]) == list(getattr(settings, command))


def test_every_reason_for_silence_is_explained() -> None:
    page = text_of("troubleshooting.md")
    source = (ROOT / "bot" / "manners.py").read_text(encoding="utf-8").split("def _silence")[1].split("def _unasked")[0]
    reasons = set(re.findall(r'^\s+"(\w+)":', source, re.MULTILINE)) - {"stopping"}
    assert "not_addressed" in reasons
    reasons |= {f"responder_{kind}" for _, kind in _KINDS}
    assert sorted(reason for reason in reasons if f"`{reason}`" not in page) == []


async def test_every_figure_that_the_page_names_is_served() -> None:
    async def health() -> Health:
        return Health(
            viewers=0, streams=0, messages=0, turns=0, documents=0, jobs={}, lag_jobs=0, lag_seconds=0, embedder="", dimension=0
        )  # fmt: skip

    served = await Watch(VirtualClock(datetime(2026, 3, 1, tzinfo=UTC)), health).metrics()
    named = set(re.findall(r"`(ricordo_\w+)", text_of("watching.md"))) - {"ricordo_"}
    assert len(named) >= 7
    families = set(re.findall(r"^# TYPE (\w+)", served, re.MULTILINE))
    assert {name for name in named if name.removesuffix("_count") not in families} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_heading_finds_it(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text(encoding="utf-8"))
    lost = [f"{file}#{anchor}" for file, anchor in links if anchor not in slugs((page.parent / file) if file else page)]
    assert lost == []


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        links = re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text(encoding="utf-8"))
        waiting += [(page.parent / link).resolve() for link in links if (page.parent / link).is_file()]
    own = {page.resolve() for page in PAGES if page.parent.name != "decisions"}
    assert sorted(page.name for page in own - {page.resolve() for page in reached}) == []
