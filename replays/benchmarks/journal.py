"""The raw log of a benchmark: a line a question, written as it is answered, from which an interrupted run goes on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from replays.benchmarks.loading import BenchmarkError


class Journal:
    """`questions.jsonl` in the output folder; its first line says what was run, so that two runs are never mixed."""

    def __init__(self, folder: Path, run: Mapping[str, Any]) -> None:
        """Open the log of `run` (benchmark, digests of files and settings) and read what is done.

        Raises:
            BenchmarkError: the folder cannot be written, or holds another run.
        """
        self.path = folder / "questions.jsonl"
        self.run = dict(run)
        self.rows: dict[str, dict[str, Any]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._resume(run)
        except OSError as error:
            raise BenchmarkError(f"{folder} cannot be written: {error.strerror}. Choose another --out") from None

    def _resume(self, run: Mapping[str, Any]) -> None:
        whole = self.path.read_bytes().splitlines(keepends=True) if self.path.exists() else []
        whole = [line for line in whole if line.endswith(b"\n")]  # a line that a kill cut off is answered again
        if not whole:
            self.path.write_bytes(_line(run))
            return
        rows = [self._read(line, number) for number, line in enumerate(whole, start=1)]
        if rows[0] != dict(run):
            raise BenchmarkError(
                f"{self.path} holds another run (other questions, settings or model). Choose another --out, or remove it"
            )
        self.rows = {row["id"]: row for row in rows[1:]}
        self.path.write_bytes(b"".join(whole))

    def _read(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or (number > 1 and not isinstance(row.get("id"), str)):
            raise BenchmarkError(f"{self.path}, line {number}: damaged. Remove that line to have its question asked again")
        return row

    def missing(self, ids: Sequence[str]) -> set[str]:
        """Return the questions that are still to be asked."""
        return set(ids) - self.rows.keys()

    def add(self, row: dict[str, Any]) -> None:
        """Keep the answer to one question, at once."""
        with self.path.open("ab") as file:
            file.write(_line(row))
        self.rows[row["id"]] = row


def digest_of(*parts: bytes) -> str:
    """Return a short digest that tells runs over other input apart."""
    return hashlib.sha256(b"\x00".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()[:16]


def _line(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"
