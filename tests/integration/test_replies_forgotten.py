"""What the bot said goes with what it was made from: by provenance, whatever its words; of the recent chat, by words."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from builders_forget import LATER, an_item, correcting, everything_held, forgetting, said
from builders_live import at, message
from builders_memory import BOB, opened
from builders_obey import a_chat
from builders_recall import NOON, a_stream

from bot.remembering import MemoryResponder
from memory import BotReply, Deletion, ForgetRequest, Memory, Plan, Recall, Said, StateCall, StateOrder, Turn, Window
from memory.model import Block, HistoryLine

Erasing = Callable[[Memory], Awaitable[object]]
PARAPHRASE = "Un micio dal nome buffo, se non sbaglio"


def recall_of(*provenance: str, window: tuple[HistoryLine, ...] = ()) -> Recall:
    items = (an_item(*provenance),) if provenance else ()
    return Recall(plan=Plan(), window=Window(stream_id="s1", lines=window), block=Block(items=items))


async def asked_by_bob(memory: Memory, number: int, reply: str, recall: Recall) -> None:
    """Bob asks, and is answered from what was recalled."""
    batch = said(f"b{number}", f"domanda {number}?", user=BOB)
    await memory.observe(batch)
    answer = Said(state="sent", text=reply, at=NOON, in_reply_to=(f"b{number}",), reply_id=f"r{number}")
    await memory.record(Turn(batch=batch, recall=recall, said=answer))


async def alice_tells(memory: Memory) -> None:
    await memory.begin_stream(a_stream())
    batch = said("m1", "il mio gatto si chiama Birba")
    await memory.observe(batch)
    await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))


async def item_forgotten(memory: Memory) -> None:
    await memory.forget(forgetting("item", id="m1"))


async def viewer_forgotten(memory: Memory) -> None:
    await memory.forget(forgetting("viewer", viewer_id="101"))


async def message_deleted(memory: Memory) -> None:
    await memory.delete("s1", Deletion(at=LATER, scope="message", message_id="m1"))


async def user_timed_out(memory: Memory) -> None:
    await memory.delete("s1", Deletion(at=LATER, scope="user", user_id="101"))


EVERY_WAY = pytest.mark.parametrize("erase", [item_forgotten, viewer_forgotten, message_deleted, user_timed_out])


@EVERY_WAY
async def test_a_paraphrase_goes_with_the_memory_that_stood_in_its_prompt(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        await asked_by_bob(memory, 1, PARAPHRASE, recall_of("m1"))
        await asked_by_bob(memory, 2, "Domani si gioca", recall_of())
        await erase(memory)
        await memory.run_jobs()
        held = await everything_held(memory, streams=("s1",))
        assert "micio" not in held
        assert "Domani si gioca" in held
        assert "domanda 1?" in held  # Bob's own words stay his


@EVERY_WAY
async def test_what_was_made_from_such_a_reply_goes_as_well(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        await asked_by_bob(memory, 1, PARAPHRASE, recall_of("m1"))
        await asked_by_bob(memory, 2, "Te l'ho detto: un felino", recall_of("r1"))
        await asked_by_bob(memory, 3, "Sempre quel felino", recall_of("r2"))
        await erase(memory)
        await memory.run_jobs()
        assert "felino" not in await everything_held(memory, streams=("s1",))


@EVERY_WAY
async def test_a_reply_that_repeats_a_line_of_the_recent_chat_goes_with_it(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        line = HistoryLine(id="m1", at=NOON, kind="message", author=None, text="il mio gatto si chiama Birba")
        await asked_by_bob(memory, 1, "Il suo si chiama Birba", recall_of(window=(line,)))
        await asked_by_bob(memory, 2, "Domani si gioca", recall_of(window=(line,)))
        await erase(memory)
        await memory.run_jobs()
        held = await everything_held(memory, streams=("s1",))
        assert "Birba" not in held
        assert "Domani si gioca" in held


async def test_the_set_phrases_of_a_bot_without_a_model_bind_no_reply_to_another(tmp_path: Path) -> None:
    async with a_chat(tmp_path, responder=lambda _, addressing, __: MemoryResponder(addressing)) as chat:
        asked = [
            message(
                f"ricordo_bot che lavoro faccio? e {number}?",
                by=by,
                seconds=40 * (2 * number + place),
                message_id=f"{by}{number}",
            )
            for number in range(1, 7)
            for place, by in enumerate(("alice", "bob"))
        ]
        told = await chat.play(*asked)
        assert {"memoria" in reply for reply in told} == {True, False}  # several phrases, each said to both
        await chat.play(message("fine", by="carl", seconds=600))
        receipt = await chat.memory.forget(ForgetRequest(scope="viewer", at=at(700), viewer_id="id-alice"))
        held = await chat.held()
        assert receipt.replies == sum("Alice" in reply for reply in told)
        assert [reply for reply in told if "Bob" in reply and reply not in held] == []


async def test_what_a_bot_without_a_model_quotes_of_the_recent_chat_goes_with_it(tmp_path: Path) -> None:
    async with a_chat(tmp_path, responder=lambda _, addressing, __: MemoryResponder(addressing)) as chat:
        [told] = await chat.play(
            message("ricordo_bot come si chiama il gatto di Alice?", by="bob", seconds=20),
            message("fine", by="carl", seconds=60),
        )
        assert "Birba" in told
        await chat.memory.forget(ForgetRequest(scope="viewer", at=at(70), viewer_id="id-alice"))
        assert "Birba" not in await chat.held()


@EVERY_WAY
async def test_a_recorded_reply_that_repeats_the_recent_chat_goes_with_it(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        batch = said("b1", "e Alice?", user=BOB)
        await memory.observe(batch)
        await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
        for number, text in enumerate(("Il suo si chiama Birba", "Domani si gioca")):
            await memory.record_reply("s1", BotReply(at=NOON, text=text, in_reply_to=("b1",), id=f"r{number}"))
        await erase(memory)
        await memory.run_jobs()
        held = await everything_held(memory, streams=("s1",))
        assert "Birba" not in held
        assert "Domani si gioca" in held


@EVERY_WAY
async def test_a_reply_that_is_recorded_after_its_memory_was_erased_keeps_no_words(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        await erase(memory)
        await asked_by_bob(memory, 1, PARAPHRASE, recall_of("m1"))
        await memory.run_jobs()
        assert "micio" not in await everything_held(memory, streams=("s1",))


async def test_a_paraphrase_of_what_was_put_right_goes_and_other_answers_stay(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        await asked_by_bob(memory, 1, PARAPHRASE, recall_of("m1"))
        await asked_by_bob(memory, 2, "Domani si gioca", recall_of())
        receipt = await memory.correct(correcting("cane", viewer_id="101", old="gatto"))
        assert (receipt.lines, receipt.replies) == (1, 1)
        await memory.run_jobs()
        held = await everything_held(memory, streams=("s1",))
        assert "micio" not in held
        assert "Domani si gioca" in held


@pytest.mark.parametrize("erase", [viewer_forgotten, message_deleted])
async def test_a_reply_made_from_a_record_goes_with_the_record(tmp_path: Path, erase: Erasing) -> None:
    async with opened(tmp_path) as memory:
        await alice_tells(memory)
        note = {"id": "n1", "viewer": "101", "text": "porta il vino"}
        await memory.change_state(StateOrder(call=StateCall(at=NOON, tool="note_set", arguments=note), source="m1"))
        await asked_by_bob(memory, 1, "Da bere ci pensa lei", recall_of("state:n1"))
        await erase(memory)
        await memory.run_jobs()
        assert "Da bere" not in await everything_held(memory, streams=("s1",))
