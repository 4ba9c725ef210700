"""Bad input through the shipped program: a clear error or a counted warning each, and nothing lost."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders_cli import Run, a_chat_line, a_stream_line, an_evening, clean_environment, ricordo, turns_of, write_log_file

pytestmark = pytest.mark.timeout(400)  # several processes a test, each of which loads everything
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
HOLD = (
    "import pathlib, sys\nfrom memory.store.instance_lock import InstanceLock\n"
    "InstanceLock.take(pathlib.Path(sys.argv[1]))\nprint('held', flush=True)\nsys.stdin.read()\n"
)
NO_CHATS = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "blanks"),
    "binary": (bytes(range(256)) * 64, "binary"),
    "encoding": ("\n".join(json.dumps({"perché": "così"}, ensure_ascii=False) for _ in range(9)).encode("cp1252"), "iconv"),
    "packed_junk": (gzip.compress(bytes(range(256)) * 64), "binary"),
}


@pytest.mark.parametrize("kind", NO_CHATS)
def test_a_file_that_is_no_chat_is_one_clear_error(run: Run, tmp_path: Path, kind: str) -> None:
    content, told = NO_CHATS[kind]
    (tmp_path / "chat.jsonl").write_bytes(content)
    done = ricordo("replay", "chat.jsonl", "--out", "out", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    code, _, errors = run("import", "chat.jsonl", "--out", "copy.jsonl")
    assert code == 1
    assert told in errors
    assert not (tmp_path / "copy.jsonl").exists(), "a failed import leaves nothing behind"


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    done = ricordo("replay", "nowhere.jsonl", cwd=tmp_path)
    assert done.returncode == 1
    assert "nowhere.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_log_with_one_line_is_played(tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", [a_chat_line("m1", "ciao a tutti", after=0)])
    done = ricordo("replay", log, "--out", "out", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["counts"]["message"] == 1
    assert [line["id"] for turn in turns_of(tmp_path / "out") for line in turn["batch"]] == ["m1"]


def test_bad_lines_among_good_ones_are_counted_with_number_and_reason_and_lose_nothing(tmp_path: Path) -> None:
    huge = "parola " * 150_000  # a line of 1 MB
    log = write_log_file(
        tmp_path / "chat.jsonl",
        [
            a_stream_line(),
            a_chat_line("m1", "prima", after=10),
            "boh, non JSON",
            a_chat_line("m2", huge, after=20),
            a_chat_line("m3", "indietro nel tempo", after=5),
            a_chat_line("m1", "lo stesso id", after=30),
            a_chat_line("m4", "eccomi", after=40, who="../../etc/passwd", login="../../etc/passwd", name="C:\\..\\x"),
            a_chat_line("m5", "\x1b[2J\x07 ciao \u202e oizz", after=50),
            '{"type":"message","id":"m6"}',
        ],
    )
    done = ricordo("replay", log, "--out", "out", "--show", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 time counted" in done.stdout or "1 line older than the line before" in done.stdout
    assert "1 message whose id was there before" in done.stdout
    assert "2 lines could not be read and were skipped" in done.stdout
    assert "line 3: not JSON" in done.stdout
    assert not {"\x1b", "\x07", "\u202e"} & set(done.stdout), "what a terminal obeys stays out of it"
    seen = [line["id"] for turn in turns_of(tmp_path / "out") for line in turn["batch"]]
    assert sorted(set(seen)) == ["m1", "m2", "m3", "m4", "m5"]
    shown = ricordo("memory", "show", "../../etc/passwd", "--data", "out", "--json", cwd=tmp_path)
    assert [message["text"] for message in json.loads(shown.stdout)["messages"]] == ["eccomi"]
    assert {path.name for path in tmp_path.iterdir()} <= {"chat.jsonl", "out"}, "no name is a path"


def test_a_packed_log_that_breaks_off_gives_what_could_be_unpacked(tmp_path: Path) -> None:
    lines = [a_stream_line(), *(a_chat_line(f"m{number}", f"riga {number * 7919}", after=number) for number in range(2000))]
    whole = gzip.compress(write_log_file(tmp_path / "chat.jsonl", lines).read_bytes(), mtime=0)
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    done = ricordo("import", "cut.jsonl.gz", "--out", "chat2.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 packed file that breaks off" in done.stdout
    assert (tmp_path / "chat2.jsonl").read_text().count("\n") > 500


def test_imported_bad_lines_are_counted_too(tmp_path: Path) -> None:
    write_log_file(
        tmp_path / "chat.jsonl",
        [
            a_stream_line(),
            a_chat_line("m1", "uno", after=10),
            a_chat_line("m1", "due", after=5),
            "no",
            a_chat_line("m2", "x" * 1_000_000, after=20, login="../../etc/passwd"),
        ],
    )
    done = ricordo("import", "chat.jsonl", "--out", "clean.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "id was there before" in done.stdout
    assert "older than the line before" in done.stdout
    assert "line 4: not JSON" in done.stdout
    assert (tmp_path / "clean.jsonl").stat().st_size > 1_000_000


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a folder on a file system of 3 MB."""
    if not IS_ROOT:
        pytest.skip("needs root, to mount a small file system")
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], check=False, capture_output=True)
    if mounted.returncode:
        pytest.skip("this machine mounts nothing here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_clear_error_and_keeps_what_was_stored(full_disk: Path, tmp_path: Path) -> None:
    words = "parole diverse per riempire il disco "
    lines = [a_stream_line(), *(a_chat_line(f"m{n}", f"{n} {words * 12}", after=n) for n in range(6000))]
    log = write_log_file(tmp_path / "chat.jsonl", lines)
    done = ricordo("replay", log, "--out", full_disk / "out", cwd=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "full" in done.stderr or "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    imported = ricordo("import", log, "--out", full_disk / "copy.jsonl", cwd=tmp_path)
    assert imported.returncode == 1
    assert "cannot be written" in imported.stderr
    assert not (full_disk / "copy.jsonl").exists()


def test_a_data_directory_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    (tmp_path / "file").write_text("no folder")
    done = ricordo("replay", log, "--out", "file/out", cwd=tmp_path)
    assert done.returncode == 1
    assert "file/out" in done.stderr
    assert "Not a directory" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(IS_ROOT, reason="root may write everywhere")
def test_an_unwritable_data_directory_is_one_clear_error(tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    (tmp_path / "out").mkdir(mode=0o500)
    done = ricordo("replay", log, "--out", "out", cwd=tmp_path)
    assert done.returncode == 1
    assert "Permission denied" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_process_on_one_data_directory_is_refused_and_may_still_read(tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    assert ricordo("replay", log, "--out", "out", cwd=tmp_path).returncode == 0
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path / "out" / "memory")],
        env=clean_environment(tmp_path), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as holder:  # fmt: skip
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refused = [
            ricordo(*arguments, cwd=tmp_path)
            for arguments in (
                ("replay", log, "--out", "out"),
                ("jobs", "drain", "--data", "out"),
                ("forget", "--viewer", "alba", "--yes", "--data", "out"),
            )
        ]
        read = ricordo("memory", "show", "alba", "--data", "out", cwd=tmp_path)
        holder.kill()
    assert [done.returncode for done in refused] == [3, 3, 3]
    assert all(f"in use by process {holder.pid}: stop it" in done.stderr for done in refused)
    assert read.returncode == 0
    assert "la mia gatta si chiama Briciola" in read.stdout
