"""The book of viewers: complete, whenever it is first read."""

import asyncio
from pathlib import Path

from builders_record import ALICE, BOB, batch, message, opened

from memory.store.viewers import ViewerBook


async def test_what_is_written_during_the_first_reading_is_in_its_result(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.observe(batch(message("m0")))
        for number in range(20):
            line = message(f"m{number + 1}", user=BOB if number else ALICE, second=number + 10)
            async with asyncio.TaskGroup() as group:
                group.create_task(store.recorder.observe(batch(line)))
                group.create_task(store.reader.known_viewers())
        found = {viewer.id: viewer.last_seen for viewer in await store.reader.known_viewers()}
        assert found == {viewer.id: viewer.last_seen for viewer in await ViewerBook().everybody(store.database)}


async def test_a_forgotten_book_is_read_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.observe(batch(message("m1"), message("m2", user=BOB)))
        book = ViewerBook()
        assert len(await book.everybody(store.database)) == 2
        await store.rows("UPDATE viewer SET opted_out = 1 WHERE id = '1002' RETURNING id")
        assert len(await book.everybody(store.database)) == 2
        book.forget()
        assert [viewer.id for viewer in await book.everybody(store.database)] == ["1001"]
