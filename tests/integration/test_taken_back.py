"""What was taken back, or believed by nobody, right behind it is no memory. Through the memory's front door."""

from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, opened
from builders_told import items, line, past

BOAST = "lavoro come domatore di tigri in un circo svedese"
ASKED = "che lavoro faccio?"


async def shown_of(directory: Path, *lines: tuple[str, str, float]) -> set[str]:
    """The ids of the lines that are shown to Alice, of lines as (id, text, seconds behind the first); `b…` are Bob's."""
    async with opened(directory) as memory:
        told = [line(id_, text, after=-8000 + at, user=BOB if id_[0] == "b" else ALICE) for id_, text, at in lines]
        await past(memory, *told)
        return {source for item in await items(memory, ASKED) for source in item.provenance}


async def test_a_line_stands_where_the_chat_goes_on(tmp_path: Path) -> None:
    assert "m1" in await shown_of(tmp_path, ("m1", BOAST, 0), ("b1", "che coraggio", 10), ("m2", "grazie mille", 20))


@pytest.mark.parametrize("back", ["scherzavo eh", "me lo sono inventato", "just kidding"])
async def test_what_its_author_takes_back_is_shown_no_more(tmp_path: Path, back: str) -> None:
    assert "m1" not in await shown_of(tmp_path, ("m1", BOAST, 0), ("b1", "che coraggio", 10), ("m2", back, 60))


@pytest.mark.parametrize("scoff", ["sì e io sono Garibaldi", "yeah and i'm the queen of spain", "ma figurati"])
async def test_what_somebody_scoffs_at_is_not_shown(tmp_path: Path, scoff: str) -> None:
    assert "m1" not in await shown_of(tmp_path, ("m1", BOAST, 0), ("b1", scoff, 10))


async def test_a_joke_hours_later_takes_nothing_back(tmp_path: Path) -> None:
    assert "m1" in await shown_of(tmp_path, ("m1", BOAST, 0), ("m2", "scherzavo eh", 600))


async def test_a_long_line_speaks_of_something_else(tmp_path: Path) -> None:
    behind = "sì e io sono Garibaldi, diceva mio nonno ogni volta che apriva la finestra del fienile"
    assert "m1" in await shown_of(tmp_path, ("m1", BOAST, 0), ("b1", behind, 10))
