"""`ricordo forget`, `correct`, `export` and `audit` on a small memory, run in this process."""

import asyncio
import io
import json
import shutil
from pathlib import Path

import pytest
from builders_cli import Run
from builders_forget import files_with
from builders_memory import a_past_stream
from builders_recall import CHANNEL, a_clock

from bot.app import remember_channel
from memory import MemorySettings, UseEmbedder, open_memory

REFUSALS = [
    ("forget",),
    ("forget", "--viewer", "alice", "--id", "m1"),
    ("forget", "--id", "m1", "--words", "x"),
    ("forget", "--viewer", "alice", "--words", "x", "--opt-out"),
    ("correct", "--new", "x"),
    ("correct", "--new", "x", "--viewer", "alice"),
    ("correct", "--new", "x", "--viewer", "alice", "--old", "y", "--id", "m1"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "m"
    folder.mkdir()

    async def build() -> None:
        settings = MemorySettings(data_dir=folder)
        embedder = UseEmbedder()
        async with await open_memory(settings, channel=CHANNEL, embedder=embedder, clock=a_clock()) as memory:
            await a_past_stream(memory)
        await embedder.close()

    asyncio.run(build())
    remember_channel(folder, CHANNEL)
    return folder


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


def test_a_viewer_is_forgotten_down_to_the_bytes(run: Run, data: Path) -> None:
    code, shown, _ = run("forget", "--viewer", "@ALICE", "--yes")
    assert code == 0
    assert "forgotten of Alice: 1 message, 0 replies, 3 memories, 0 records; every file was cleaned" in shown
    assert files_with(data, "Birba") == []
    assert files_with(data, "Nerone") != []
    assert "forget of 101 by the administrator: 1 message" in run("audit")[1]
    assert run("audit", "--viewer", "bob")[1] == "nothing was erased, corrected or noted yet\n"


@pytest.mark.usefixtures("data")
def test_a_whole_viewer_is_forgotten_only_if_one_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    code, shown, _ = run("forget", "--viewer", "alice")
    assert code != 0
    assert "Forget all that Alice (101) wrote for good?" in shown
    assert "Birba" in run("export", "--viewer", "alice")[1]


def test_words_ids_and_everything_can_be_forgotten(run: Run, data: Path) -> None:
    assert json.loads(run("forget", "--viewer", "alice", "--words", "si chiama birba", "--json")[1])["lines"] == 1
    assert "nothing was found" in run("forget", "--id", "m1")[1]
    assert json.loads(run("forget", "--everything", "--yes", "--json")[1])["lines"] == 1
    assert files_with(data, "Nerone", "Birba") == []


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize(
    "order",
    [
        ("forget", "--id", "no-such-memory"),
        ("forget", "--viewer", "alice", "--words", "mai detto"),
        ("correct", "--id", "no-such-memory", "--new", "x"),
        ("correct", "--viewer", "alice", "--old", "mai detto", "--new", "x"),
    ],
)
def test_an_order_about_what_there_is_not_fails_and_changes_nothing(run: Run, order: tuple[str, ...]) -> None:
    code, shown, told = run(*order)
    assert code == 1
    assert "nothing was changed" in shown
    assert "ricordo memory show" in told
    code, shown, _ = run(*order, "--json")
    assert (code, json.loads(shown)["lines"]) == (1, 0)
    assert "Birba" in run("export", "--viewer", "alice")[1]


@pytest.mark.usefixtures("data")
def test_who_is_opted_out_by_hand_is_unknown_afterwards(run: Run) -> None:
    assert "opted out; forgotten of Alice: 1 message" in run("forget", "--viewer", "alice", "--opt-out", "--yes")[1]
    code, _, told = run("export", "--viewer", "alice")
    assert code == 1
    assert "nobody called 'alice' is remembered" in told


def test_words_are_corrected_and_the_old_ones_leave_the_files(run: Run, data: Path) -> None:
    code, shown, _ = run("correct", "--viewer", "alice", "--old", "Birba", "--new", "Luna")
    assert code == 0
    assert "corrected of Alice: 1 message" in shown
    assert files_with(data, "Birba") == []
    assert json.loads(run("correct", "--id", "m1", "--new", "ho un cane", "--json")[1])["lines"] == 1
    assert [entry["verb"] for entry in json.loads(run("audit", "--json")[1])] == ["correct", "correct"]


@pytest.mark.usefixtures("data")
def test_an_export_holds_what_is_held_of_one_viewer_and_nobody_else(run: Run, tmp_path: Path) -> None:
    code, shown, _ = run("export", "--viewer", "alice", "--out", "alice.json")
    assert code == 0
    assert "1 message, 2 memories" in shown  # what was said, and the fact in it
    text = (tmp_path / "alice.json").read_text(encoding="utf-8")
    held = json.loads(text)
    assert held["viewer"]["names"][0]["name"] == "Alice"
    assert [line["text"] for line in held["lines"]] == ["il mio gatto si chiama Birba"]
    assert "Nerone" not in text
    assert run("export", "--viewer", "alice", "--out", "no/such/folder/a.json")[0] == 1


@pytest.mark.usefixtures("data")
@pytest.mark.parametrize("arguments", REFUSALS)
def test_what_cannot_be_meant_is_refused(run: Run, arguments: tuple[str, ...]) -> None:
    code, _, told = run(*arguments)
    assert code == 2
    assert "--" in told


def test_a_memory_without_its_channel_says_what_to_do(run: Run, data: Path) -> None:
    (data / "channel.json").unlink()
    code, _, told = run("forget", "--id", "m1")
    assert code == 1
    assert "start the bot once" in told
