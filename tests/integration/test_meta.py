"""Whose memory it is, and how much is in it."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders_record import BOB, CHANNEL, batch, message, opened, said

from memory.errors import WrongChannel
from memory.store import meta


async def test_a_memory_belongs_to_the_first_channel_that_opens_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.database.write(lambda c: meta.claim(c, CHANNEL))
        await store.database.write(lambda c: meta.claim(c, replace(CHANNEL, login="renamed")))
    async with opened(tmp_path) as store:
        with pytest.raises(WrongChannel, match="memory of channel 1, not of 2"):
            await store.database.write(lambda c: meta.claim(c, replace(CHANNEL, id="2")))


async def test_a_value_is_replaced(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert await store.database.write(lambda c: meta.value_of(c, "k")) is None
        for value in ("a", "b\x00"):
            await store.database.write(lambda c, value=value: meta.store_value(c, "k", value))  # type: ignore[misc]
        assert await store.database.write(lambda c: meta.value_of(c, "k")) == "b\ufffd"


async def test_the_counts_leave_out_what_was_deleted_or_never_recorded(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=BOB), said=said("ehi", "m1"))
        await store.recorder.observe(batch(message("m3")))
        assert await store.database.write(meta.counts) == {
            "viewers": 2,
            "streams": 1,
            "messages": 3,
            "turns": 1,
            "documents": 5,  # two of viewers, and the stream's three lines, the reply among them
        }
