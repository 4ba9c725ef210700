"""The index's parts without Chroma: names and places, leases on folders, the exact cache, bounded calls."""

import asyncio
import resource
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
from builders_index import unit

from memory.errors import IndexUnavailable, MemoryClosed
from memory.store.calls import Calls
from memory.store.chroma_client import ChromaClient
from memory.store.folders import FolderLimits, Folders
from memory.store.shards import Registry, chroma_name, folder_of, kind_of
from memory.store.vector_cache import CachedCollection, VectorCache

# names and places


@pytest.mark.parametrize("name", ["viewer-123", "stream-2026.01.02_x", "lore", "viewer-abc"])
def test_a_valid_name_stays_as_it_is(name: str) -> None:
    assert chroma_name(name) == name


@pytest.mark.parametrize(
    "name", ["viewer-abc_", "viewer-login:x", "viewer-../x", "a", "1.2.3.4", "viewer-a..b", "viewer-\ud800", "x" * 200]
)
def test_an_invalid_name_becomes_a_digest_of_its_kind(name: str) -> None:
    assert chroma_name(name) != name
    assert kind_of(chroma_name(name)) == kind_of(name)
    assert chroma_name(chroma_name(name)) == chroma_name(name)


def test_folders_fill_up_in_order_of_appearance() -> None:
    assert [folder_of("viewers", n) for n in (0, 399, 400, 100_000)] == [
        "viewers/000",
        "viewers/000",
        "viewers/001",
        "viewers/250",
    ]
    assert [folder_of("streams", n) for n in (0, 63, 64)] == ["streams/0", "streams/0", "streams/1"]
    assert [folder_of("core", n) for n in (0, 400)] == ["core", "core/001"]


def test_a_place_is_given_once_and_never_again_after_it_was_forgotten(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path)
    first = registry.assign(["viewer-1", "viewer-2"])
    assert [new for _, new in first.values()] == [True, True]
    assert [new for _, new in registry.assign(["viewer-1", "viewer-3"]).values()] == [False, True]
    registry.forget("viewer-1", "viewers/000")
    assert registry.find("viewer-1") is None
    assert registry.unclean() == {"viewers/000": []}
    registry.assign([f"viewer-{n}" for n in range(10, 408)])
    place = registry.find("viewer-407")
    assert place is not None
    assert place.folder == "viewers/001"
    registry.close()


def test_an_error_leaves_the_registry_as_it_was(tmp_path: Path) -> None:
    registry = Registry.open(tmp_path)

    def names() -> Iterator[str]:
        yield "viewer-1"
        raise LookupError

    with pytest.raises(LookupError):
        registry.assign(names())
    assert registry.find("viewer-1") is None
    registry.close()


# leases


class _Client:
    def __init__(self, name: str, shop: "_Shop") -> None:
        self.name, self._shop = name, shop
        shop.opened.append(name)

    def close(self) -> None:
        if self._shop.stuck:
            msg = "it does not close; try again"
            raise IndexUnavailable(msg)
        self._shop.closed.append(self.name)


class _Shop:
    def __init__(self, **limits: float) -> None:
        self.opened: list[str] = []
        self.closed: list[str] = []
        self.fail = self.stuck = False
        self.folders: Folders[_Client] = Folders(self._open, FolderLimits(**limits))  # type: ignore[arg-type]  # ints and floats

    def _open(self, name: str) -> _Client:
        if self.fail:
            msg = "no; try again"
            raise IndexUnavailable(msg)
        return _Client(name, self)

    def use(self, name: str, collection: str) -> None:
        with self.folders.lease(name, collection):
            pass


def test_a_folder_is_opened_once_and_the_least_used_is_closed_for_another() -> None:
    shop = _Shop(folders=2)
    for name in ("a", "b", "a", "c"):
        shop.use(name, "x")
    assert shop.opened == ["a", "b", "c"]
    assert shop.closed == ["b"]
    assert len(shop.folders) == 2


def test_a_folder_in_use_is_never_closed() -> None:
    shop = _Shop(folders=1)
    with ExitStack() as stack:
        for name in ("a", "b", "c"):
            stack.enter_context(shop.folders.lease(name, "x"))
        assert shop.closed == []
    shop.use("d", "x")
    assert sorted(shop.closed) == ["a", "b", "c"]


def test_a_client_is_recycled_before_it_touches_too_many_collections() -> None:
    shop = _Shop(touched_each=3)
    for n in range(7):
        shop.use("a", f"c{n}")
        shop.use("a", f"c{n}")
    assert shop.opened == ["a"] * 3
    assert shop.folders.touched == 1


def test_all_clients_together_touch_no_more_than_allowed() -> None:
    shop = _Shop(touched_all=4)
    for n in range(12):
        shop.use(f"f{n % 3}", f"c{n}")
        assert shop.folders.touched <= 4


def test_a_folder_that_does_not_open_is_tried_again() -> None:
    shop = _Shop()
    shop.fail = True
    with pytest.raises(IndexUnavailable):
        shop.use("a", "x")
    shop.fail = False
    shop.use("a", "x")
    assert shop.opened == ["a"]


def test_recycling_waits_for_the_lease_and_gives_up_at_last() -> None:
    shop = _Shop(touched_each=1, wait_seconds=0.05)
    with shop.folders.lease("a", "x"), pytest.raises(IndexUnavailable, match="restart"):
        shop.use("a", "y")
    shop.use("a", "y")
    assert shop.closed == ["a"]


def test_a_client_that_does_not_close_holds_nobody_up() -> None:
    shop = _Shop(folders=1, wait_seconds=0.05)
    shop.use("a", "x")
    shop.stuck = True
    with pytest.raises(IndexUnavailable):
        shop.use("b", "x")
    shop.stuck = False
    shop.use("b", "y")
    shop.use("a", "x")
    assert shop.opened == ["a", "b", "a"]


def test_many_threads_share_folders_without_using_a_closed_one() -> None:
    shop = _Shop(folders=2, touched_each=2, touched_all=3)
    broken: list[str] = []

    def work(seed: int) -> None:
        for n in range(150):
            with shop.folders.lease(f"f{(n * seed) % 5}", f"c{n % 4}") as client:
                before = shop.closed.count(client.name), shop.opened.count(client.name)
                if before[0] >= before[1]:
                    broken.append(client.name)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not broken
    shop.folders.close()
    assert sorted(shop.opened) == sorted(shop.closed)


def test_the_file_limit_bounds_what_a_client_touches() -> None:
    with _file_limit(256):
        assert FolderLimits(touched_each=64).each() == 43
    with _file_limit(4096):
        assert FolderLimits(touched_each=64).each() == 64


@contextmanager
def _file_limit(soft: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# the exact cache


def test_a_deleted_row_is_overwritten_by_the_last() -> None:
    vectors = unit(4)
    held = CachedCollection(["a", "b", "c", "d"], vectors)
    held.delete(["b", "nobody", "d"])
    assert held.ids == {"a", "c"}
    assert next(name for name, _ in held.search(vectors[2:3], 9)) == "c"
    held.upsert(["e", "a"], vectors[[1, 3]])
    assert dict(held.search(vectors[3:], 1)) == {"a": pytest.approx(1.0, abs=1e-5)}
    assert len(held) == 3


def test_a_load_that_a_write_overtook_is_not_kept() -> None:
    cache = VectorCache(max_bytes=10**6, max_rows=100)
    token = cache.begin_load("v")
    cache.begin_write("v")
    cache.end_upsert("v", ["new"], unit(1), fresh=False)
    cache.end_load("v", token, CachedCollection(["old"], unit(1)))
    assert cache.get("v") is None
    late = cache.begin_load("v")
    cache.begin_write("v")
    cache.end_load("v", late, CachedCollection(["old"], unit(1)))
    assert cache.get("v") is None


def test_the_cache_follows_writes_and_forgets_doubtful_ones() -> None:
    cache = VectorCache(max_bytes=10**6, max_rows=3)
    cache.begin_write("v")
    cache.end_upsert("v", ["a"], unit(1), fresh=True)
    cache.begin_write("v")
    cache.end_upsert("v", ["b"], unit(1), fresh=False)
    held = cache.get("v")
    assert held is not None
    assert held.ids == {"a", "b"}
    cache.begin_write("v")
    cache.end_upsert("v", ["c", "d"], unit(2), fresh=False)
    assert cache.get("v") is None  # larger than a cached collection may be
    assert cache.bytes == 0
    cache.begin_write("w")
    cache.end_upsert("w", ["a"], unit(1), fresh=True)
    cache.begin_write("w")
    cache.end_unknown("w")
    assert cache.get("w") is None


def test_the_cache_stays_within_its_bytes() -> None:
    one = CachedCollection(["a"], unit(1)).bytes
    cache = VectorCache(max_bytes=3 * one, max_rows=100)
    for n in range(9):
        cache.begin_write(f"v{n}")
        cache.end_upsert(f"v{n}", ["a"], unit(1), fresh=True)
        cache.get("v0")
    assert len(cache) == 3
    assert cache.bytes == 3 * one
    assert cache.get("v0") is not None
    cache.clear()
    assert (len(cache), cache.bytes) == (0, 0)


def test_ties_at_the_cut_are_decided_by_id() -> None:
    held = CachedCollection(["c", "b", "a"], np.repeat(unit(1), 3, axis=0))
    assert [name for name, _ in held.search(unit(1), 2)] == ["a", "b"]


# bounded calls


async def test_abandoned_calls_are_counted_until_they_hold_every_thread() -> None:
    calls, gate = Calls("read", threads=1, waiting=4), threading.Event()
    late: list[str] = []
    task = asyncio.create_task(calls.run(gate.wait, late=lambda: late.append("late")))
    await asyncio.sleep(0.05)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert (calls.abandoned, late) == (1, [])
    with pytest.raises(IndexUnavailable, match="hangs"):
        await calls.run(lambda: 1)
    gate.set()
    await asyncio.sleep(0.1)
    assert calls.unfinished == 0
    assert await calls.run(lambda: 2) == 2
    assert late == ["late"]
    assert await calls.close(1)


async def test_a_call_that_waits_for_a_thread_is_simply_cancelled() -> None:
    calls, gate = Calls("write", threads=1, waiting=2, patient=True), threading.Event()
    running = asyncio.create_task(calls.run(gate.wait))
    ran: list[int] = []
    waiting = asyncio.create_task(calls.run(lambda: ran.append(1)))
    await asyncio.sleep(0.02)
    with pytest.raises(IndexUnavailable, match="later"):
        await calls.run(lambda: 3)
    waiting.cancel()
    with suppress(asyncio.CancelledError):
        await waiting
    gate.set()
    assert await running
    assert (ran, calls.abandoned) == ([], 0)
    assert await calls.close(1)
    with pytest.raises(MemoryClosed):
        await calls.run(lambda: 4)


async def test_closing_does_not_wait_for_ever() -> None:
    calls, gate = Calls("read", threads=1, waiting=2), threading.Event()
    task = asyncio.create_task(calls.run(gate.wait))
    await asyncio.sleep(0.02)
    assert not await calls.close(0.01)
    gate.set()
    assert await task


# errors of the native half


class PanicException(BaseException):
    """As the Rust bindings name theirs."""


def test_a_panic_inside_chroma_becomes_an_error_of_the_memory(tmp_path: Path) -> None:
    client = ChromaClient(tmp_path)
    try:
        with pytest.raises(IndexUnavailable, match="reindex"), client._translated():
            raise PanicException
        with pytest.raises(KeyboardInterrupt), client._translated():
            raise KeyboardInterrupt
    finally:
        client.close()
