"""What a viewer is given of themselves: everything that is held, with what came along with each line."""

from dataclasses import replace
from pathlib import Path

from builders_forget import said
from builders_memory import ALICE, BOB, opened, tell
from builders_recall import NOON, a_batch, a_message, a_stream

from memory import Item, Plan, Recall, Said, StateCall, Turn, Window
from memory.model import Block


async def test_a_line_is_given_with_the_name_the_badges_and_what_it_answered(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        line = replace(
            a_message("m2", "quello grigio", after=2), badges=("subscriber",), bits=100, reply_to="m1", mentions=(BOB,)
        )
        await tell(memory, a_batch(a_message("m1", "quale gatto?", user=BOB, after=1), line))
        [given] = (await memory.export(ALICE.id))["lines"]
        assert (given["id"], given["text"], given["reply_to"]) == ("m2", "quello grigio", "m1")
        assert (given["login"], given["name"]) == (ALICE.login, ALICE.name)
        assert given["detail"]["badges"] == ["subscriber"]
        assert given["detail"]["bits"] == 100
        assert [one["id"] for one in given["detail"]["mentions"]] == [BOB.id]


async def test_a_reply_that_was_made_from_a_record_about_somebody_is_theirs_to_see(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        note = {"id": "n1", "viewer": ALICE.id, "text": "porta il vino"}
        await memory.apply_state(StateCall(at=NOON, tool="note_set", arguments=note))
        told = Item(
            section="state",
            source="state",
            subject=ALICE.id,
            author=None,
            text="x",
            provenance=("state:n1",),
            tokens=1,
            score=0,
        )
        batch = said("b1", "chi porta da bere?", user=BOB)
        await memory.observe(batch)
        recall = Recall(plan=Plan(), window=Window(stream_id="s1"), block=Block(items=(told,)))
        answer = Said(state="sent", text="Ci pensa lei", at=NOON, in_reply_to=("b1",), reply_id="r1")
        await memory.record(Turn(batch=batch, recall=recall, said=answer))
        given = await memory.export(ALICE.id)
        assert [one["text"] for one in given["replies"]] == ["Ci pensa lei"]
        assert [one.text for one in given["records"]] == ["porta il vino"]
