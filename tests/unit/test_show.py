import json
from datetime import UTC, timedelta
from io import StringIO
from pathlib import Path

import pytest
from builders_cli import START, Run, a_chat_line, a_stream_line, an_evening, turns_of, write_log_file
from rich.console import Console

from bot.chatlog import event_from_json
from memory.store.instance_lock import InstanceLock
from replays.errors import LogError
from replays.log import LoggedEvent
from replays.log_report import LogReport
from replays.show import Stage, troubles, zone_of


def _shown(*events: dict[str, object], width: int = 100, terminal: bool = False) -> str:
    said = StringIO()
    console = Console(file=said, width=width, force_terminal=terminal, highlight=False, soft_wrap=True)
    stage = Stage(console, UTC)
    for number, event in enumerate(events):
        stage.event(LoggedEvent(line=number, event=event_from_json(event)))
    return said.getvalue()


def test_the_demo_shows_who_is_answered_whose_memory_and_from_when(run: Run, tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    code, shown, _ = run("replay", log, "--out", "out", "--show")
    assert code == 0
    assert "18:00  Alba           ricordo come si chiama la mia gatta?" in shown
    reply = next(turn["reply"]["text"] for turn in turns_of(tmp_path / "out") if turn["reply"]["state"] == "sent")
    assert f"  ▸ Ricordo to Alba: {reply}"[:60] in shown
    assert "└ fact about Alba, 1 Mar 2026: la mia gatta si chiama Briciola" in shown
    assert "3 messages, 2 streams, 2 viewers" in shown
    assert "\x1b" not in shown, "no colours where nobody sees them"


def test_long_lines_are_wrapped_below_their_beginning() -> None:
    shown = _shown(a_chat_line("m1", "parola " * 40, after=0), width=60, terminal=True)
    lines = shown.splitlines()
    assert len(lines) > 4
    assert all(line.startswith(" " * 22) for line in lines[1:])


def test_wrapping_adds_no_space_between_words() -> None:
    shown = _shown(a_chat_line("m1", "una parola corta " * 20, after=0), width=60, terminal=True)
    assert not [line for line in shown.splitlines()[1:] if "  " in line.strip()]


def test_a_replay_in_which_nobody_addresses_the_bot_says_how_to_make_it_speak(run: Run, tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening()[:3])
    code, shown, _ = run("replay", log, "--out", "out")
    assert code == 0
    assert "2 messages, 1 stream, 2 viewers" in shown
    assert "persona.aliases" in shown
    assert "the memory was searched in no turn" in shown
    _, again, _ = run("replay", log, "--out", "out")
    assert "0 turns beside 2 turns that this folder had before, " in again


def test_hostile_chat_does_not_reach_the_terminal() -> None:
    shown = _shown(
        a_stream_line() | {"title": "\x1b]0;x\x07 [bold]"},
        a_chat_line("m1", "[red]\x1b[31mrosso\u202e", after=0, name="\x1b[5mlampo"),
    )
    assert "[red][31mrosso" in shown
    assert "[5mlampo" in shown
    assert not {"\x1b", "\x07", "\u202e"} & set(shown)


def test_times_are_shown_as_the_log_gives_them(tmp_path: Path) -> None:
    line = a_chat_line("m1", "ciao", after=0) | {"at": "2026-09-04T20:30:00+02:00"}
    zone = zone_of(write_log_file(tmp_path / "a.jsonl", ["no JSON", "[1]", line]))
    assert zone.utcoffset(START) == timedelta(hours=2)
    assert zone_of(write_log_file(tmp_path / "b.jsonl", ["{}"] * 60)) is UTC
    with pytest.raises(LogError):
        zone_of(tmp_path / "missing.jsonl")


def test_what_was_wrong_with_lines_is_counted_and_the_first_are_named() -> None:
    report = LogReport(path=Path("x"))
    report.warn("time_went_back")
    report.skip(7, "not JSON: \x1b")
    assert troubles(report) == [
        "warning: 1 line older than the line before",
        "warning: 1 line could not be read and was skipped",
        "  line 7: not JSON:",
    ]


def test_wrong_options_of_replay_are_wrong_usage(run: Run, tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    assert run("replay", log, "--speed", "never")[0] == 2
    assert run("replay", log, "--speed", "-1")[0] == 2
    assert run("replay", log, "--replies", "mine")[0] == 2


def test_a_second_demo_does_not_wipe_the_first_ones_memory(run: Run, tmp_path: Path) -> None:
    (tmp_path / "out" / "demo" / "memory").mkdir(parents=True)
    lock = InstanceLock.take(tmp_path / "out" / "demo" / "memory")
    code, _, told = run("run", "--demo")
    lock.release()
    assert code == 3
    assert "is in use by process" in told
    assert lock.path.exists()


def test_a_replay_with_a_bar_and_json_says_what_it_did(run: Run, tmp_path: Path) -> None:
    log = write_log_file(tmp_path / "chat.jsonl", an_evening())
    code, shown, _ = run("replay", log, "--out", "out", "--json", "--speed", "1e9", "--from", "2026-03-02")
    assert code == 0
    summary = json.loads(shown)
    assert summary["counts"]["message"] == 1
    assert summary == json.loads((tmp_path / "out" / "summary.json").read_text())
