import asyncio
from dataclasses import replace

import pytest
from builders_recall import NOON, a_clock, own_words

from memory.channels.scoped import Asking
from memory.errors import StoreUnavailable
from memory.model import Candidate, Plan, Ranking, SourceKind, SourceRequest
from memory.recipes import FULL, Deadlines
from memory.retrieve import Retrieval
from memory.sources import Found, Source
from memory.trace import Trace

ALICE = SourceRequest(kind=SourceKind.PROFILE, why="", viewer_id="101")
BOB = SourceRequest(kind=SourceKind.PROFILE, why="", viewer_id="202")
LORE = SourceRequest(kind=SourceKind.LORE, why="", lore_ids=("moka",))
PATIENT = Deadlines(source_seconds=5, retrieve_seconds=6, recall_seconds=7)
FAST = Deadlines(source_seconds=0.05, retrieve_seconds=0.2, recall_seconds=0.5)


class Answers:
    """A source that answers at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        self.asked.append(request.name)
        candidate = Candidate(document=own_words("f", "x"), channel="exact", score=1.0, rank=1)
        return Found(rankings=(Ranking(request=request, channel="exact", candidates=(candidate,)),))


class Hangs:
    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        await asyncio.Event().wait()
        return Found()


class Breaks:
    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        raise StoreUnavailable(request.name)


class LosesAChannel:
    async def ask(self, request: SourceRequest, asking: Asking) -> Found:
        await asking.trace.run(f"{request.name}/dense", Hangs().ask(request, asking), within=0.01, otherwise=Found())
        return Found(rankings=(Ranking(request=request, channel="lexical"),))


def a_retrieval(*requests: SourceRequest, viewer: Source, deadlines: Deadlines = FAST) -> Retrieval:
    recipe = replace(FULL, deadlines=deadlines)
    asking = Asking(recipe=recipe, at=NOON, trace=Trace(a_clock(), total_seconds=5))
    sources: dict[SourceKind, Source] = {SourceKind.PROFILE: viewer, SourceKind.LORE: Answers()}
    return Retrieval(Plan(requests=requests), sources, asking)


async def test_rankings_come_in_the_order_of_the_plan_and_a_repeated_request_is_asked_once() -> None:
    viewer = Answers()
    retrieval = a_retrieval(LORE, BOB, ALICE, BOB, viewer=viewer)
    rankings = (await retrieval.ask_all()).rankings
    assert [ranking.request for ranking in rankings] == [LORE, BOB, ALICE]
    assert viewer.asked == ["viewer:202:profile", "viewer:101:profile"]
    assert retrieval.left_out() == ((), ())


@pytest.mark.parametrize(
    ("broken", "late", "failed"),
    [(Hangs(), ("viewer:101:profile",), ()), (Breaks(), (), ("viewer:101:profile",))],
)
async def test_a_source_that_hangs_or_breaks_is_named_and_the_others_stand(
    broken: Source, late: tuple[str, ...], failed: tuple[str, ...]
) -> None:
    retrieval = a_retrieval(ALICE, LORE, viewer=broken)
    rankings = (await asyncio.wait_for(retrieval.ask_all(), 2)).rankings
    assert [ranking.request for ranking in rankings] == [LORE]
    assert retrieval.left_out() == (late, failed)


async def test_a_source_without_one_of_its_channels_is_named_and_still_gives_the_rest() -> None:
    retrieval = a_retrieval(ALICE, viewer=LosesAChannel())
    assert [ranking.channel for ranking in (await retrieval.ask_all()).rankings] == ["lexical"]
    assert retrieval.left_out() == (("viewer:101:profile",), ())


async def test_what_arrived_before_the_stage_was_cut_off_is_kept() -> None:
    retrieval = a_retrieval(LORE, ALICE, viewer=Hangs(), deadlines=PATIENT)
    stage = asyncio.create_task(retrieval.ask_all())
    for _ in range(50):
        await asyncio.sleep(0)
    stage.cancel()
    await asyncio.wait({stage})
    assert [ranking.request for ranking in retrieval.found.rankings] == [LORE]
    assert retrieval.left_out() == (("viewer:101:profile",), ())
