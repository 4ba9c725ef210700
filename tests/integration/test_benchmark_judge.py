import json
from pathlib import Path
from typing import Any

import pytest
from builders_benchmarks import a_journal
from fakes.llm_server import Answer, FakeLlmServer, Fault, says

from bot.llm import LanguageModel
from bot.llm_values import LlmSettings
from replays.benchmarks.journal import Journal
from replays.benchmarks.judging import (
    Judged,
    Judging,
    answer,
    calibrate,
    instruction,
    judged_summary,
    read_judge_cases,
    verdict,
)
from replays.benchmarks.loading import BenchmarkError


def a_case(id_: str = "c1", *, type_: str = "multi-session", abstention: bool = False, label: bool | None = True) -> Judged:
    return Judged(
        id=id_, type=type_, abstention=abstention, question="Which pet?", gold="a ferret", answer="Pixel", label=label
    )


def a_model(server: FakeLlmServer) -> LanguageModel:
    return LanguageModel(LlmSettings(base_url=server.url, model="judge", temperature=0.0, retries=0))


def a_row(id_: str = "q1", category: str = "multi-session") -> dict[str, Any]:
    return {"id": id_, "category": category, "question": "Which pet?", "answer": "a ferret", "block": "- a ferret called Pixel"}


async def judged(server: FakeLlmServer, journal: Journal, cases: list[Judged], rows: list[dict[str, Any]]) -> dict[str, Any]:
    async with a_model(server) as model:
        judging = Judging(writer=model, judge=model, journal=journal)
        await calibrate(cases, judging)
        await answer(rows, judging)
    return judged_summary(journal)


@pytest.mark.parametrize(
    ("type_", "abstention", "words"),
    [
        ("multi-session", False, "holds only a part"),
        ("temporal-reasoning", False, "off by one is forgiven"),
        ("knowledge-update", False, "outdated value"),
        ("single-session-preference", False, "need not meet every point"),
        ("knowledge-update", True, "says that it cannot be answered"),
    ],
)
def test_the_question_decides_the_instruction(type_: str, *, abstention: bool, words: str) -> None:
    told = instruction(a_case(type_=type_, abstention=abstention))
    assert words in told
    assert ("off by one" in told) == (type_ == "temporal-reasoning")
    assert told.endswith("Reply yes or no only.")


async def test_yes_anywhere_in_the_reply_is_right_at_temperature_zero_and_ten_tokens() -> None:
    async with FakeLlmServer([says("Yes."), says("No, it is not")]) as server, a_model(server) as model:
        assert (await verdict(model, a_case()))[0]
        assert not (await verdict(model, a_case()))[0]
    assert [request["temperature"] for request in server.requests] == [0.0, 0.0]
    assert [len(request["messages"]) for request in server.requests] == [1, 1]
    assert {request.get("max_tokens") or request.get("max_completion_tokens") for request in server.requests} == {10}


async def test_a_judge_that_talks_nonsense_is_named_and_what_was_done_is_kept(tmp_path: Path) -> None:
    journal = a_journal(tmp_path)
    async with FakeLlmServer([says("yes"), says("purple")]) as server:
        with pytest.raises(BenchmarkError, match="'purple' to c2, neither yes nor no"):
            await judged(server, journal, [a_case(), a_case("c2")], [])
    assert list(a_journal(tmp_path).rows) == ["calibration:c1"]


async def test_an_answer_outlives_a_judge_that_talks_nonsense(tmp_path: Path) -> None:
    async with FakeLlmServer([says("a ferret"), says("purple"), says("yes")]) as server:
        with pytest.raises(BenchmarkError, match="'purple' to q1"):
            await judged(server, a_journal(tmp_path), [], [a_row()])
        found = await judged(server, a_journal(tmp_path), [], [a_row()])
        assert "Answer: a ferret" in server.requests[-1]["messages"][0]["content"]
        assert len(server.requests) == 3
    assert found["right"]["all"] == {"value": 1.0, "count": 1}
    assert a_journal(tmp_path).rows["answer:q1"]["answer"] == "a ferret"


async def test_agreement_answers_and_tokens_are_counted_by_type(tmp_path: Path) -> None:
    script: list[Answer | Fault] = [says("yes"), says("yes"), says("a ferret"), says("yes"), says("I cannot tell"), says("no")]
    cases = [a_case(), a_case("c2", label=False), a_case("c3", label=None)]
    rows = [a_row(), a_row("q2_abs", "abstention")]
    async with FakeLlmServer(script) as server:
        found = await judged(server, a_journal(tmp_path), cases, rows)
        asked = len(server.requests)
        again = await judged(server, a_journal(tmp_path), cases, rows)
        assert len(server.requests) == asked == 6
    assert found == again
    assert found["judge_agreement"]["all"] == {"value": 0.5, "count": 2}
    assert found["right"] == {
        "abstention": {"value": 0.0, "count": 1},
        "all": {"value": 0.5, "count": 2},
        "multi-session": {"value": 1.0, "count": 1},
    }
    assert found["right_mean_over_types"] == 1.0
    assert found["prompt_tokens"] > 0
    assert "a ferret called Pixel" in server.requests[2]["messages"][0]["content"]


async def test_a_model_that_fails_says_how_to_go_on(tmp_path: Path) -> None:
    async with FakeLlmServer([Fault("500")]) as server:
        with pytest.raises(BenchmarkError, match="run the command again to go on"):
            await judged(server, a_journal(tmp_path), [a_case()], [])


def test_judged_cases_are_read_and_refused_by_line_and_field(tmp_path: Path) -> None:
    path = tmp_path / "judge_cases.jsonl"
    case = {
        "id": "j1",
        "type": "multi-session",
        "abstention": False,
        "question": "?",
        "gold": 4,
        "answer": "four",
        "label": None,
    }
    path.write_text(json.dumps(case) + "\n\n")
    [read] = read_judge_cases(path)
    assert (read.gold, read.label) == ("4", None)
    path.write_text(json.dumps(case) + "\n" + json.dumps({**case, "answer": 3}))
    with pytest.raises(BenchmarkError, match=r"line 2\.answer must be str"):
        read_judge_cases(path)
    path.write_text(json.dumps(case) + "\n" + json.dumps({**case, "label": "yes"}))
    with pytest.raises(BenchmarkError, match=r"line 2\.label must be bool"):
        read_judge_cases(path)
    path.write_text(json.dumps(case) + "\n\n{")
    with pytest.raises(BenchmarkError, match="line 3: not JSON"):
        read_judge_cases(path)
    path.write_bytes(b"\xff")
    with pytest.raises(BenchmarkError, match="not UTF-8"):
        read_judge_cases(path)
    with pytest.raises(BenchmarkError, match="cannot be read"):
        read_judge_cases(tmp_path / "none")
