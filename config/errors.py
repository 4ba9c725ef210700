"""What is wrong with a configuration, in words: where it stands, what is allowed, and the nearest right name."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError
from pydantic_settings import BaseSettings


class ConfigError(Exception):
    """The configuration cannot be used. The text says file, key, what is allowed, and what to do."""

    @classmethod
    def unknown(cls, where: str, name: str, allowed: Sequence[str]) -> Self:
        """Return the error for a name that does not exist."""
        return cls(f"{where}: unknown. {suggest(name, allowed)}")


def suggest(name: str, allowed: Sequence[str]) -> str:
    """Return the nearest allowed name as a question, and the whole list where it is short."""
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.5)
    listed = f"Allowed: {', '.join(allowed)}." if len(allowed) <= 20 else ""  # noqa: PLR2004 a longer list hides the hint
    return " ".join(part for part in (f"Did you mean {near[0]}?" if near else "", listed) if part)


def explain(
    error: ValidationError,
    settings: type[BaseSettings],
    *,
    file: Path | None,
    secrets_file: Path | None,
    environ: Mapping[str, str],
) -> str:
    """Return every problem of `error`, a line each, with its place."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        location = tuple(str(part) for part in problem["loc"])
        place = _place(location, file=file, secrets_file=secrets_file, environ=environ)
        lines.append(f"{place}: {_reason(problem, location, settings)}")
    return "\n".join(lines)


def _place(location: tuple[str, ...], *, file: Path | None, secrets_file: Path | None, environ: Mapping[str, str]) -> str:
    variable = "RICORDO_" + "__".join(location[:2]).upper()
    if variable in environ:
        return f"environment variable {variable}"
    dotted = ".".join(location)
    for candidate in (file, secrets_file):
        if candidate and (line := line_of(candidate.read_text(encoding="utf-8-sig"), location)):
            return f"{candidate}, line {line}, {dotted}"
    return f"{file or 'configuration'}, {dotted}"


def line_of(text: str, location: tuple[str, ...]) -> int | None:
    """Return the line where a key (or its table) stands in TOML text, None where it does not."""
    section = ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = raw.strip()
        if line.startswith("["):
            section = line.strip("[] ").split("#")[0].strip("] ")
            if location == (section,):
                return number
        key = line.split("=", 1)[0].strip().strip("\"'")
        if "=" in line and (location[:2] == (section, key) or (not section and location[:2] == tuple(key.split(".")[:2]))):
            return number
        if "=" in line and not section and location[:1] == (key,):
            return number
    return None


def _reason(problem: Any, location: tuple[str, ...], settings: type[BaseSettings]) -> str:  # noqa: ANN401 pydantic's own typed dict is private
    if problem["type"] == "extra_forbidden":
        section = settings.model_fields.get(location[0])
        table: Any = section.annotation if section and len(location) > 1 else settings
        return f"unknown key {location[-1]!r}. {suggest(location[-1], sorted(table.model_fields))}"
    return str(problem["msg"]).removeprefix("Value error, ")
