"""Lives that tests end: a parent, started once, forks one for each line on its stdin, so that none costs a start of Python."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
KILLED = -signal.SIGKILL


def serve(live: Callable[[dict[str, Any]], None]) -> None:
    """Live each life that stdin tells of in a fork of its own, and tell its process id and how it ended. For the parent."""
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
            live(json.loads(line))
            os._exit(0)
        print(child, flush=True)  # noqa: T201 - the test reads it
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201 - the same


class Parent:
    """The parent of all lives, as the test sees it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def one(self, life: Mapping[str, Any], *, after: float | None = None) -> int:
        """Start a life, kill it `after` seconds where given, and return how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(life) + "\n")
        self._process.stdin.flush()
        child = int(self._process.stdout.readline())
        if after is not None:
            time.sleep(after)  # noqa: TID251 - no loop here
            os.kill(child, signal.SIGKILL)
        return int(self._process.stdout.readline())


@contextmanager
def parent(script: Path, environment: Mapping[str, str], *, stderr: int | None = None) -> Iterator[Parent]:
    """Give the parent that `script` is; it ends with everything it started."""
    inherited = dict(environment) | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / "tests")))}
    command = [sys.executable, str(script)]
    with subprocess.Popen(
        command, env=inherited, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, text=True
    ) as process:
        try:
            yield Parent(process)
        finally:
            process.kill()


def rows(database: Path, statement: str) -> list[Any]:
    """Return what a life left in a database."""
    file = sqlite3.connect(database)
    try:
        return file.execute(statement).fetchall()
    finally:
        file.close()
