"""Drift of the vector index and the full text: measured from the files, mended by `doctor --fix` and `reindex`."""

import asyncio
import json
import shutil
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from builders_backup import change, look
from builders_cli import ricordo
from builders_memory import a_past_stream, asked, opened, tell
from builders_recall import CHANNEL, a_batch, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from bot.app import remember_channel
from memory import (
    Apart,
    DriftReport,
    Memory,
    MemorySettings,
    UseEmbedder,
    WallClock,
    compare_sample,
    measure_drift,
    open_memory,
)
from memory.store.chroma import ChromaIndex


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("memory") / "m"

    async def build() -> None:
        async with opened(folder, UseEmbedder()) as memory:
            await a_past_stream(memory)
            await memory.run_jobs()
        remember_channel(folder, CHANNEL)

    asyncio.run(build())
    return folder


@pytest.fixture
def data(built: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(built, tmp_path / "data" / f"channel-{CHANNEL.id}"))


async def _drifted(data: Path) -> None:
    """A vector missing, one extra, one stale; a collection nobody knows; a full text without a document and with old words."""
    index = await ChromaIndex.open(data)
    (cat, *_), vector = sorted(await index.ids("viewer-101")), await UseEmbedder().embed(["nulla"])
    await index.delete("viewer-101", [cat])
    await index.upsert("viewer-202", ["ghost"], vector)
    await index.upsert("viewer-909", ["stranger"], vector)
    await index.close()
    change(data / "memory.db", "UPDATE document SET indexed_model = 'older (8)' WHERE kind = 'line' AND text LIKE '%Birba%'")
    change(data / "memory.db", "DROP TRIGGER document_fts_update")
    change(data / "memory.db", "UPDATE document SET stems = 'altro' WHERE kind = 'fact' AND subject = '101'")
    with_triggers = "INSERT INTO document_fts(document_fts, rowid, collection, stems) SELECT 'delete', seq, collection, stems"
    change(data / "memory.db", f"{with_triggers} FROM document WHERE kind = 'fact' AND subject = '202'")


_EMBEDDER = UseEmbedder()
MODEL = f"{_EMBEDDER.name} ({_EMBEDDER.dimension})"
DRIFT = DriftReport(
    collections={"viewer-101": Apart(missing=1), "viewer-202": Apart(extra=1), "stream-s0": Apart(stale=1)},
    strangers=("viewer-909",),
    text=Apart(missing=1, stale=1),
)


async def test_drift_is_measured_from_the_files(data: Path) -> None:
    assert await measure_drift(data, MODEL) == DriftReport()
    await _drifted(data)
    assert await measure_drift(data, MODEL) == DRIFT
    (data / "chroma" / "viewers" / "000" / "chroma.sqlite3").write_bytes(b"garbage" * 1000)
    report = await measure_drift(data, MODEL)
    assert report.collections["viewer-101"].unreadable
    shutil.rmtree(data / "chroma")
    assert (await measure_drift(data, MODEL)).total().missing == 6
    change(data / "memory.db", "UPDATE document SET indexed_model = NULL")
    assert not (await measure_drift(data, MODEL)).collections  # they wait for their vectors: no drift


def test_doctor_tells_the_drift_and_mends_it(data: Path, tmp_path: Path) -> None:
    asyncio.run(_drifted(data))
    told = ricordo("doctor", "--json", cwd=tmp_path)
    assert told.returncode == 1
    (drift,) = _findings(told.stdout)
    assert drift["text"] == (
        "vector index: 1 document missing, 1 extra, 1 stale in 3 collections; "
        "1 collection of which the database knows nothing; full text: 1 document missing, 0 extra, 1 stale"
    )
    assert "doctor --fix" in drift["advice"]
    told = ricordo("doctor", "--fix", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stdout
    assert [(one["state"], one["advice"]) for one in _findings(told.stdout)] == [("note", "mended"), ("ok", "")]
    assert asyncio.run(measure_drift(data, MODEL)) == DriftReport()


def _flip(data: Path, *names: str) -> None:
    """Give some collections other numbers under the same ids."""
    of = "SELECT 'persistent://default/default/' || id FROM collections WHERE name IN ('{}')".format("', '".join(names))  # noqa: S608 - our own words
    for folder in (data / "chroma").rglob("chroma.sqlite3"):
        change(folder, f"UPDATE embeddings_queue SET vector = randomblob(length(vector)) WHERE topic IN ({of})")  # noqa: S608 - the same


async def test_an_index_as_it_was_written_is_of_its_words_whatever_is_chosen(data: Path) -> None:
    for seed in range(5):
        sample = await compare_sample(data, _EMBEDDER, seed=seed)
        assert (sample.compared, dict(sample.altered)) == (6, {})
    assert (await compare_sample(data, _EMBEDDER, most=2)).compared == 2


async def test_changed_numbers_are_drift_of_their_own_kind(data: Path) -> None:
    _flip(data, "viewer-101")
    assert not await measure_drift(data, MODEL)  # ids and counts are right
    assert dict((await compare_sample(data, _EMBEDDER)).altered) == {"viewer-101": 2}


async def test_where_one_collection_differs_all_of_its_folder_are_looked_at(data: Path) -> None:
    _flip(data, "viewer-101", "viewer-202")
    for seed in range(4):
        sample = await compare_sample(data, _EMBEDDER, most=2, seed=seed)  # one document a folder
        assert set(sample.altered) == {"viewer-101", "viewer-202"}


async def test_vectors_of_a_graph_are_compared_too_and_one_that_is_no_graph_is_altered(tmp_path: Path) -> None:
    embedder = HashEmbedder(dimension=32)
    lines = [a_message(f"m{n}", f"nel mulino la ruota {n} macina farina di castagne", after=-7000 + n) for n in range(1200)]
    async with opened(tmp_path, embedder) as memory:
        await memory.begin_stream(a_stream("s0", after=-7200))
        for start in range(0, len(lines), 20):
            await tell(memory, a_batch(*lines[start : start + 20], stream_id="s0"))
        await memory.run_jobs()
    (graph,) = (tmp_path / "chroma" / "streams").rglob("data_level0.bin")
    whole = await compare_sample(tmp_path, embedder, seed=1)
    assert whole.compared >= 3
    assert not whole.altered
    _, _, _, _, each, label_at, vector_at = struct.unpack_from("<iQQQQQQ", graph.with_name("header.bin").read_bytes())
    written = graph.read_bytes()
    flipped = bytes(byte ^ 0x40 * (vector_at <= place % each < label_at) for place, byte in enumerate(written))
    graph.write_bytes(flipped)
    assert await _ever_altered(tmp_path, embedder) == {"stream-s0"}
    graph.write_bytes(written[: len(written) // 2])
    assert await _ever_altered(tmp_path, embedder) == {"stream-s0"}
    graph.write_bytes(written)
    assert await _ever_altered(tmp_path, embedder) == set()
    graph.with_name("index_metadata.pickle").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
    assert await _ever_altered(tmp_path, embedder) == {"stream-s0"}


async def _ever_altered(data: Path, embedder: HashEmbedder) -> set[str]:
    return {name for seed in range(4) for name in (await compare_sample(data, embedder, seed=seed)).altered}


def test_doctor_tells_altered_vectors_and_makes_them_anew(data: Path, tmp_path: Path) -> None:
    _flip(data, "viewer-101", "viewer-202")
    told = ricordo("doctor", "--json", cwd=tmp_path)
    assert told.returncode == 1
    (drift,) = _findings(told.stdout)
    assert "not those of their words: 4 of 6 sampled, in 2 collections" in drift["text"]
    assert ricordo("doctor", "--sample", "0", cwd=tmp_path).returncode == 0  # then nobody looks
    told = ricordo("doctor", "--fix", "--json", cwd=tmp_path)
    assert told.returncode == 0, told.stdout
    mended, after = _findings(told.stdout)
    assert (mended["advice"], after["state"]) == ("mended", "ok")
    assert "6 sampled vectors are those of their words" in after["text"]
    assert not asyncio.run(compare_sample(data, _EMBEDDER)).altered


async def test_the_running_bot_makes_altered_vectors_anew(data: Path, tmp_path: Path) -> None:
    _flip(data, "viewer-101")
    async with _running(data) as memory:
        told = await asyncio.to_thread(ricordo, "doctor", "--fix", "--json", cwd=tmp_path)
        assert told.returncode == 0, told.stdout + told.stderr
        assert [(one["state"], one["advice"]) for one in _findings(told.stdout)] == [("note", "mended"), ("ok", "")]
        assert "Birba" in (await memory.recall(asked("come si chiama il mio gatto?"))).block.text


def _findings(shown: str) -> list[dict[str, Any]]:
    return [one for one in json.loads(shown) if one["what"].startswith("drift of")]


@asynccontextmanager
async def _running(data: Path) -> AsyncIterator[Memory]:
    """A memory that works in the background, by the clock of the commands that ask it."""
    settings = MemorySettings(data_dir=data)
    async with await open_memory(settings, channel=CHANNEL, embedder=UseEmbedder(), clock=WallClock()) as memory:
        await memory.begin_stream(a_stream())
        await memory.start_worker()
        yield memory


async def test_doctor_has_the_running_bot_mend_the_drift(data: Path, tmp_path: Path) -> None:
    await _drifted(data)
    async with _running(data) as memory:
        told = await asyncio.to_thread(ricordo, "doctor", "--fix", "--json", cwd=tmp_path)
        assert told.returncode == 0, told.stdout + told.stderr
        assert [(one["state"], one["advice"]) for one in _findings(told.stdout)] == [("note", "mended"), ("ok", "")]
        assert not (await memory.recall(asked("come si chiama il mio gatto?"))).degraded


@pytest.mark.parametrize("whole", [False, True])
async def test_the_running_bot_reindexes_when_asked_and_answers_meanwhile(data: Path, tmp_path: Path, *, whole: bool) -> None:
    if not whole:
        change(data / "memory.db", "UPDATE document SET indexed_model = NULL")
    async with _running(data) as memory:
        asking = asyncio.create_task(
            asyncio.to_thread(ricordo, "reindex", *(["--whole"] if whole else []), cwd=tmp_path), name="reindex"
        )
        while not asking.done():
            recall = await memory.recall(asked("come si chiama il mio gatto?"))
            assert "Birba" in recall.block.text or recall.timed_out  # a busy machine may be late
            await asyncio.sleep(0.1)
        told = asking.result()
        assert told.returncode == 0, told.stderr
        assert told.stdout.startswith("6 documents of")
        asked_only = await asyncio.to_thread(ricordo, "reindex", "--no-wait", cwd=tmp_path)
        assert "has been asked" in asked_only.stdout
    assert look(data / "memory.db", "SELECT DISTINCT indexed_model FROM document") == [(MODEL,)]
    assert await measure_drift(data, MODEL) == DriftReport()


async def test_a_running_bot_of_another_model_is_not_asked(data: Path, tmp_path: Path) -> None:
    async with _running(data):
        change(data / "memory.db", "UPDATE meta SET value = 'other (8)' WHERE key = 'index_embedder'")
        told = await asyncio.to_thread(ricordo, "reindex", cwd=tmp_path)
    assert told.returncode == 1
    assert "the running bot works with other (8)" in told.stderr
