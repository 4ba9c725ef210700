"""Pieces of big JSON files, read as a stream: the elements of an array, the small objects before it, one object a line."""

import json
from collections.abc import Iterator
from typing import Any

import ijson

from replays.importers.intake import Intake
from replays.logfile import LogFile


def elements(intake: Intake, prefix: str) -> Iterator[tuple[int, Any]]:
    """Yield `(number, element)` of the array at `prefix` (ijson's notation), numbers from 1.

    Where the JSON breaks off or breaks, what came before is kept and the break is a warning.
    """
    number = 0
    found = ijson.items(intake.file.json_stream(), prefix, use_float=True)
    while True:
        try:
            element = next(found)
        except StopIteration:
            return
        except (ijson.JSONError, ValueError, RecursionError) as error:
            cut = isinstance(error, ijson.IncompleteJSONError) and "EOF" in str(error)
            intake.report.warn("json_cut" if cut else "json_broken")
            if not cut:
                intake.report.skip(number + 1, "the JSON is broken here; nothing after it can be read")
            return
        number += 1
        intake.report.lines = number
        yield number, element


def header(file: LogFile, keys: tuple[str, ...], *, stop: str) -> dict[str, Any]:
    """Return the objects under the top-level `keys`, reading no further than needed (a broken end is no error here).

    At the key `stop` reading ends where the first of `keys`, the one that matters, was there before.
    """
    found: dict[str, Any] = {}
    builders: dict[str, ijson.ObjectBuilder] = {}
    try:
        for prefix, event, value in ijson.parse(file.json_stream(), use_float=True):
            top = prefix.partition(".")[0]
            if top in keys:
                builder = builders.setdefault(top, ijson.ObjectBuilder())
                builder.event(event, value)
                found[top] = builder.value if hasattr(builder, "value") else None
            elif all(key in found for key in keys) or (top == stop and keys[0] in found):
                break
    except (ijson.JSONError, ValueError, RecursionError):
        pass  # told again, with its place, when the elements are read
    return {key: value for key, value in found.items() if isinstance(value, dict)}


def lines_or_one(intake: Intake) -> Iterator[tuple[int, Any]]:
    """Yield `(number, object)`: one object a line, or the objects of a file that spread over lines (one, a list, a row)."""
    if one_a_line(intake.file.head):
        yield from objects_of_lines(intake)
    else:
        listed = intake.file.head.lstrip("\ufeff \t\r\n").startswith("[")
        yield from elements(intake, "item") if listed else _row(intake)


def _row(intake: Intake) -> Iterator[tuple[int, Any]]:
    found = ijson.items(intake.file.json_stream(), "", use_float=True, multiple_values=True)
    number = 0
    while True:
        try:
            obj = next(found)
        except StopIteration:
            return
        except (ijson.JSONError, ValueError, RecursionError):
            intake.report.skip(number + 1, "the JSON is broken here; nothing after it can be read")
            return
        number += 1
        yield number, obj


def one_a_line(head: str) -> bool:
    """Return whether the first line that is not blank is a whole JSON object."""
    line = head.lstrip("\ufeff \t\r\n").partition("\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def objects_of_lines(intake: Intake) -> Iterator[tuple[int, Any]]:
    """Yield `(line number, value)` of every line that is JSON; the others are reported."""
    for number, line in intake.file.lines():
        if not line.strip():
            continue
        try:
            yield number, json.loads(line)
        except RecursionError:
            intake.report.skip(number, "not JSON: nested too deeply")
        except ValueError as error:
            intake.report.skip(number, f"not JSON: {error}")
