"""What does not answer holds the jobs that need it and no others, and is told until it answers again: by the front door."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from builders_recall import CHANNEL, a_batch, a_clock, a_stream
from builders_told import facts, line
from fakes.hash_embedder import HashEmbedder
from fakes.llm_server import FakeLlmServer, Fault, says

from bot.fact_model import FactModel
from bot.llm_values import LlmSettings
from memory import Memory, MemorySettings, Outage, Said, Turn, Vectors, inspect_memory, open_memory

HOUR = timedelta(hours=1)


class Tried(HashEmbedder):
    """Counts the attempts too."""

    attempts = 0

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.attempts += 1
        return await super().embed(texts)


async def tell(memory: Memory, id_: str, text: str) -> None:
    batch = a_batch(line(id_, text))
    await memory.observe(batch)
    await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
    await memory.run_jobs()


async def outages(directory: Path) -> list[Outage]:
    async with inspect_memory(directory, a_clock()) as look:
        return await look.outages()


async def states(memory: Memory, kind: str) -> set[str]:
    return {job.state for job in await memory.jobs(kind=kind)}


async def an_outage(memory: Memory, embedder: Tried) -> None:
    await memory.begin_stream(a_stream("s1"))
    embedder.fail = True
    for n, town in enumerate(("Torino", "Como", "Varese")):
        await tell(memory, f"m{n}", f"vivo a {town}")


async def test_an_embedder_that_is_away_holds_what_needs_it_until_it_answers(tmp_path: Path) -> None:
    embedder, clock = Tried(dimension=32), a_clock()
    async with await open_memory(MemorySettings(data_dir=tmp_path), channel=CHANNEL, embedder=embedder, clock=clock) as memory:
        await an_outage(memory, embedder)
        (outage,) = await outages(tmp_path)
        assert (outage.what, outage.kinds) == ("embedder", ("drift", "index", "reindex"))
        assert "told to fail" in outage.why
        assert any(problem.startswith("embedder out of order") for problem in (await memory.health()).problems)
        before = embedder.attempts
        await tell(memory, "m8", "ho un gatto di nome Birba")
        assert embedder.attempts == before
        assert "ho un gatto di nome Birba" in {fact.text.split("\n")[0] for fact in await facts(memory)}
        assert await states(memory, "index") == {"ready"}
        embedder.fail = False
        clock.advance(HOUR)
        await memory.run_jobs()
        assert await states(memory, "index") == {"done"}
        assert await outages(tmp_path) == []
        assert (await memory.health()).problems == ()


async def test_an_outage_that_lasts_is_probed_once_at_a_time(tmp_path: Path) -> None:
    embedder, clock = Tried(dimension=32), a_clock()
    async with await open_memory(MemorySettings(data_dir=tmp_path), channel=CHANNEL, embedder=embedder, clock=clock) as memory:
        await an_outage(memory, embedder)
        (first,) = await outages(tmp_path)
        clock.advance(HOUR)
        before = embedder.attempts
        await memory.run_jobs()
        assert embedder.attempts == before + 1
        (still,) = await outages(tmp_path)
        assert still.since == first.since
        assert still.until > clock.now() > first.until


async def test_a_restart_asks_anew(tmp_path: Path) -> None:
    embedder, clock = Tried(dimension=32), a_clock()
    settings = MemorySettings(data_dir=tmp_path)
    async with await open_memory(settings, channel=CHANNEL, embedder=embedder, clock=clock) as memory:
        await an_outage(memory, embedder)
    async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=clock):
        assert await outages(tmp_path) == []


async def test_a_language_model_that_is_away_holds_nothing_but_what_asks_it(tmp_path: Path) -> None:
    clock, text = a_clock(), "io da sempre timbro il cartellino in posta"
    settings = MemorySettings(data_dir=tmp_path)
    async with FakeLlmServer([Fault("status", status=503)] * 3 + [says('{"facts": []}')] * 9) as server:
        model = FactModel(LlmSettings(base_url=server.url, model="fake", timeout_seconds=5))
        async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(32), clock=clock, model=model) as memory:
            await memory.begin_stream(a_stream("s1"))
            for n in range(5):
                await tell(memory, f"m{n}", f"{text} numero {n}")
            (outage,) = await outages(tmp_path)
            assert outage.what == "language model"
            assert "llm" in outage.kinds
            assert len(server.requests) == 3
            assert await states(memory, "index") == {"done"}
            clock.advance(HOUR)
            await memory.run_jobs()
            assert await outages(tmp_path) == []
            assert await states(memory, "llm") == {"done"}
        await model.close()
