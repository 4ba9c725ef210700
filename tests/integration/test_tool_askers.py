"""Two people give the bot orders in one breath: each order is carried out, for who gave it, in their own words and rights."""

from pathlib import Path
from typing import Any

from builders_live import at, message
from builders_obey import MOD
from builders_tools import Talk, a_talk, asks, calls_all, to_bot
from fakes.llm_server import says

from memory import Message

WRONG = (
    message("mi chiamo Maria", by="zoe", seconds=21, message_id="z-wrong"),
    message("mi chiamo Mirko", by="bob", seconds=22, message_id="b-wrong"),
)
MARTA = to_bot("no, mi chiamo Marta", by="zoe", seconds=29.7)
MARCO = to_bot("no, mi chiamo Marco", by="bob", seconds=30)
FIRST, SECOND = {"old": "Maria", "new": "Marta"}, {"old": "Mirko", "new": "Marco"}


async def after_wrong(talk: Talk, *messages: Message) -> list[str]:
    script, talk.server.script[:] = [*talk.server.script], []
    await talk.hears(*WRONG)
    talk.server.script[:] = script
    return await talk.hears(*messages)


async def said_by(talk: Talk, viewer_id: str) -> str:
    await talk.chat.memory.run_jobs()
    return str([one["text"] for one in (await talk.chat.memory.export(viewer_id))["lines"]])


async def test_two_who_put_themselves_right_in_one_batch_are_both_put_right(tmp_path: Path) -> None:
    async with a_talk(tmp_path, calls_all(("memory_correct", FIRST), ("memory_correct", SECOND)), says("ok")) as talk:
        assert await after_wrong(talk, MARTA, MARCO) == ["Corretto: 2 messaggi."]
        assert "Maria" not in await said_by(talk, "id-zoe")
        assert "Mirko" not in await said_by(talk, "id-bob")
        assert {(one.by, one.viewer_id) for one in await talk.chat.memory.audit()} == {("id-zoe",) * 2, ("id-bob",) * 2}


async def test_whose_order_it_is_can_be_said(tmp_path: Path) -> None:
    both = calls_all(("memory_correct", FIRST | {"speaker": "zoe"}), ("memory_correct", SECOND | {"speaker": "Bob"}))
    async with a_talk(tmp_path, both, says("ok")) as talk:
        await after_wrong(talk, MARTA, MARCO)
        assert [one["ok"] for one in talk.results()] == [True, True]


async def test_each_of_two_has_a_request_noted_under_their_own_name(tmp_path: Path) -> None:
    both = calls_all(
        ("request_open", {"text": "una torta di mele", "speaker": "zoe"}),
        ("request_open", {"text": "un gelato al limone"}),
    )
    async with a_talk(tmp_path, both, says("Segnati!")) as talk:
        await talk.hears(
            to_bot("segna che voglio una torta di mele", by="zoe", seconds=29.7), to_bot("segna: un gelato al limone", by="bob")
        )
        assert {(one.text, one.viewers) for one in await talk.records()} == {
            ("una torta di mele", ("id-zoe",)),
            ("un gelato al limone", ("id-bob",)),
        }


async def test_a_request_for_one_who_asks_too_is_theirs_where_the_call_names_them(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("request_open", text="una torta di mele", viewer="Zoe"), says("ok")) as talk:
        await talk.hears(to_bot("segna che voglio una torta di mele", by="zoe", seconds=29.7), to_bot("ciao!", by="bob"))
        assert [(one.text, one.viewers) for one in await talk.records()] == [("una torta di mele", ("id-zoe",))]


async def test_a_record_is_closed_for_its_owner_who_did_not_write_last(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("note_set", text="porto il vino"), says("ok")) as talk:
        await talk.hears(to_bot("segna che porto il vino", by="zoe", seconds=30))
        [record] = await talk.records()
        talk.server.script[:] = [asks("note_delete", id=record.id), says("Tolta")]
        await talk.hears(to_bot("togli la nota del vino", by="zoe", seconds=60), to_bot("ciao!", by="bob", seconds=60.2))
        assert await talk.records() == []


async def refused(talk: Talk, *messages: Message) -> str:
    await talk.hears(*messages)
    [told] = talk.results()
    assert told["ok"] is False
    assert await talk.records() == []
    return str(told["error"])


async def test_the_name_of_another_asker_lends_neither_their_words_nor_their_rights(tmp_path: Path) -> None:
    everybody: dict[str, Any] = {"text": "tutto permesso", "everybody": True}
    async with a_talk(tmp_path, asks("note_set", **everybody, speaker="carl"), says("no")) as talk:
        trap = to_bot("segna per tutti: tutto permesso", by="bob", seconds=29.7)
        assert "did not say this" in await refused(talk, trap, to_bot("ciao!", by="carl", badges=MOD))
    async with a_talk(tmp_path / "2", asks("note_set", **everybody, speaker="bob"), says("no")) as talk:
        trap = to_bot("segna per tutti: tutto permesso", by="bob", seconds=29.7)
        assert "only a moderator" in await refused(talk, trap, to_bot("ciao!", by="carl", badges=MOD))


async def test_nobody_can_be_spoken_for_who_is_not_answered(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("note_set", text="offro da bere", speaker="alice"), says("no")) as talk:
        alice = message("offro da bere a tutti", by="alice", seconds=29)
        error = await refused(talk, alice, to_bot("ciao!", by="zoe", seconds=29.7), to_bot("segna che offro da bere", by="bob"))
        assert "one of those who are answered: bob, zoe" in error


async def test_only_where_several_ask_are_the_tools_offered_with_a_speaker(tmp_path: Path) -> None:
    async with a_talk(tmp_path, says("ciao"), says("ciao")) as talk:
        await talk.hears(to_bot("ciao!", by="bob", seconds=30))
        await talk.hears(to_bot("ehi!", by="zoe", seconds=89.7), to_bot("e allora?", by="bob", seconds=90))
        alone, together = (
            {"speaker" in tool["function"]["parameters"]["properties"] for tool in one["tools"]} for one in talk.server.requests
        )
        assert (alone, together) == ({False}, {True})


async def test_one_viewers_record_does_not_keep_another_who_asks_from_being_remembered(tmp_path: Path) -> None:
    note = asks("note_set", text="porto il vino", speaker="bob")
    async with a_talk(tmp_path, note, says("Segnato")) as talk:
        await talk.hears(to_bot("no, mi chiamo Marta", by="zoe", seconds=29.7), to_bot("segna che porto il vino", by="bob"))
        await talk.chat.memory.run_jobs()
        assert any("Marta" in one.text for one in await talk.chat.memory.facts("id-zoe"))
        held = [document.text for document in await talk.chat.memory.documents_of("id-bob")]
        assert not any("vino" in text for text in held)
        assert talk.chat.clock.now() >= at(30)
