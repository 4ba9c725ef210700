"""Benchmark files, read field by field: a file of another version is refused by file and field, never half understood."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


class BenchmarkError(Exception):
    """A benchmark cannot be run. The text names the file and the field, and says what to do."""


class Fields:
    """One JSON object of a benchmark file, with the place where it stands."""

    def __init__(self, value: object, *, file: Path, where: str = "") -> None:
        """Take the object.

        Raises:
            BenchmarkError: it is no object.
        """
        self.file, self._where = file, where
        if not isinstance(value, dict):
            self.refuse("", "an object", value)
        self.all: Mapping[str, Any] = value

    def need(self, name: str, kind: type[T]) -> T:
        """Return a field that must be there.

        Raises:
            BenchmarkError: it is missing, or of another type.
        """
        if name not in self.all:
            raise BenchmarkError(
                f"{self.file}: {self._place(name)} is missing. This is not a file of the version that is read here: "
                "docs/evaluation.md says where each benchmark comes from"
            )
        value = self.all[name]
        if not isinstance(value, kind):
            self.refuse(name, kind.__name__, value)
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; a missing one is empty.

        Raises:
            BenchmarkError: it is something else.
        """
        value = self.all.get(name) or ()
        if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(item, str) for item in value):
            self.refuse(name, "a list of strings", value)
        return tuple(value)

    def optional(self, name: str) -> str:
        """Return a field as text, empty where it is missing or null: some benchmarks write numbers."""
        value = self.all.get(name)
        return "" if value is None else str(value)

    def moment(self, name: str, form: str) -> datetime:
        """Return a time written in `form` (as `strptime` reads it), taken as UTC.

        Raises:
            BenchmarkError: it is missing or written otherwise.
        """
        text = self.need(name, str)
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            self.refuse(name, f"a time like {form!r}", text)

    def parts(self, name: str) -> "list[Fields]":
        """Return a list of objects.

        Raises:
            BenchmarkError: it is something else.
        """
        items = self.need(name, list)
        return [Fields(item, file=self.file, where=f"{self._place(name)}[{place}]") for place, item in enumerate(items)]

    def inside(self, name: str) -> "Fields":
        """Return an object within this one.

        Raises:
            BenchmarkError: it is missing or something else.
        """
        return Fields(self.need(name, dict), file=self.file, where=self._place(name))

    def refuse(self, name: str, wanted: str, value: object) -> NoReturn:
        """Refuse a field that holds something else than `wanted`.

        Raises:
            BenchmarkError: always.
        """
        shown = repr(value)[:60]
        raise BenchmarkError(f"{self.file}: {self._place(name) or 'the document'} must be {wanted}, not {shown}") from None

    def _place(self, name: str) -> str:
        return ".".join(part for part in (self._where, name) if part)


def read_json(path: Path) -> object:
    """Return the document in a file.

    Raises:
        BenchmarkError: the file cannot be read, or is not JSON.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchmarkError(f"{path} cannot be read: {error.strerror}. Give the path of the benchmark's file") from None
    except ValueError as error:
        raise BenchmarkError(f"{path} is not JSON: {error}. Fetch the file again") from None


def read_list(path: Path) -> list[Fields]:
    """Return the objects of a file that holds a list.

    Raises:
        BenchmarkError: it cannot be read, or holds something else.
    """
    document = read_json(path)
    if not isinstance(document, list):
        raise BenchmarkError(f"{path}: the document must be a list of objects, not {type(document).__name__}")
    return [Fields(item, file=path, where=f"[{place}]") for place, item in enumerate(document)]
