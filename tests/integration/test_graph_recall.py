"""Who shares what is asked for, and what links two viewers: through the memory's front door, on the real store."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, opened
from builders_recall import NOON, a_viewer
from builders_told import everything_in, items, line, past

from memory import FULL, ForgetRequest, Item, Memory, Recipe, RollbackRequest, recipes

CARLA = a_viewer("303", "Carla")
GRAPH = replace(recipes()["+graph"], name="full")


async def a_town(memory: Memory) -> None:
    await past(
        memory,
        line("m1", "gioco a Hades", after=-8000),
        line("m2", "gioco a Hades", user=BOB, after=-7900),
        line("m3", "vivo a Torino", user=BOB, after=-7800),
        line("m4", "vivo a Torino", user=CARLA, after=-7700),
        line("m5", "Dario gioca a Hades", user=CARLA, after=-7600),
    )


async def shared(memory: Memory, question: str) -> set[str]:
    return said([item for item in await items(memory, question) if item.source == "graph"])


def said(found: list[Item]) -> set[str]:
    return {source for item in found for source in item.provenance}


def edges(directory: Path) -> list[tuple[str, str, str]]:
    connection = sqlite3.connect(directory / "memory.db")
    try:
        return sorted(connection.execute("SELECT head, relation, tail FROM edge").fetchall())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("chi altro gioca a Hades?", {"m2"}),
        ("who else plays Hades?", {"m2"}),
        ("chi vive a Torino?", {"m3", "m4"}),
        ("chi altro gioca a Tetris?", set()),
        ("cosa ha in comune Bob con Carla?", {"m3", "m4"}),
    ],
)
async def test_who_shares_something_is_told_of_each_as_their_own(tmp_path: Path, question: str, expected: set[str]) -> None:
    async with opened(tmp_path, recipe=GRAPH) as memory:
        await a_town(memory)
        found = [item for item in await items(memory, question) if item.source == "graph"]
        if question.startswith("cosa"):
            assert expected & said(await items(memory, question)) == expected
        else:
            assert said(found) == expected
        assert all(item.subject == item.author for item in found)


async def test_without_it_the_question_finds_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=FULL) as memory:
        await a_town(memory)
        assert "m2" not in said(await items(memory, "chi altro gioca a Hades?"))


async def test_an_edge_has_the_times_of_its_fact_and_goes_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=GRAPH) as memory:
        await a_town(memory)
        await past(memory, line("m6", "mi sono trasferita a Lecce", user=CARLA, after=-6000))
        assert await shared(memory, "chi vive a Torino?") == {"m3"}
        await memory.rollback(RollbackRequest(at=NOON, viewer_id="202", since=NOON.replace(year=2020)))
        assert await shared(memory, "chi vive a Torino?") == set()
        assert len(edges(tmp_path)) == 5  # past ones stay in the record
        for viewer in (ALICE, BOB, CARLA):
            await memory.forget(ForgetRequest(scope="viewer", at=NOON, viewer_id=viewer.id))
        await memory.run_jobs()
        assert edges(tmp_path) == []
        assert "torino" not in everything_in(tmp_path).casefold()


async def test_what_one_claims_of_another_is_not_shared(tmp_path: Path) -> None:
    recipe: Recipe = GRAPH
    async with opened(tmp_path, recipe=recipe) as memory:
        await past(memory, line("m1", "ciao", user=BOB, after=-8000), line("m2", "Bob gioca a Hades", after=-7000))
        assert edges(tmp_path) == [("viewer:202", "plays", "game:hades")]
        assert [item for item in await items(memory, "chi gioca a Hades?", user=CARLA) if item.source == "graph"] == []


async def test_facts_from_before_the_graph_get_their_edges_once(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=GRAPH) as memory:
        await a_town(memory)
    made = edges(tmp_path)
    assert made
    with sqlite3.connect(tmp_path / "memory.db") as connection:
        connection.execute("DELETE FROM edge")
        connection.execute("DELETE FROM meta WHERE key = 'edges_made'")
    connection.close()
    for _ in range(2):
        async with opened(tmp_path, recipe=GRAPH) as memory:
            await memory.run_jobs()
            assert edges(tmp_path) == made
            assert [job.state for job in await memory.jobs(kind="edges")] == ["done"]
