"""Consolidation by rules: messages to facts, claims and edges, without the index, in processor time."""

import asyncio
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from bench.figures import Figure
from bench.record import batches
from memory import (
    FULL,
    Batch,
    BotIdentity,
    Channel,
    MemorySettings,
    Said,
    Stream,
    Turn,
    UseEmbedder,
    VirtualClock,
    inspect_memory,
    open_memory,
)
from memory.consolidate import GROUP, Consolidator
from memory.extract.others import claim_extractor
from memory.extract.rules import rule_extractor
from memory.hearsay import Hearsay
from memory.names import NameIndex
from memory.rules import load_rules
from memory.store.database import Database

_LANGUAGES = ("it", "en")
_CHANNEL = Channel(id="9000", login="banco", name="Banco")
_BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo")


def measure(log: Path, out: Path, *, most: int) -> list[Figure]:
    """Return messages a second of processor time over `most` batches of `log`, and the share of conflicts settled by rules."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    found = batches(log, most)
    lines = sum(len(batch.lines) for batch in found)
    return asyncio.run(_measured(found, out, lines))


async def _measured(found: Sequence[Batch], out: Path, lines: int) -> list[Figure]:
    clock, embedder = VirtualClock(found[0].closed_at), UseEmbedder()
    settings = MemorySettings(data_dir=out, recipe=FULL, languages=_LANGUAGES)
    async with await open_memory(settings, channel=_CHANNEL, embedder=embedder, clock=clock) as memory:
        await memory.begin_stream(Stream(id="s", channel=_CHANNEL, bot=_BOT, started_at=found[0].closed_at))
        for batch in found:
            await memory.observe(batch)
            await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
        names = NameIndex(await memory.viewers())
    await embedder.close()
    spent = await _consolidated(found, out, names, clock)
    async with inspect_memory(out, clock) as looking:
        held = (await looking.figures()).by_kind
        settled = await looking.settled()
    named = {"facts": held.get("fact", 0), "claims": held.get("claim", 0), "conflicts settled": sum(settled.values())}
    return [
        Figure(bench="consolidate", name="messages / s of processor time", value=lines / spent, unit="1/s", goal=">= 300"),
        *(Figure(bench="consolidate", name=name, value=float(count), unit="") for name, count in named.items()),
    ]


async def _consolidated(found: Sequence[Batch], out: Path, names: NameIndex, clock: VirtualClock) -> float:
    database = await Database.open(out / "memory.db")
    rules = partial(rule_extractor, _LANGUAGES)
    rules()
    hearsay = Hearsay(partial(claim_extractor, _LANGUAGES), names, load_rules(_LANGUAGES), frozenset())
    hearsay.extract([])
    consolidator = Consolidator(database, rules, clock, hearsay=hearsay)
    began = time.process_time()
    for start in range(0, len(found), GROUP):
        await consolidator.consolidate([{"turn": batch.id} for batch in found[start : start + GROUP]])
    spent = time.process_time() - began
    await database.close()
    return spent
