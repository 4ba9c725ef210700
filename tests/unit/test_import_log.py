import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from builders_logs import T0, T0_MS, comment, irc, load_text

from memory import Message, Probe, StreamEvent
from replays.errors import LogError, LogUnreadable, NotAChat
from replays.import_log import ImportOptions, ImportProgress, import_logs
from replays.log import read_log

ROOT = Path(__file__).parents[2]


def tcd(folder: Path, number: int, day: str, *lines: str) -> Path:
    path = folder / f"{number} - Sera (2026-03-{day}T180000Z).tcd"
    path.write_text("".join(f"[0:00:0{n}] <Alba> {line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    return path


def events(path: Path) -> list[str]:
    found = []
    for logged in read_log(path):
        event = logged.event
        found.append(event.text if isinstance(event, Message) else getattr(event, "event", type(event).__name__))
    return found


def test_several_files_become_one_log_in_the_order_of_their_streams(tmp_path: Path) -> None:
    late, early = tcd(tmp_path, 2, "02", "tre"), tcd(tmp_path, 1, "01", "uno", "due")
    summary = import_logs([late, early], tmp_path / "out.jsonl")
    assert events(tmp_path / "out.jsonl") == ["online", "uno", "due", "offline", "online", "tre", "offline"]
    assert [report.streams for report in summary.files] == [["1"], ["2"]]
    assert summary.total("counts") == {"message": 3, "stream": 4}
    assert summary.events == 7


def test_different_formats_go_into_one_log_and_streams_of_one_name_stay_apart(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(irc("uno"))
    (tmp_path / "b.txt").write_text(irc("uno"))
    (tmp_path / "c.json").write_text(json.dumps(comment(1, "due", created_at="2026-03-02T18:00:00Z", content_id="7")))
    summary = import_logs([tmp_path / name for name in ("c.json", "b.txt", "a.txt")], tmp_path / "out.jsonl")
    streams = [stream for report in summary.files for stream in report.streams]
    assert streams == ["canale-20260301T180000Z", "canale-20260301T180000Z-2", "7"]


def test_files_without_chat_are_named_and_the_others_go_on(tmp_path: Path) -> None:
    (tmp_path / "empty.tcd").write_bytes(b"")
    (tmp_path / "poem.txt").write_text("nel mezzo del cammin\ndi nostra vita\n")
    good = tcd(tmp_path, 1, "01", "uno")
    summary = import_logs([tmp_path / "empty.tcd", good, tmp_path / "poem.txt", tmp_path / "none"], tmp_path / "out.jsonl")
    assert [path.name for path, _ in summary.failed] == ["empty.tcd", "poem.txt", "none"]
    assert summary.total("counts")["message"] == 1
    assert "is empty" in summary.to_json()["failed"][0]["reason"]


def test_nothing_but_files_without_chat_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    (tmp_path / "empty.tcd").write_bytes(b"")
    with pytest.raises(NotAChat, match="is empty"):
        import_logs([tmp_path / "empty.tcd"], tmp_path / "out.jsonl")
    with pytest.raises(NotAChat, match="no file"):
        import_logs([], tmp_path / "out.jsonl")
    (tmp_path / "bad.tcd").write_text("[0:00:0x] <Alba> uno\n")
    with pytest.raises(NotAChat, match="line 1: not a line of tcd"):
        import_logs([tmp_path / "bad.tcd"], tmp_path / "out.jsonl", ImportOptions(format="tcd"))
    assert not (tmp_path / "out.jsonl").exists()


def test_the_output_is_never_one_of_the_sources(tmp_path: Path) -> None:
    source = tcd(tmp_path, 1, "01", "uno")
    with pytest.raises(LogUnreadable, match="one of the files"):
        import_logs([source], source)
    assert "uno" in source.read_text()


def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="known are native"):
        import_logs([tmp_path], tmp_path / "out.jsonl", ImportOptions(format="telegram"))


def test_a_native_log_keeps_its_order_its_streams_and_its_probes(tmp_path: Path) -> None:
    user = {"id": "1", "login": "alba", "name": "Alba"}
    at = "2026-03-01T18:00:00Z"
    lines = [
        {"type": "stream", "event": "online", "stream_id": "s1", "at": at},
        {"text": "b", "type": "message", "id": "m2", "at": "2026-03-01T18:00:05Z", "user": user, "new_key": 1},
        {"type": "settle"},
        {"type": "probe", "id": "p", "at": at, "category": "none", "batch": []},
        {"type": "message", "id": "m1", "at": at, "user": user, "text": "a"},
        {"type": "hologram", "at": at},
    ]
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    summary = import_logs([path], tmp_path / "out.jsonl")
    found = [logged.event for logged in read_log(tmp_path / "out.jsonl")]
    assert [type(event).__name__ for event in found] == ["StreamEvent", "Message", "Settle", "Probe", "Message"]
    assert isinstance(found[3], Probe)
    assert isinstance(found[1], Message)
    assert found[1].extra == {"new_key": 1}
    assert summary.files[0].streams == ["s1"]
    assert summary.total("warnings") == {"unknown_type": 1, "time_went_back": 1}
    import_logs([tmp_path / "out.jsonl"], tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "out.jsonl").read_bytes()


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    paths = [tcd(tmp_path, 1, "01", "gg", "gg"), tcd(tmp_path, 2, "02", "x")]
    import_logs(paths, tmp_path / "a.jsonl")
    import_logs(paths[::-1], tmp_path / "b.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()


def test_a_line_far_too_late_stays_where_it_stands_and_is_counted(tmp_path: Path) -> None:
    text = "\n".join([*(irc(f"{n}", ms=T0_MS + 1000 + n) for n in range(2500)), irc("tardi", ms=T0_MS)])
    loaded = load_text(tmp_path, text)
    assert len(loaded.messages) == 2501
    assert loaded.messages[0].text != "tardi"
    assert loaded.report.warnings["time_went_back"] == 1


def test_duplicate_ids_are_counted_and_kept(tmp_path: Path) -> None:
    loaded = load_text(tmp_path, f"{irc('uno', tags={'id': 'x'})}\n{irc('due', tags={'id': 'x'})}\n")
    assert len(loaded.messages) == 2
    assert loaded.report.warnings["duplicate_id"] == 1


def test_viewers_named_like_paths_and_hostile_texts_pass_unharmed(tmp_path: Path) -> None:
    lines = [
        "[0:00:01] <../../etc/passwd> x",
        "[0:00:02] <Robert'); DROP TABLE--> \x1b[31m\u202e",
        "[0:00:03] <Zalgo> z\u0351\u0300" * 1,
    ]
    loaded = load_text(tmp_path, "\n".join(lines), "1 - x (2026-03-01T180000Z).tcd")
    assert loaded.messages[0].user.id == "login:../../etc/passwd"
    assert loaded.messages[1].text == "\x1b[31m\u202e"
    assert len(loaded.messages) == 3


def test_progress_goes_from_the_first_file_to_the_last(tmp_path: Path) -> None:
    paths = [tcd(tmp_path, number, f"0{number}", *("x" * 50 for _ in range(9))) for number in (1, 2)]
    seen: list[ImportProgress] = []
    import_logs(paths, tmp_path / "out.jsonl", progress=seen.append)
    total = sum(path.stat().st_size for path in paths)
    assert [now.bytes_total for now in seen] == [total] * len(seen)
    assert [now.bytes_done for now in seen] == sorted(now.bytes_done for now in seen)
    assert seen[-1].bytes_done == total


def test_a_full_disk_is_a_clear_error_and_leaves_nothing_behind(tmp_path: Path) -> None:
    source = tcd(tmp_path, 1, "01", *("x" * 9000 for _ in range(9)))
    program = (
        "import resource, signal, sys; from pathlib import Path; from replays.import_log import import_logs\n"
        "from replays.errors import LogUnreadable\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "try: import_logs([Path(sys.argv[1])], Path(sys.argv[2]))\n"
        "except LogUnreadable as error: sys.stderr.write(str(error)); sys.exit(3)\n"
    )
    out = tmp_path / "out.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", program, source, out],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 3, done.stderr
    assert "cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [source.name]


MEASURE = """
import resource, sys; from pathlib import Path; from replays.import_log import import_logs
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
summary = import_logs([Path(sys.argv[1])], Path(sys.argv[2]))
sys.stdout.write(f"{summary.total('counts')['message']} {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before}")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is counted in other units there")
@pytest.mark.parametrize(("form", "messages"), [("irc", 8_000), ("rechat", 4_000)])
def test_a_big_file_is_imported_in_little_memory(tmp_path: Path, form: str, messages: int) -> None:
    path = tmp_path / "big"
    with path.open("w") as out:
        if form == "irc":
            out.writelines(irc(f"{n} " + "x" * 4000, ms=T0_MS + n * 10) + "\n" for n in range(messages))
        else:
            out.write('{"video": {"id": "v"}, "comments": [')
            out.write(",".join(json.dumps(comment(n, "x" * 4000)) for n in range(messages)))
            out.write('], "embeddedData": {"a": "' + "A" * (1 << 20) + '"}}')
    command = [sys.executable, "-c", MEASURE, str(path), str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    found, grown_kb = map(int, done.stdout.split())
    assert found == messages
    assert path.stat().st_size > 30_000_000
    assert grown_kb < 30_000  # the window of events held back to be put in order, not the file


def test_the_log_that_an_import_writes_dates_and_names_its_streams(tmp_path: Path) -> None:
    import_logs([tcd(tmp_path, 1, "01", "uno")], tmp_path / "out.jsonl", ImportOptions(channel="canale"))
    first = next(read_log(tmp_path / "out.jsonl")).event
    assert isinstance(first, StreamEvent)
    assert first.channel
    assert (first.at, first.title, first.channel.login) == (T0, "Sera", "canale")
