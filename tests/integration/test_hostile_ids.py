"""Ids that no store can hold, as only foreign logs bring them: every layer knows such a viewer by one and the same id."""

import json
from pathlib import Path

import pytest
from builders_forget import LATER, files_with, forgetting
from builders_memory import a_past_stream, asked, opened, tell
from builders_recall import NOON, a_batch

from bot.chatlog import event_from_json
from memory import Memory, Message, Viewer

HOSTILE = ("nul\x00inside", "half\ud83dpair", "\x00", "bell\x07and\x1b[31m", "\x00\udc00 ../../x")


def read(id_: str, text: str, user_id: str) -> Message:
    """A line as the reader of native logs hands it over."""
    user = {"id": user_id, "login": "zoe", "name": "Zoe"}
    found = event_from_json({"type": "message", "id": id_, "at": NOON.isoformat(), "user": user, "text": text})
    assert isinstance(found, Message)
    return found


async def a_past_line(memory: Memory, user_id: str) -> Viewer:
    line = read("z1\x00", "il mio cane si chiama Fulmine", user_id)
    await a_past_stream(memory)
    await tell(memory, a_batch(line, stream_id="s0"))
    await memory.run_jobs()
    return line.user


@pytest.mark.parametrize("user_id", HOSTILE)
async def test_a_viewer_with_an_id_that_cannot_be_stored_is_remembered(tmp_path: Path, user_id: str) -> None:
    async with opened(tmp_path) as memory:
        zoe = await a_past_line(memory, user_id)
        found = await memory.recall(asked("cosa sai di me?", user=read("q0", "?", user_id).user))
        items = [item for item in found.block.items if item.section != "history"]
        assert items
        assert {item.subject for item in items} == {zoe.id}
        assert {document.subject for document in await memory.documents_of(zoe.id)} == {zoe.id}


@pytest.mark.parametrize("user_id", HOSTILE)
async def test_the_opt_out_of_such_a_viewer_holds_after_a_restart(tmp_path: Path, user_id: str) -> None:
    async with opened(tmp_path) as memory:
        zoe = await a_past_line(memory, user_id)
        await memory.opt_out(user_id, LATER, by=user_id)
        await memory.run_jobs()
        assert memory.opted_out(zoe.id, LATER)
    async with opened(tmp_path) as memory:
        assert memory.opted_out(zoe.id, LATER)
        assert memory.opted_out(user_id, LATER)
        assert await memory.observe(a_batch(read("z2", "rieccomi zzzuno", user_id))) == 0
        await memory.opt_in(user_id, LATER)
        assert not memory.opted_out(zoe.id, LATER)
    assert files_with(tmp_path, "Fulmine", "zzzuno") == []


async def test_forgetting_such_a_viewer_leaves_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        zoe = await a_past_line(memory, HOSTILE[0])
        await memory.forget(forgetting("viewer", viewer_id=zoe.id))
        await memory.run_jobs()
        assert await memory.documents_of(zoe.id) == []
    assert files_with(tmp_path, "Fulmine") == []


@pytest.mark.parametrize(
    ("written", "fields"),
    [
        ({"type": "deletion", "scope": "message", "message_id": "a\x00"}, ("message_id",)),
        ({"type": "reply", "text": "ok", "in_reply_to": ["a\x00"], "id": "a\x00"}, ("in_reply_to", "id")),
        ({"type": "stream", "event": "online", "stream_id": "a\x00"}, ("stream_id",)),
    ],
)
def test_whatever_names_such_an_id_names_the_same(written: dict[str, object], fields: tuple[str, ...]) -> None:
    event = event_from_json(json.loads(json.dumps(written | {"at": NOON.isoformat()})))
    for field in fields:
        found = getattr(event, field)
        assert found in ("a\ufffd", ("a\ufffd",))
