"""Taking decisions about facts back: through the memory's front door, on the real store."""

from datetime import timedelta
from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, opened
from builders_recall import NOON
from builders_told import current, facts, items, line, past, said_of

from memory import Deletion, Document, InvalidRow, Memory, RollbackRequest, UndoRequest


async def of(memory: Memory, source: str, viewer_id: str = "101") -> Document:
    """Return the fact that a message stated, past and taken back ones too."""
    history = await memory.fact_history(viewer_id)
    found = next(one for one in history if source in one.provenance)
    return Document(
        id=found.id, collection="", kind="fact", text=found.text, at=found.said_at, provenance=found.provenance,
        valid_at=found.valid_at, invalid_at=found.invalid_at,
    )  # fmt: skip


async def moved(memory: Memory) -> None:
    await past(memory, line("m1", "vivo a Torino", after=-8000), line("m2", "mi sono trasferita a Bologna"))


async def undo(memory: Memory, id_: str | None = None, act: int | None = None) -> int:
    receipt = await memory.undo(UndoRequest(at=NOON, id=id_, act=act))
    await memory.run_jobs()
    assert receipt.documents
    assert receipt.act is not None
    return receipt.act


async def test_an_ending_that_is_taken_back_leaves_both_true(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        await undo(memory, (await of(memory, "m1")).id)
        assert sorted(await current(tmp_path)) == ["mi sono trasferita a Bologna", "vivo a Torino"]
        assert (await said_of(memory))["m1"].invalid_at is None
        assert any("Torino" in item.text for item in await items(memory, "dove vivo?"))


async def test_a_statement_that_is_taken_back_is_nowhere_and_what_it_ended_is_true_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        fact = await of(memory, "m2")
        await undo(memory, fact.id[:12])
        assert await current(tmp_path) == ["vivo a Torino"]
        assert fact.id not in {one.id for one in await facts(memory)}
        assert "m2" in await said_of(memory)  # the message stays
        block = (await items(memory, "cosa ricordi di me?"))[0:]
        assert any("Torino" in item.text for item in block)


async def test_taking_back_is_taken_back_itself(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        before = await current(tmp_path)
        fact = await of(memory, "m2")
        await undo(memory, fact.id)
        act = await undo(memory, fact.id)
        assert await current(tmp_path) == before
        assert (await said_of(memory))["m1"].invalid_at is not None
        assert fact.id in {one.id for one in await facts(memory)}
        await undo(memory, act=act)
        assert await current(tmp_path) == ["vivo a Torino"]


async def test_a_message_that_is_read_again_does_not_state_again_what_was_taken_back(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        await undo(memory, (await of(memory, "m2")).id)
        await past(memory, line("m2", "mi sono trasferita a Bologna"))
        assert await current(tmp_path) == ["vivo a Torino"]
        await past(memory, line("m5", "ora vivo a Bologna", after=-5000))
        assert await current(tmp_path) == ["ora vivo a Bologna"]


async def test_what_was_believed_before_it_was_taken_back_is_still_known(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        then = NOON + timedelta(seconds=1)  # the clock of this memory stands at noon
        await undo(memory, (await of(memory, "m2")).id)
        told = await memory.facts("101", as_of=NOON - timedelta(seconds=7500), known_at=then)
        assert [one.provenance for one in told] == [("m1",)]
        assert await memory.facts("101", known_at=NOON - timedelta(days=1)) == []


async def test_a_rollback_takes_back_all_of_one_author_since_a_moment_and_nothing_else(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(
            memory,
            line("m1", "vivo a Torino", after=-8000),
            line("m2", "mi sono trasferita a Bologna", after=-6000),
            line("m3", "faccio la cuoca", after=-5900),
            line("m4", "vivo a Lecce", after=-5800, user=BOB),
        )
        order = RollbackRequest(at=NOON, viewer_id="101", since=NOON - timedelta(seconds=6500), by="1")
        receipt = await memory.rollback(order)
        await memory.run_jobs()
        assert await current(tmp_path) == ["vivo a Torino"]
        assert await current(tmp_path, "202") == ["vivo a Lecce"]
        assert set(await said_of(memory)) == {"m1", "m2", "m3"}
        (entry,) = await memory.audit()
        assert (entry.verb, entry.by, entry.viewer_id, entry.documents) == ("rollback", "1", "101", 3)
        assert not (await memory.rollback(order)).documents
        await undo(memory, act=receipt.act)
        assert sorted(await current(tmp_path)) == ["faccio la cuoca", "mi sono trasferita a Bologna"]


async def test_in_a_chain_what_is_taken_back_hands_on_what_it_had_ended(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(
            memory,
            line("m1", "vivo a Torino", after=-8000),
            line("m2", "mi sono trasferita a Bologna", after=-7000),
            line("m3", "mi sono trasferita a Lecce", after=-6000),
        )
        await undo(memory, (await of(memory, "m2")).id)  # its ending: Bologna and Lecce
        await undo(memory, (await of(memory, "m2")).id)  # the ending stands again
        assert await current(tmp_path) == ["mi sono trasferita a Lecce"]
        act = (await memory.fact_history("101"))[1].decisions[0].act
        await undo(memory, act=act)  # Bologna was never said
        assert await current(tmp_path) == ["mi sono trasferita a Lecce"]
        assert (await of(memory, "m1")).invalid_at == NOON - timedelta(seconds=6000)


async def test_nothing_named_is_refused_and_nothing_found_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        with pytest.raises(InvalidRow, match="needs the id"):
            await memory.undo(UndoRequest(at=NOON))
        for nothing in (UndoRequest(at=NOON, id="nope"), UndoRequest(at=NOON, act=999)):
            assert (await memory.undo(nothing)).total == 0
        assert await memory.audit() == []


async def test_forgetting_takes_the_decisions_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await moved(memory)
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m2"))
        await memory.run_jobs()
        (one,) = await memory.fact_history("101")
        assert [(decision.verb, decision.by) for decision in one.decisions] == [("assert", None)]
        assert ALICE.id == one.subject
