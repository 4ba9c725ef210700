"""Lives for the chaos tests: how they are started and shot, and what is found on disk afterwards."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import builders_lives
from builders_lives import KILLED as KILLED
from builders_lives import ROOT, Parent, parent

from memory.rules import load_rules
from memory.store.chroma import ChromaIndex
from memory.worthiness import Meaning

CHILD = ROOT / "tests" / "chaos" / "child.py"
TURN_STEPS = (
    "<memory.record:Recorder.observe",
    ">memory.store.episodes:store_lines",
    ">memory.record:Recorder.observe",
    ">memory.recall:Recaller.recall",
    "<bot.speak:Speaker.say",
    ">bot.speak:Speaker.say",
    "<memory.record:Recorder.record",
    ">memory.store.episodes:close_turn",
    ">memory.record:put",
    "<memory.store.outbox:enqueue",
    ">memory.store.outbox:enqueue",
    "<memory.store.database:Database._transact",
    ">memory.store.database:Database._transact",
    ">memory.record:Recorder.record",
)
START_STEPS = (
    ">memory.store.instance_lock:InstanceLock.take",
    "<memory.store.database:migrate",
    ">memory.store.database:migrate",
    ">memory.worker:Worker.recover",
    ">memory.record:Recorder.begin_stream",
)
JOB_STEPS = (
    "<memory.store.outbox:claim",
    ">memory.store.outbox:claim",
    "<memory.worker:Worker._bring_to_end",
    "<memory.index:Indexer.index",
    "<memory.vectorise:Vectoriser._put",
    ">memory.store.shards:Registry.assign",
    ">memory.store.chroma_client:ChromaClient.create",
    ">memory.store.chroma_client:ChromaClient.upsert",
    ">memory.store.shards:Registry.mark_made",
    ">memory.vectorise:Vectoriser._put",
    ">memory.vectorise:Vectoriser._mark",
    "<memory.consolidate:Consolidator.consolidate",
    ">memory.consolidate:Consolidator._write",
    "<memory.worker:Worker._complete",
    ">memory.store.outbox:complete",
    ">memory.worker:Worker._complete",
)
PURGE_STEPS = (  # of what moderation took back
    ">memory.record:Recorder.delete",
    "<memory.purge:Purger.purge",
    ">memory.store.chroma_client:ChromaClient.delete",
    ">memory.index:Indexer.purge",
    ">memory.purge:Purger.purge",
)
REPLAY_STEPS = ("<replays.turns:TurnFile.write", ">replays.turns:TurnFile.write")
LIVE_STEPS = (*START_STEPS, *TURN_STEPS, *JOB_STEPS)
ALL_REPLAY_STEPS = (*START_STEPS, *TURN_STEPS, *JOB_STEPS, *PURGE_STEPS, *REPLAY_STEPS)


@dataclass
class Lives:
    """The lives of one parent."""

    parent: Parent
    kills: int = 0

    def one(
        self,
        out: Path,
        *,
        log: Path | None = None,
        messages: int = 0,
        step: str = "",
        passes: int = 1,
        after: float | None = None,
        full: tuple[float, float, float] | None = None,
    ) -> int:
        """Start a life over a log, or `messages` of live chat; kill it `after` seconds or at a step. Return how it ended.

        `full`: from which second on, and for how many, the disk is full, and how many the bot lives on after the chat.
        """
        settle = not step and after is None
        life = {"out": str(out), "log": str(log or ""), "messages": messages, "settle": settle, "step": step, "passes": passes}
        life |= {"full": full, "patience": 30 if step else full[2] if full else 0.5}
        ended = self.parent.one(life, after=after)
        self.kills += ended == KILLED
        return ended


@contextmanager
def lives() -> Iterator[Lives]:
    """Give a parent of lives; it ends with everything it started."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}
    with parent(CHILD, environment) as started:
        yield Lives(started)


def rows(out: Path, statement: str) -> list[Any]:
    """Return what a life left in the database below `out`."""
    return builders_lives.rows(out / "memory" / "memory.db", statement)


def written(path: Path) -> list[str]:
    """Return the lines of a diary, none where it was never begun."""
    return path.read_text(encoding="utf-8").split() if path.exists() else []


async def indexed(out: Path) -> dict[str, list[str]]:
    """Return the ids in the vector index, by the collections that SQL knows."""
    index = await ChromaIndex.open(out / "memory")
    try:
        names = sorted(name for (name,) in rows(out, "SELECT DISTINCT collection FROM document"))
        return {name: sorted(await index.ids(name)) for name in names}
    finally:
        await index.close()


def meant(out: Path) -> dict[str, list[str]]:
    """Return the ids of the documents in SQL that belong into the vector index, by collection: those that mean something."""
    meaning = Meaning(load_rules(("it", "en")))
    found: dict[str, list[str]] = {}
    for collection, identity, kind, text in rows(out, "SELECT collection, id, kind, text FROM document ORDER BY 1, 2"):
        found.setdefault(collection, []).extend([identity] if meaning(kind, text) else [])
    return {name: sorted(ids) for name, ids in found.items()}
