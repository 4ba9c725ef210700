import json
import sys
from pathlib import Path

import pytest
from builders_cli import Run

from bot.cli.shell import CommandFailed, Exit, clear_errors, plain, print_json, short_tracebacks
from bot.live_errors import TwitchRefused, TwitchUnreachable
from config.errors import ConfigError
from memory import DirectoryInUse, StoreUnavailable
from replays.errors import LogError


def _leaving(error: BaseException) -> int:
    with pytest.raises(SystemExit) as left, clear_errors(debug=False, also=(LogError,)):
        raise error
    return int(left.value.code or 0)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (CommandFailed("so nicht", Exit.USAGE), 2, "so nicht"),
        (ConfigError("a wrong key"), 2, "a wrong key"),
        (DirectoryInUse("in use by process 7"), 3, "in use by process 7"),
        (StoreUnavailable("the disk is full [really]"), 1, "the disk is full [really]"),
        (TwitchRefused("no such channel"), 4, "no such channel"),
        (TwitchUnreachable("no answer"), 1, "no answer"),
        (LogError("no chat"), 1, "no chat"),
        (PermissionError(13, "Permission denied", "out/turns.jsonl"), 1, "out/turns.jsonl: Permission denied"),
        (OSError(28, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (ExceptionGroup("tasks", [ExceptionGroup("more", [DirectoryInUse("in use")])]), 3, "in use"),
        (CommandFailed("two\nlines \x1b[31m"), 1, "two\nlines [31m"),
    ],
)
def test_an_expected_error_is_its_text_and_an_exit_code(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int, told: str
) -> None:
    assert _leaving(error) == code
    assert capsys.readouterr().err == f"error: {told}\n"


@pytest.mark.parametrize("error", [ConfigError("x"), KeyboardInterrupt(), ExceptionGroup("g", [ConfigError("x")])])
def test_debug_lets_everything_through(error: BaseException) -> None:
    with pytest.raises(type(error)), clear_errors(debug=True):
        raise error


def test_a_group_with_something_unexpected_is_not_hidden() -> None:
    mixed = ExceptionGroup("tasks", [ConfigError("x"), ZeroDivisionError()])
    with pytest.raises(ExceptionGroup), clear_errors(debug=False):
        raise mixed


def test_an_unexpected_error_is_one_line_without_secrets(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    short_tracebacks()
    sys.excepthook(ValueError, ValueError("bad key sk-abcdefghijkl"), None)
    told = capsys.readouterr().err
    assert told.startswith("error: unexpected ValueError: bad key ")
    assert "abcdefgh" not in told
    assert "--debug" in told
    assert told.count("\n") == 1


def test_values_become_json_types() -> None:
    assert plain({"a": {2, 1}, "b": (Path("x"), 1.5, None), 3: True}) == {"a": [1, 2], "b": ["x", 1.5, None], "3": True}


def test_an_unknown_command_or_option_is_wrong_usage(run: Run) -> None:
    assert run("rimember")[0] == 2
    assert run("memory", "show")[0] == 2


def test_every_command_has_help_with_an_example(run: Run) -> None:
    commands = [
        ("run",), ("replay",), ("import",), ("reindex",), ("doctor",), ("eval",), ("forget",), ("correct",), ("export",),
        ("jobs",), ("jobs", "retry"), ("jobs", "bury"),
        ("memory", "show"), ("memory", "search"), ("memory", "stats"), ("config", "init"), ("config", "check"),
        ("config", "show"),
    ]  # fmt: skip
    for command in commands:
        code, shown, _ = run(*command, "--help")
        assert code == 0
        assert f"Example: ricordo {' '.join(command)}" in shown


def test_json_on_a_terminal_holds_nothing_that_it_would_obey(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = {"name": "a\x9b31m\u202eb\ud800", "text": "perché 😀\n\x1b[2J"}
    print_json(hostile)
    shown = capsys.readouterr().out
    assert json.loads(shown) == hostile
    assert "perché 😀" in shown
    assert not set(shown) & set("\x9b\u202e\ud800\x1b")
