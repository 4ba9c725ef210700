"""Structured state through its tools, and the canon made equal to its files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builders_record import at, opened

from lore.entry import LoreEntry
from memory.errors import InvalidRow
from memory.events import StateCall

DOMAINS = ("request", "note", "relation", "joke", "channel")


def call(tool: str, *, second: float = 1, **arguments: Any) -> StateCall:  # noqa: ANN401 - any JSON
    return StateCall(at=at(second), tool=tool, arguments=arguments)


async def test_every_setting_tool_writes_its_record(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for one in (
            call("request_open", id="r", viewer="1001", text="suona Vivaldi"),
            call("note_set", id="n", viewer=None, text="domani niente stream", expires_at="2026-03-02T00:00:00Z"),
            call("relation_set", id="k", subject="1001", relation="sorella di", object="1002"),
            call("joke_add", id="j", text="il criceto", participants=["1001", "1002"]),
            call("channel_set", id="c", key="sub goal", value=100),
        ):
            await store.apply_state(one)
        found = {record.id: record for record in await store.reader.state(DOMAINS, (), at=at(2))}
        assert {id_: record.domain for id_, record in found.items()} == dict(zip("rnkjc", DOMAINS, strict=True))
        assert found["r"].viewers == ("1001",)
        assert found["k"].fields == {"subject": "1001", "relation": "sorella di", "object": "1002"}
        assert found["c"].text == "sub goal: 100"
        assert found["n"].expires_at is not None


async def test_a_completed_request_is_done_and_a_deleted_note_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("request_open", id="r", viewer="1001", text="x"))
        await store.apply_state(call("note_set", id="n", viewer="1001", text="y"))
        await store.apply_state(call("request_complete", second=9, id="r"))
        await store.apply_state(call("note_delete", second=9, id="n"))
        [record] = await store.reader.state(DOMAINS, (), at=at(10))
        assert (record.id, record.status, record.created_at, record.updated_at) == ("r", "done", at(1), at(9))


async def test_an_expired_note_is_not_shown(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("note_set", id="n", viewer=None, text="x", expires_at=at(60).isoformat()))
        assert len(await store.reader.state(("note",), (), at=at(59))) == 1
        assert await store.reader.state(("note",), (), at=at(60)) == []


async def test_records_are_found_by_domain_and_viewer(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("request_open", id="a", viewer="1001", text="x"))
        await store.apply_state(call("request_open", id="b", viewer="1002", text="x", second=2))
        await store.apply_state(call("note_set", id="n", viewer=None, text="per tutti", second=3))
        assert [one.id for one in await store.reader.state(("request",), ("1002",), at=at(9))] == ["b"]
        assert [one.id for one in await store.reader.state(DOMAINS, ("1001",), at=at(9))] == ["n", "a"]
        assert await store.reader.state((), (), at=at(9)) == []


async def test_setting_a_known_id_replaces_the_record(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("channel_set", id="c", key="k", value="1"))
        await store.apply_state(call("channel_set", id="c", key="k", value="2", second=5))
        [record] = await store.reader.state(DOMAINS, (), at=at(9))
        assert (record.text, record.created_at, record.updated_at) == ("k: 2", at(1), at(5))


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("drop_table", {"id": "x"}, "no state tool 'drop_table'; there are channel_set"),
        ("request_open", {"id": "x", "viewer": "1"}, "request_open: text: Field required"),
        ("request_open", {"id": "", "viewer": "1", "text": "x"}, "request_open: id"),
        ("request_open", {"id": "x", "viewer": "1", "text": "x", "mood": 1}, "request_open: mood: Extra"),
        ("note_set", {"id": "x", "viewer": None, "text": "t", "expires_at": "tomorrow"}, "note_set: expires_at"),
        ("note_set", {"id": "x", "viewer": None, "text": "t", "expires_at": "2026-03-02T00:00:00"}, "note_set: expires_at"),
        ("note_set", {"id": "x", "viewer": None, "text": "t", "expires_at": "9999-12-31T20:00:00-14:00"}, "expires_at"),
        ("note_set", {"id": "x", "viewer": None, "text": "t", "expires_at": "0001-01-01T00:00:00+14:00"}, "expires_at"),
        ("joke_add", {"id": "x", "text": "t", "participants": "1001"}, "joke_add: participants"),
        ("note_set", {"id": "x", "viewer": 7, "text": "t"}, "note_set: viewer"),
        ("request_complete", {"id": "nope"}, "request_complete: id: there is no request 'nope'"),
        ("note_delete", {"id": "taken"}, "note_delete: id: there is no note 'taken'"),
        ("note_set", {"id": "taken", "viewer": None, "text": "t"}, "note_set: id: 'taken' belongs to a record of another kind"),
    ],
)
async def test_a_wrong_call_is_refused_by_tool_and_argument(
    tmp_path: Path, tool: str, arguments: Mapping[str, Any], said: str
) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("channel_set", id="taken", key="k", value="v"))
        before = await store.rows("SELECT * FROM state_record")
        with pytest.raises(InvalidRow) as refused:
            await store.apply_state(StateCall(at=at(2), tool=tool, arguments=arguments))
        assert str(refused.value).startswith(said) or said in str(refused.value)
        assert await store.rows("SELECT * FROM state_record") == before


async def test_hostile_text_in_a_call_is_stored_scrubbed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.apply_state(call("note_set", id="n\x00", viewer=None, text="a\ud800'; DROP TABLE line"))
        [record] = await store.reader.state(("note",), (), at=at(2))
        assert (record.id, record.text) == ("n\ufffd", "a\ufffd'; DROP TABLE line")


def entry(id_: str, text: str) -> LoreEntry:
    return LoreEntry(id=id_, title=id_.title(), aliases=(f"{id_}ino",), text=text, digest=text)


async def test_the_canon_becomes_equal_to_the_entries(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        first = [entry("drago", "Vive sotto il monte."), entry("castello", "Una torre.")]
        assert await store.recorder.sync_lore(first) == 2
        assert await store.recorder.sync_lore(first) == 0
        assert await store.reader.lore() == sorted(first, key=lambda one: one.id)
        changed = [entry("drago", "Vive nel lago.")]
        assert await store.recorder.sync_lore(changed) == 2
        assert await store.reader.lore() == changed
        [document] = await store.reader.newest("lore", 5)
        assert (document.text, document.provenance, document.kind) == ("Drago: Vive nel lago.", ("lore:drago",), "lore")


async def test_the_index_is_told_of_every_change_of_the_canon(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.sync_lore([entry("drago", "a"), entry("castello", "b")])
        ids = {document.provenance: document.id for document in await store.reader.newest("lore", 5)}
        assert sorted((await store.jobs("index"))[0]["documents"]) == sorted(ids.values())
        await store.recorder.sync_lore([entry("drago", "a")])
        gone = ids[("lore:castello",)]
        assert await store.jobs("purge") == [{"documents": {"lore": [gone]}, "collections": []}]
        assert await store.reader.documents([gone]) == {}
