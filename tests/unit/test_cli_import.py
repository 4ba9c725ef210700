import json
from pathlib import Path

import typer
from builders_logs import irc
from typer.testing import CliRunner, Result

from replays.cli_import import import_command

app = typer.Typer()
app.command("import")(import_command)


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], env={"COLUMNS": "200"})


def test_the_summary_counts_and_shows_the_first_skipped_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join([irc("ciao"), *(["boh"] * 7), "PING :x", irc("ciao", tags={"emotes": "1:9-8"})]))
    done = run(tmp_path / "a.txt", "--out", tmp_path / "out.jsonl")
    assert done.exit_code == 0, done.output
    assert f"4 events in {tmp_path / 'out.jsonl'}" in done.output
    assert "a.txt: irc, 1 stream, 2 messages, 0 notices, 0 deletions, 7 skipped" in done.output
    assert "line 2: not IRC" in done.output
    assert "2 more" in done.output
    assert "duplicate" not in done.output.split("skipped")[0].split("warning")[0]
    assert "1 PING" in done.output
    assert "1 emote position outside the text" in done.output


def test_scripts_get_json(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(irc("ciao"))
    done = run(tmp_path / "a.txt", "--out", tmp_path / "out.jsonl", "--json", "--channel", "canale", "--format", "irc")
    summary = json.loads(done.stdout)
    assert summary["counts"] == {"message": 1, "stream": 2}
    assert summary["files"][0]["format"] == "irc"


def test_a_start_dates_a_log_that_counts_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("[0:00:05] <Alba> ciao\n")
    done = run(tmp_path / "a.txt", "--out", tmp_path / "out.jsonl", "--start", "2026-03-01T18:00:00")
    assert done.exit_code == 0, done.output
    assert '"at":"2026-03-01T18:00:05Z"' in (tmp_path / "out.jsonl").read_text()


def test_nothing_to_import_is_one_clear_line_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    done = run(tmp_path / "a.txt", "--out", tmp_path / "out.jsonl")
    assert done.exit_code == 1
    assert "Nothing was imported: a.txt is empty" in done.output
    assert "Traceback" not in done.output


def test_an_empty_file_among_others_is_told_and_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.txt").write_text(irc("ciao"))
    done = run(tmp_path / "a.txt", tmp_path / "b.txt", "--out", tmp_path / "out.jsonl")
    assert done.exit_code == 0
    assert "not imported" in done.output


def test_a_file_without_chat_among_others_is_a_failure_after_the_rest(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("nel mezzo\ndel cammin\n")
    (tmp_path / "b.txt").write_text(irc("ciao [red]"))
    done = run(tmp_path / "a.txt", tmp_path / "b.txt", "--out", tmp_path / "out.jsonl")
    assert done.exit_code == 1
    assert (tmp_path / "out.jsonl").exists()


def test_files_of_several_channels_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(irc("ciao"))
    (tmp_path / "b.txt").write_text(irc("ciao").replace("#canale", "#altrove"))
    done = run(tmp_path / "a.txt", tmp_path / "b.txt", "--out", tmp_path / "out.jsonl")
    assert "several channels in one log (altrove, canale)" in done.output


def test_the_help_names_the_formats_and_an_example() -> None:
    done = run("--help")
    assert "recent-messages" in done.output
    assert "Example" in done.output
