import asyncio
from datetime import timedelta

import numpy as np
import pytest
from builders_recall import a_clock

from memory.caches import Cache, RecallCaches
from memory.clock import VirtualClock
from memory.ports import Vectors
from memory.recipes import Caches


class Loads:
    """A loader that counts, and waits until it is let go."""

    def __init__(self, *, open_: bool = True) -> None:
        self.count = 0
        self.cancelled = 0
        self.gate = asyncio.Event()
        if open_:
            self.gate.set()

    async def __call__(self) -> int:
        self.count += 1
        mine = self.count
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return mine


def a_cache(clock: VirtualClock | None = None, *, seconds: float = 30, entries: int = 8) -> Cache[str, int]:
    return Cache(seconds=seconds, entries=entries, clock=clock or a_clock())


async def test_a_kept_value_is_served_until_its_lifetime_ends() -> None:
    clock, loads = a_clock(), Loads()
    cache = a_cache(clock)
    assert not cache.holds("a")
    assert [await cache.get("a", loads), await cache.get("a", loads)] == [1, 1]
    assert cache.holds("a")
    clock.advance(timedelta(seconds=30))
    assert await cache.get("a", loads) == 2
    assert loads.count == 2


async def test_the_least_recently_used_value_goes_first() -> None:
    loads = Loads()
    cache = a_cache(entries=2)
    for key in "abac":
        await cache.get(key, loads)
    assert len(cache) == 2
    assert await cache.get("a", loads) == 1
    assert await cache.get("b", loads) == 4


@pytest.mark.parametrize(("seconds", "entries"), [(0, 8), (30, 0)])
async def test_a_cache_switched_off_keeps_nothing(seconds: float, entries: int) -> None:
    loads = Loads()
    cache = a_cache(seconds=seconds, entries=entries)
    assert [await cache.get("a", loads), await cache.get("a", loads)] == [1, 2]
    assert len(cache) == 0


async def test_concurrent_requests_share_one_load() -> None:
    loads = Loads(open_=False)
    cache = a_cache()
    waiting = [asyncio.create_task(cache.get("a", loads)) for _ in range(5)]
    await asyncio.sleep(0)
    loads.gate.set()
    assert [await task for task in waiting] == [1] * 5
    assert loads.count == 1


async def test_a_failed_load_reaches_every_waiter_and_is_not_kept() -> None:
    cache = a_cache()

    async def fail() -> int:
        await asyncio.sleep(0)
        raise RuntimeError

    waiting = [asyncio.create_task(cache.get("a", fail)) for _ in range(2)]
    for task in waiting:
        with pytest.raises(RuntimeError):
            await task
    assert await cache.get("a", Loads()) == 1


async def test_an_invalidation_forgets_what_carries_the_tag_and_no_more() -> None:
    loads = Loads()
    cache = a_cache()
    await cache.get("a", loads, tags=["viewer-1"])
    await cache.get("b", loads, tags=["viewer-2"])
    cache.invalidate("viewer-1")
    assert await cache.get("b", loads) == 2
    assert await cache.get("a", loads) == 3


async def test_a_load_that_began_before_an_invalidation_is_neither_kept_nor_joined() -> None:
    before, after = Loads(open_=False), Loads()
    cache = a_cache()
    early = asyncio.create_task(cache.get("a", before, tags=["viewer-1"]))
    await asyncio.sleep(0)
    cache.invalidate("viewer-1")
    assert await cache.get("a", after, tags=["viewer-1"]) == 1
    assert after.count == 1
    before.gate.set()
    await early
    after.count = 41
    assert await cache.get("a", after) == 1  # the later load's value, not the earlier one's


async def test_the_others_still_get_a_load_that_one_gave_up_on() -> None:
    loads = Loads(open_=False)
    cache = a_cache()
    impatient = asyncio.create_task(cache.get("a", loads))
    patient = asyncio.create_task(cache.get("a", loads))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.wait({impatient})
    loads.gate.set()
    assert await patient == 1


async def test_a_load_that_somebody_gave_up_on_takes_no_new_passengers() -> None:
    hung, fresh = Loads(open_=False), Loads()
    cache = a_cache()
    waiting = [asyncio.create_task(cache.get("a", hung)) for _ in range(2)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait({waiting[0]})
    assert await cache.get("a", fresh) == 1
    assert fresh.count == 1
    waiting[1].cancel()
    await asyncio.wait({waiting[1]})
    await asyncio.sleep(0)
    assert hung.cancelled == 1  # nobody waits for it any more


async def test_clearing_forgets_values_and_loads_in_flight() -> None:
    before = Loads(open_=False)
    cache = a_cache()
    early = asyncio.create_task(cache.get("a", before))
    await asyncio.sleep(0)
    cache.clear()
    before.gate.set()
    await early
    assert len(cache) == 0


async def test_each_change_forgets_what_it_touches() -> None:
    caches = RecallCaches(Caches(), a_clock())

    async def no_hits() -> list[tuple[str, float]]:
        return []

    async def no_facts() -> list[object]:
        return []

    async def fill() -> None:
        for collection in ("viewer-1", "viewer-2", "stream-s1", "lore"):
            await caches.hits.get(("dense", collection, "q", 16), no_hits, tags=(collection,))
        await caches.profiles.get(("1", ""), no_facts, tags=("viewer-1",))  # type: ignore[arg-type]  # an empty list is one of any kind

    await fill()
    caches.changed("viewer-1")
    assert (len(caches.hits), len(caches.profiles)) == (3, 0)
    caches.changed("stream-s1", "lore")
    assert len(caches.hits) == 1
    await fill()
    caches.erased()
    assert (len(caches.hits), len(caches.profiles), caches.erasures) == (0, 0, 1)


async def test_what_was_made_of_the_canon_stays_when_a_viewers_words_are_erased() -> None:
    caches = RecallCaches(Caches(), a_clock())

    async def vectors() -> Vectors:
        return np.ones((1, 2), dtype=np.float32)

    for cache in (caches.texts, caches.canon):
        await cache.get((b"text",), vectors)
    caches.erased()
    assert (len(caches.texts), len(caches.canon)) == (0, 1)
