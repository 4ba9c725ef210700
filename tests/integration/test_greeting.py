"""Who writes for the first time in a while may have their profile shown without a question: through the front door."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, opened, shown, tell
from builders_recall import BOT_VIEWER, a_batch, a_message
from builders_told import line, past

from memory import FULL, Limits, Memory, Recipe, Viewer

DAY: Recipe = replace(FULL, limits=Limits(greeting_hours=1.0))


def quoted(shown_line: str) -> str:
    return shown_line.split('"')[1]


async def greeting(memory: Memory, text: str, *, id_: str = "q", user: Viewer = ALICE, after: float = 10) -> list[str]:
    batch = a_batch(a_message(id_, text, user=user, after=after, mentions=(BOT_VIEWER,)))
    await memory.observe(batch)
    return shown(await memory.recall(batch))


@pytest.mark.parametrize("text", ["ciao @ricordo!", "buonasera a tutti", "hi @ricordo", "good evening everyone"])
async def test_the_first_message_in_a_while_brings_the_profile(tmp_path: Path, text: str) -> None:
    async with opened(tmp_path, recipe=DAY) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "I have a cat called Birba", after=-6900))
        assert {quoted(one) for one in await greeting(memory, text)} == {"vivo a Torino", "I have a cat called Birba"}
        assert await greeting(memory, "ciao ancora", id_="q2", after=20) == []


async def test_it_is_off_unless_it_is_switched_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"))
        assert await greeting(memory, "ciao @ricordo!") == []


async def test_who_was_there_just_now_or_never_before_is_not_greeted_with_anything(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=DAY) as memory:
        await past(memory, line("m1", "vivo a Torino"))
        await tell(memory, a_batch(a_message("m5", "eccomi", after=-60)))
        assert await greeting(memory, "ciao @ricordo!") == []
        assert await greeting(memory, "ciao @ricordo!", id_="q2", user=BOB) == []


async def test_after_a_restart_it_is_still_known_who_was_there(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=DAY) as memory:
        await past(memory, line("m1", "vivo a Torino"))
        await tell(memory, a_batch(a_message("m5", "eccomi", after=-60)))
    async with opened(tmp_path, recipe=DAY) as memory:
        assert await greeting(memory, "ciao @ricordo!") == []


async def test_a_viewer_sees_nothing_of_another(tmp_path: Path) -> None:
    async with opened(tmp_path, recipe=DAY) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "vivo a Como", user=BOB))
        assert [quoted(one) for one in await greeting(memory, "ciao @ricordo!", user=BOB)] == ["vivo a Como"]
