"""The clock of the machine is set back by an hour: nothing that waits by it waits for that hour."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random

from builders_jobs import QUICK, START, open_database
from builders_live import BOT, EAGER, Bench, at, message

from bot.addressing import Addressing
from bot.batching import Batcher, BatchingSettings
from bot.manners import Manners
from bot.speak import Pace, SpeakSettings
from memory import Batch, VirtualClock
from memory.breaker import Breaker
from memory.store import outbox
from memory.worker import Worker

HOUR = timedelta(hours=1)


class BackwardClock(VirtualClock):
    """A clock that can be set back, as an operator or a time server does."""

    def set_back(self, by: timedelta) -> None:
        self._now -= by


async def test_jobs_that_wait_run_and_are_not_lost(tmp_path: Path) -> None:
    database, clock = await open_database(tmp_path), BackwardClock(START)
    ran: list[str] = []

    async def work(payloads: object) -> None:
        ran.append(str(payloads))

    worker = Worker(database, clock=clock, limits=QUICK, random=Random(1))
    worker.register("index", work)
    now = clock.now()
    await worker._round()
    clock.set_back(HOUR)
    await database.write(lambda c: outbox.enqueue(c, kind="index", key="before", payload={"turn": "a"}, now=now))
    await worker._round()
    assert len(ran) == 1
    await database.close()


async def test_a_kind_that_was_held_is_tried_again() -> None:
    breaker = Breaker(2.0)
    for _ in range(3):
        breaker.failed("index", START)
    assert breaker.held_until("index", START) is not None
    assert breaker.held_until("index", START - HOUR) is None


def test_an_open_batch_closes_after_its_usual_wait() -> None:
    batcher = Batcher(BatchingSettings())
    batcher.open("s", at(0))
    batcher.add(message("ricordino?"), addressed=True, now=at(0))
    assert batcher.due(at(-3600)) == []
    (batch,) = batcher.due(at(-3599))
    assert (batch.flush_reason, batch.closed_at) == ("addressed", at(-3599.2))


def test_nobody_is_left_unanswered_for_the_hour() -> None:
    addressing = Addressing(BOT)
    manners = Manners(replace(EAGER, channel_cooldown_seconds=5, viewer_cooldown_seconds=5), addressing)

    def asked(seconds: float) -> Batch:
        line = message("ricordino ci sei?", seconds=seconds)
        return Batch(stream_id="s", lines=(line,), closed_at=at(seconds), flush_reason="addressed")

    assert manners.choose(asked(0), now=at(0)).to is not None
    assert manners.choose(asked(1), now=at(1)).to is None
    assert manners.choose(asked(-3600), now=at(-3600)).to is not None


def test_the_pace_of_posts_begins_anew() -> None:
    pace = Pace(SpeakSettings())
    pace.take(at(0))
    assert pace.wait(at(0)) > 0
    assert pace.wait(at(-3600)) == 0


async def test_a_database_that_was_away_is_asked_again() -> None:
    clock = BackwardClock(at(0))
    bench = Bench(clock=clock)
    bench.memory.away = {"begin_stream"}
    await bench.loop.feed(message("ciao"))
    bench.memory.away = set()
    clock.set_back(HOUR)
    await bench.loop.tick(clock.now())
    assert len(bench.memory.streams) == 1
