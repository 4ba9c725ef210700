import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from builders_benchmarks import a_question, a_sample, an_instance, write
from fakes.llm_server import Answer, FakeLlmServer, Fault, says

from replays.cli import main


@contextmanager
def serving(script: Sequence[Answer | Fault], quirks: Sequence[str] = ()) -> Iterator[FakeLlmServer]:
    """A model server in a loop of its own: the command line runs one too."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    fake = FakeLlmServer(script, quirks=quirks)

    async def serve() -> None:
        async with fake:
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(10)
    try:
        yield fake
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(10)
        loop.close()


@pytest.fixture
def server() -> Iterator[FakeLlmServer]:
    with serving([says("yes"), says("Pixel"), says("yes")]) as fake:
        yield fake


@pytest.mark.slow
def test_a_configured_model_answers_is_judged_and_its_agreement_is_told_first(
    server: FakeLlmServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RICORDO_LLM__BASE_URL", server.url)
    monkeypatch.setenv("RICORDO_LLM__MODEL", "judge")
    write(tmp_path / "lme" / "instances" / "q1.json", an_instance())
    entry = {"question_id": "q1", "question_type": "single-session-user", "instance": "instances/q1.json"}
    write(tmp_path / "lme" / "questions.json", [entry])
    case = {"id": "j", "type": "multi-session", "abstention": False, "question": "?", "gold": "4", "answer": "4", "label": True}
    (tmp_path / "lme" / "judge_cases.jsonl").write_text(json.dumps(case) + "\n")
    with pytest.raises(SystemExit) as left:
        main(["eval-longmemeval", str(tmp_path / "lme"), "--out", str(tmp_path / "out")])
    assert left.value.code == 0
    told = capsys.readouterr().out
    assert "cost: unknown; set llm.read_price" in told
    assert told.index("judge agrees with the calibration: all 1.000 of 1") < told.index("right answers: all 1.000 of 1")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["answers"]["right"]["single-session-user"] == {"value": 1.0, "count": 1}
    lines = (tmp_path / "out" / "answers" / "questions.jsonl").read_text().splitlines()
    assert [json.loads(line).get("id") for line in lines] == [None, "calibration:j", "written:q1", "answer:q1"]
    assert len(server.requests) == 3


@pytest.mark.slow
def test_a_model_that_stops_half_way_is_gone_on_with_and_its_cost_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    questions = [
        a_question("What is the ferret of Noemi called?", "D1:1", answer="Pixel"),
        a_question("What is the ferret of Tobias called?", "D1:1", category=5, adversarial_answer="Pixel"),
    ]
    path = write(tmp_path / "locomo.json", [a_sample(*questions)])
    asked = ["eval-locomo", str(path), "--out", str(tmp_path / "out")]
    script: list[Answer | Fault] = [says("Pixel"), says("Yes"), Fault("500"), Fault("500"), says("no"), says("Yes")]
    quirks = ["refuses_max_tokens", "refuses_temperature", "refuses_developer_role"]
    with serving(script, quirks) as server:
        for name, value in {"BASE_URL": server.url, "MODEL": "m", "READ_PRICE": "2", "WRITTEN_PRICE": "10"}.items():
            monkeypatch.setenv(f"RICORDO_LLM__{name}", value)
        with pytest.raises(SystemExit) as left:
            main(asked)
        assert left.value.code == 2
        assert "run the command again to go on" in capsys.readouterr().err
        kept = (tmp_path / "out" / "answers" / "questions.jsonl").read_text().splitlines()
        assert [json.loads(line).get("answer") for line in kept] == [None, "Pixel", "Pixel"]  # written, then judged
        assert json.loads((tmp_path / "out" / "summary.json").read_text())["systems"]
        with pytest.raises(SystemExit) as left:
            main(asked)
        assert left.value.code == 0
        words = [request["messages"][-1]["content"] for request in server.requests]
    assert len([one for one in words if "ferret of Noemi" in one and "Notes:" in one and "Reply yes" not in one]) <= 4
    assert "The question cannot be answered from what was said" in words[-1]
    told = capsys.readouterr().out
    answers = json.loads((tmp_path / "out" / "summary.json").read_text())["answers"]
    assert answers["right"]["all"] == {"value": 1.0, "count": 2}
    assert answers["cost"] == pytest.approx((answers["prompt_tokens"] * 2 + answers["completion_tokens"] * 10) / 1e6)
    assert "at the configured prices" in told
