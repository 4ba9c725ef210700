"""`ricordo state`, and an export that people can read, on a small memory, run in this process."""

import asyncio
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from builders_cli import Run
from builders_memory import a_past_stream
from builders_recall import CHANNEL, a_clock

from bot.app import remember_channel
from bot.cli.export_page import export_page
from memory import MemorySettings, UseEmbedder, open_memory


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "m"
    folder.mkdir()

    async def build() -> None:
        embedder = UseEmbedder()
        settings = MemorySettings(data_dir=folder)
        async with await open_memory(settings, channel=CHANNEL, embedder=embedder, clock=a_clock()) as memory:
            await a_past_stream(memory)
        await embedder.close()

    asyncio.run(build())
    remember_channel(folder, CHANNEL)
    return folder


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


@pytest.mark.usefixtures("data")
def test_records_are_noted_listed_done_and_deleted(run: Run) -> None:
    code, shown, told = run("state", "add", "request", "--viewer", "@ALICE", "--text", "una torta")
    assert code == 0, told
    assert shown.startswith("request-")
    made = [
        ("note", "--text", "niente spoiler", "--until", "2999-01-01T00:00:00Z"),
        ("relation", "--viewer", "alice", "--text", "cugina", "--to", "bob"),
        ("joke", "--text", "la papera", "--viewer", "alice", "--viewer", "bob"),
        ("channel", "--key", "giorni", "--value", "martedì"),
        ("channel", "--key", "Giorni", "--value", "giovedì"),
    ]
    assert [run("state", "add", *arguments)[0] for arguments in made] == [0] * 5
    listed = json.loads(run("state", "list", "--json")[1])
    assert sorted((one["domain"], one["text"], one["viewers"]) for one in listed) == [
        ("channel", "Giorni: giovedì", []),
        ("joke", "la papera", ["101", "202"]),
        ("note", "niente spoiler", []),
        ("relation", "cugina", ["101", "202"]),
        ("request", "una torta", ["101"]),
    ]
    request = next(one["id"] for one in listed if one["domain"] == "request")
    assert json.loads(run("state", "done", request[:12], "--json")[1])["status"] == "done"
    assert "request · Alice · una torta · done" in run("state", "list", "--kind", "request")[1]
    joke = next(one["id"] for one in listed if one["domain"] == "joke")
    assert run("state", "delete", "joke", joke)[0] == 0
    assert run("state", "list", "--kind", "joke")[1] == "nothing is noted\n"
    assert [entry["verb"] for entry in json.loads(run("audit", "--json")[1])][:2] == ["joke_delete", "request_complete"]


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("add", "request", "--text", "x"), "request: --viewer"),
        (("add", "channel", "--viewer", "alice", "--key", "k", "--value", "v"), "request: --viewer"),
        (("add", "request", "--viewer", "alice", "--text", "x", "--until", "2999-01-01T00:00:00Z"), "request: --viewer"),
        (("add", "relation", "--viewer", "alice", "--text", "x"), "relation: --viewer and --to"),
        (("add", "request", "--viewer", "alice", "--text", ""), "request_open: text"),
        (("add", "note", "--text", "x", "--until", "domani"), "note_set: expires_at"),
        (("done", "nessuna"), "there is no request 'nessuna'"),
    ],
)
def test_what_cannot_be_meant_is_refused(run: Run, arguments: tuple[str, ...], error: str) -> None:
    code, _, told = run("state", *arguments)
    assert code == 2
    assert error in told


@pytest.mark.usefixtures("data")
def test_an_unknown_viewer_is_said(run: Run) -> None:
    code, _, told = run("state", "add", "request", "--viewer", "zorro", "--text", "x")
    assert code == 1
    assert "zorro" in told


@pytest.mark.usefixtures("data")
def test_an_export_can_be_read_by_people(run: Run, tmp_path: Path) -> None:
    run("state", "add", "request", "--viewer", "alice", "--text", "una torta")
    code, shown, _ = run("export", "--viewer", "alice", "--format", "md")
    assert code == 0
    assert shown.startswith("# Cosa si conserva di Alice\n")
    assert "## Ciò che hai scritto\n\n- 2026-03-01" in shown
    assert "il mio gatto si chiama Birba (m1)" in shown
    assert "request: una torta (open, request-" in shown
    assert "Nerone" not in shown
    assert run("export", "--viewer", "alice", "--format", "md", "--out", "a.md")[0] == 0
    assert (tmp_path / "a.md").read_text(encoding="utf-8") == shown


def test_hostile_words_do_not_format_the_page() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC)
    text = "# titolo\n- [x](http://evil) <script> `a` **b** | \u202e \x1b[31m"
    viewer = {"id": "1", "name": "*A*", "login": "a", "first_seen": at, "last_seen": at, "opted_out": True, "names": []}
    line = {"id": "m1", "stream": "s", "at": at, "kind": "message", "text": text}
    page = export_page({"viewer": viewer, "lines": [line], "replies": [], "memories": [], "records": [], "audit": []}, "en")
    [written] = [row for row in page.splitlines() if "titolo" in row]
    assert written == r"- 2026-03-01 00:00 \# titolo - \[x\](http://evil) \<script\> \`a\` \*\*b\*\* \| \[31m (m1)"
    assert page.startswith("# What is held of \\*A\\*\n")
    assert "Nothing is kept any more" in page
