"""A chat log on disk as a stream of UTF-8, whatever it was: plain or gzip, with or without a mark, UTF-8, UTF-16 or UTF-32."""

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from replays.errors import LogUnreadable, NotAChat
from replays.log_report import LogReport

CHUNK = 1 << 16
HEAD = 1 << 16
LONGEST_LINE = 8 << 20  # a longer one is skipped: nobody types 8 MB, and memory stays bounded
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOT_TEXT = re.compile(r"[\x04-\x08\x0b\x0c\x0e\x10-\x1a\x1c-\x1e\x7f]")  # \1 \2 \3 \f \x1d are chat formatting, NUL separates
_BROKEN = "�"


class LogFile:
    """One file, read as often as needed. `report` gets what was wrong with single lines, `progress` the position on disk.

    Raises:
        LogUnreadable: the file cannot be opened.
        NotAChat: it is empty, binary, or in another encoding than UTF-8, -16 or -32.
    """

    def __init__(self, path: Path, report: LogReport, progress: Callable[[int], None] | None = None) -> None:
        self.path = path
        self.report = report
        self._progress = progress
        self._encoding = "utf-8"
        start = next(self._inflated(), b"")
        if not start and report.warnings["gzip_cut"]:
            raise NotAChat(f"{path.name} is packed with gzip, but damaged from its beginning: nothing in it can be read")
        if not start:
            raise NotAChat(f"{path.name} is empty: there is no chat to read in it")
        self._encoding = _encoding_of(start)
        self.head = self._read_head()
        _refuse_junk(path, start if self._encoding.startswith("utf-8") else b"", self.head)

    def _read_head(self) -> str:
        head = b""
        with closing(self.chunks()) as chunks:
            for chunk in chunks:
                head += chunk
                if len(head) >= HEAD:
                    break
        self.report.warnings.pop("gzip_cut", None)  # counted again when the file is read
        return head.decode(errors="replace").removesuffix(_BROKEN)

    def chunks(self) -> Generator[bytes, None, None]:
        """Yield the content as UTF-8; bytes that are no UTF-8 pass unchanged where the file itself is UTF-8."""
        if self._encoding == "utf-8":
            yield from self._inflated()
            return
        if self._encoding == "utf-8-sig":
            mark = len(codecs.BOM_UTF8)
            for number, chunk in enumerate(self._inflated()):
                yield chunk[mark:] if number == 0 else chunk
            return
        decoder = codecs.getincrementaldecoder(self._encoding)(errors="replace")
        for chunk in self._inflated():
            yield decoder.decode(chunk).encode(errors="replace")
        yield decoder.decode(b"", final=True).encode(errors="replace")

    def lines(self, *, split_at_nul: bool = False) -> Iterator[tuple[int, str]]:
        """Yield `(number, text)` of every line, numbers from 1, without the line end.

        A line with bytes that are no UTF-8 is kept with replacement characters and counted; one of more than 8 MB is skipped.
        """
        rest, number = b"", 0
        for chunk in self.chunks():
            pieces = (chunk.replace(b"\0", b"\n") if split_at_nul else chunk).split(b"\n")
            if len(pieces) == 1:
                if len(rest) <= LONGEST_LINE:
                    rest += pieces[0]
                continue
            pieces[0] = rest + pieces[0]
            rest = pieces.pop()
            for piece in pieces:
                number += 1
                self.report.lines = number
                yield from self._line(number, piece)
        if rest:
            self.report.lines = number + 1
            yield from self._line(number + 1, rest)

    def _line(self, number: int, raw: bytes) -> Iterator[tuple[int, str]]:
        if len(raw) > LONGEST_LINE:
            self.report.skip(number, f"longer than {LONGEST_LINE >> 20} MB")
            return
        if raw.endswith(b"\r"):
            raw = raw[:-1]
        try:
            yield number, raw.decode()
        except UnicodeDecodeError:
            self.report.warn("not_utf8")
            yield number, raw.decode(errors="replace")

    def json_stream(self) -> "JsonStream":
        """Return a reader for ijson: always valid UTF-8."""
        return JsonStream(self)

    def _inflated(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as raw:
                zipped = raw.read(2) == b"\x1f\x8b"
                raw.seek(0)
                yield from self._gunzipped(raw) if zipped else self._plain(raw)
        except OSError as error:
            raise LogUnreadable(
                f"{self.path} cannot be read ({error.strerror or error}); check the path and its permissions"
            ) from None

    def _plain(self, raw: BinaryIO) -> Iterator[bytes]:
        while chunk := raw.read(CHUNK):
            self._moved(raw)
            yield chunk

    def _gunzipped(self, raw: BinaryIO) -> Iterator[bytes]:
        """Yield all that can be unpacked; a cut or damaged end is a warning, what came before it is kept."""
        with gzip.GzipFile(fileobj=raw) as unpacked:
            while True:
                try:
                    chunk = unpacked.read1(CHUNK)
                except (EOFError, zlib.error, gzip.BadGzipFile):
                    self.report.warn("gzip_cut")
                    return
                if not chunk:
                    return
                self._moved(raw)
                yield chunk

    def _moved(self, raw: BinaryIO) -> None:
        if self._progress:
            self._progress(raw.tell())


class JsonStream:
    """A byte reader over a log file for ijson, which refuses anything but valid UTF-8."""

    def __init__(self, file: LogFile) -> None:
        self._chunks = file.chunks()
        self._report = file.report
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """Return up to `size` bytes; nothing at the end."""
        if size == 0:
            return b""
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return self._decoder.decode(b"", final=True).encode()
            text = self._decoder.decode(chunk)
            if _BROKEN in text and text.count(_BROKEN) > chunk.count(_BROKEN.encode()):
                self._report.warn("not_utf8")
            self._rest = text.encode()
        found, self._rest = (self._rest, b"") if size < 0 else (self._rest[:size], self._rest[size:])
        return found


def _encoding_of(start: bytes) -> str:
    for mark, encoding in MARKS:
        if start.startswith(mark):
            return encoding
    sample = start[:400]
    if sample.count(0) * 5 >= len(sample) * 2:  # two bytes in five are NUL: wide characters without a mark
        wide = "utf-32" if sample.count(0) * 3 >= len(sample) * 2 else "utf-16"
        return wide + ("-be" if sample[0] == 0 else "-le")
    return "utf-8"


def _refuse_junk(path: Path, raw: bytes, head: str) -> None:
    if not head.strip("\ufeff\0 \t\r\n"):
        raise NotAChat(f"{path.name} holds nothing but blanks: there is no chat to read in it")
    lines = head.replace("\0", "\n").split("\n")
    broken = sum(_BROKEN in line for line in lines) if _BROKEN.encode() not in raw else 0
    other = sum(char > "\x7f" for char in head)
    if len(_NOT_TEXT.findall(head)) * 50 > len(head) or (
        broken and _NOT_TEXT.search(head) and head.count(_BROKEN) * 10 > len(head)
    ):
        raise NotAChat(
            f"{path.name} is binary, not a chat log; give the chat file itself (unpacked, or packed with gzip alone)"
        )
    if broken * 20 > len(lines) and head.count(_BROKEN) * 2 > other:
        raise NotAChat(
            f"{path.name} is not UTF-8; convert it first, for example: iconv -f WINDOWS-1252 -t UTF-8 {path.name!r} > chat.txt"
        )
