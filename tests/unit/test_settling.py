"""When a replay settles its memory, and that a search finds it up to date."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from builders_live import START, Bench
from fakes.memory import FakeMemory

from bot.turn import run_turn
from memory import Batch, Message, Plan, Recall, Recipe, SourceKind, SourceRequest, Viewer
from replays.player import AHEAD_TURNS, SETTLE_TURNS, Settling

ADA = Viewer(id="1", login="ada", name="Ada")


class Noted(FakeMemory):
    """Notes how it is settled; every turn looks into it, where `searches`."""

    def __init__(self, *, searches: bool = False) -> None:
        super().__init__()
        self.searches, self.behind = searches, 0
        self.ahead: list[Sequence[str]] = []

    async def begin_jobs(self) -> int:
        self._call("begin_jobs")
        return 0

    async def index_now(self) -> int:
        self._call("index_now")
        waiting, self.behind = self.behind, 0
        return waiting

    def embed_ahead(self, turn_ids: Sequence[str]) -> None:
        self.ahead.append(list(turn_ids))

    async def recall(self, batch: Batch, recipe: Recipe | None = None, *, as_of: datetime | None = None) -> Recall:
        found = await super().recall(batch, recipe, as_of=as_of)
        request = SourceRequest(kind=SourceKind.RECALL, query="q", why="asked", viewer_id="1")
        return replace(found, plan=Plan(requests=(request,))) if self.searches else found


def a_batch(number: int = 0, reason: str = "quiet") -> Batch:
    line = Message(id=f"m{number}", at=START, user=ADA, text="ciao")
    return Batch(stream_id="s1", lines=(line,), closed_at=START, flush_reason=reason)


async def test_a_turn_that_is_answered_finds_everything_settled() -> None:
    memory = Noted()
    await Settling(memory).before(a_batch(reason="addressed"))
    assert memory.log == ["run_jobs"]


async def test_now_and_then_settling_begins_at_turns_that_the_log_decides() -> None:
    memory = Noted()
    settling = Settling(memory, SETTLE_TURNS - 2)
    await settling.before(a_batch())
    assert memory.log == []
    await settling.before(a_batch())
    assert memory.log == ["begin_jobs"]


@pytest.mark.parametrize(("waiting", "looks"), [(3, 2), (0, 1)])
async def test_a_turn_that_searched_a_memory_that_was_behind_searches_again(waiting: int, looks: int) -> None:
    memory = Noted(searches=True)
    memory.behind = waiting
    parts = replace(Bench(memory=memory).parts, searched=Settling(memory).searched)
    await run_turn(a_batch(), parts)
    assert memory.log.count("recall") == looks
    assert memory.log.count("index_now") == 1


async def test_a_turn_that_searches_nothing_waits_for_nothing() -> None:
    memory = Noted()
    parts = replace(Bench(memory=memory).parts, searched=Settling(memory).searched)
    await run_turn(a_batch(), parts)
    assert "index_now" not in memory.log


async def test_recorded_turns_are_embedded_ahead_by_the_handful() -> None:
    memory = Noted()
    settling, parts = Settling(memory), Bench(memory=memory).parts
    for number in range(AHEAD_TURNS + 1):
        settling.over(await run_turn(a_batch(number), parts))
    assert [len(ids) for ids in memory.ahead] == [AHEAD_TURNS]
