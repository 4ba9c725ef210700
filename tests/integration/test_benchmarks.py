import json
from pathlib import Path
from typing import Any

import pytest
from builders_benchmarks import (
    a_belief,
    a_case,
    a_journal,
    a_precision_folder,
    a_question,
    a_sample,
    an_instance,
    opener,
    write,
)

from memory import Gate, Recipe
from replays.benchmarks.locomo import LocomoRun, run_locomo
from replays.benchmarks.locomo_file import Repairs, read_locomo
from replays.benchmarks.longmemeval import LongMemEvalRun, run_longmemeval
from replays.benchmarks.longmemeval_file import list_instances
from replays.benchmarks.precision import EVERYTHING, PrecisionRun, run_precision, summarised, systems
from replays.benchmarks.precision_file import read_precision
from replays.stats import percentile

LENIENT = Recipe(gate=Gate(levels={}, gap=1.0))  # the levels are calibrated for real embedders
TWO = [system for system in systems(Recipe()) if system.name in {"memory", EVERYTHING}]


async def ask_locomo(folder: Path, *questions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    conversations = read_locomo(write(folder / "locomo.json", [a_sample(*questions)]), Repairs())
    journal = a_journal(folder / "out")
    await run_locomo(conversations, LocomoRun(opener=opener, recipe=LENIENT, journal=journal))
    return journal.rows


async def test_locomo_finds_the_turn_in_the_named_speakers_memory(tmp_path: Path) -> None:
    rows = await ask_locomo(tmp_path, a_question("What is the ferret of Noemi called?", "D1:1", answer="Pixel"))
    row = rows["conv-1:0"]
    assert row["rankings"]["memory"][0] == "D1:1"
    assert {source.split(":")[0] for source in row["rankings"]["single archive"]} == {"D1", "D2"}
    assert row["systems"]["memory"]["recall@5"] == 1.0
    assert row["systems"]["memory"]["mrr"] == 1.0
    assert row["systems"]["memory"]["answer 1k"] == 1.0
    assert row["systems"]["BM25 alone"]["recall@10"] == 1.0
    block = row["systems"]["memory, the bot's block"]
    assert (block["recall"], block["answer"], block["misattributed"], block["searched"]) == (1.0, 1.0, 0.0, 1.0)
    assert "Pixel" in row["block"]
    whole = row["systems"]["full context"]
    assert (whole["recall whole"], whole["answer whole"]) == (1.0, 1.0)


async def test_a_question_about_the_wrong_speaker_finds_the_turn_only_where_both_are_asked(tmp_path: Path) -> None:
    trap = a_question("Is Tobias the one with a new job in Lisbon?", "D2:2", category=5, adversarial_answer="Lisbon")
    row = (await ask_locomo(tmp_path, trap))["conv-1:0"]
    assert row["category"] == "adversarial"
    assert row["systems"]["memory"]["recall@10"] == 0.0
    assert row["systems"]["memory, both speakers"]["recall@5"] == 1.0
    block = row["systems"]["memory, the bot's block"]
    assert (block["trap shown"], block["trap answer"]) == (0.0, 0.0)
    assert not block["misattributed"]  # None: no personal line is shown
    assert block["answer"] is None


async def test_an_interrupted_run_asks_only_what_is_missing(tmp_path: Path) -> None:
    questions = (
        a_question("What is the ferret of Noemi called?", "D1:1"),
        a_question("Did the exam of Tobias go well?", "D2:1"),
    )
    conversations = read_locomo(write(tmp_path / "locomo.json", [a_sample(*questions)]), Repairs())
    journal = a_journal(tmp_path / "out")
    journal.add({"id": "conv-1:0", "category": "single-hop", "systems": {}})
    run = LocomoRun(opener=opener, recipe=Recipe(), journal=journal)
    await run_locomo(conversations, run)
    await run_locomo(conversations, run)
    assert [json.loads(line)["id"] for line in journal.path.read_text().splitlines()[1:]] == ["conv-1:0", "conv-1:1"]
    assert journal.rows["conv-1:0"]["systems"] == {}


async def test_longmemeval_asks_as_the_user_and_never_sees_later_sessions(tmp_path: Path) -> None:
    listed = list_instances(write(tmp_path / "lme.json", [an_instance(), an_instance("q2_abs")]))
    journal = a_journal(tmp_path / "out")
    await run_longmemeval(listed, LongMemEvalRun(opener=opener, recipe=Recipe(), journal=journal))
    row = journal.rows["q1"]
    memory = row["systems"]["memory"]
    assert row["sessions_after_the_question"] == 1
    assert (memory["session recall_all@5"], memory["turn recall_any@5"], memory["turn ndcg@10"]) == (1.0, 1.0, 1.0)
    assert (memory["answer 2k"], memory["audited answer 2k"], memory["sessions 9.6k"]) == (1.0, 1.0, 1.0)
    assert "Sooty" not in row["block"]
    assert all(not source.startswith("s3") for ranking in row["rankings"].values() for source in ranking)
    assert all(source.partition("#")[0] in {"s1/0", "s2/0"} for source in row["rankings"]["user turns"])
    assert any(source.startswith("s1/1#") for source in row["rankings"]["single archive"])
    assert row["systems"]["full history"]["sessions whole"] == 1.0
    unanswerable = journal.rows["q2_abs"]
    assert unanswerable["category"] == "abstention"
    assert unanswerable["systems"]["memory"]["session recall_any@5"] is None
    assert unanswerable["systems"]["memory"]["answer 2k"] is None


async def test_precision_scores_sets_scopes_pins_and_sessions(tmp_path: Path) -> None:
    only = {"relevantBeliefs": {"shouldOnlyInclude": ["kubernetes"]}}
    pins = {"pinnedFacts": {"mustInclude": ["linting"]}, "openQuestions": {"mustInclude": ["undecided"]}}
    cases = [
        a_case("found", "How do we use the Kubernetes cluster", expect={**only, **pins}),
        a_case("elsewhere", "What about ships?", scope=["domain:hobby"], expect={"relevantBeliefs": {"shouldOnlyInclude": []}}),
        a_case("apart", "Kubernetes?", expect={"relevantBeliefs": {"mustExclude": ["novel"]}}),
        a_case("persona", "", expect={"personaPrelude": {"contains": ["short answers"], "mustNotContain": ["Haskell"]}}),
        a_case("no-room", "Kubernetes?", budget={"maxBeliefs": 1}, expect={"relevantBeliefs": {"shouldOnlyInclude": []}}),
    ]
    told = a_belief("zebra", "The zebra project begins", created_at="2026-04-01T00:00:00Z")
    turn = {"scope": ["domain:code"], "turnIndex": 0, "userMessage": "Tell me about the Kubernetes cluster?"}
    after = {**turn, "turnIndex": 1, "userMessage": "What is the zebra project?"}
    zebra = {"relevantBeliefs": {"shouldOnlyInclude": ["zebra"]}, "noiseCheck": {"mustNotSurface": ["novel"]}}
    turns = [{**turn, "expect": only, "createBeliefAtTurn": told}, {**after, "expect": zebra}]
    journal = a_journal(tmp_path / "out")
    bench = read_precision(a_precision_folder(tmp_path / "in", cases, turns=turns))
    await run_precision(bench, PrecisionRun(opener=opener, systems=TWO, journal=journal))
    passes = {id_.partition("|")[2]: row["pass"] for id_, row in journal.rows.items() if row["system"] == "memory"}
    assert passes == {
        "found": "active",
        "elsewhere": "empty",
        "apart": "structural",
        "persona": "structural",
        "no-room": "empty",
        "s/0": "active",
        "s/1": "active",
    }
    table = summarised(list(journal.rows.values()), lambda ms: percentile(ms, 0.5))
    assert (table["memory"]["active"], table["memory"]["structural"], table["memory"]["passed"]) == (1, 2, 5)
    assert table["memory"]["precision"] == 0.5  # "apart" claims no set and got a belief: 0, as the benchmark's harness has it
    assert (table["memory"]["session drift"], table["memory"]["session passed"]) == (0.0, 2)
    everything = journal.rows[f"{EVERYTHING}|s/1"]
    assert everything["relevant"] == ["kubernetes", "undecided", "zebra"]
    assert everything["drift"] == pytest.approx(2 / 3)


async def test_a_missed_claim_is_named_and_scored_zero(tmp_path: Path) -> None:
    claims = {
        "relevantBeliefs": {"shouldOnlyInclude": ["kubernetes"]},
        "pinnedFacts": {"mustExclude": ["linting"]},
        "personaPrelude": {"isNull": True},
    }
    bench = read_precision(a_precision_folder(tmp_path / "in", [a_case("missed", "", expect=claims)]))
    journal = a_journal(tmp_path / "out")
    await run_precision(bench, PrecisionRun(opener=opener, systems=TWO, journal=journal))
    row = journal.rows["memory|missed"]
    assert row["failures"] == ["not found: kubernetes", "pin forbidden: linting", "the persona is not empty"]
    assert (row["pass"], row["precision"], row["recall"]) == (None, 0.0, 0.0)
