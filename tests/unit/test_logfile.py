import gzip
from pathlib import Path

import pytest
from builders_logs import irc, load, load_text

from replays.errors import LogUnreadable, NotAChat
from replays.log_report import LogReport
from replays.logfile import LogFile

LINES = "uno\r\ndue\n\ntre"


def lines(path: Path, content: bytes) -> list[tuple[int, str]]:
    path.write_bytes(content)
    return list(LogFile(path, LogReport(path=path)).lines())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("packed", [False, True])
def test_lines_are_the_same_in_every_encoding(tmp_path: Path, encoding: str, *, packed: bool) -> None:
    content = LINES.encode(encoding)
    found = lines(tmp_path / "a.txt", gzip.compress(content) if packed else content)
    assert found == [(1, "uno"), (2, "due"), (3, ""), (4, "tre")]


def test_packed_files_in_a_row_are_one(tmp_path: Path) -> None:
    assert lines(tmp_path / "a.gz", gzip.compress(b"uno\n") + gzip.compress(b"due\n")) == [(1, "uno"), (2, "due")]


def test_lines_longer_than_a_piece_of_the_file_are_whole(tmp_path: Path) -> None:
    long = "è" * 300_000
    assert lines(tmp_path / "a.txt", f"uno\n{long}\ntre".encode()) == [(1, "uno"), (2, long), (3, "tre")]


def test_a_line_with_one_wrong_byte_is_kept_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    good = irc("perché no").encode()
    path.write_bytes(b"\n".join([good] * 60 + [good.replace(b"no", b"n\xff")]))
    loaded = load(path)
    assert loaded.messages[-1].text == "perché n\ufffd"
    assert loaded.report.warnings["not_utf8"] == 1


def test_replacement_characters_that_were_there_before_are_no_damage(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, irc("\ufffd boh") + "\n")
    assert loaded.messages[0].text == "\ufffd boh"
    assert "not_utf8" not in loaded.report.warnings


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252"])
def test_another_encoding_is_refused_with_the_way_out(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes("\n".join(irc("perché è così") for _ in range(5)).encode(encoding))
    with pytest.raises(NotAChat, match="iconv"):
        LogFile(path, LogReport(path=path))


@pytest.mark.parametrize(
    "content",
    [
        b"PK\x03\x04" + bytes(range(256)) * 40,
        bytes(range(1, 32)) * 100,
        gzip.compress(bytes(range(256)) * 40, mtime=0),
        b"\x00" * 5000,
        b"\x1f\x8b\x08\x00garbage",
        gzip.compress(b"ciao" * 100, mtime=0)[:12],
        b"SQLite format 3\x00" + b"\x00\x01\x02\x04\x08\x10" * 900,
    ],
)
def test_binary_content_is_one_clear_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(content)
    with pytest.raises(NotAChat, match=r"a\.bin"):
        load(path)


def test_a_folder_or_nothing_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(LogUnreadable, match="cannot be read"):
        LogFile(tmp_path, LogReport(path=tmp_path))
    with pytest.raises(NotAChat, match="is empty"):
        lines(tmp_path / "a.txt", b"")
    with pytest.raises(NotAChat, match="is empty"):
        lines(tmp_path / "a.gz", gzip.compress(b""))


def test_progress_tells_the_place_on_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"riga\n" * 50_000)
    places: list[int] = []
    file = LogFile(path, LogReport(path=path), places.append)
    places.clear()
    assert sum(1 for _ in file.lines()) == 50_000
    assert places == sorted(places)
    assert places[-1] == path.stat().st_size


def test_json_is_always_valid_for_its_parser(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'{"messages": ["' + "è".encode() * 40 + b'\xff", "x"]}')
    report = LogReport(path=path)
    stream = LogFile(path, report).json_stream()
    assert stream.read(0) == b""
    first = stream.read(5)
    assert first == b'{"mes'
    assert b"\xef\xbf\xbd" in stream.read()
    assert stream.read(10) == b""
    assert report.warnings["not_utf8"] == 1
