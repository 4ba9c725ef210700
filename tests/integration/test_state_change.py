"""Orders on structured state: carried out once, and older words are past with the record that said the same."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders_memory import ALICE, BOB, asked, opened, shown, tell
from builders_recall import NOON, a_batch, a_message, a_stream

from memory import ForgetRequest, InvalidRow, Memory, Rights, Said, StateCall, StateOrder, StateReceipt, Turn

DOMAINS = ("request", "note", "relation", "joke", "channel")


def order(tool: str, *, after: float = 100, once: str | None = None, **arguments: Any) -> StateOrder:  # noqa: ANN401 - any JSON
    return StateOrder(call=StateCall(at=NOON + timedelta(seconds=after), tool=tool, arguments=arguments), key=once)


async def change(memory: Memory, tool: str, **arguments: Any) -> StateReceipt:  # noqa: ANN401 - any JSON
    return await memory.change_state(order(tool, **arguments))


async def told(memory: Memory, text: str, *, id_: str = "m1", after: float = 1) -> None:
    await tell(memory, a_batch(a_message(id_, text, after=after)))


async def past_texts(memory: Memory) -> list[str]:
    return [one.text for one in await memory.documents_of(ALICE.id) if one.invalid_at is not None]


async def test_an_order_with_a_key_is_carried_out_once_and_gets_an_id(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        first = await memory.change_state(order("note_set", once="k1", viewer=ALICE.id, text="porta il vino"))
        assert first.record is not None
        assert first.record.id.startswith("note-")
        again = await memory.change_state(order("note_set", once="k1", viewer=ALICE.id, text="porta il vino"))
        assert (again.again, again.record) == (True, None)
        assert len(await memory.state(DOMAINS, NOON + timedelta(seconds=200))) == 1
        assert len(await memory.audit()) == 1


async def test_without_key_an_id_is_needed(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        with pytest.raises(InvalidRow, match="note_set: id: Field required"):
            await change(memory, "note_set", text="x")


async def test_the_beginning_of_an_id_closes_a_record_unless_two_begin_so(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await change(memory, "note_set", id="note-aa11", text="x")
        await change(memory, "note_set", id="note-aa22", text="y")
        with pytest.raises(InvalidRow, match="no note 'note-aa'"):
            await change(memory, "note_delete", id="note-aa")
        receipt = await change(memory, "note_delete", id="note-aa1")
        assert receipt.record is not None
        assert (receipt.record.id, receipt.record.status) == ("note-aa11", "deleted")


async def test_rights_are_those_of_who_asks(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        mine = Rights(viewer_id=ALICE.id, present=frozenset({ALICE.id, BOB.id}))
        cases: list[tuple[str, dict[str, Any], str]] = [
            ("note_set", {"viewer": ALICE.id, "text": "x"}, ""),
            ("note_set", {"viewer": BOB.id, "text": "x"}, "not_yours"),
            ("note_set", {"viewer": None, "text": "x"}, "moderators_only"),
            ("relation_set", {"subject": ALICE.id, "relation": "x", "object": BOB.id}, ""),
            ("relation_set", {"subject": ALICE.id, "relation": "x", "object": "303"}, "absent"),
            ("joke_add", {"text": "x", "participants": [BOB.id]}, "not_yours"),
            ("channel_set", {"key": "k", "value": "v"}, "moderators_only"),
        ]
        for number, (tool, arguments, refused) in enumerate(cases):
            receipt = await memory.change_state(replace(order(tool, id=f"r{number}", **arguments), rights=mine))
            assert receipt.refused == refused, (tool, arguments)
            moderated = replace(mine, moderator=True)
            assert not (await memory.change_state(replace(order(tool, id=f"r{number}", **arguments), rights=moderated))).refused
        taken = await memory.change_state(replace(order("note_set", id="r1", viewer=ALICE.id, text="mio"), rights=mine))
        assert taken.refused == "not_yours"  # it was Bob's


async def test_what_a_viewer_said_before_is_past_once_the_record_of_it_is_closed(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await told(memory, "porto il vino rosso alla cena di sabato")
        await told(memory, "il mio gatto beve vino", id_="m2", after=2)
        await change(memory, "note_set", id="n", viewer=ALICE.id, text="porta il vino rosso alla cena")
        assert await past_texts(memory) == []
        receipt = await change(memory, "note_delete", after=200, id="n")
        assert receipt.touched == (ALICE.id,)
        assert await past_texts(memory) == ["porto il vino rosso alla cena di sabato"]
        await memory.run_jobs()
        question = asked("cosa porto io alla cena di sabato?")
        recall = await memory.recall(replace(question, closed_at=NOON + timedelta(seconds=300)))
        assert not any("porto il vino" in line and "non più attuale" not in line for line in shown(recall))


async def test_facts_read_only_after_the_change_are_past_too(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await told(memory, "abito a Treviso centro")
        await change(memory, "note_set", id="n", viewer=ALICE.id, text="abita a Treviso centro")
        await change(memory, "note_set", after=200, id="n", viewer=ALICE.id, text="abita a Padova")
        await memory.run_jobs()
        held = await memory.documents_of(ALICE.id)
        assert {one.kind for one in held} == {"message", "fact"}
        assert all(one.invalid_at == NOON + timedelta(seconds=200) for one in held)


async def test_what_says_the_new_record_stays_current(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await told(memory, "porto il vino bianco alla cena")
        await change(memory, "note_set", id="n", viewer=ALICE.id, text="porta il vino rosso alla cena")
        await change(memory, "note_set", after=200, id="n", viewer=ALICE.id, text="porta il vino bianco alla cena")
        assert await past_texts(memory) == []


async def test_a_value_of_the_channel_ends_what_the_broadcaster_said_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        owner = replace(ALICE, id="1", login="tana", name="Tana")
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", "siamo in live martedì e giovedì", user=owner, after=1)))
        await memory.change_state(order("channel_set", once="a", key="giorni di live", value="martedì e giovedì"))
        await memory.change_state(order("channel_set", once="b", after=200, key="Giorni di live", value="solo venerdì"))
        assert [one.invalid_at for one in await memory.documents_of("1")] == [NOON + timedelta(seconds=200)]


async def test_the_barrier_of_a_call_holds_for_its_turn_even_if_the_program_was_killed(tmp_path: Path) -> None:
    batch = a_batch(a_message("m1", "segna che abito a Treviso", after=1), a_message("m2", "abito a Bari", user=BOB, after=1))
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await memory.observe(batch)
        await memory.change_state(
            replace(order("note_set", once="k", viewer=ALICE.id, text="abita a Treviso"), turn_id=batch.id, held=(ALICE.id,))
        )
    async with opened(tmp_path) as memory:
        [open_batch] = await memory.unrecorded()
        await memory.record(Turn(batch=open_batch, recall=None, said=Said(state="silent", reason="restarted")))
        await memory.run_jobs()
        assert await memory.documents_of(ALICE.id) == []
        assert len(await memory.documents_of(BOB.id)) == 2


async def test_forgetting_a_viewer_takes_the_keys_of_their_calls_along(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.change_state(order("note_set", once="k1", viewer=ALICE.id, text="porta il vino"))
        at = NOON + timedelta(seconds=300)
        receipt = await memory.forget(ForgetRequest(scope="viewer", at=at, viewer_id=ALICE.id))
        assert receipt.records == 1
        again = await memory.change_state(order("note_set", after=400, once="k1", viewer=ALICE.id, text="porta il pane"))
        assert not again.again
