import asyncio
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from builders_benchmarks import an_instance, write
from fakes.llm_server import FakeLlmServer, says

from replays.cli import main


@pytest.fixture
def server() -> Iterator[FakeLlmServer]:
    """A model server in a loop of its own: the command line runs one too."""
    loop, ready, over = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    fake = FakeLlmServer([says("yes"), says("Pixel"), says("yes")])

    async def serve() -> None:
        async with fake:
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait(10)
    yield fake
    loop.call_soon_threadsafe(over.set)
    thread.join(10)
    loop.close()


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
    assert told.index("judge agrees with the calibration: all 1.000 of 1") < told.index("right answers: all 1.000 of 1")
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["answers"]["right"]["single-session-user"] == {"value": 1.0, "count": 1}
    assert (tmp_path / "out" / "answers" / "questions.jsonl").read_text().count("\n") == 3
    assert len(server.requests) == 3
