"""What viewers put right in plain words is put right by the rules alone, where no language model has tools."""

from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, opened, tell
from builders_recall import BOT_VIEWER, a_batch, a_message, a_stream

from memory import Memory


async def current(memory: Memory) -> dict[str, str]:
    """The facts that are held true of Alice, by their first line, and whether the message behind each is current."""
    held = await memory.documents_of(ALICE.id)
    return {one.text.splitlines()[0]: one.kind for one in held if one.invalid_at is None}


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("mi chiamo Maria", "ricordo no, mi chiamo Marta"),
        ("mi chiamo Maria", "@ricordo non mi chiamo Maria, mi chiamo Marta"),
        ("mi chiamo Maria", "ricordo mi chiamo Marta non Maria"),
        ("vivo a Milano", "ricordo non vivo più a Milano, sto a Roma"),
        ("abito a Milano", "ricordo ti sbagli, abito a Roma"),
        ("abito a Milano", "ricordo guarda che ora vivo a Roma"),
        ("my name is Mary", "ricordo no, my name is Martha"),
        ("my name is Mary", "ricordo I'm called Martha not Mary"),
        ("I live in Milan", "ricordo I don't live in Milan anymore, I live in Rome"),
        ("I live in Milan", "ricordo that's wrong, I live in Rome"),
    ],
)
async def test_what_was_wrong_or_has_changed_is_no_longer_current(tmp_path: Path, first: str, then: str) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", first, after=1)))
        await memory.run_jobs()
        assert first in await current(memory)
        await tell(memory, a_batch(a_message("m2", then, after=600, mentions=(BOT_VIEWER,))))
        await memory.run_jobs()
        left = await current(memory)
        assert first not in left
        assert any(text in then for text in left)


async def test_what_has_only_ended_leaves_nothing_in_its_place(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", "I live in Milan", after=1)))
        await memory.run_jobs()
        await tell(memory, a_batch(a_message("m2", "I don't live in Milan any more", after=600)))
        await memory.run_jobs()
        assert "I live in Milan" not in await current(memory)


async def test_nobody_is_put_right_by_what_another_says(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        bob = a_message("m2", "no, Alice si chiama Marta", user=BOB, after=2)
        await tell(memory, a_batch(a_message("m1", "mi chiamo Maria", after=1), bob))
        await memory.run_jobs()
        assert "mi chiamo Maria" in await current(memory)
