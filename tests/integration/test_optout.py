"""Opting out and in: nothing of the past, nothing of the future, and the way back."""

from pathlib import Path

from builders_forget import LATER, everything_held, files_with, said
from builders_memory import ALICE, BOB, a_past_stream, asked, opened, tell
from builders_recall import NOON, a_batch, a_message, a_stream

from memory import Memory


async def known(memory: Memory) -> list[str]:
    return sorted(viewer.name for viewer in await memory.viewers())


async def test_who_opts_out_is_gone_and_stays_out_imports_and_restarts_included(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        receipt = await memory.opt_out("101", LATER, by="101")
        assert (receipt.verb, receipt.lines) == ("opt_out", 1)
        await memory.run_jobs()
        await tell(memory, said("m5", "rieccomi zzzuno", after=30), said("m0", "prima zzzdue", after=-6000, stream_id="s0"))
        mixed = a_batch(a_message("m6", "zzztre", after=31), a_message("m7", "Alice ha un gatto", user=BOB, after=32))
        await tell(memory, mixed)
        assert memory.opted_out("101", LATER)
        assert not memory.opted_out("101", NOON)
    async with opened(tmp_path) as memory:
        assert await memory.unrecorded() == []
        assert memory.opted_out("101", LATER)
        await tell(memory, said("m8", "zzzquattro", after=40))
        await memory.run_jobs()
        held = await everything_held(memory)
        assert not [word for word in ("Birba", "zzz") if word in held]
        assert "Alice ha un gatto" in held  # Bob's own words
        assert await known(memory) == ["Bob"]
        assert memory.named("Alice") == ()
        assert (await memory.held("101")).opted_out
    assert files_with(tmp_path, "Birba", "zzzuno", "zzzdue", "zzztre", "zzzquattro") == []


async def test_a_batch_cut_off_by_a_crash_is_recorded_without_who_opted_out(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await memory.opt_out("101", NOON)
        assert await memory.observe(a_batch(a_message("m1", "a", after=1), a_message("m2", "b", user=BOB, after=2))) == 1
        assert await memory.observe(said("m3", "c", after=3)) == 0
    async with opened(tmp_path) as memory:
        [batch] = await memory.unrecorded()
        assert [line.id for line in batch.lines] == ["m2"]
        await tell(memory, batch)
        assert await memory.unrecorded() == []


async def test_who_opts_in_again_is_remembered_from_then_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.opt_out("101", LATER)
        await memory.opt_in("101", LATER)
        await memory.opt_in("101", LATER)
        await tell(memory, said("m5", "sono tornata", after=30))
        await memory.run_jobs()
        assert [document.text for document in await memory.documents_of("101")] == ["sono tornata"]
        assert await known(memory) == ["Alice", "Bob"]
        assert [viewer.id for viewer in memory.named("@alice")] == ["101"]
        assert "Birba" not in await everything_held(memory)
        assert [entry.verb for entry in await memory.audit()] == ["opt_in", "opt_out"]


async def test_somebody_never_seen_can_opt_out_before_their_first_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        assert (await memory.opt_out(ALICE.id, NOON)).total == 0
        await tell(memory, said("m1", "ciao"))
        assert await memory.documents_of("101") == []
        assert (await memory.recall(asked("chi sono?"))).window.lines == ()
        assert await known(memory) == []
