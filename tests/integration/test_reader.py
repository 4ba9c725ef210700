"""What recall reads, and full text within one collection."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders_record import ALICE, BOB, Store, at, message, notice, opened, said, stream
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.errors import MemoryClosed
from memory.events import Viewer
from memory.store import fulltext
from memory.store.database import Database
from memory.store.reader import Reader
from memory.store.stems import stems

Search = Callable[[Store, str, str, int], Awaitable[list[tuple[str, float]]]]


async def through_the_index(store: Store, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
    """Search as in a large collection."""
    return await store.database.read(lambda connection: fulltext.search(connection, collection, query, limit, read_whole=0))


async def read_whole(store: Store, collection: str, query: str, limit: int) -> list[tuple[str, float]]:
    """Search as in a small one."""
    return await store.reader.full_text(collection, query, limit)


both_ways = pytest.mark.parametrize("search", [through_the_index, read_whole])


async def test_the_history_is_the_newest_lines_oldest_first_with_their_authors(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=BOB, reply_to="m1"), said=said("ehi", "m2"))
        await store.observe_and_record(notice("n1", "raid", None, data={"viewers": 40}))
        lines = await store.reader.history("s1", 3)
        assert [(line.kind, line.author.name if line.author else None) for line in lines] == [
            ("message", "Bob"),
            ("reply", "Ricordo"),
            ("notice", None),
        ]
        assert [line.reply_to for line in lines] == ["m1", "m2", None]
        assert lines[2].text == "[raid viewers=40]"
        assert await store.reader.history("nope", 3) == []


async def test_the_history_keeps_the_name_of_the_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=replace(ALICE, name="Nuova"), second=3))
        names = [line.author.name for line in await store.reader.history("s1", 5) if line.author]
        assert names == ["Alice", "Nuova"]


async def test_streams_come_newest_first_before_a_moment(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        for number in (2, 3, 4):
            await store.recorder.begin_stream(stream(f"s{number}", started_at=at(number * 100)))
        assert [one.id for one in await store.reader.streams(before=at(400), limit=2)] == ["s3", "s2"]


async def test_documents_come_by_id_and_superseded_ones_are_missing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "pizza"), message("m2", "birra", second=2))
        newer, older = await store.personal()
        assert (newer.text, older.text) == ("birra", "pizza")
        await store.rows("UPDATE document SET superseded = 1 WHERE id = ? RETURNING id", older.id)
        assert await store.reader.documents([older.id, newer.id, "nope"]) == {newer.id: newer}
        assert await store.personal() == [newer]
        assert await store.reader.full_text("viewer-1001", "pizza", 5) == []


@both_ways
async def test_full_text_finds_the_word_in_its_forms_best_first(tmp_path: Path, search: Search) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(
            message("m1", "i miei gatti dormono"),
            message("m2", "gatto gatto e ancora un gatto"),
            message("m3", "oggi si gioca"),
            message("m4", "PERCHÉ no"),
        )
        texts = {document.id: document.text for document in await store.personal()}
        found = await search(store, "viewer-1001", "Gatto?", 5)
        assert [texts[id_] for id_, _ in found] == ["gatto gatto e ancora un gatto", "i miei gatti dormono"]
        assert found[0][1] > found[1][1] > 0
        assert [texts[id_] for id_, _ in await search(store, "viewer-1001", "perche", 5)] == ["PERCHÉ no"]
        assert len(await search(store, "viewer-1001", "gatto", 1)) == 1
        assert await search(store, "viewer-1001", "gatto", 0) == []


@both_ways
async def test_a_rare_word_counts_more_than_a_common_one(tmp_path: Path, search: Search) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(
            *(message(f"m{n}", "pizza stasera") for n in range(30)), message("x", "pizza col tartufo", second=-9)
        )
        texts = {document.id: document.text for document in await store.personal()}
        found = await search(store, "viewer-1001", "pizza tartufo", 3)
        assert texts[found[0][0]] == "pizza col tartufo"


@both_ways
async def test_an_old_rare_word_is_found_under_a_thousand_common_ones(tmp_path: Path, search: Search) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("x", "ciao tartufo"))
        for start in range(0, 600, 100):
            await store.observe_and_record(*(message(f"m{start + n}", "ciao a tutti") for n in range(100)))
        [document] = await store.reader.documents(
            [id_ for id_, _ in (await search(store, "viewer-1001", "ciao tartufo", 10))[:1]]
        )
        assert (await store.reader.documents([document]))[document].provenance == ("x",)


@both_ways
async def test_full_text_never_leaves_its_collection(tmp_path: Path, search: Search) -> None:
    viewers = [Viewer(id=id_, login="x", name="X") for id_ in ("1", "10", "a", "A", "../1", "1 OR 1", 'x" OR "lore')]
    async with opened(tmp_path) as store:
        await store.observe_and_record(*(message(f"m{n}", "segreto", viewer) for n, viewer in enumerate(viewers)))
        collections = [row[0] for row in await store.rows("SELECT DISTINCT collection FROM document WHERE kind = 'message'")]
        assert len(collections) == len(viewers)
        for collection in collections:
            found = await search(store, collection, "segreto", 50)
            documents = await store.reader.documents([id_ for id_, _ in found])
            assert {document.collection for document in documents.values()} == {collection}
            assert len(documents) == 1


@both_ways
async def test_a_collections_scores_do_not_change_with_what_others_write(tmp_path: Path, search: Search) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "gatto"), message("m2", "cane nero"))
        before = await search(store, "viewer-1001", "gatto nero", 5)
        await store.observe_and_record(*(message(f"b{n}", "gatto gatto", BOB) for n in range(50)))
        assert await search(store, "viewer-1001", "gatto nero", 5) == before


SYNTAX = ['"', "'", "NEAR(a b)", "a AND OR NOT", "collection:lore", "-gatto", "*", "gatto*", "(", "\x00gatto", "^ {a b}"]
STRANGE = ["\ud800", "", "x" * 100_000, "parola " * 10_000, " ".join(f"w{n}" for n in range(5000)), "🦊", "ﷺ", "𐤀b"]


@both_ways
@pytest.mark.parametrize("query", [*SYNTAX, *STRANGE])
async def test_no_query_is_syntax(tmp_path: Path, search: Search, query: str) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "gatto"))
        found = await search(store, "viewer-1001", query, 5)
        assert len(found) == ("gatto" in query)


@both_ways
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(st.text(st.characters(codec=None), max_size=40), min_size=1, max_size=30))
async def test_what_was_said_is_found_by_its_own_words(
    search: Search, tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    async with opened(tmp_path_factory.mktemp("found")) as store:
        await store.observe_and_record(*(message(f"m{number}", text) for number, text in enumerate(texts)))
        for document in await store.personal():
            found = {id_ for id_, _ in await search(store, "viewer-1001", document.text, 100)}
            assert (document.id in found) == bool(stems(document.text))


async def test_the_full_text_index_can_be_made_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "gatto"))
        await store.database.write(lambda c: c.exec_driver_sql("INSERT INTO document_fts(document_fts) VALUES ('delete-all')"))
        assert await through_the_index(store, "viewer-1001", "gatto", 5) == []
        await store.database.write(fulltext.rebuild)
        await store.database.write(fulltext.check)
        assert len(await through_the_index(store, "viewer-1001", "gatto", 5)) == 1


async def test_known_viewers_seen_while_they_are_first_read_are_not_missed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"))
        await store.reader.known_viewers()
        await store.observe_and_record(message("m2", user=BOB), message("m3", second=30))
        found = {viewer.id: viewer for viewer in await store.reader.known_viewers()}
        assert (found["1002"].name, found["1001"].last_seen) == ("Bob", at(30))
        await store.rows("UPDATE viewer SET opted_out = 1 WHERE id = '1002' RETURNING id")
        fresh = Reader(store.database)
        assert [viewer.id for viewer in await fresh.known_viewers()] == ["1001"]


async def test_reading_after_close_is_refused(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "memory.db")
    await database.close()
    with pytest.raises(MemoryClosed):
        await Reader(database).history("s1", 5)
