from pathlib import Path
from typing import Any

import pytest
from builders_benchmarks import write

from replays.benchmarks.loading import BenchmarkError
from replays.published import PUBLISHED
from replays.results_page import page, read_summary


def a_figure(value: float | None, count: int = 3, **interval: float) -> dict[str, Any]:
    return {"value": value, "count": count, **interval}


def a_summary(benchmark: str, systems: dict[str, Any], **changes: object) -> dict[str, Any]:
    return {
        "benchmark": benchmark,
        "embedder": "use",
        "fusion": "level",
        "llm": "no answers were written or judged",
        "resumed_questions": 0,
        "seconds": 1234.5,
        "cpu_seconds": 99.0,
        "systems": systems,
        **changes,
    }


def locomo() -> dict[str, Any]:
    ranked = {"recall@5": a_figure(0.25, low=0.2, high=0.3), "mrr": a_figure(None)}
    by_category = {"all": ranked, "temporal": {"recall@5": a_figure(0.125)}}
    block = {"all": {"recall": a_figure(0.5), "tokens": a_figure(280.4), "abstained": a_figure(0.0)}}
    whole = {"all": {"tokens": a_figure(26208.0), "recall whole": a_figure(1.0)}}
    systems = {"memory": by_category, "memory, the bot's block": block, "full context": whole}
    return a_summary("locomo", systems, conversations=7, keys={"corrected key: X": 3}, resumed_questions=4)


def test_measured_and_published_figures_stand_in_tables_of_their_own() -> None:
    text = page([locomo()])
    measured, published = text.split("### Published")
    assert "0.250 (0.20-0.30)" in measured
    assert "0.125" in measured
    assert "26,208" in measured
    assert PUBLISHED["locomo"].strip() in published
    assert "0.250" not in published
    assert "Cortex" not in measured


def test_the_conditions_of_a_run_are_told() -> None:
    text = page([locomo()])
    assert "7 conversations; embedder `use`, fusion `level`; 1,234 s, of which 99 s of processor time (4 answers" in text
    assert "No answers were written or judged." in text
    assert "Keys: corrected key: X: 3." in text


def test_answers_stand_beside_how_far_their_judge_is_to_be_trusted() -> None:
    answers = {
        "judge_agreement": {"all": {"value": 0.75, "count": 8}, "abstention": {"value": 1.0, "count": 2}},
        "right": {"all": {"value": 0.5, "count": 4}, "multi-session": {"value": 0.5, "count": 4}},
        "right_mean_over_types": 0.5,
        "prompt_tokens": 1200,
        "completion_tokens": 34,
        "cost": None,
    }
    told = page([{**locomo(), "answers": answers}])
    rows = ["| abstention | 1.000 of 2 | - |", "| all | 0.750 of 8 | 0.500 of 4 |", "| multi-session | - | 0.500 of 4 |"]
    assert "\n".join(rows) in told
    assert "1,200 tokens read, 34 written; no prices are configured" in told
    assert told.index("**Answers**") < told.index("### Published")
    assert "**Answers**" not in page([locomo()])


def test_every_benchmark_has_its_section_and_a_zero_stays_a_zero() -> None:
    ranked = {"session recall_any@5": a_figure(0.0), "official ndcg": a_figure(None)}
    long_memory = {"memory": {"all": ranked, "multi-session": ranked, "abstention": ranked}}
    precise = {"memory": {"active": 3, "precision": 0.5, "drift": None, "p50 ms": 12.5}}
    text = page([a_summary("longmemeval", long_memory, questions=27), a_summary("precision", precise, cases=77, turns=12)])
    assert "## LongMemEval-S" in text
    assert "**multi-session (3 questions)**" in text
    assert "**abstention" not in text
    assert "| session recall_any@5, n = 3 | 0.000 |" in text
    assert "77 cases, 12 turns" in text
    assert "| active | 3 |" in text
    assert "| p50 ms | 12 |" in text


def test_an_evaluation_of_annotated_chat_is_shown_recipe_by_recipe() -> None:
    found = {"overall": {"metrics": {"evidence_recall": a_figure(0.875)}}}
    summary = {
        "recipes": {"full": found},
        "probes": 99,
        "logs": [{"name": "one"}, {"name": "two"}],
        "versions": {"embedder": "use-m3"},
    }
    text = page([summary])
    assert "## Annotated chat: one, two\n" in text
    assert "99 probes; embedder `use-m3`" in text
    assert "| full | 0.875 | - |" in text
    assert "Conflicts" not in text
    told = page([summary | {"settled_conflicts": {"slot": 3, "time": 1, "judge": 0}}])
    assert "**Conflicts between statements, 4 in all**" in told
    assert "| slot | 3 | 0.750 |" in told


def test_a_summary_is_read_from_its_folder_and_others_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "summary.json", locomo())
    assert read_summary(tmp_path)["benchmark"] == "locomo"
    other = write(tmp_path / "other.json", {"benchmark": "chess"})
    with pytest.raises(BenchmarkError, match=r"other\.json: neither `benchmark` nor `recipes`"):
        read_summary(other)


def test_a_run_of_questions_without_an_answer_alone_still_makes_a_page() -> None:
    abstaining = {"abstention": {"session recall_any@5": {"value": None, "count": 0}, "abstained": {"value": 1.0, "count": 2}}}
    systems = {"memory": abstaining, "memory, the bot's block": abstaining, "full history": abstaining}
    assert "## LongMemEval" in page([a_summary("longmemeval", systems)])
