"""Conflicts that no cheap step can tell, put to a language model: a server on loopback, the adapter, the jobs, the memory."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from builders_memory import BOB
from builders_recall import CHANNEL, a_batch, a_clock, a_stream
from builders_told import facts, line, past
from fakes.hash_embedder import HashEmbedder
from fakes.llm_server import Answer, FakeLlmServer, Fault, says

from bot.fact_model import FactModel
from bot.llm_values import LlmSettings
from memory import ForgetRequest, Memory, MemorySettings, Reading, Said, Turn, UndoRequest, VirtualClock, open_memory

PLAYED, QUIT = "I play Counter Strike", "I no longer play CS"
GUITARS, GUITAR = "colleziono chitarre vecchie", "colleziono chitarre antiche"


def verdict(*given: str) -> Answer:
    return says(json.dumps({"verdicts": [{"pair": n, "verdict": one} for n, one in enumerate(given, 1)]}))


@asynccontextmanager
async def judging(
    directory: Path, server: FakeLlmServer, limits: Reading | None = None, *, clock: VirtualClock | None = None
) -> AsyncIterator[Memory]:
    settings = MemorySettings(data_dir=directory, reading=limits or Reading(lines=False, judge=True))
    model = FactModel(LlmSettings(base_url=server.url, model="fake", timeout_seconds=5))
    try:
        async with await open_memory(
            settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=clock or a_clock(), model=model
        ) as memory:
            yield memory
    finally:
        await model.close()


async def standing(memory: Memory, viewer_id: str = "101") -> list[str]:
    return sorted(one.text.split("\n")[0] for one in await facts(memory, viewer_id) if one.invalid_at is None)


async def steps(memory: Memory, *names: str) -> dict[str, int]:
    settled = await memory.settled()
    return {name: settled[name] for name in names}


async def test_an_ending_in_other_words_ends_what_the_judge_says_it_ends(tmp_path: Path) -> None:
    async with FakeLlmServer([verdict("replaces")]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == [QUIT]
        assert await steps(memory, "judge", "open") == {"judge": 1, "open": 0}
        (sent,) = server.requests
        assert sent["temperature"] == 0
        told = json.dumps(sent["messages"], ensure_ascii=False)
        assert PLAYED in told
        assert QUIT in told
        assert "101" not in told
        (old,) = [one for one in await memory.fact_history("101") if one.predicate == "game"]
        assert (old.decisions[-1].verb, old.decisions[-1].step) == ("end", "judge")


@pytest.mark.parametrize("said", ["both", "unrelated", "same"])
async def test_an_ending_that_means_something_else_ends_nothing(tmp_path: Path, said: str) -> None:
    async with FakeLlmServer([verdict(said)]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == sorted([PLAYED, QUIT])
        assert await steps(memory, "judge", "open") == {"judge": 1, "open": 0}


async def test_the_same_in_other_words_is_one_fact_that_rests_on_both_lines(tmp_path: Path) -> None:
    async with FakeLlmServer([verdict("same")]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", GUITARS), line("m2", GUITAR, after=-6000))
        assert await standing(memory) == [GUITARS]
        (kept,) = [one for one in await facts(memory) if one.invalid_at is None]
        assert kept.provenance == ("m1", "m2")
        await memory.forget(ForgetRequest(scope="item", id="m1", at=a_clock().now()))
        await memory.run_jobs()
        assert await standing(memory) == [GUITAR]


async def test_what_the_judge_decided_can_be_taken_back(tmp_path: Path) -> None:
    async with FakeLlmServer([verdict("replaces")]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        (old,) = [one for one in await memory.fact_history("101") if one.predicate == "game"]
        await memory.undo(UndoRequest(id=old.id, by="test", at=a_clock().now()))
        assert await standing(memory) == sorted([PLAYED, QUIT])


async def test_what_the_cheap_steps_settle_is_never_asked(tmp_path: Path) -> None:
    async with FakeLlmServer([]) as server, judging(tmp_path, server) as memory:
        await past(
            memory,
            line("m1", "vivo a Torino"),
            line("m2", "mi sono trasferito a Como", after=-6900),
            line("m3", "gioco a Valorant", after=-6800),
            line("m4", "non gioco più a Valorant", after=-6700),
            line("m5", "adoro la pizza", after=-6600),
            line("m6", "odio la pizza", after=-6500),
            line("m7", "suono il basso", after=-6400),
            line("m8", "suono la batteria", after=-6300),
        )
        assert server.requests == []
        assert (await steps(memory, "open"))["open"] == 0


async def test_without_its_setting_the_judge_is_not_asked_and_the_conflict_stays_open(tmp_path: Path) -> None:
    async with FakeLlmServer([]) as server, judging(tmp_path, server, Reading(lines=False)) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == sorted([PLAYED, QUIT])
        assert server.requests == []
        assert await steps(memory, "judge", "open") == {"judge": 0, "open": 1}


@pytest.mark.parametrize(
    "nonsense",
    [
        says("I cannot help with that"),
        verdict("maybe"),
        verdict(),
        verdict("both", "both"),
        says('{"verdicts": [{"pair": 2, "verdict": "replaces"}]}'),
        says('{"verdicts": [{"pair": true, "verdict": "replaces"}]}'),
        says('{"verdicts": "replaces"}'),
        says('{"verdicts": [null]}'),
    ],
    ids=range(8),
)
async def test_an_answer_that_is_none_is_asked_for_once_more_and_then_changes_nothing(tmp_path: Path, nonsense: Answer) -> None:
    async with FakeLlmServer([nonsense] * 4) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        asked = len(server.requests)
        assert asked >= 2
        assert await standing(memory) == sorted([PLAYED, QUIT])
        assert await steps(memory, "judge", "open") == {"judge": 0, "open": 1}
        assert {job.state for job in await memory.jobs(kind="judge")} == {"done"}
        await memory.run_jobs()
        assert len(server.requests) == asked


async def test_a_usable_second_answer_counts(tmp_path: Path) -> None:
    async with FakeLlmServer([verdict("maybe"), verdict("replaces")]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == [QUIT]


@pytest.mark.parametrize("quirk", ["no_json_schema", "no_json_object"])
async def test_a_server_without_schemas_will_do(tmp_path: Path, quirk: str) -> None:
    async with FakeLlmServer([verdict("replaces")], quirks=[quirk]) as server, judging(tmp_path, server) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == [QUIT]


async def test_a_server_that_is_away_is_asked_again_later(tmp_path: Path) -> None:
    answers: list[Answer | Fault] = [Fault("status", status=503), verdict("replaces")]
    clock = a_clock()
    async with FakeLlmServer(answers) as server, judging(tmp_path, server, clock=clock) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert await standing(memory) == sorted([PLAYED, QUIT])
        (job,) = await memory.jobs(kind="judge")
        assert (job.state, job.error_kind) == ("ready", "temporary")
        clock.advance(timedelta(hours=1))
        await memory.run_jobs()
        assert await standing(memory) == [QUIT]


async def test_a_spent_budget_leaves_the_conflict_open(tmp_path: Path) -> None:
    limits = Reading(lines=False, judge=True, tokens_per_stream=20)
    async with FakeLlmServer([verdict("replaces")]) as server, judging(tmp_path, server, limits) as memory:
        await past(memory, line("m1", PLAYED), line("m2", QUIT, after=-6000))
        assert server.requests == []
        assert await standing(memory) == sorted([PLAYED, QUIT])


async def test_the_same_question_is_asked_once(tmp_path: Path) -> None:
    async with FakeLlmServer([verdict("replaces")]) as server, judging(tmp_path, server) as memory:
        await past(
            memory,
            line("m1", PLAYED),
            line("m2", QUIT, after=-6000),
            line("m3", PLAYED, user=BOB),
            line("m4", QUIT, user=BOB, after=-6000),
        )
        assert len(server.requests) == 1
        assert await standing(memory) == [QUIT]
        assert await standing(memory, "202") == [QUIT]


async def test_two_viewers_are_never_asked_about_together(tmp_path: Path) -> None:
    other = "I quit playing CS"
    async with FakeLlmServer([verdict("replaces")] * 2) as server, judging(tmp_path, server) as memory:
        await past(
            memory,
            line("m1", PLAYED),
            line("m2", PLAYED, user=BOB),
            line("m3", QUIT, after=-6000),
            line("m4", other, user=BOB, after=-6000),
        )
        assert len(server.requests) == 2
        told = [json.dumps(request, ensure_ascii=False) for request in server.requests]
        assert not any(QUIT in one and other in one for one in told)


async def test_what_was_forgotten_meanwhile_is_not_asked_about(tmp_path: Path) -> None:
    async with FakeLlmServer([]) as server, judging(tmp_path, server) as memory:
        await memory.begin_stream(a_stream("s1"))
        for one in (line("m1", PLAYED), line("m2", QUIT, after=-6000)):
            await memory.observe(a_batch(one))
            await memory.record(Turn(batch=a_batch(one), recall=None, said=Said(state="silent")))
        await memory.run_jobs(50)  # so many at most: the judge is not among them
        assert [job.state for job in await memory.jobs(kind="judge")] == ["ready"]
        await memory.forget(ForgetRequest(scope="item", id="m1", at=a_clock().now()))
        await memory.run_jobs()
        assert server.requests == []
        assert await standing(memory) == [QUIT]
