"""Prints the figures of docs/performance.md: `python -m bench [NAME…] [--quick] [--json]`; each in a process of its own."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.chat import write_chat
from bench.figures import Figure, table
from bot.cli.logs import set_up_logs
from config.sections import Log
from replays.errors import LogError

_DATA = Path(os.environ.get("RICORDO_DATA", "../shared/data"))
_RECALLS = 1000
_TURNS = 45_000  # of the full log, roughly
_QUICK_MESSAGES, _QUICK_EVERY = 1200, 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or all; return 0 where every goal was met."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Print figures of speed, with their goals.")
    parser.add_argument("names", nargs="*", help=f"any of {', '.join(BENCHES)}; all where none is named")
    parser.add_argument("--quick", action="store_true", help="a generated chat of 1,200 messages, without the data")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="where the memories are made")
    parser.add_argument("--log", type=Path, help="another native log")
    parser.add_argument("--inline", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if unknown := sorted(set(options.names) - BENCHES.keys()):
        parser.error(f"{unknown[0]} is no benchmark; there are {', '.join(BENCHES)}")
    options.out = options.out.absolute()  # some are processes that work elsewhere
    options.out.mkdir(parents=True, exist_ok=True)
    log = options.log or chat_log(options.out, quick=options.quick)
    figures = [figure for name in options.names or BENCHES for figure in _run(name, log, options)]
    print(json.dumps([figure.to_json() for figure in figures], indent=1) if options.json else _told(figures))
    return 0 if options.inline or all(figure.met() is not False for figure in figures) else 1


def chat_log(out: Path, *, quick: bool) -> Path:
    """Return the native log to measure on: all streams of the development data, or a generated one where `quick`."""
    if quick:
        return write_chat(out / "quick.jsonl", _QUICK_MESSAGES, streams=2)
    log, files = out / "tcd.jsonl", sorted((_DATA / "twitch" / "tcd").glob("*.tcd"))
    if not files and not log.exists():
        sys.exit(f"{_DATA / 'twitch' / 'tcd'} holds no logs: set RICORDO_DATA, or measure a generated chat with --quick")
    if not log.exists():
        _say(f"importing {len(files)} logs")
        program = [sys.executable, "-c", "from replays.cli import main; main()", "import", *map(str, files), "--out", str(log)]
        subprocess.run(program, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # noqa: S603 - ours
    return log


def _run(name: str, log: Path, options: argparse.Namespace) -> list[Figure]:
    if options.inline:
        set_up_logs(Log(), default="warning")
        try:
            return BENCHES[name](log, options.out, options.quick)
        except LogError as error:
            sys.exit(f"error: {error}")
    _say(f"{name} …")
    command = [sys.executable, "-m", "bench", name, "--inline", "--json", "--out", str(options.out), "--log", str(log)]
    with tempfile.TemporaryFile("w+") as told:
        ended = subprocess.run([*command, *(["--quick"] if options.quick else [])], check=False, stdout=told)  # noqa: S603 - ours
        if ended.returncode != 0:
            sys.exit(f"{name} failed")
        told.seek(0)
        return [Figure(**{key: value for key, value in row.items() if key != "met"}) for row in json.load(told)]


def _replay(log: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import replay  # noqa: PLC0415 - each process loads what it measures, since it measures its memory

    return replay.measure(log, out / "replay", every=_QUICK_EVERY if quick else _TURNS // _RECALLS)


def _record(log: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import record  # noqa: PLC0415 - the same

    return record.measure(log, out / "record", most=50 if quick else 1000)


def _consolidate(log: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import consolidate  # noqa: PLC0415 - the same

    return consolidate.measure(log, out / "consolidate", most=50 if quick else 1000)


def _replayed(out: Path) -> Path:
    """Return the memory that `replay` left."""
    memory = out / "replay" / "memory"
    if not memory.exists():
        sys.exit(f"{memory} is missing: run `python -m bench replay` before, with the same --out")
    return memory


def _search(_: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import search  # noqa: PLC0415 - the same

    return search.measure(_replayed(out), texts=500 if quick else 5000, collections=300)


def _answer(_: Path, out: Path, __: bool) -> list[Figure]:
    from bench import answer  # noqa: PLC0415 - the same

    return answer.measure(_replayed(out))


def _burst(_: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import burst  # noqa: PLC0415 - the same

    return burst.measure(out / "burst", seconds=2 if quick else 60, rest=2 if quick else 60)


def _live(_: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import live  # noqa: PLC0415 - the same

    return live.measure(out / "live", seconds=5 if quick else 600)


def _evening(_: Path, out: Path, quick: bool) -> list[Figure]:
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))  # the Twitch and the model on this machine live there
    from bench import evening  # noqa: PLC0415 - the same

    sizes = (2000, 100, 3, 1.0) if quick else (2 * 3600 * evening.RATE, 1200, 200, 30.0)
    messages, every, questions, burst = sizes
    return evening.measure(out / "evening", messages=messages, every=every, questions=questions, burst=burst)


def _restart(_: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import restart  # noqa: PLC0415 - the same

    return restart.measure(out / "restart", jobs=4000 if quick else 100_000, seconds=5 if quick else 30)


def _forget(_: Path, out: Path, quick: bool) -> list[Figure]:
    from bench import forget  # noqa: PLC0415 - the same

    return forget.measure(out / "forget", messages=400 if quick else 10_000)


def _told(figures: Sequence[Figure]) -> str:
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return f"{table(figures)}\n\n{os.cpu_count()} processors, load {load} in the last 1, 5, 15 minutes"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


Bench = Callable[[Path, Path, bool], list[Figure]]
BENCHES: dict[str, Bench] = {
    "replay": _replay,
    "record": _record,
    "consolidate": _consolidate,
    "search": _search,
    "answer": _answer,
    "restart": _restart,
    "forget": _forget,
    "burst": _burst,
    "live": _live,
    "evening": _evening,
}

if __name__ == "__main__":
    sys.exit(main())
