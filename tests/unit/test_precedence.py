"""The chat goes first: background work waits between its pieces, and not for ever."""

import asyncio
import threading

import numpy as np
import pytest
from fakes.hash_embedder import HashEmbedder

from memory import precedence as precedence_module
from memory.polite import PoliteEmbedder
from memory.precedence import Precedence


def waited(precedence: Precedence) -> threading.Thread:
    thread = threading.Thread(target=precedence.give_way, daemon=True)
    thread.start()
    return thread


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precedence_module, "_LONGEST_SECONDS", 30.0)
    monkeypatch.setattr(precedence_module, "_BEHIND_SECONDS", 30.0)


def test_before_it_is_live_nobody_waits() -> None:
    precedence = Precedence()
    with precedence.serving():
        precedence.give_way()


def test_a_thread_waits_while_the_chat_is_served_and_goes_on_after() -> None:
    precedence = Precedence()
    precedence.begin()
    with precedence.serving():
        thread = waited(precedence)
        thread.join(0.05)
        assert thread.is_alive()
    thread.join(10)
    assert not thread.is_alive()


async def test_a_task_waits_while_the_chat_is_behind() -> None:
    precedence = Precedence()
    precedence.begin()
    precedence.behind(behind=True)
    task = asyncio.create_task(precedence.giving_way())
    await asyncio.sleep(0.02)
    assert not task.done()
    precedence.behind(behind=False)
    await asyncio.wait_for(task, 10)


async def test_a_chat_that_never_rests_lets_background_work_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precedence_module, "_LONGEST_SECONDS", 0.01)
    precedence = Precedence()
    precedence.begin()
    with precedence.serving():
        precedence.give_way()
        await precedence.giving_way()


def test_at_the_end_what_waits_is_let_go() -> None:
    precedence = Precedence()
    precedence.begin()
    precedence.behind(behind=True)
    thread = waited(precedence)
    precedence.end()
    thread.join(10)
    assert not thread.is_alive()


async def test_an_embedder_in_pieces_gives_the_same_vectors() -> None:
    plain, precedence = HashEmbedder(dimension=16), Precedence()
    polite = PoliteEmbedder(plain, precedence)
    texts = [f"testo {number}" for number in range(100)]
    whole = await polite.embed(texts)
    precedence.begin()
    assert np.array_equal(await polite.embed(texts), whole)
    assert np.array_equal(await polite.embed_query(texts[0]), whole[:1])
    assert (polite.name, polite.dimension) == (plain.name, 16)
    await polite.close()
    assert len(await plain.embed(["ancora"])) == 1
