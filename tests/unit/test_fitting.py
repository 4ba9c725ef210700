"""The commands that fit weights: what cannot be used is named, with what to do, and nothing is written."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from bench import fit_projection, fit_relevance
from bot.cli.shell import CommandFailed
from memory import RELEVANCE_FILE
from memory.embed.projection import FITTED

PAIR = json.dumps({"q": "where does anna live?", "a": "I live in Vicenza", "n": ["I love Vicenza"]})
ASKS_WHO = {"id": "1001", "login": "anna", "name": "Anna"}


def refused(main: object, arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What the command says when it ends with an error; a traceback would be another exception."""
    assert callable(main)
    before = RELEVANCE_FILE.read_bytes(), FITTED.read_bytes()
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code not in {0, None}
    assert (RELEVANCE_FILE.read_bytes(), FITTED.read_bytes()) == before
    return capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "check the path"), (b"nonsense", "ricordo import"), (b"", "chat.jsonl"), (b"\xff\x00\x01\x02", "chat.jsonl")],
    ids=["missing", "text", "empty", "binary"],
)
@pytest.mark.parametrize("check", [False, True])
def test_a_log_that_cannot_be_read_is_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, says: str, *, check: bool
) -> None:
    log, other = tmp_path / "chat.jsonl", tmp_path / "other.jsonl"
    if content is not None:
        log.write_bytes(content)
    told = refused(fit_relevance.main, ["--check", str(log), str(other)] if check else [str(log)], capsys)
    assert told.startswith("error: ")
    assert "chat.jsonl" in told
    assert says in told


def test_a_log_without_probes_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "chat.jsonl"
    said = {"type": "message", "id": "m1", "at": "2026-03-01T21:00:00+01:00", "text": "ciao", "user": ASKS_WHO}
    log.write_text(json.dumps(said) + "\n", encoding="utf-8")
    assert "chat.jsonl" in refused(fit_relevance.main, [str(log)], capsys)


def test_a_configuration_that_cannot_be_read_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "r.toml").write_text("[storage", encoding="utf-8")
    told = refused(fit_relevance.main, ["--config", str(tmp_path / "r.toml"), "chat.jsonl"], capsys)
    assert "r.toml: not valid TOML" in told


def test_too_few_examples_of_a_place_are_told_with_what_to_annotate() -> None:
    with pytest.raises(CommandFailed, match=r"recall: .* 0 logs, and 2 are needed.*Annotate"):
        fit_relevance.kept_by_kind([], logs=2)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (f"{PAIR}\nnonsense\n".encode(), "jsonl:2 is no pair"),
        (b'{"q": "where?", "a": "here"}\n', "jsonl:1 is no pair"),
        (b'{"q": "where?", "a": 7, "n": []}\n', "jsonl:1 is no pair"),
        (b"\xff\xfe\n", "cannot be read"),
        (PAIR.encode(), "1 pairs, and a fit needs"),
    ],
    ids=["no JSON", "a part missing", "no text", "no UTF-8", "too few"],
)
def test_pairs_that_cannot_be_used_are_named_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, says: str
) -> None:
    (tmp_path / "pairs.jsonl").write_bytes(content)
    told = refused(fit_projection.main, ["--pairs", str(tmp_path)], capsys)
    assert says in told
    assert "write more" in told or "pairs.jsonl" in told


def test_a_folder_without_pairs_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert str(tmp_path / "none") in refused(fit_projection.main, ["--pairs", str(tmp_path / "none")], capsys)
