import gzip
import json
from pathlib import Path

import pytest

from memory import Message
from replays.errors import LogUnreadable, NotAChat
from replays.log import canon_folder, read_log, write_log
from replays.log_report import LogReport

USER = {"id": "1", "login": "alba", "name": "Alba"}


def line(number: int, text: str = "ciao") -> str:
    event = {"type": "message", "id": f"m{number}", "at": f"2026-03-01T18:00:{number:02}Z", "user": USER, "text": text}
    return json.dumps(event)


def read(path: Path, *lines: str) -> tuple[list[tuple[int, str]], LogReport]:
    path.write_text("".join(text + "\n" for text in lines), encoding="utf-8")
    report = LogReport(path=path)
    found = [(logged.line, logged.event.id) for logged in read_log(path, report) if isinstance(logged.event, Message)]
    return found, report


def test_bad_lines_are_skipped_with_number_and_reason_and_the_rest_is_kept(tmp_path: Path) -> None:
    broken = ['{"type": "message"', "", '{"type": "message", "id": "m9"}', "[" * 100_000, "null"]
    found, report = read(tmp_path / "a.jsonl", line(1), *broken, line(2))
    assert found == [(1, "m1"), (7, "m2")]
    assert [item.line for item in report.first_skipped] == [2, 4, 5, 6]
    assert "not JSON" in report.first_skipped[0].reason
    assert "at" in report.first_skipped[1].reason
    assert report.skipped == 4
    assert report.counts == {"message": 2}


def test_all_bad_lines_are_counted_and_the_first_ones_are_kept(tmp_path: Path) -> None:
    report = read(tmp_path / "a.jsonl", line(1), *["broken"] * 30)[1]
    assert report.skipped == 30
    assert [item.line for item in report.first_skipped] == list(range(2, 22))


def test_a_broken_first_line_does_not_hide_the_log(tmp_path: Path) -> None:
    assert read(tmp_path / "a.jsonl", '{"type": "mess', line(1))[0] == [(2, "m1")]
    assert read(tmp_path / "b.jsonl", "garbage", line(1))[0] == [(2, "m1")]


def test_unknown_types_duplicates_and_times_going_back_are_counted(tmp_path: Path) -> None:
    newer = '{"type": "hologram", "at": "2026-03-01T18:00:00Z"}'
    found, report = read(tmp_path / "a.jsonl", line(5), newer, line(3), line(5))
    assert [number for number, _ in found] == [1, 3, 4]
    assert report.warnings == {"unknown_type": 1, "time_went_back": 1, "duplicate_id": 1}
    assert report.skipped == 0


def test_a_line_of_a_megabyte_is_read_whole(tmp_path: Path) -> None:
    text = "è" * 500_000 + "\0\x1b"
    path = tmp_path / "a.jsonl"
    path.write_text(f"{line(1)}\n{line(2, text)}\n{line(3)}", encoding="utf-8")
    events = [logged.event for logged in read_log(path)]
    assert [event.text for event in events if isinstance(event, Message)] == ["ciao", text, "ciao"]


def test_a_line_of_many_megabytes_is_skipped_and_the_rest_is_kept(tmp_path: Path) -> None:
    found, report = read(tmp_path / "a.jsonl", line(1), line(2, "x" * (9 << 20)), line(3))
    assert [number for number, _ in found] == [1, 3]
    assert "longer than" in report.first_skipped[0].reason


def test_a_packed_log_that_breaks_off_keeps_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl.gz"
    packed = gzip.compress("".join(line(n % 60, f"text {n * 7919}") + "\n" for n in range(5000)).encode())
    path.write_bytes(packed[: len(packed) * 2 // 3])
    report = LogReport(path=path)
    found = list(read_log(path, report))
    assert 1000 < len(found) < 5000
    assert report.warnings["gzip_cut"] == 1


def test_a_log_with_one_line_and_no_line_end_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(line(1))
    assert [logged.line for logged in read_log(path)] == [1]


def test_a_foreign_log_is_refused_with_the_command_that_imports_it(tmp_path: Path) -> None:
    path = tmp_path / "a.tcd"
    path.write_text("[0:00:01] <Alba> ciao\n")
    with pytest.raises(NotAChat, match=r"format tcd; import it first: ricordo import"):
        read_log(path)


@pytest.mark.parametrize("content", [b"", b" \n\n", b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, b"hello there\nno chat\n"])
def test_what_is_no_log_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(NotAChat, match=r"a\.jsonl"):
        read_log(path)


def test_a_missing_log_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="cannot be read"):
        read_log(tmp_path / "none.jsonl")


def test_a_log_is_written_canonically_and_reads_back_the_same(tmp_path: Path) -> None:
    read(tmp_path / "a.jsonl", line(1), line(2, "\U000e0000 \ud83d"))
    events = [logged.event for logged in read_log(tmp_path / "a.jsonl")]
    assert write_log(tmp_path / "b.jsonl", events) == 2
    write_log(tmp_path / "c.jsonl", [logged.event for logged in read_log(tmp_path / "b.jsonl")])
    assert (tmp_path / "b.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert [logged.event for logged in read_log(tmp_path / "b.jsonl")] == events


def test_a_log_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").mkdir()
    with pytest.raises(LogUnreadable, match="cannot be written"):
        write_log(tmp_path / "out.jsonl", [])
    with pytest.raises(LogUnreadable, match="cannot be written"):
        write_log(tmp_path / "no" / "out.jsonl", [])
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]


def test_the_canon_of_a_log_stands_beside_it(tmp_path: Path) -> None:
    (tmp_path / "chat.lore").mkdir()
    assert canon_folder(tmp_path / "chat.jsonl") == tmp_path / "chat.lore"
    assert canon_folder(tmp_path / "chat.jsonl.gz") == tmp_path / "chat.lore"
    assert canon_folder(tmp_path / "other.jsonl") is None
