"""`ricordo backup` and `restore`, run in this process."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from builders_backup import a_memory, look
from builders_cli import Run
from builders_memory import opened
from builders_recall import CHANNEL


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return asyncio.run(a_memory(tmp_path_factory.mktemp("memory") / "m"))


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


def test_a_memory_is_backed_up_and_restored_into_an_empty_place_with_its_index(run: Run, data: Path, tmp_path: Path) -> None:
    code, shown, _ = run("backup", "b.ricordo")
    assert code == 0
    assert shown.startswith(f"b.ricordo: 3 messages of {CHANNEL.name}, ")
    shutil.rmtree(data)
    code, shown, _ = run("restore", "b.ricordo")
    assert code == 0
    assert "3 messages, as of" in shown
    assert "Birba" in run("memory", "search", "Birba")[1]
    assert look(data / "memory.db", "SELECT count(*) FROM document WHERE indexed_model IS NULL AND NOT superseded") == [(0,)]
    assert json.loads((data / "channel.json").read_text())["login"] == CHANNEL.login
    assert run("restore", "b.ricordo", "--data", tmp_path / "elsewhere")[0] == 0
    assert (tmp_path / "elsewhere" / data.name / "memory.db").is_file()


def test_a_folder_gets_a_named_backup(run: Run, data: Path, tmp_path: Path) -> None:
    (tmp_path / "safe").mkdir()
    code, shown, _ = run("backup", "safe", "--data", data, "--json")
    assert code == 0
    (file,) = (tmp_path / "safe").iterdir()
    told = json.loads(shown)
    assert (tmp_path / told["file"], told["manifest"]["messages"]) == (file, 3)
    assert file.name.startswith(f"{CHANNEL.login}-")


def test_a_memory_is_not_replaced_unasked_nor_under_a_running_bot(run: Run, data: Path) -> None:
    run("backup", "b.ricordo")
    code, _, told = run("restore", "b.ricordo")
    assert code == 1
    assert "--force" in told

    async def with_a_bot() -> tuple[int, str, str]:
        async with opened(data):
            return await asyncio.to_thread(run, "restore", "b.ricordo", "--force")

    code, _, told = asyncio.run(with_a_bot())
    assert code == 3
    assert "in use" in told
    code, shown, _ = run("restore", "b.ricordo", "--force", "--no-index")
    assert code == 0
    assert "the memory that was there is in" in shown
    assert "ricordo reindex" in shown


def test_a_damaged_memory_is_replaced_and_it_is_said_what_is_not_known(run: Run, data: Path) -> None:
    run("backup", "b.ricordo")
    (data / "memory.db").write_bytes(b"\xff" * 50_000)
    code, shown, _ = run("restore", "b.ricordo", "--force", "--no-index", "--data", data)
    assert code == 0
    assert "could not be read: its files lie in" in shown
    assert "is not known: forget it again" in shown


@pytest.mark.usefixtures("data")
def test_a_file_that_is_no_backup_is_refused_in_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("x")
    code, _, told = run("restore", "x", "--force")
    assert code == 1
    assert told.startswith("error: x is no backup")
    assert run("restore", "missing")[2].startswith("error: missing: there is no such file")
