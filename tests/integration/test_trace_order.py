from dataclasses import replace
from pathlib import Path

from builders_memory import a_past_stream, asked, opened

from replays.results import trace_of


async def test_sources_that_end_in_another_order_leave_the_same_trace(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        recall = await memory.recall(asked("cosa ho detto del mio gatto nello scorso stream?"))
    names = {request.name for request in recall.plan.requests}
    places = [place for place, step in enumerate(recall.steps) if step.step.split("/")[0] in names]
    assert len({recall.steps[place].step for place in places}) > 2
    steps = list(recall.steps)
    for place, other in zip(places, reversed(places), strict=True):
        steps[place] = recall.steps[other]
    assert trace_of(replace(recall, steps=tuple(steps)))["steps"] == trace_of(recall)["steps"]
    assert [step["step"] for step in trace_of(recall)["steps"] if step["step"] in names] == [
        request.name for request in recall.plan.requests
    ]
