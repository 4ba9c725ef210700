import json
import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event

import pytest
from builders_benchmarks import a_journal

from replays.benchmarks import spread as spread_module
from replays.benchmarks.journal import Journal
from replays.benchmarks.loading import BenchmarkError
from replays.benchmarks.spread import Rows, spread

PIECES = (("a", "b"), ("c",), ("d", "e"))


def answer(piece: Sequence[str], rows: Rows) -> None:
    for id_ in sorted(rows.missing(piece)):
        rows.add({"id": id_, "process": os.getpid()})


def fail_at_c(piece: Sequence[str], rows: Rows) -> None:
    if piece == ("c",):
        raise ValueError(f"no answer to {piece[0]}")
    answer(piece, rows)


@pytest.mark.parametrize("processes", [1, 3])
def test_pieces_worked_on_at_once_leave_every_row_in_one_journal(processes: int, tmp_path: Path) -> None:
    journal, heard = a_journal(tmp_path), list[str]()
    journal.add({"id": "b"})
    spread(answer, PIECES, journal, heard=heard.append, processes=processes)
    assert sorted(heard) == ["a", "c", "d", "e"]
    assert sorted(a_journal(tmp_path).rows) == ["a", "b", "c", "d", "e"]
    workers = {row["process"] for row in journal.rows.values() if "process" in row}
    assert (os.getpid() in workers) == (processes == 1)


@pytest.mark.parametrize("processes", [1, 3])
def test_a_piece_that_fails_is_raised_and_other_rows_are_kept(processes: int, tmp_path: Path) -> None:
    journal = a_journal(tmp_path)
    with pytest.raises(ValueError, match="no answer to c"):
        spread(fail_at_c, PIECES, journal, processes=processes)
    assert {"a", "b"} <= journal.rows.keys()


def be_killed_at_c(piece: Sequence[str], rows: Rows) -> None:
    answer(piece, rows)
    if piece == ("c",):
        os.kill(os.getpid(), signal.SIGKILL)


def be_killed_while_sending(piece: Sequence[str], rows: Rows) -> None:
    """End as a process does that is killed in the middle of a row: nobody can send after it."""
    if piece != ("c",):
        Event().wait()
    rows.add({"id": "c", "process": os.getpid()})
    lock = spread_module._queue._wlock
    lock.acquire()
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("work", [be_killed_at_c, be_killed_while_sending])
def test_a_process_that_is_killed_is_one_error_that_says_to_run_again(
    work: Callable[[Sequence[str], Rows], None], tmp_path: Path
) -> None:
    journal = a_journal(tmp_path)
    with pytest.raises(BenchmarkError, match=r"killed from outside.*is kept: run the command again"):
        spread(work, PIECES, journal, processes=3)
    rows = set(a_journal(tmp_path).rows)
    spread(answer, PIECES, journal, processes=1)
    assert rows <= {"a", "b", "c", "d", "e"} == journal.rows.keys()


def never_end(piece: str, rows: Rows) -> None:
    rows.add({"id": piece, "process": os.getpid()})
    Event().wait()


def begin_apart(journal: Journal) -> None:
    os.setsid()  # as a terminal does, that sends Ctrl-C to all of it
    spread(never_end, ("a", "b", "c", "d", "e"), journal, processes=2)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_caller_that_is_killed_or_interrupted_takes_its_processes_along(how: signal.Signals, tmp_path: Path) -> None:
    journal = a_journal(tmp_path)
    caller = multiprocessing.get_context("spawn").Process(target=begin_apart, args=(journal,))
    caller.start()
    while len(lines := journal.path.read_text().splitlines()) < 1 + 2:
        Event().wait(0.05)
    assert caller.pid is not None
    os.kill(caller.pid, how) if how is signal.SIGKILL else os.killpg(caller.pid, how)
    caller.join()
    for line in lines[1:]:
        while is_at_work(json.loads(line)["process"]):  # for ever, where it is left behind: the time-out tells
            Event().wait(0.05)


def is_at_work(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
