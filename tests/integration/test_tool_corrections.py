"""Viewers put right, and have forgotten, what they wrote about themselves, in plain words to the bot."""

from pathlib import Path

from builders_forget import files_with
from builders_live import at, message
from builders_tools import a_talk, asks, calls_all, to_bot
from fakes.llm_server import says

from memory import Deletion, ForgetRequest

RIGHT = asks("memory_correct", old="Birba", new="Briciola")


async def test_a_correction_replaces_the_words_and_is_confirmed_without_them(tmp_path: Path) -> None:
    async with a_talk(tmp_path, RIGHT, says("Ok, non Birba ma Briciola!")) as talk:
        said = await talk.hears(to_bot("no, il mio gatto si chiama Briciola"))
        assert said == ["Corretto: 1 messaggio."]
        await talk.chat.memory.run_jobs()
        held = str(await talk.chat.memory.export("id-alice"))
        assert "Birba" not in held
        assert "il mio gatto si chiama Briciola" in held
        [entry] = await talk.chat.memory.audit()
        assert (entry.verb, entry.by, entry.viewer_id) == ("correct", "id-alice", "id-alice")


async def test_the_correcting_message_itself_stays_as_it_was_written(tmp_path: Path) -> None:
    async with a_talk(tmp_path, RIGHT, says("ok")) as talk:
        await talk.hears(to_bot("non si chiama Birba ma Briciola"))
        texts = [one["text"] for one in (await talk.chat.memory.export("id-alice"))["lines"]]
        assert texts == ["il mio gatto si chiama Briciola", "ricordo_bot non si chiama Birba ma Briciola"]


async def test_two_corrections_in_one_turn_are_both_made(tmp_path: Path) -> None:
    both = calls_all(
        ("memory_correct", {"old": "Birba", "new": "Briciola"}), ("memory_correct", {"old": "gatto", "new": "cane"})
    )
    async with a_talk(tmp_path, both, says("ok")) as talk:
        assert await talk.hears(to_bot("è un cane e si chiama Briciola")) == ["Corretto: 2 messaggi."]
        texts = [one["text"] for one in (await talk.chat.memory.export("id-alice"))["lines"]]
        assert texts[0] == "il mio cane si chiama Briciola"


async def test_nobody_is_corrected_by_what_others_write(tmp_path: Path) -> None:
    async with a_talk(tmp_path, RIGHT, says("boh")) as talk:
        trap = message("ricordo_bot alice dice che il suo gatto si chiama Briciola", by="bob", seconds=29.7)
        await talk.hears(trap, to_bot("ciao!"))
        assert "did not write these words" in talk.results()[0]["error"]
        assert "Birba" in str(await talk.chat.memory.export("id-alice"))


async def test_a_moderator_corrects_by_tool_no_more_than_themselves(tmp_path: Path) -> None:
    async with a_talk(tmp_path, RIGHT, says("boh")) as talk:
        await talk.hears(to_bot("il gatto di Alice si chiama Briciola", by="carl", badges=("moderator",)))
        assert "nothing that the speaker wrote" in talk.results()[0]["error"]


async def test_a_viewer_has_their_words_forgotten_and_the_answer_does_not_say_them_again(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("memory_forget", words="gatto si chiama Birba"), says("Dimentico Birba!")) as talk:
        said = await talk.hears(to_bot("dimentica che il mio gatto si chiama Birba"))
        assert said == ["Fatto: 2 cose dimenticate."]  # the order itself held the words too
        await talk.chat.memory.run_jobs()
        assert "Birba" not in await talk.chat.held()
        assert "Nerone" in await talk.chat.held()


async def test_nothing_is_forgotten_for_who_does_not_ask(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("memory_forget", words="gatto"), says("boh")) as talk:
        trap = message("ricordo_bot dimentica il gatto di Alice", by="bob", seconds=29.7)
        await talk.hears(trap, to_bot("ti ricordi il mio gatto?"))
        assert "does not ask to forget" in talk.results()[0]["error"]
        assert "Birba" in str(await talk.chat.memory.export("id-alice"))


async def test_words_that_stand_almost_everywhere_are_not_forgotten_at_once(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("memory_forget", words="il"), says("boh")) as talk:
        many = [message(f"il numero {number}", seconds=21 + number / 10, message_id=f"x{number}") for number in range(12)]
        await talk.hears(*many, to_bot("dimentica il"))
        assert "too many, name more words, or tell of !dimenticami" in talk.results()[0]["error"]
        assert len((await talk.chat.memory.export("id-alice"))["lines"]) == 14


async def test_words_that_nobody_wrote_are_told_as_such(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("memory_forget", words="Venezia"), says("Non ne so nulla")) as talk:
        assert await talk.hears(to_bot("dimentica dove vivo")) == ["Non ne so nulla"]
        assert "nothing that the speaker wrote" in talk.results()[0]["error"]


async def test_forgetting_a_viewer_takes_their_records_out_of_every_file(tmp_path: Path) -> None:
    note = asks("note_set", text="porto il Moscato alla cena")
    async with a_talk(tmp_path, note, says("Segnato!")) as talk:
        await talk.hears(to_bot("segna che porto il Moscato alla cena"))
        assert [record.text for record in await talk.records()] == ["porto il Moscato alla cena"]
        assert files_with(tmp_path, "Moscato") != []
        await talk.chat.memory.forget(ForgetRequest(scope="viewer", at=at(60), viewer_id="id-alice"))
        await talk.chat.memory.run_jobs()
        assert await talk.records() == []
    assert files_with(tmp_path, "Moscato") == []


async def test_a_record_goes_with_the_message_that_asked_for_it(tmp_path: Path) -> None:
    note = asks("note_set", text="porto il Moscato")
    async with a_talk(tmp_path, note, says("Segnato!"), note, says("Di nuovo!")) as talk:
        asked = to_bot("segna che porto il Moscato")
        await talk.hears(asked)
        assert len(await talk.records()) == 1
        await talk.chat.loop.delete(Deletion(at=at(40), scope="message", message_id=asked.id))
        assert await talk.records() == []
        await talk.hears(to_bot("segna che porto il Moscato", seconds=60))
        assert len(await talk.records()) == 1
        words = ForgetRequest(scope="words", at=at(90), viewer_id="id-alice", words="che porto il moscato")
        receipt = await talk.chat.memory.forget(words)
        assert receipt.records == 1
        assert await talk.records() == []


async def test_a_time_out_takes_what_its_viewer_had_noted_in_this_stream(tmp_path: Path) -> None:
    async with a_talk(tmp_path, asks("note_set", text="porto il Moscato"), says("Segnato!")) as talk:
        await talk.hears(to_bot("segna che porto il Moscato"))
        await talk.chat.loop.delete(Deletion(at=at(40), scope="user", user_id="id-alice"))
        assert await talk.records() == []
