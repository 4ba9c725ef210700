"""Everything switched on, one viewer forgotten: no byte of their words is left in any file, and nothing brings it back."""

import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from builders_forget import files_with
from builders_live import at, message, offline, online
from builders_tools import Talk, a_talk, asks, calls_all, to_bot
from fakes.hash_embedder import HashEmbedder
from fakes.llm_server import says
from structlog.testing import capture_logs

from bot.commands import Commands, CommandSettings
from bot.recording import Recorder, RecordingSettings
from memory import CachedEmbedder, EmbeddingCache, Event, VirtualClock, restore
from memory.store.database import Database

# Words of hers alone, in every way that they can be kept; the stems are what the full text holds.
SECRETS = ("Zzbirbina", "Zzvillaggio", "Zznuvola", "Zzvecchio", "Zzviola", "Zzpizzica", "Zzrisata", "Zzdomanda", "Zzlavagna")
STEMS = ("zzbirbin", "zzvillagg", "zznuvol", "zzvecch", "zzviol", "zzpizzic", "zzrisat", "zzdomand", "zzlavagn")
TABLES = (
    "line", "document", "fact", "decision", "edge", "turn", "memory_job", "tombstone", "state_record", "state_call", "audit",
    "correction",
)  # fmt: skip
HERS: tuple[Event, ...] = (
    message("il mio gatto si chiama Zzbirbina", seconds=5, message_id="s1"),
    message("Bob vive a Zzvillaggio", seconds=6, message_id="s2"),
    message("vivo a Zznuvola, prima vivevo a Torino", seconds=7, message_id="s3"),
    message("il mio colore è Zzvecchio", seconds=8, message_id="s4"),
)


class Evening:
    """A talk whose memory, recording, backups, cache of embeddings and log lie in one folder."""

    def __init__(self, talk: Talk, recorders: list[Recorder], folder: Path) -> None:
        self.talk, self.recorders, self.folder = talk, recorders, folder

    async def settle(self, *, backup: bool = False) -> None:
        await self.talk.chat.loop.flush("end")
        if backup:
            await self.talk.chat.memory._parts.upkeep.order_backup()
        await self.talk.chat.memory.run_jobs()
        for recorder in self.recorders:
            recorder.finish()


@asynccontextmanager
async def an_evening(folder: Path) -> AsyncIterator[Evening]:
    recorders: list[Recorder] = []
    cache = EmbeddingCache(folder / "embeddings.db")  # makes the folder

    def record(clock: VirtualClock) -> Recorder:
        settings = RecordingSettings(directory=folder / "recordings")
        recorders.append(Recorder(settings, clock, verb_of=Commands(CommandSettings()).verb_of))
        return recorders[0]

    script = (
        calls_all(("note_set", {"text": "porta Zzviola"}), ("request_open", {"text": "suonare la Zzpizzica"})),
        says("Segnato: Zzrisata!"),
        says("Il tuo gatto si chiama Zzbirbina, lo so bene."),
        asks("memory_correct", old="Zzvecchio", new="Zzlavagna"),
        says("Ah, Zzlavagna."),
    )
    embedder = CachedEmbedder(HashEmbedder(dimension=32), cache, symmetric=True)
    async with a_talk(folder, *script, recorder=record, embedder=embedder) as talk:
        yield Evening(talk, recorders, folder)
    await embedder.close()


async def lived_through(evening: Evening) -> None:
    """Facts, a claim, edges, a conflict, tool calls, answers, a correction, two streams and three backups."""
    talk, chat = evening.talk, evening.talk.chat
    await chat.play(*HERS)
    await evening.settle(backup=True)
    await talk.hears(to_bot("segna che porto Zzviola da bere e che vorrei la Zzpizzica", seconds=30))
    await talk.hears(to_bot("come si chiama il mio gatto? Zzdomanda", seconds=60))
    await evening.settle(backup=True)
    await talk.hears(to_bot("no, il mio colore è Zzlavagna, non Zzvecchio", seconds=90))
    await chat.play(offline(seconds=200), online(seconds=300, stream_id="s2"))
    await evening.settle(backup=True)


async def tables(folder: Path) -> str:
    database = await Database.open(folder / "memory.db")
    try:
        async with database.reading() as session:
            connection = await session.connection()
            found = [[list(row) for row in await connection.exec_driver_sql(f"SELECT * FROM {one}")] for one in TABLES]  # noqa: S608 - names of the test's own
        return json.dumps(found, ensure_ascii=False)
    finally:
        await database.close()


@pytest.mark.parametrize("way", ["forgetme", "optout"])
async def test_with_everything_switched_on_no_file_holds_a_forgotten_viewers_words(tmp_path: Path, way: str) -> None:
    folder, by_hand = tmp_path / "memory", tmp_path / "by-hand.ricordo"
    with capture_logs() as logged:
        async with an_evening(folder) as evening:
            chat = evening.talk.chat
            await lived_through(evening)
            held = await tables(folder)
            assert [word for word in SECRETS if word.lower() not in held.lower()] == []
            assert {"memory.db", "embeddings.db"} <= {path.name for path in folder.iterdir()}
            assert files_with(folder / "recordings", "Zzbirbina")
            backups = sorted((folder / "backups").glob("*.ricordo"))
            assert len(backups) > 0
            shutil.copy(backups[-1], by_hand)
            orders: list[Any] = [message(f"!{way}", seconds=320)]
            orders += [message("!forgetme sì", seconds=325)] if way == "forgetme" else []
            await chat.play(*orders)
            await evening.settle()
            assert await chat.memory.jobs(state="dead") == []
            assert files_with(folder, *SECRETS, *STEMS) == []
            assert len(await chat.memory.documents_of("id-bob")) > 0  # what others wrote stays theirs
        assert files_with(folder, *SECRETS, *STEMS) == []
    told = str(logged).lower()
    assert [word for word in (*SECRETS, "Nerone", "Panda verde") if word.lower() in told] == []
    assert len(logged) > 0
    await nothing_brings_it_back(folder, by_hand, chat.clock)


async def nothing_brings_it_back(folder: Path, by_hand: Path, clock: VirtualClock) -> None:
    """Neither the same lines once more (a retry, an import) nor an older backup."""
    async with an_evening(folder) as evening:
        await evening.talk.chat.play(*HERS)
        await evening.settle()
        await evening.talk.chat.memory._parts.upkeep._background.purger.clean_if_needed()
        assert files_with(folder, *SECRETS, *STEMS) == []
    await restore(by_hand, folder, clock, force=True, keep=folder / "backups")
    assert files_with(folder, *SECRETS, *STEMS) == []
    assert "nerone" in (await tables(folder)).lower()


async def test_an_audit_of_all_that_was_done_names_whom_and_when_and_no_words(tmp_path: Path) -> None:
    async with an_evening(tmp_path / "memory") as evening:
        await lived_through(evening)
        chat = evening.talk.chat
        await chat.play(
            message("!forget @bob Nerone", by="mara", seconds=310, badges=("moderator",), message_id="o1"),
            message("!correct @carl Panda -> Vespa", by="mara", seconds=312, badges=("moderator",), message_id="o2"),
            message("!forgetme", seconds=320),
            message("!forgetme sì", seconds=325),
        )
        await evening.settle()
        done = [(entry.verb, entry.by, entry.viewer_id, entry.at) for entry in await chat.memory.audit()]
        assert ("forget", "id-mara", "id-bob", at(310)) in done
        assert ("correct", "id-mara", "id-carl", at(312)) in done
        assert ("forget", "id-alice", "id-alice", at(325)) in done
        assert {verb for verb, _, _, _ in done} == {"forget", "correct", "note_set", "request_open"}
        kept = json.loads(await tables(tmp_path / "memory"))[-2]
        assert [word for word in (*SECRETS, "Nerone", "Panda", "Vespa") if word.lower() in str(kept).lower()] == []
