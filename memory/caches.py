"""Bounded caches with lifetimes, invalidated by identity, and the sharing of identical work in flight.

A cache never serves what was invalidated: a load that began before an invalidation is neither stored nor handed to whoever asks
afterwards.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from lore.entry import LoreEntry
from memory.clock import Clock
from memory.model import Document
from memory.ports import Vectors
from memory.recipes import Caches
from memory.trace import Abandoned

Hits = list[tuple[str, float]]  # document ids of one collection with one channel's scores, best first
Canon = tuple[list[Document], list[LoreEntry]]  # as it is searched, and as it was written
_CANON_SECONDS = 10 * 365 * 86_400.0  # vectors of the canon: kept by content, and no viewer's words
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(slots=True)
class _Flight(Generic[V]):
    task: asyncio.Task[V]
    tags: tuple[str, ...]
    waiting: int = 0


@dataclass(frozen=True, slots=True)
class _Kept(Generic[V]):
    value: V
    at: datetime
    tags: tuple[str, ...] = field(default=())


class Cache(Generic[K, V]):
    """Values by key, each with the identities (`tags`) it was made from; concurrent requests for one key share one load."""

    def __init__(self, *, seconds: float, entries: int, clock: Clock, abandoned: Abandoned | None = None) -> None:
        """Keep `entries` values for `seconds`; loads that nobody waits for any more go to `abandoned`."""
        self._lifetime = timedelta(seconds=seconds)
        self._entries = entries
        self._clock = clock
        self._kept: OrderedDict[K, _Kept[V]] = OrderedDict()
        self._flights: dict[K, _Flight[V]] = {}
        self._abandoned = Abandoned() if abandoned is None else abandoned

    def __len__(self) -> int:
        """Return the number of values kept."""
        return len(self._kept)

    def holds(self, key: K) -> bool:
        """Return whether `get` would not have to start a load."""
        return self._living(key) is not None or key in self._flights

    async def get(self, key: K, load: Callable[[], Awaitable[V]], *, tags: Iterable[str] = ()) -> V:
        """Return the value of `key`: kept, from a load in flight, or from `load()`. Errors are raised and not kept."""
        kept = self._living(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept.value
        return await self._board(key, self._flights.get(key) or self._start(key, load, tuple(tags)))

    def invalidate(self, *tags: str) -> None:
        """Forget everything made from these identities, and let nobody join a load of them that is under way."""
        gone = set(tags)
        for key in [key for key, kept in self._kept.items() if gone.intersection(kept.tags)]:
            del self._kept[key]
        for key in [key for key, flight in self._flights.items() if gone.intersection(flight.tags)]:
            del self._flights[key]

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()
        self._flights.clear()

    def _living(self, key: K) -> _Kept[V] | None:
        kept = self._kept.get(key)
        return kept if kept is not None and timedelta(0) <= self._clock.now() - kept.at < self._lifetime else None

    def _start(self, key: K, load: Callable[[], Awaitable[V]], tags: tuple[str, ...]) -> _Flight[V]:
        async def land() -> V:
            value = await load()
            if self._flights.get(key) is flight:  # neither invalidated nor given up on meanwhile
                self._keep(key, _Kept(value, self._clock.now(), tags))
            return value

        flight = _Flight(asyncio.create_task(land()), tags)
        self._flights[key] = flight
        flight.task.add_done_callback(lambda _: self._landed(key, flight))
        return flight

    async def _board(self, key: K, flight: _Flight[V]) -> V:
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        except asyncio.CancelledError:
            if not flight.task.done():  # somebody gave up on it: it may hang, so it takes no new passengers
                self._forget_flight(key, flight)
            raise
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                self._abandoned.take(flight.task)

    def _keep(self, key: K, kept: _Kept[V]) -> None:
        if self._entries <= 0 or not self._lifetime:
            return
        self._kept[key] = kept
        self._kept.move_to_end(key)
        while len(self._kept) > self._entries:
            self._kept.popitem(last=False)

    def _forget_flight(self, key: K, flight: _Flight[V]) -> None:
        if self._flights.get(key) is flight:
            del self._flights[key]

    def _landed(self, key: K, flight: _Flight[V]) -> None:
        self._forget_flight(key, flight)
        if not flight.task.cancelled():
            flight.task.exception()  # read, so that asyncio does not report it where every passenger left


class RecallCaches:
    """Every cache of the hot path, by kind of information, and the count of erasures that a recall in flight checks.

    The tags are names of collections.
    """

    def __init__(self, settings: Caches, clock: Clock, abandoned: Abandoned | None = None) -> None:
        """Make them by the settings; what nobody waits for any more goes to `abandoned`."""
        query, entries = settings.query_seconds, settings.entries
        self.vectors = Cache[bytes, Vectors](seconds=query, entries=entries, clock=clock, abandoned=abandoned)
        self.hits = Cache[tuple[str, str, str, int], Hits](seconds=query, entries=entries, clock=clock, abandoned=abandoned)
        self.profiles = Cache[tuple[str, str], list[Document]](
            seconds=settings.profile_seconds, entries=entries, clock=clock, abandoned=abandoned
        )
        self.lore = Cache[str, Canon](seconds=settings.lore_seconds, entries=1, clock=clock, abandoned=abandoned)
        self.texts = Cache[tuple[bytes, ...], Vectors](
            seconds=settings.lore_seconds, entries=entries, clock=clock, abandoned=abandoned
        )
        self.canon = Cache[tuple[bytes, ...], Vectors](seconds=_CANON_SECONDS, entries=1, clock=clock, abandoned=abandoned)
        self.erasures = 0

    def changed(self, *collections: str) -> None:
        """Forget what was made from these collections."""
        self.hits.invalidate(*collections)
        self.profiles.invalidate(*collections)
        self.lore.invalidate(*collections)

    def index_changed(self) -> None:
        """Forget every search and profile: new documents can be found now."""
        self.hits.clear()
        self.profiles.clear()

    def erased(self) -> None:
        """Forget everything that may hold what was erased, and make every recall in flight look again."""
        self.erasures += 1
        self.index_changed()
        self.vectors.clear()
        self.texts.clear()
