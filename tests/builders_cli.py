"""Builders for tests through the command line: small chat logs, and the program run in this process or as one of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from fakes import issued

Run = Callable[..., tuple[int, str, str]]  # the fixture `run`: exit code, output, errors
ROOT = Path(__file__).parents[1]
START = datetime(2026, 3, 1, 18, 0, tzinfo=UTC)
PROCESS_SECONDS = 300


def a_stream_line(stream_id: str = "s1", *, after: float = 0, event: str = "online") -> dict[str, Any]:
    """Return a stream event of the channel Canale, whose bot is Ricordo."""
    line: dict[str, Any] = {"type": "stream", "event": event, "stream_id": stream_id, "at": _at(after)}
    if event == "online":
        line["channel"] = {"id": "99", "login": "canale", "name": "Canale"}
        line["bot"] = {"id": "900", "login": "ricordo_bot", "name": "Ricordo", "aliases": ["ricordo"]}
    return line


def a_chat_line(id_: str, text: str, *, after: float, who: str = "11", login: str = "alba", name: str = "") -> dict[str, Any]:
    """Return a message."""
    user = {"id": who, "login": login, "name": name or login.title()}
    return {"type": "message", "id": id_, "at": _at(after), "user": user, "text": text}


def _at(after: float) -> str:
    return (START + timedelta(seconds=after)).isoformat().replace("+00:00", "Z")


def an_evening() -> list[dict[str, Any]]:
    """Return two streams: Alba names her cat in the first, and asks in the second."""
    day = 86_400.0
    return [
        a_stream_line("s1"),
        a_chat_line("m1", "la mia gatta si chiama Briciola", after=10),
        a_chat_line("m2", "io vendo basilico al mercato", after=20, who="12", login="brando"),
        a_stream_line("s1", after=600, event="offline"),
        a_stream_line("s2", after=day),
        a_chat_line("m3", "ricordo come si chiama la mia gatta?", after=day + 10),
        a_stream_line("s2", after=day + 600, event="offline"),
    ]


def write_log_file(path: Path, lines: Sequence[Mapping[str, Any] | str]) -> Path:
    """Write a native log; strings are written as they are."""
    text = "".join((line if isinstance(line, str) else json.dumps(line, ensure_ascii=False)) + "\n" for line in lines)
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    return path


def clean_environment(folder: Path, **more: str) -> dict[str, str]:
    """Return an environment without any setting of ours, whose home is `folder`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("RICORDO_") and key != "COLUMNS"}
    return kept | {"HOME": str(folder), "PYTHONPATH": str(ROOT), "TZ": "UTC", **more}


def ricordo(
    *arguments: str | Path, cwd: Path, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the program as a process of its own in `cwd`."""
    done = subprocess.run(
        [sys.executable, "-m", "replays", *map(str, arguments)],
        cwd=cwd,
        env=clean_environment(cwd, **(environment or {})),
        capture_output=True,
        text=True,
        check=False,
        timeout=PROCESS_SECONDS,
    )
    issued.look_into("the program's output", done.stdout + done.stderr)
    return done


def turns_of(folder: Path) -> list[dict[str, Any]]:
    """Return the turns that a replay wrote."""
    return [json.loads(line) for line in (folder / "turns.jsonl").read_text().splitlines()]
