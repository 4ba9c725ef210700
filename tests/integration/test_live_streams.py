"""Streams, live: known from the start, begun and ended by events, found where events were lost, and named anew."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from builders_twitch import evening
from fakes import twitch_payloads as payloads
from fakes.twitch import FakeTwitch

from memory import Notice


@pytest.fixture
async def fake() -> AsyncIterator[FakeTwitch]:
    async with FakeTwitch() as served:
        yield served


async def test_the_stream_on_air_is_known_from_the_start_and_its_end_is_heard(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.stream = _stream("4242")
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ciao")
        await live.until(lambda: live.bench.outcomes)
        await fake.go_offline("4242")
        await live.until(lambda: live.bench.memory.ended)
    assert [stream.id for stream in live.bench.memory.streams] == ["4242"]
    assert live.bench.outcomes[0].turn.batch.stream_id == "4242"
    assert live.bench.memory.ended[0][0] == "4242"


async def test_a_stream_whose_beginning_nobody_heard_is_found_by_the_check(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "ciao")
        await live.until(lambda: live.bench.memory.streams)
        fake.stream = _stream("4242")
        await live.connection.check()
        await live.until(lambda: len(live.bench.memory.streams) == 2)
        fake.trouble.statuses["/helix/streams"] += [503, 503]
        assert await live.connection.check() == []
    assert [stream.id for stream in live.bench.memory.streams][1:] == ["4242"]
    assert live.bench.memory.streams[1].title == "Serata"


async def test_chat_before_the_stream_gets_a_temporary_one_until_the_real_one_begins(fake: FakeTwitch, tmp_path: Path) -> None:
    async with evening(fake, tmp_path) as live:
        await fake.chat("alice", "è presto")
        await live.until(lambda: live.bench.memory.streams)
        await fake.go_online("77")
        await live.until(lambda: len(live.bench.memory.streams) == 2)
    temporary, real = live.bench.memory.streams
    assert temporary.temporary
    assert temporary.id.startswith("live-casa-20")
    assert (real.id, real.temporary) == ("77", False)


async def test_a_stream_that_begins_has_the_title_of_the_channel_and_takes_each_new_one(
    fake: FakeTwitch, tmp_path: Path
) -> None:
    fake.title, fake.category = "Si pianta", "Just Chatting"
    async with evening(fake, tmp_path) as live:
        await fake.retitle("Si raccoglie", "Farming Simulator")  # nobody is there yet
        await fake.go_online("77")
        await fake.chat("alice", "ciao")
        await live.until(lambda: live.bench.memory.lines)
        await fake.retitle("Si vende", "Just Chatting")
        await live.until(lambda: len(live.bench.memory.streams) == 2)
        await live.until(lambda: len(live.bench.memory.lines) == 2)
    assert [(stream.id, stream.title, stream.category) for stream in live.bench.memory.streams] == [
        ("77", "Si raccoglie", "Farming Simulator"), ("77", "Si vende", "Just Chatting"),
    ]  # fmt: skip
    notice = list(live.bench.memory.lines.values())[1]
    assert isinstance(notice, Notice)
    assert (notice.kind, notice.user, notice.data["title"]) == ("channel_update", None, "Si vende")


async def test_a_title_that_twitch_does_not_tell_is_learnt_from_its_next_update(fake: FakeTwitch, tmp_path: Path) -> None:
    fake.trouble.statuses["/helix/channels"] += [503, 503]
    async with evening(fake, tmp_path) as live:
        await fake.go_online("77")
        await live.until(lambda: live.bench.memory.streams)
        await fake.retitle("Si vende", "Just Chatting")
        await live.until(lambda: len(live.bench.memory.streams) == 2)
    assert [stream.title for stream in live.bench.memory.streams] == [None, "Si vende"]


def _stream(stream_id: str) -> payloads.Json:
    return {
        "id": stream_id, "user_id": "100", "user_login": "casa", "user_name": "Casa", "game_id": "1", "game_name": "Dolci",
        "type": "live", "title": "Serata", "tags": [], "viewer_count": 3, "started_at": "2026-03-01T20:00:00Z",
        "language": "it", "thumbnail_url": "", "tag_ids": [], "is_mature": False,
    }  # fmt: skip
