import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from builders_jobs import a_worker, an_indexer, change, enqueue, erase, marks, open_database, states, turns
from fakes.file_vectors import FileVectors
from fakes.noted_embedder import NotedEmbedder
from sqlalchemy import select

from memory.errors import CollectionLost, IndexUnavailable, ModelUnavailable
from memory.ports import Vectors
from memory.store.database import Database
from memory.store.episodes import TURN


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    database = await open_database(tmp_path)
    yield database
    await database.close()


@pytest.fixture
async def vectors() -> AsyncIterator[FileVectors]:
    vectors = FileVectors()
    yield vectors
    await vectors.close()


async def test_a_turn_is_indexed_by_author_and_whole(database: Database, vectors: FileVectors) -> None:
    a, b, whole, reply = await turns(database, [1], reply=True)
    worker = a_worker(database)
    worker.register("index", an_indexer(database, vectors).index)
    assert await worker.run_due() == 1
    assert vectors.everything() == {"viewer-a": {a}, "viewer-b": {b}, "stream-s1": {whole, reply}}
    assert await marks(database) == ["hash/1 (8)"] * 4
    [(found, cosine)] = await vectors.search("viewer-a", await NotedEmbedder().embed_query("words of t1-m0"), 1)
    assert (found, round(cosine, 5)) == (a, 1.0)


async def test_a_reply_and_named_documents_are_indexed_on_their_own(database: Database, vectors: FileVectors) -> None:
    a, _, _, reply = await turns(database, [1], reply=True)
    indexer = an_indexer(database, vectors)
    await indexer.index([{"reply": "t1-r"}])
    assert vectors.everything() == {"stream-s1": {reply}}
    await indexer.index([{"documents": [a, "gone"]}])
    assert vectors.everything() == {"stream-s1": {reply}, "viewer-a": {a}}


async def test_a_group_of_turns_is_embedded_together_and_stored_by_collection(database: Database, vectors: FileVectors) -> None:
    await turns(database, range(25))
    embedder = NotedEmbedder()
    await an_indexer(database, vectors, embedder).index([{"turn": f"t{n}"} for n in range(25)])
    assert [len(texts) for texts in embedder.asked] == [75]
    assert vectors.upserts == [("stream-s1", 25), ("viewer-a", 25), ("viewer-b", 25)]


async def test_equal_texts_are_embedded_once(database: Database, vectors: FileVectors) -> None:
    a, b, _ = await turns(database, [1])
    for identity in (a, b):
        await change(database, identity, text="lol")
    embedder = NotedEmbedder()
    await an_indexer(database, vectors, embedder).index([{"turn": "t1"}])
    assert embedder.asked == [["whole of t1", "lol"]]
    assert vectors.everything()["viewer-b"] == {b}


async def test_a_job_that_comes_again_embeds_nothing(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1])
    embedder = NotedEmbedder()
    indexer = an_indexer(database, vectors, embedder)
    await indexer.index([{"turn": "t1"}])
    await indexer.index([{"turn": "t1"}, {"turn": "unknown"}])
    assert len(embedder.asked) == 1


async def test_what_was_erased_before_the_job_ran_is_not_indexed(database: Database, vectors: FileVectors) -> None:
    a, b, whole = await turns(database, [1])
    await database.write(lambda connection: erase(connection, [a]))
    await change(database, b, superseded=True)
    await an_indexer(database, vectors).index([{"turn": "t1"}])
    assert vectors.everything() == {"stream-s1": {whole}}


async def test_what_is_erased_while_it_is_embedded_leaves_the_index_at_once(database: Database, vectors: FileVectors) -> None:
    a, b, whole = await turns(database, [1])

    class Erasing(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            await database.write(lambda connection: erase(connection, [a]))
            return await super().embed(texts)

    await an_indexer(database, vectors, Erasing()).index([{"turn": "t1"}])
    assert vectors.everything() == {"viewer-b": {b}, "stream-s1": {whole}}


async def test_what_is_corrected_while_it_is_embedded_stays_to_be_indexed(database: Database, vectors: FileVectors) -> None:
    a, *_ = await turns(database, [1])

    class Correcting(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            await change(database, a, text="corrected")
            return await super().embed(texts)

    await an_indexer(database, vectors, Correcting()).index([{"turn": "t1"}])
    assert await marks(database) == [None, "hash/1 (8)", "hash/1 (8)"]


async def test_what_moves_while_it_is_embedded_leaves_its_old_collection(database: Database, vectors: FileVectors) -> None:
    a, b, whole = await turns(database, [1])

    class Moving(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            await change(database, whole, collection="stream-s2")
            return await super().embed(texts)

    indexer = an_indexer(database, vectors, Moving())
    await indexer.index([{"turn": "t1"}])
    assert vectors.everything() == {"viewer-a": {a}, "viewer-b": {b}}
    await indexer.index([{"documents": [whole]}])
    await indexer.purge([{"documents": {"stream-s1": [whole]}}])
    assert vectors.everything() == {"viewer-a": {a}, "viewer-b": {b}, "stream-s2": {whole}}


async def test_a_collection_found_lost_is_rebuilt_with_all_that_it_held(database: Database, vectors: FileVectors) -> None:
    a, b, whole, a2, b2, whole2 = await turns(database, [1, 2])
    indexer = an_indexer(database, vectors)
    await indexer.index([{"turn": "t1"}])
    await vectors.drop("viewer-a")
    vectors.broken.add("viewer-a")
    await indexer.index([{"turn": "t2"}])
    assert vectors.everything() == {"viewer-a": {a, a2}, "viewer-b": {b, b2}, "stream-s1": {whole, whole2}}
    assert await indexer.drift() == []


async def test_a_collection_that_stays_lost_fails_the_job(database: Database, vectors: FileVectors) -> None:
    class Cursed(FileVectors):
        async def drop(self, collection: str) -> None:
            await super().drop(collection)
            self.broken.add(collection)

    cursed = Cursed()
    cursed.broken.add("viewer-a")
    await turns(database, [1])
    with pytest.raises(CollectionLost):
        await an_indexer(database, cursed).index([{"turn": "t1"}])
    assert (await marks(database))[0] is None
    await cursed.close()


async def test_a_failure_marks_nothing_and_the_next_attempt_completes(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1])
    embedder = NotedEmbedder()
    indexer = an_indexer(database, vectors, embedder)
    embedder.faults.append(ModelUnavailable("no model; install it"))
    with pytest.raises(ModelUnavailable):
        await indexer.index([{"turn": "t1"}])
    vectors.faults.append(IndexUnavailable("down"))
    with pytest.raises(IndexUnavailable):
        await indexer.index([{"turn": "t1"}])
    assert await marks(database) == [None, None, None]
    await indexer.index([{"turn": "t1"}])
    assert None not in await marks(database)


async def test_nothing_of_the_store_is_held_while_the_model_is_awaited(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1])

    class Watching(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            assert database._readers.pool.checkedout() == 0  # type: ignore[attr-defined]  # the queue pool has it
            await asyncio.wait_for(enqueue(database, [1], "other"), 5)
            return await super().embed(texts)

    await an_indexer(database, vectors, Watching()).index([{"turn": "t1"}])
    assert (await states(database))["other:1"] == "ready"


async def test_purge_removes_what_is_gone_and_drops_what_is_empty(database: Database, vectors: FileVectors) -> None:
    a, b, whole, a2, b2, whole2 = await turns(database, [1, 2])
    indexer = an_indexer(database, vectors)
    await indexer.index([{"turn": "t1"}, {"turn": "t2"}])
    await database.write(lambda connection: erase(connection, [a, a2, b, whole]))
    await indexer.purge(
        [
            {"documents": {"viewer-a": [a, a2], "viewer-b": [b, b2]}},
            {"documents": {"stream-s1": [whole]}, "collections": ["lore"]},
        ]
    )
    assert vectors.everything() == {"viewer-b": {b2}, "stream-s1": {whole2}}
    assert vectors.dropped == ["viewer-a", "lore"]


async def test_purge_leaves_what_lives(database: Database, vectors: FileVectors) -> None:
    a, b, whole = await turns(database, [1])
    indexer = an_indexer(database, vectors)
    await indexer.index([{"turn": "t1"}])
    await indexer.purge([{"documents": {"viewer-a": [a]}, "collections": ["stream-s1", "viewer-b"]}])
    assert vectors.everything() == {"viewer-a": {a}, "viewer-b": {b}, "stream-s1": {whole}}


async def test_what_was_embedded_ahead_is_not_embedded_again(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1, 2])
    embedder = NotedEmbedder()
    indexer = an_indexer(database, vectors, embedder)
    async with database.reading() as session:
        ids = list(await session.scalars(select(TURN.c.id)))
    indexer.embed_ahead([{"turn": ids[0]}])
    worker = a_worker(database)
    worker.register("index", indexer.index)
    assert await worker.run_due() == 2
    texts = [text for asked in embedder.asked for text in asked]
    assert len(texts) == len(set(texts)) == 6
    assert len(embedder.asked[0]) == 3
    assert await marks(database) == ["hash/1 (8)"] * 6
    await indexer.stop()


async def test_a_failure_ahead_is_met_again_by_the_job(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1])
    embedder = NotedEmbedder()
    embedder.faults = [ModelUnavailable("away"), ModelUnavailable("away")]
    indexer = an_indexer(database, vectors, embedder)
    async with database.reading() as session:
        payload = {"turn": (await session.scalars(select(TURN.c.id))).one()}
    indexer.embed_ahead([payload])
    with pytest.raises(ModelUnavailable):
        await indexer.index([payload])
    await indexer.index([payload])
    assert len(vectors.everything()["stream-s1"]) == 1


def _idle_m0(kind: str, text: str) -> tuple[str, ...]:
    """Nothing of the first message of a turn means anything; a turn means its words."""
    if kind == "turn":
        return tuple(text.split())
    return () if text.endswith("-m0") else (text,)


async def test_a_document_without_meaning_counts_as_indexed_and_has_no_vector(database: Database, vectors: FileVectors) -> None:
    _, b, whole = await turns(database, [1])
    indexer = an_indexer(database, vectors, meaning=_idle_m0)
    await indexer.index([{"turn": "t1"}])
    assert vectors.everything() == {"viewer-b": {b}, "stream-s1": {whole}}
    assert await marks(database) == ["hash/1 (8)"] * 3
    assert await indexer.drift() == []


async def test_a_document_that_lost_its_meaning_loses_its_vector(database: Database, vectors: FileVectors) -> None:
    a, *_ = await turns(database, [1])
    await an_indexer(database, vectors).index([{"turn": "t1"}])
    assert vectors.everything()["viewer-a"] == {a}
    await change(database, a, text="corrected t1-m0", indexed_model=None)
    await an_indexer(database, vectors, meaning=_idle_m0).index([{"documents": [a]}])
    assert vectors.everything().get("viewer-a", set()) == set()
    assert await marks(database) == ["hash/1 (8)"] * 3


async def test_a_document_that_was_stored_and_not_marked_loses_its_vector_with_its_meaning(
    database: Database, vectors: FileVectors
) -> None:
    a, *_ = await turns(database, [1])
    await an_indexer(database, vectors).index([{"turn": "t1"}])
    await change(database, a, text="what is left after an erasure-m0", indexed_model=None)  # died before it was marked
    later = an_indexer(database, vectors, meaning=_idle_m0)
    await later.welcome()
    await later.index([{"turn": "t1"}])
    assert vectors.everything().get("viewer-a", set()) == set()


async def test_a_document_of_an_attempt_that_failed_loses_its_vector_with_its_meaning(
    database: Database, vectors: FileVectors
) -> None:
    indexer = an_indexer(database, vectors, meaning=_idle_m0)
    await indexer.welcome()
    *_, whole = await turns(database, [1])
    quiet, down = vectors.moment, IndexUnavailable("down")

    def fail(step: str) -> None:
        if step == "after_sink":
            raise down

    vectors.moment = fail
    with pytest.raises(IndexUnavailable):
        await indexer.index([{"turn": "t1"}])
    assert vectors.everything() == {"stream-s1": {whole}}
    vectors.moment = quiet
    await change(database, whole, text="")
    await indexer.index([{"turn": "t1"}])
    assert vectors.everything().get("stream-s1", set()) == set()


async def test_what_is_new_and_means_nothing_is_not_looked_for_in_the_index(database: Database, vectors: FileVectors) -> None:
    indexer = an_indexer(database, vectors, meaning=_idle_m0)
    await indexer.welcome()
    await turns(database, [1])
    await indexer.index([{"turn": "t1"}])
    assert vectors.deleted == []


async def test_a_document_in_parts_lies_between_them(database: Database, vectors: FileVectors) -> None:
    _, _, whole = await turns(database, [1])
    await change(database, whole, text="north south-east")
    embedder = NotedEmbedder()
    await an_indexer(database, vectors, embedder, meaning=_idle_m0).index([{"turn": "t1"}])
    parts = await embedder.embed(["north", "south-east"])
    between = parts.sum(axis=0) / np.linalg.norm(parts.sum(axis=0))
    assert dict(await vectors.search("stream-s1", between, 1))[whole] == pytest.approx(1.0, abs=1e-5)
