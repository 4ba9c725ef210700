"""The book of viewers: complete, whenever it is first read."""

import asyncio
from pathlib import Path

import pytest
from builders_record import ALICE, BOB, batch, message, opened
from sqlalchemy.ext.asyncio import AsyncSession

from memory.events import Viewer
from memory.model import KnownViewer
from memory.store.viewers import ViewerBook, all_known


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


async def test_a_book_that_is_forgotten_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go_on = asyncio.Event(), asyncio.Event()

    async def slowly(session: AsyncSession) -> list[KnownViewer]:
        found = await all_known(session)
        reading.set()
        await go_on.wait()
        return found

    monkeypatch.setattr("memory.store.viewers.all_known", slowly)
    async with opened(tmp_path) as store:
        await store.recorder.observe(batch(message("m1"), message("m2", user=BOB)))
        book = ViewerBook()
        first = asyncio.create_task(book.everybody(store.database))
        await reading.wait()
        await store.rows("UPDATE viewer SET opted_out = 1 WHERE id = '1002' RETURNING id")
        book.forget()
        go_on.set()
        assert [viewer.id for viewer in await first] == ["1001"]
        assert [viewer.id for viewer in await book.everybody(store.database)] == ["1001"]


async def test_a_viewer_whose_observer_was_cancelled_is_known_if_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.reader.known_viewers()
        for number in range(60):
            viewer = Viewer(id=str(number), login=f"u{number}", name=f"U{number}")
            task = asyncio.create_task(store.recorder.observe(batch(message(f"m{number}", user=viewer))))
            await asyncio.sleep(number % 6 / 2000)
            task.cancel()
            await asyncio.wait([task])
        stored = {row[0] for row in await store.rows("SELECT id FROM viewer")}
        assert {viewer.id for viewer in await store.reader.known_viewers()} == stored


async def test_two_first_readings_at_once_miss_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.observe(batch(message("m0")))
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                viewer = Viewer(id=str(number), login=f"u{number}", name=f"U{number}")
                group.create_task(store.recorder.observe(batch(message(f"m{number + 1}", user=viewer))))
                group.create_task(store.reader.known_viewers())
        assert len(await store.reader.known_viewers()) == 11
