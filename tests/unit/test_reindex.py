import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path

import pytest
from builders_jobs import START, a_worker, an_indexer, change, enqueue, marks, open_database, states, turns
from fakes.file_vectors import FileVectors
from fakes.noted_embedder import NotedEmbedder
from sqlalchemy import Connection

from memory.errors import IndexUnavailable, ModelMismatch, ModelUnavailable
from memory.index import Drift
from memory.ports import Vectors
from memory.store import outbox
from memory.store.database import Database


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


def slowly(vectors: FileVectors) -> Callable[[Sequence[tuple[str, Sequence[str], Vectors]]], Awaitable[None]]:
    original = vectors.upsert_many

    async def upsert_many(writes: Sequence[tuple[str, Sequence[str], Vectors]]) -> None:
        await asyncio.sleep(0.05)
        await original(writes)

    return upsert_many


async def test_a_rebuild_that_fails_midway_keeps_what_was_stored(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vectorise._EMBED", 2)
    await turns(database, [1, 2])

    class Failing(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) == 1:
                self.faults.append(ModelUnavailable("no model; install it"))
            return await super().embed(texts)

    with pytest.raises(ModelUnavailable):
        await an_indexer(database, vectors, Failing()).reindex()
    assert len(vectors.everything()["stream-s1"]) == 6 - (await marks(database)).count(None) == 2
    assert await an_indexer(database, vectors).reindex() == 4
    assert await an_indexer(database, vectors).drift() == []


async def test_a_failing_index_does_not_wait_for_what_is_embedded_ahead(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vectorise._EMBED", 2)
    await turns(database, [1, 2])
    ended: list[str] = []

    class Hanging(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) == 1:
                vectors.faults.append(IndexUnavailable("down"))
                try:
                    await asyncio.Event().wait()
                finally:
                    ended.append("cancelled")
            return await super().embed(texts)

    monkeypatch.setattr(vectors, "upsert_many", slowly(vectors))
    with pytest.raises(IndexUnavailable):
        await asyncio.wait_for(an_indexer(database, vectors, Hanging()).reindex(), 10)
    assert ended == ["cancelled"]


async def test_a_failure_ahead_and_a_failing_index_give_one_error(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.vectorise._EMBED", 2)
    await turns(database, [1, 2])

    class Failing(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) == 1:
                vectors.faults.append(IndexUnavailable("down"))
                raise ModelUnavailable
            return await super().embed(texts)

    monkeypatch.setattr(vectors, "upsert_many", slowly(vectors))
    with pytest.raises(IndexUnavailable):
        await an_indexer(database, vectors, Failing()).reindex()


async def test_another_model_is_refused_with_the_way_out(database: Database, vectors: FileVectors) -> None:
    await an_indexer(database, vectors).check_model()
    await an_indexer(database, vectors).check_model()
    with pytest.raises(ModelMismatch, match=r"hash/1 \(8\).*hash/2 \(16\).*ricordo reindex"):
        await an_indexer(database, vectors, NotedEmbedder("hash/2", 16)).check_model()


async def test_reindexing_rebuilds_everything_with_the_new_model(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1, 2])
    old = an_indexer(database, vectors)
    await old.check_model()
    await old.index([{"turn": "t1"}, {"turn": "t2"}])
    before = vectors.everything()
    new = an_indexer(database, vectors, NotedEmbedder("hash/2", 16))
    assert await new.reindex() == 6
    assert await new.reindex() == 0
    await new.check_model()
    assert vectors.everything() == before
    assert sorted(vectors.dropped) == ["stream-s1", "viewer-a", "viewer-b"]
    assert set(await marks(database)) == {"hash/2 (16)"}


async def test_reindexing_tells_how_many_documents_it_has_gone_through(database: Database, vectors: FileVectors) -> None:
    await turns(database, [1, 2])
    passed: list[int] = []
    assert await an_indexer(database, vectors).reindex(passed.append) == 6
    assert sum(passed) == 6
    assert await an_indexer(database, vectors).reindex(passed.append) == 0
    assert sum(passed) == 12


async def test_reindexing_goes_on_where_it_was_interrupted(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index._CHUNK", 4)
    await turns(database, range(4))
    embedder = NotedEmbedder()
    indexer = an_indexer(database, vectors, embedder)
    vectors.moment = lambda _: vectors.faults.append(IndexUnavailable("down")) if len(vectors.upserts) == 5 else None
    with pytest.raises(IndexUnavailable):
        await indexer.reindex()
    vectors.moment, vectors.faults = lambda _: None, []
    done = 12 - (await marks(database)).count(None)
    assert 0 < done < 12
    assert await indexer.reindex() == 12 - done
    assert await indexer.drift() == []


async def test_reindexing_takes_in_what_is_written_meanwhile(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index._CHUNK", 3)
    await turns(database, [1, 2])

    class Busy(NotedEmbedder):
        async def embed(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) == 0:
                await turns(database, [3])
            return await super().embed(texts)

    indexer = an_indexer(database, vectors, Busy())
    assert await indexer.reindex() == 9
    assert await indexer.drift() == []


async def test_drift_names_what_is_missing_extra_stale_and_broken(database: Database, vectors: FileVectors) -> None:
    a, _b, whole = await turns(database, [1])
    indexer = an_indexer(database, vectors)
    await indexer.index([{"turn": "t1"}])
    assert await indexer.drift() == []
    await vectors.delete("viewer-a", [a])
    await vectors.upsert("stream-s1", ["ghost"], await NotedEmbedder().embed(["boo"]))
    await change(database, whole, indexed_model=None)
    vectors.broken.add("viewer-b")
    assert await indexer.drift() == [
        Drift(collection="stream-s1", extra=("ghost",), stale=(whole,)),
        Drift(collection="viewer-a", missing=(a,)),
        Drift(collection="viewer-b", broken=True),
    ]


async def test_the_nightly_job_mends_the_drift(database: Database, vectors: FileVectors) -> None:
    a, b, whole = await turns(database, [1])
    indexer = an_indexer(database, vectors)
    worker = a_worker(database)
    worker.register("drift", indexer.repair)
    await indexer.index([{"turn": "t1"}])
    await vectors.delete("viewer-a", [a])
    await vectors.upsert("stream-s1", ["ghost"], await NotedEmbedder().embed(["boo"]))
    vectors.broken.add("viewer-b")
    await enqueue(database, [1], "drift")
    assert await worker.run_due() == 1
    assert await indexer.drift() == []
    assert vectors.everything() == {"viewer-a": {a}, "viewer-b": {b}, "stream-s1": {whole}}


async def test_the_nightly_job_goes_through_many_collections_in_several_jobs(
    database: Database, vectors: FileVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.index._DRIFT", 2)
    await turns(database, [1])
    indexer = an_indexer(database, vectors)
    worker = a_worker(database)
    worker.register("drift", indexer.repair)
    await indexer.index([{"turn": "t1"}])
    await vectors.drop("viewer-b")

    def add(connection: Connection) -> None:
        outbox.enqueue(connection, kind="drift", key="drift:today", payload={"day": "today"}, now=START)

    await database.write(add)
    assert await worker.run_due() == 2
    assert list(await states(database)) == ["index:t1", "drift:today", "drift:today:viewer-a"]
    assert await indexer.drift() == []
