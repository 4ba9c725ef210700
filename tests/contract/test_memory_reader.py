"""One suite for the memory's reader in SQL and the one in memory: the hot path cannot tell them apart."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_recall import NOON, a_batch, a_clock, a_line, a_message, a_stream, a_viewer, own_words
from fakes.memory_reader import InMemoryReader

from lore.entry import LoreEntry
from memory.events import StateCall
from memory.model import Document, KnownViewer, Said, StateRecord, Turn
from memory.ports import MemoryReader
from memory.record import Recorder
from memory.state_change import StateChanger
from memory.state_orders import StateOrder
from memory.store import outbox
from memory.store.database import Database
from memory.store.reader import Reader
from memory.store.viewers import ViewerBook

CANON = LoreEntry(id="moka", title="La moka", aliases=("moka",), text="fa il caffè", digest="1")
BATCH = a_batch(
    a_message("m1", "il mio gatto Birba dorme", after=1),
    a_message("m2", "il gatto di casa", user=a_viewer("202", "Bob"), after=2),
    a_message("m3", "Birba mangia il pesce", after=3),
)


@dataclass
class Told:
    """A reader after the same three messages, one request and one lore entry."""

    reader: MemoryReader


async def in_sql(directory: Path) -> AsyncIterator[Told]:
    database = await Database.open(directory / "memory.db")
    book = ViewerBook()
    recorder = Recorder(database, enqueue=outbox.enqueue, clock=a_clock(), book=book)
    states = StateChanger(database, a_clock())
    await recorder.begin_stream(a_stream("s0", after=-100))
    await recorder.begin_stream(a_stream())
    await recorder.observe(BATCH)
    await recorder.record(Turn(batch=BATCH, recall=None, said=Said(state="silent")))
    for number, expires in ((1, None), (2, (NOON - timedelta(days=1)).isoformat())):
        arguments = {"id": f"r{number}", "viewer": "101", "text": "giocare", "expires_at": expires}
        await states.change(StateOrder(call=StateCall(at=NOON, tool="note_set", arguments=arguments)))
    value = {"id": "c1", "key": "gioco", "value": "Celeste"}
    await states.change(StateOrder(call=StateCall(at=NOON, tool="channel_set", arguments=value)))
    await recorder.sync_lore([CANON])
    yield Told(Reader(database, book))
    await database.close()


async def in_memory(_: Path) -> AsyncIterator[Told]:
    reader = InMemoryReader()
    for message in BATCH.messages:
        document = own_words(message.id, message.text, viewer_id=message.user.id)
        reader.held[message.id] = replace(document, at=message.at, stream_id="s1")
    reader.lines["s1"] = [replace(a_line(one.id, one.text, user=one.user), at=one.at) for one in BATCH.messages]
    reader.known = [KnownViewer(id=id_, login=name.lower(), name=name) for id_, name in (("101", "Alice"), ("202", "Bob"))]
    reader.known_streams = [a_stream("s0", after=-100), a_stream()]
    note = StateRecord(id="r1", domain="note", text="giocare", viewers=("101",))
    channel = StateRecord(id="c1", domain="channel", text="gioco: Celeste")
    reader.records = [note, replace(note, id="r2", expires_at=NOON - timedelta(days=1)), channel]
    reader.entries = [CANON]
    yield Told(reader)


@pytest.fixture(params=[in_sql, in_memory], ids=["sql", "memory"])
async def reader(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[MemoryReader]:
    async for told in request.param(tmp_path):
        yield told.reader


def texts(documents: list[Document]) -> list[str]:
    return [document.text for document in documents]


async def test_streams_are_found_by_id_and_by_time(reader: MemoryReader) -> None:
    found = await reader.stream("s1")
    assert found is not None
    assert found.id == "s1"
    assert await reader.stream("nowhere") is None
    assert [stream.id for stream in await reader.streams(before=NOON + timedelta(days=1), limit=5)] == ["s1", "s0"]
    assert [stream.id for stream in await reader.streams(before=NOON, limit=5)] == ["s0"]


async def test_the_history_gives_the_newest_lines_oldest_first(reader: MemoryReader) -> None:
    assert [line.id for line in await reader.history("s1", 2)] == ["m2", "m3"]
    assert await reader.history("s1", 0) == []
    assert await reader.history("nowhere", 5) == []


async def test_everybody_is_known(reader: MemoryReader) -> None:
    assert {(viewer.id, viewer.name) for viewer in await reader.known_viewers()} == {("101", "Alice"), ("202", "Bob")}


async def test_a_collection_is_the_scope_of_every_search(reader: MemoryReader) -> None:
    hits = await reader.full_text("viewer-101", "gatto Birba", 5)
    scores = [score for _, score in hits]
    assert scores == sorted(scores, reverse=True)
    found = await reader.documents([id_ for id_, _ in hits])
    assert found[hits[0][0]].text == "il mio gatto Birba dorme"
    assert {document.subject for document in found.values()} == {"101"}
    assert len(await reader.full_text("viewer-101", "gatto Birba", 1)) == 1
    assert await reader.full_text("viewer-303", "gatto", 5) == []


async def test_the_newest_documents_come_first(reader: MemoryReader) -> None:
    assert texts(await reader.newest("viewer-101", 1)) == ["Birba mangia il pesce"]
    assert len(await reader.newest("viewer-101", 5)) == 2


async def test_unknown_documents_are_missing(reader: MemoryReader) -> None:
    assert await reader.documents(["nothing"]) == {}
    assert await reader.documents([]) == {}


async def test_messages_are_no_facts(reader: MemoryReader) -> None:
    assert await reader.facts("101") == []
    assert await reader.facts("101", as_of=NOON) == []


async def test_the_canon_is_as_it_was_synchronised(reader: MemoryReader) -> None:
    assert await reader.lore() == [CANON]


async def test_state_holds_the_live_records_of_whom_is_asked_about(reader: MemoryReader) -> None:
    assert [record.id for record in await reader.state(["note"], [], at=NOON)] == ["r1"]
    assert [record.id for record in await reader.state(["note"], ["101"], at=NOON)] == ["r1"]
    assert await reader.state(["note"], ["202"], at=NOON) == []
    assert [record.id for record in await reader.state(["channel"], ["202"], at=NOON)] == ["c1"]  # about nobody: everybody's
    assert await reader.state(["joke"], [], at=NOON) == []


async def test_what_was_written_beside_a_document_is_found(reader: MemoryReader) -> None:
    newest, oldest = await reader.newest("viewer-101", 2)
    assert await reader.around([newest.id, "nothing"], 3) == {newest.id: ([oldest], [])}
    assert await reader.around([oldest.id], 1) == {oldest.id: ([], [newest])}
    assert await reader.around([newest.id], 0) == {newest.id: ([], [])}


async def test_what_was_said_behind_a_line_is_told_by_whose_it_is(reader: MemoryReader) -> None:
    behind = await reader.aftermath(["m1", "m3", "nothing"])
    assert behind["m1"] == {"own": "Birba mangia il pesce", "answer": "", "other": "il gatto di casa"}
    assert behind["m3"] == {"own": "", "answer": "", "other": ""}
    assert "nothing" not in behind


async def test_a_line_of_two_who_talk_answers_the_last_one_of_the_other(reader: MemoryReader) -> None:
    answered = await reader.answered(["m1", "m2", "m3", "nothing"])
    assert answered == {"m2": ("il mio gatto Birba dorme", False), "m3": ("il gatto di casa", False)}
