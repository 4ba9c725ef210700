"""Evaluation on small annotated logs: what it writes, that it leaves no trace, and that it is the same every time."""

import asyncio
import copy
import json
import sqlite3
from pathlib import Path
from typing import Any

from builders_eval import BRUNO, NOTHING, WHERE, Line, a_log, objects, offline, online, probe, said, written
from fakes.llm_server import FakeLlmServer, Fault, says

from bot.app import Hooks
from config.sections import Llm
from config.settings import Settings
from memory import Probe, UseEmbedder
from replays.evaluate import Evaluation, Outcome, known_recipes, read_logs
from replays.log import read_log
from replays.metrics import reply_coverage
from replays.player import Player, Settling
from replays.results import ResultFiles
from replays.runner import Home, open_home

SETTINGS = Settings()
RESULT_KEYS = [
    "id", "category", "plan", "items", "block", "block_tokens", "abstained", "degraded", "timed_out", "latency_ms", "reply",
]  # fmt: skip
ITEM_KEYS = [
    "section", "source", "subject", "text", "provenance", "tokens", "score", "valid_at", "invalid_at", "current",
]  # fmt: skip


async def evaluate(folder: Path, *logs: Path, recipes: tuple[str, ...] = ("full",)) -> Outcome:
    evaluation = Evaluation(settings=SETTINGS, logs=read_logs(logs, SETTINGS), recipes=recipes)
    with ResultFiles(folder, recipes) as files:
        return await evaluation.run(files)


def without_latencies(path: Path) -> list[dict[str, Any]]:
    return [{key: value for key, value in line.items() if key != "latency_ms"} for line in objects(path)]


async def test_results_hold_one_line_a_probe_with_the_keys_of_the_contract(tmp_path: Path) -> None:
    outcome = await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", a_log(WHERE, NOTHING)))
    where, nothing = objects(tmp_path / "out" / "results.jsonl")
    assert (list(where), list(where["items"][0])) == (RESULT_KEYS, ITEM_KEYS)
    assert set(where["latency_ms"]) == {"total", "plan", "retrieve", "assemble", "sources"}
    assert where["latency_ms"]["total"] >= where["latency_ms"]["retrieve"] > 0
    assert (where["id"], where["category"], where["reply"]) == ("p1", "recall", None)
    assert where["plan"][0] == "history"
    assert "viewer:1:recall" in where["plan"]
    assert next(item["provenance"] for item in where["items"] if item["section"] in {"profile", "recall"}) == ["m1"]
    assert nothing["plan"] == ["history"]
    assert outcome.complete


async def test_the_block_is_what_the_prompt_shows_and_its_tokens_are_the_memorys_alone(tmp_path: Path) -> None:
    await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", a_log(WHERE)), recipes=("full", "history_only"))
    full, window = (
        objects(tmp_path / "out" / "recipes" / name / "results.jsonl")[0] for name in ("full", "history_only")
    )  # fmt: skip
    memory, chat = full["block"].split("<recent_chat>")
    assert memory.startswith("<memory>\n")
    assert "io abito a Vicenza" in memory
    assert "Bruno: " in chat
    assert "numero 39" in chat
    assert "Vicenza" not in chat
    assert "dove abito" not in full["block"]
    history = [item for item in full["items"] if item["section"] == "history"]
    assert len(history) == SETTINGS.history.messages
    assert full["block_tokens"] < sum(item["tokens"] for item in full["items"])
    assert window["block_tokens"] < full["block_tokens"]
    assert "Vicenza" not in window["block"]


def rows_of(directory: Path) -> dict[str, list[str]]:
    """Return every row of every database below: the memory's own and those of the vector index."""
    found = {}
    for path in sorted(directory.rglob("*")):
        if path.suffix in {".db", ".sqlite3"}:
            with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
                found[path.as_posix()] = list(connection.iterdump())
            connection.close()
    return found


async def played_to_the_probe(home: Home, path: Path) -> Player:
    settling = Settling(home.memory)
    loop = home.loop(SETTINGS, Hooks(before=settling.before, replies="log"))
    await loop.start()
    player = Player(loop, home.clock, settling)
    for logged in read_log(path):
        await player.feed(logged.event)
        if isinstance(logged.event, Probe):
            break
    return player


async def test_a_probe_leaves_no_trace_in_the_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "casa.jsonl", a_log(WHERE))
    recipes = tuple(known_recipes(SETTINGS))
    [annotated] = read_logs([path], SETTINGS)
    evaluation = Evaluation(settings=SETTINGS, logs=[annotated], recipes=recipes)
    async with open_home(SETTINGS, path, tmp_path / "memory") as home:
        player = await played_to_the_probe(home, path)
        await player.catch_up()
        embedder = UseEmbedder()
        examiner = evaluation.examiner(annotated, home, embedder)
        before, health = rows_of(tmp_path / "memory"), await home.memory.health()
        first = await examiner.ask(annotated.cases[0], "s1")
        second = await examiner.ask(annotated.cases[0], "s1")
        assert rows_of(tmp_path / "memory") == before
        assert await home.memory.health() == health
        await embedder.close()
    assert any("chroma" in name for name in before)
    assert any("io abito a Vicenza" in row for rows in before.values() for row in rows)
    assert [asked.recipe for asked in first] == list(recipes)
    assert [asked.result.items for asked in first] == [asked.result.items for asked in second]


async def test_before_a_probe_jobs_are_run_to_their_end_unless_it_says_not_to(tmp_path: Path) -> None:
    path = written(tmp_path / "casa.jsonl", a_log(WHERE))
    async with open_home(SETTINGS, path, tmp_path / "memory") as home:
        player = await played_to_the_probe(home, path)
        await player.catch_up(settle=False)
        assert await home.memory.jobs(state="ready", kind="index")
        await player.catch_up()
        assert not await home.memory.jobs(state="ready", kind="index")
        assert (await home.memory.health()).messages == 42


async def test_two_runs_write_the_same_bytes_latencies_aside(tmp_path: Path) -> None:
    recipes = tuple(known_recipes(SETTINGS))
    path = written(tmp_path / "casa.jsonl", a_log(WHERE, NOTHING))
    for run in ("a", "b"):
        await evaluate(tmp_path / run, path, recipes=recipes)
    names = ["results.jsonl", "cases.jsonl", *(f"recipes/{name}/results.jsonl" for name in recipes)]
    for name in names:
        assert without_latencies(tmp_path / "a" / name) == without_latencies(tmp_path / "b" / name)
    for name in recipes:
        trace = Path("recipes") / name / "traces.jsonl"
        assert (tmp_path / "a" / trace).read_bytes() == (tmp_path / "b" / trace).read_bytes()


async def test_a_probe_before_any_stream_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    early = probe("p0", "c'è nessuno?", minute=0)
    outcome = await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", [early, *a_log(WHERE)]))
    assert not outcome.complete
    [unasked] = outcome.unasked
    assert (unasked.id, unasked.log) == ("p0", "casa")
    assert "no stream has begun" in unasked.reason
    assert [line["id"] for line in objects(tmp_path / "out" / "results.jsonl")] == ["p1"]
    assert [line["id"] for line in objects(tmp_path / "out" / "cases.jsonl")] == ["p0", "p1"]


async def test_logs_that_share_ids_are_scored_each_by_its_own_and_told_apart(tmp_path: Path) -> None:
    swapped = copy.deepcopy(a_log(WHERE))
    swapped[1]["user"], swapped[2]["user"] = BRUNO, swapped[1]["user"]
    one, two = written(tmp_path / "uno.jsonl", a_log(WHERE)), written(tmp_path / "due.jsonl", swapped)
    outcome = await evaluate(tmp_path / "out", one, two)
    assert [line["id"] for line in objects(tmp_path / "out" / "results.jsonl")] == ["uno:p1", "due:p1"]
    first, second = outcome.asked["full"]
    assert (first.authors["m1"], second.authors["m1"]) == ("1", "2")
    assert "Vicenza" in first.result.block
    assert "Vicenza" not in second.result.block


async def test_a_probe_is_asked_at_its_moment_and_knows_nothing_of_what_comes_later(tmp_path: Path) -> None:
    lines = a_log(probe("early", "memo, dove abito?", minute=0.5), WHERE)
    early = lines.pop(43)
    lines.insert(1, early)
    await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", lines))
    first, second = objects(tmp_path / "out" / "results.jsonl")
    assert first["items"] == []
    assert any(item["provenance"] == ["m1"] for item in second["items"])


async def test_a_log_without_streams_is_asked_in_its_stand_in(tmp_path: Path) -> None:
    lines: list[Line] = [said("m1", "io abito a Vicenza da tre anni"), WHERE]
    outcome = await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", lines))
    assert outcome.complete
    assert objects(tmp_path / "out" / "results.jsonl")[0]["items"][0]["provenance"] == ["m1"]


async def test_a_past_stream_is_over_and_the_next_ones_history_begins_empty(tmp_path: Path) -> None:
    lines = [*a_log(), online("s2", 100), probe("p1", "memo, dove abito?", minute=101), offline("s2", 110)]
    await evaluate(tmp_path / "out", written(tmp_path / "casa.jsonl", lines))
    [result] = objects(tmp_path / "out" / "results.jsonl")
    assert not [item for item in result["items"] if item["section"] == "history"]
    assert ["m1"] in [item["provenance"] for item in result["items"]]


async def test_an_interrupted_run_keeps_what_was_asked(tmp_path: Path) -> None:
    path = written(tmp_path / "casa.jsonl", a_log(WHERE, NOTHING))
    evaluation = Evaluation(settings=SETTINGS, logs=read_logs([path], SETTINGS), recipes=["full"])
    asked = asyncio.Event()
    evaluation.on_probe = lambda _: asked.set()
    with ResultFiles(tmp_path / "out", ["full"]) as files:
        running = asyncio.create_task(evaluation.run(files))
        await asked.wait()
        running.cancel()
        await asyncio.wait({running})
    assert running.cancelled()
    assert next(line["id"] for line in objects(tmp_path / "out" / "results.jsonl")) == "p1"


async def test_a_configured_model_answers_the_first_recipes_probes_and_leaves_no_trace(tmp_path: Path) -> None:
    path = written(tmp_path / "casa.jsonl", a_log(WHERE, NOTHING))
    async with FakeLlmServer([says("Abiti a Vicenza!"), Fault("status", status=400)]) as server:
        settings = Settings(llm=Llm(base_url=server.url, model="a-model", retries=0))
        recipes = ["full", "history_only"]
        evaluation = Evaluation(settings=settings, logs=read_logs([path], settings), recipes=recipes, llm=True)
        with ResultFiles(tmp_path / "out", recipes) as files:
            outcome = await evaluation.run(files)
    replies = {
        name: [line["reply"] for line in objects(tmp_path / "out" / "recipes" / name / "results.jsonl")] for name in recipes
    }
    assert replies == {"full": ["Abiti a Vicenza!", None], "history_only": [None, None]}
    assert outcome.replies_failed == 1
    assert reply_coverage(outcome.asked["full"][0]) == (1.0, 1)
    assert not any("Abiti a Vicenza!" in item.text for scored in outcome.asked["full"] for item in scored.result.items)
    assert any("dove abito?" in json.dumps(request) for request in server.requests)
