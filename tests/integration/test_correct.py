"""Correcting through the memory's front door: the old words come back from nowhere, the new ones with their provenance."""

from pathlib import Path

import pytest
from builders_forget import correcting, everything_held, files_with, forgetting, said
from builders_memory import ALICE, BOB, a_past_stream, asked, opened, tell
from builders_recall import NOON, a_batch, a_message, a_stream

from memory import BotReply, CorrectRequest, InvalidRow, Memory, Said
from memory.store.corrections import replaced

BIRBA = correcting("gatta si chiama Luna", viewer_id="101", old="gatto si chiama Birba", by="101", command_id="c1")


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("ho il piano a induzione, ok", "piano a induzione", "piano a gas", "ho il piano a gas, ok"),
        ("PERCHÉ no? perche si", "perché", "forse", "forse no? forse si"),
        ("un, due  tre", "un due", "zero", "zero  tre"),
        ("dodicimila vasi", "dodici", "venti", None),
        ("l'anice buono", "l’anice", "lo Strega", "lo Strega buono"),
        ("cafe\u0301s ok", "cafés", "tè", "tè ok"),
        ("a a a", "a a", "b", "b a"),
        ("qui niente", "->", "x", None),
        ("", "x", "y", None),
    ],
)
def test_words_are_replaced_where_they_stand_in_a_row(text: str, old: str, new: str, expected: str | None) -> None:
    assert replaced(text, old, new) == expected


def test_words_are_replaced_behind_a_tower_of_marks_without_sorting_it() -> None:
    tower = "a" + "\u0301\u0316" * 1_000_000  # sorting it would take hours
    assert replaced(f"{tower} ho un gatto", "gatto", "cane") == f"{tower} ho un cane"


async def test_corrected_words_stand_everywhere_and_the_old_ones_nowhere(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        receipt = await memory.correct(BIRBA)
        assert (receipt.lines, receipt.viewer_id) == (1, "101")
        for _ in ("at once", "after the jobs"):
            held = await everything_held(memory)
            assert "Birba" not in held
            assert "il mio gatta si chiama Luna" in held
            assert "Nerone" in held
            await memory.run_jobs()
        [document, fact] = sorted(await memory.documents_of("101"), key=lambda one: one.kind, reverse=True)
        assert (document.text, document.provenance) == ("il mio gatta si chiama Luna", ("m1", "c1"))
        assert (fact.text.split("\n")[0], fact.provenance) == ("il mio gatta si chiama Luna", ("m1", "c1"))
    assert files_with(tmp_path, "Birba") == []


async def test_a_correction_is_found_by_its_new_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.correct(BIRBA)
        await memory.run_jobs()
        recall = await memory.recall(asked("come si chiama la mia gatta?"))
        assert any("Luna" in item.text and "c1" in item.provenance for item in recall.block.items)


async def test_the_line_in_the_history_and_its_turn_are_corrected(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", "ho dodici vasi", after=1), a_message("m2", "brava", user=BOB, after=2)))
        await memory.correct(correcting("venti vasi", viewer_id="101", old="dodici vasi"))
        recall = await memory.recall(asked("quanti vasi ho?"))
        assert [line.text for line in recall.window.lines] == ["ho venti vasi", "brava"]
        [document] = await memory.documents_of("101")
        assert document.provenance == ("m1",)  # the command had no id


async def test_the_same_order_again_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        assert (await memory.correct(BIRBA)).lines == 1
        await tell(memory, said("m9", "anzi il gatto si chiama Birba davvero", after=5))
        assert (await memory.correct(BIRBA)).total == 0
        assert "Birba davvero" in await everything_held(memory)
        assert [entry.verb for entry in await memory.audit()] == ["correct"]


async def test_only_ones_own_words_can_be_corrected_and_only_those_said_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        assert (await memory.correct(correcting("Pippo", viewer_id="202", old="Nerone", only="101"))).refused
        assert (await memory.correct(correcting("Pippo", id="m2", only="101"))).refused
        await tell(memory, said("m9", "e il gatto si chiama Birba", after=60))
        await memory.correct(correcting("Luna", viewer_id="101", old="Birba"))
        held = await everything_held(memory)
        assert "Pippo" not in held
        assert "e il gatto si chiama Birba" in held


async def test_all_lines_with_the_wrong_words_are_corrected_and_the_replies_that_tell_them_go(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        answer = Said(state="sent", text="A induzione, bello", at=NOON, in_reply_to=("m1",), reply_id="r1")
        await tell(memory, said("m1", "cucino a induzione"), said=answer)
        await tell(memory, said("m2", "la mia cucina a induzione è lenta", after=2))
        await memory.record_reply("s1", BotReply(at=NOON, text="capito", in_reply_to=("m2",), id="r2"))
        receipt = await memory.correct(correcting("a gas", viewer_id="101", old="a induzione"))
        assert (receipt.lines, receipt.replies) == (2, 1)
        recall = await memory.recall(asked("su cosa cucino?"))
        assert [line.id for line in recall.window.lines] == ["m1", "m2", "r2"]
        assert "induzione" not in await everything_held(memory, streams=("s1",))


async def test_an_item_is_corrected_by_its_id_and_every_answer_to_it_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        answer = Said(state="sent", text="Bello!", at=NOON, in_reply_to=("m1",), reply_id="r1")
        await tell(memory, said("m1", "vivo a Milano"), said=answer)
        [document] = await memory.documents_of("101")
        receipt = await memory.correct(correcting("vivo a  Torino\u200b", id=document.id[:12], only="101"))
        assert (receipt.lines, receipt.replies) == (1, 1)
        assert [one.text for one in await memory.documents_of("101")] == ["vivo a Torino"]


async def test_whole_turns_unknown_items_and_the_bots_words_cannot_be_corrected(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.record_reply("s1", BotReply(at=NOON, text="ciao", id="r1"))
        for id_ in ("r1", "nothing-like-this"):
            assert (await memory.correct(correcting("altro", id=id_))).total == 0
        assert "Birba" in await everything_held(memory)


@pytest.mark.parametrize("request_", [correcting(" \u200b", id="m1"), correcting("x"), correcting("x", viewer_id="1", old="?")])
async def test_a_correction_without_words_or_target_is_refused(tmp_path: Path, request_: CorrectRequest) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidRow, match="needs"):
            await memory.correct(request_)


async def test_a_forgotten_line_that_was_corrected_leaves_with_its_correction(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.correct(BIRBA)
        await memory.run_jobs()
        await memory.forget(forgetting("item", id="m1"))
        await memory.run_jobs()
        assert await memory.documents_of("101") == []
    assert files_with(tmp_path, "Birba", "Luna") == []


async def test_the_old_message_imported_again_stays_corrected(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.correct(BIRBA)
        await tell(memory, said("m1", "il mio gatto si chiama Birba", user=ALICE, after=-7000, stream_id="s0"))
        assert "Birba" not in await everything_held(memory)


async def consolidations(memory: Memory) -> list[str]:
    return [job.state for job in await memory.jobs(kind="consolidate")]


async def test_the_facts_of_a_corrected_turn_are_drawn_anew(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        before = await memory.jobs(kind="consolidate")
        await memory.correct(BIRBA)
        after = await memory.jobs(kind="consolidate")
        assert [job.key for job in after] == [job.key for job in before]
        assert await consolidations(memory) == ["ready"]
