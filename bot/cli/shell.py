"""What every command shares: the console, JSON output, exit codes, and errors without tracebacks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

from config.errors import ConfigError
from memory import BotMemoryError

ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", help="Configuration file (default: ricordo.toml).", show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


class Exit(IntEnum):
    """Exit codes of every command."""

    OK = 0
    FAILED = 1  # it ran and found, or met, a problem
    USAGE = 2  # wrong arguments, configuration or input file
    IN_USE = 3  # another process has the data directory open
    INTERRUPTED = 130


class CommandFailed(Exception):
    """A command's own failure, with the text for the person and the exit code."""

    def __init__(self, text: str, code: Exit = Exit.FAILED) -> None:
        """Keep the exit code beside the text."""
        super().__init__(text)
        self.code = code


EXPECTED: tuple[type[Exception], ...] = (CommandFailed, ConfigError, BotMemoryError)


@contextmanager
def clear_errors(*, debug: bool) -> Iterator[None]:
    """Turn the errors that a person can act on into one message and an exit code; `debug` lets them through."""
    try:
        yield
    except EXPECTED as error:
        if debug:
            raise
        stop(str(error), _code(error))
    except KeyboardInterrupt:
        if debug:
            raise
        stop("interrupted", Exit.INTERRUPTED)


def stop(text: str, code: Exit) -> NoReturn:
    """Print an error and leave."""
    err.print(f"[bold red]error:[/] {_escaped(text)}")
    raise SystemExit(int(code))


def print_json(value: Any) -> None:  # noqa: ANN401 anything that `plain` understands
    """Print one JSON document, keys in their order, text as it is."""
    out.print(json.dumps(plain(value), ensure_ascii=False, indent=2), markup=False)


def plain(value: Any) -> Any:  # noqa: ANN401 anything that `plain` understands
    """Return `value` as JSON types: dataclasses become objects, times RFC 3339, sets sorted lists."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return sorted(plain(item) for item in value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _code(error: Exception) -> Exit:
    if isinstance(error, CommandFailed):
        return error.code
    if type(error).__name__ == "DirectoryInUse":
        return Exit.IN_USE
    return Exit.USAGE if isinstance(error, ConfigError) else Exit.FAILED


def _escaped(text: str) -> str:
    return text.replace("[", r"\[")
