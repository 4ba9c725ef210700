"""What the kill test kills: a process that records turns and indexes them, with faults, until it is shot.

Started once; each line on stdin starts one life in a fork, so that a life costs no start of the interpreter.
"""

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from builders_jobs import QUICK, add_turn, open_database
from builders_lives import serve
from fakes.file_vectors import FileVectors
from fakes.noted_embedder import NotedEmbedder
from sqlalchemy import Connection

from memory.clock import WallClock
from memory.errors import IndexUnavailable
from memory.index import Indexer
from memory.model import Job
from memory.ports import Vectors
from memory.store.database import Database
from memory.worker import Worker


class Sink(FileVectors):
    """Refuses one call in twenty, and times out after storing in another."""

    def __init__(self, path: Path, random: Random) -> None:
        super().__init__(path)
        self._random = random
        self._refusal = IndexUnavailable("refused; try again")

    async def upsert(self, collection: str, ids: Sequence[str], vectors: Vectors) -> None:
        draw = self._random.random()
        if draw < 0.05:
            raise self._refusal
        await super().upsert(collection, ids, vectors)
        if draw > 0.95:
            raise TimeoutError


class Careless(Worker):
    """The control: marks jobs as done before their work."""

    async def _bring_to_end(self, jobs: Sequence[Job]) -> None:
        await self._complete(jobs)
        await super()._bring_to_end(jobs)


class Gun:
    """Kills this process at the n-th passing of a named point."""

    def __init__(self, point: str, passes: int) -> None:
        self._point, self._left = point, passes

    def at(self, point: str) -> None:
        if point == self._point:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def worker_of(database: Database, sink: FileVectors, gun: Gun, life: dict[str, Any]) -> Worker:
    limits = replace(QUICK, backoff_base_seconds=0.02)
    made = Careless if life["careless"] else Worker
    worker = made(database, clock=WallClock(), limits=limits, random=Random(life["seed"]))
    indexer = Indexer(database, vectors=sink, embedder=NotedEmbedder(), clock=WallClock())

    async def index(payloads: Sequence[Mapping[str, Any]]) -> None:
        gun.at("after_claim")
        with (Path(os.environ["JOBS_DIR"]) / "runs.log").open("a") as log:
            log.writelines(f"{payload['turn']}\n" for payload in payloads)
        await indexer.index(payloads)
        gun.at("before_complete")

    worker.register("index", index, group=8)
    return worker


async def live(directory: Path, life: dict[str, Any]) -> None:
    """Record turns for ever, each acknowledged in a file once it is committed."""
    gun = Gun(life["point"], life["passes"])
    database = await Database.open(directory / "memory.db")
    sink = Sink(directory / "sink.db", Random(life["seed"]))
    sink.moment = gun.at
    worker = worker_of(database, sink, gun, life)
    await worker.recover(everything=True)
    await worker.start()
    number = life["first"]
    with (directory / "acked.log").open("a") as acked:
        while True:
            await database.write(turn(number))
            gun.at("after_commit")
            acked.write(f"t{number}\n")
            acked.flush()
            worker.poke()
            number += 1
            await asyncio.sleep(0.004)


def turn(number: int) -> Any:  # noqa: ANN401 - a function of a connection
    def add(connection: Connection) -> None:
        add_turn(connection, number, viewers=("a", f"v{number % 5}"), reply=number % 3 == 0)

    return add


async def settle(directory: Path, life: dict[str, Any]) -> None:
    """The last life: recover, run everything to its end, stop properly."""
    database = await Database.open(directory / "memory.db")
    sink = FileVectors(directory / "sink.db")
    worker = worker_of(database, sink, Gun("", 0), life)
    await worker.recover(everything=True)
    for _ in range(20):
        await worker.run_due()
        await asyncio.sleep(0.02)
    await worker.stop()
    await sink.close()
    await database.close()


async def create(directory: Path) -> None:
    await (await open_database(directory)).close()


def main() -> None:
    directory = Path(os.environ["JOBS_DIR"])
    asyncio.run(create(directory))
    serve(lambda life: asyncio.run(live(directory, life) if life["first"] else settle(directory, life)))


if __name__ == "__main__":
    main()
