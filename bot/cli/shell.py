"""What every command shares: the console, JSON output, exit codes, and errors without tracebacks."""

import json
import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from datetime import datetime
from enum import IntEnum
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from bot.cli.logs import scrub
from bot.cli.terminal import printable
from bot.live_errors import LiveError, TwitchRefused
from bot.plain import is_invisible
from config.errors import ConfigError
from memory import BotMemoryError, DirectoryInUse

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
    USAGE = 2  # wrong arguments or configuration
    IN_USE = 3  # another process has the data directory open
    REFUSED = 4  # Twitch refuses the account: starting again is useless until somebody logs in
    INTERRUPTED = 130


class CommandFailed(Exception):
    """A command's own failure, with the text for the person and the exit code."""

    def __init__(self, text: str, code: Exit = Exit.FAILED) -> None:
        """Keep the exit code beside the text."""
        super().__init__(text)
        self.code = code


EXPECTED: tuple[type[Exception], ...] = (CommandFailed, ConfigError, BotMemoryError, LiveError, OSError)


@contextmanager
def clear_errors(*, debug: bool, also: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Turn the errors that a person can act on into one message and an exit code; `debug` lets them through.

    Args:
        debug: show tracebacks.
        also: expected errors of the caller's own packages.
    """
    expected = EXPECTED + also
    try:
        yield
    except expected as error:
        if debug:
            raise
        stop(_told(error), _code(error))
    except BaseExceptionGroup as group:
        first = None if debug else _first(group, expected)
        if first is None:
            raise
        stop(_told(first), _code(first))
    except KeyboardInterrupt:
        if debug:
            raise
        stop("interrupted", Exit.INTERRUPTED)


def short_tracebacks() -> None:
    """Make an unexpected error one line that says how to see more; it is a bug of ours. Python then leaves with 1."""
    sys.excepthook = _one_line


def _one_line(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    frames = traceback.extract_tb(trace)
    where = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    told = scrub(None, "", {"text": str(error)})["text"]
    _print_error(f"unexpected {kind.__name__}{where}: {told}. Run the same command with --debug to see the whole traceback")


def stop(text: str, code: Exit) -> NoReturn:
    """Print an error and leave."""
    _print_error(text)
    raise SystemExit(int(code))


def _print_error(text: str) -> None:
    err.print(Text.assemble(("error: ", "bold red"), "\n".join(printable(line) for line in text.splitlines())))


def print_json(value: Any) -> None:  # noqa: ANN401 anything that `plain` understands
    """Print one JSON document, keys in their order, text as it is but for what a terminal would obey: that is escaped."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=2)
    out.print("".join(_escaped(char) if char != "\n" and is_invisible(char) else char for char in text), markup=False)


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


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


def _first(group: BaseExceptionGroup[BaseException], expected: tuple[type[Exception], ...]) -> Exception | None:
    """Return the first error of a group where all of them are expected."""
    known, others = group.split(expected)
    if known is None or others is not None:
        return None
    leaf: BaseException = known
    while isinstance(leaf, BaseExceptionGroup):
        leaf = leaf.exceptions[0]
    return leaf if isinstance(leaf, Exception) else None


def _told(error: Exception) -> str:
    if not isinstance(error, OSError):
        return str(error)
    reason = os.strerror(error.errno) if error.errno else str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def _code(error: Exception) -> Exit:
    if isinstance(error, CommandFailed):
        return error.code
    if isinstance(error, DirectoryInUse):
        return Exit.IN_USE
    if isinstance(error, TwitchRefused):
        return Exit.REFUSED
    return Exit.USAGE if isinstance(error, ConfigError) else Exit.FAILED
