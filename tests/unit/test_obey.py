"""Commands through the chat loop and a real memory: who may, what changes, what is said, and what never is."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders_live import at, message
from builders_obey import MOD, a_chat, order

from bot.commands import Commands, CommandSettings
from bot.manners import MannersSettings
from bot.obey_texts import WORDS
from memory import BotReply, Event, Holding, StateCall, Viewer

FORGET_BOB = "!forget @bob"


def typed(text: str, *, by: str = "alice", seconds: float = 20, badges: tuple[str, ...] = ()) -> Event:
    return message(text, by=by, seconds=seconds, badges=badges)


@pytest.mark.parametrize("badges", [("moderator",), ("broadcaster", "subscriber")])
@pytest.mark.parametrize("give", [order, typed])
async def test_moderators_may_forget_anybody(tmp_path: Path, badges: tuple[str, ...], give: type) -> None:
    async with a_chat(tmp_path) as chat:
        said = await chat.play(give(FORGET_BOB, by="carl", badges=badges))
        assert said == ["Fatto: ho dimenticato 1 cosa di Bob."]
        held = await chat.held()
        assert "Nerone" not in held
        assert "Birba" in held


@pytest.mark.parametrize("give", [order, typed])
@pytest.mark.parametrize(
    "text",
    [FORGET_BOB, "!forget @Bob Nerone", "!forget #b1", "!correct @bob Nerone -> Pippo", "!correct #b1 Pippo", "!memories @bob",
     "!bot off", "!forget @nobody", "!forget", "!correct @bob"],
)  # fmt: skip
async def test_a_viewer_is_refused_in_silence_and_nothing_changes(tmp_path: Path, text: str, give: type) -> None:
    async with a_chat(tmp_path) as chat:
        before = await chat.held()
        assert await chat.play(give(text, badges=("vip", "subscriber"))) == []
        assert await chat.held() == before
        assert not chat.manners.quiet
        assert chat.loop.counts["command_ignored"] == 1
        assert await chat.memory.audit() == []


@pytest.mark.parametrize(
    "text", ["!forget #a1", "!forget @alice Birba", "!forget @ALICE birba", "!forget last", "!dimentica ultimo"]
)
async def test_a_viewer_may_forget_their_own(tmp_path: Path, text: str) -> None:
    async with a_chat(tmp_path, language="en") as chat:
        assert await chat.play(typed(text)) == ["Done: 1 thing forgotten."]
        held = await chat.held()
        assert "Birba" not in held
        assert "Nerone" in held


async def test_forgetting_oneself_is_confirmed_in_live_chat(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        [asked] = await chat.play(typed("!forgetme"))
        assert "!dimenticami sì" in asked
        assert "Birba" in await chat.held()
        assert await chat.play(typed("!forgetme yes", seconds=30)) == ["Fatto: 1 cosa dimenticata."]
        assert "Birba" not in await chat.held()


async def test_a_confirmation_that_comes_too_late_or_from_somebody_else_only_asks_again(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.play(typed("!forget @alice"))
        [asked] = await chat.play(typed("!forgetme yes", seconds=25, by="bob"))
        assert "per sempre" in asked
        [asked] = await chat.play(typed("!forgetme yes", seconds=90))
        assert "per sempre" in asked
        held = await chat.held()
        assert "Birba" in held
        assert "Nerone" in held


@pytest.mark.parametrize("replies", ["bot", "log"])
async def test_a_recorded_command_stands_for_the_done_thing(tmp_path: Path, replies: str) -> None:
    async with a_chat(tmp_path, replies="log" if replies == "log" else "bot") as chat:
        said = await chat.play(order("!forgetme"))
        assert len(said) == (0 if replies == "log" else 1)
        assert "Birba" not in await chat.held()
        assert chat.loop.counts["command_obeyed"] == 1


async def test_in_a_log_that_speaks_typed_commands_take_effect_without_a_word(tmp_path: Path) -> None:
    async with a_chat(tmp_path, replies="log") as chat:
        commands = [
            typed("!forgetme"),
            typed("!forgetme yes", seconds=22),
            typed("!memory", seconds=23),
            typed("!optout", by="bob"),
        ]
        assert await chat.play(*commands) == []
        held = await chat.held()
        assert "Birba" not in held
        assert "Nerone" not in held


async def test_a_correction_takes_the_commands_id_along(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        said = await chat.play(order("!correct @Alice gatto si chiama Birba -> cane si chiama Zorro", id_="cmd1"))
        assert said == ["Corretto: 1 messaggio."]
        [document] = await chat.memory.documents_of("id-alice")
        assert (document.text, document.provenance) == ("il mio cane si chiama Zorro", ("a1", "cmd1"))


async def test_what_is_still_in_the_open_batch_is_corrected_too(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.play(
            message("ho sei anni", seconds=19, message_id="a2"), order("!correct @alice sei -> sette", seconds=19.5)
        )
        assert "ho sette anni" in await chat.held()
        assert await chat.play(order("!correct @alice sei -> otto", seconds=22)) == ["Non trovo nulla da correggere."]


async def test_moderators_hear_counts_and_ids_by_which_to_forget(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.memory.apply_state(
            StateCall(at=at(4), tool="note_set", arguments={"id": "n", "viewer": "id-bob", "text": "x"})
        )
        [told] = await chat.play(typed("!memories @bob", by="carl", badges=MOD))
        assert told.startswith("Di Bob: 1 messaggio, 0 fatti, 0 cose dette su altri, 1 annotazione. Le ultime: #")
        assert "Nerone" not in told
        shown_id = told.rsplit("#", 1)[1]
        assert await chat.play(typed(f"!forget #{shown_id}", by="carl", badges=MOD, seconds=30)) == [
            "Fatto: ho dimenticato 1 cosa di Bob."
        ]


async def test_viewers_hear_how_much_is_known_of_them_alone(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        [told] = await chat.play(typed("!whatdoyouknow"))
        assert told.startswith("Di te conservo 1 messaggio, 0 fatti e 0 annotazioni.")
        assert await chat.play(typed("!cosasai", by="dora")) == ["Di te non conservo nulla."]


async def test_many_memories_are_told_with_the_marks_of_the_language(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def held(_: str) -> Holding:
        return Holding(viewer_id="id-alice", messages=12_345)

    for language, said in (("it", "Di te conservo 12.345 messaggi"), ("en", "Of you I keep 12,345 messages")):
        async with a_chat(tmp_path / language, language=language) as chat:
            monkeypatch.setattr(chat.memory, "held", held)
            [told] = await chat.play(typed("!whatdoyouknow"))
            assert told.startswith(said)


async def test_who_opts_out_is_neither_stored_nor_answered_until_they_opt_in(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        [told] = await chat.play(typed("!optout"))
        assert "!ricordami" in told
        out = [message("ricordino ho un segreto", seconds=30), message("e zzz", seconds=31)]
        assert await chat.play(*out, BotReply(at=at(32), text="zzz", in_reply_to=("m31-alice",))) == []
        assert chat.loop.counts["left_out_opted_out"] == 2
        await chat.play(typed("!optin", seconds=40), message("rieccomi", seconds=50))
        held = await chat.held()
        assert "rieccomi" in held
        assert not [word for word in ("Birba", "segreto", "zzz") if word in held]


async def test_a_recorded_reply_to_somebody_who_opted_out_is_not_stored(tmp_path: Path) -> None:
    async with a_chat(tmp_path, replies="log") as chat:
        await chat.play(order("!optout"), message("segreto", seconds=30, message_id="a9"))
        await chat.play(BotReply(at=at(31), text="il tuo segreto", in_reply_to=("a9",), id="r1"))
        assert chat.loop.counts["recorded_reply_to_nothing"] == 1


async def test_moderators_silence_the_bot_and_commands_still_take_effect(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        assert await chat.play(typed("!bot off", by="carl", badges=MOD)) == ["Va bene, taccio. !bot acceso per farmi tornare."]
        assert await chat.play(typed("!forget @alice Birba", seconds=25)) == []
        assert "Birba" not in await chat.held()
        assert await chat.play(typed("!memory", seconds=28), message("ricordino?", seconds=29)) == []
        assert await chat.play(typed("!bot on", by="carl", badges=MOD, seconds=40)) == ["Eccomi di nuovo."]


async def test_an_unknown_or_ambiguous_name_changes_nothing(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        for number in (1, 2):
            twin = Viewer(id=f"id-twin{number}", login=f"gino{number}", name="Gino")
            await chat.play(replace(message("eccomi", seconds=10 + number), user=twin))
        before = await chat.held()
        for number, text in enumerate(("!forget @Nobody", "!forget @Gino", "!memories @Gino", "!correct @zoe a -> b")):
            [told] = await chat.play(order(text, by="carl", badges=MOD, seconds=20 + 40 * number))
            assert told.startswith("Non so chi sia")
        assert await chat.held() == before
        assert (await chat.memory.held("id-twin1")).messages == 1


async def test_the_login_as_typed_decides_between_names_that_look_alike(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.play(replace(message("eccomi", seconds=10), user=Viewer(id="id-twin", login="bob2", name="Bob")))
        await chat.loop.flush("end")
        await chat.play(order(FORGET_BOB, by="carl", badges=MOD))
        assert (await chat.memory.held("id-bob")).messages == 0
        assert (await chat.memory.held("id-twin")).messages == 1


async def test_names_of_the_past_and_mentions_name_people_too(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        renamed = Viewer(id="id-bob", login="roberto", name="Roberto")
        await chat.play(replace(message("nuovo nome", seconds=10), user=renamed))
        await chat.loop.flush("end")
        stranger = Viewer(id="id-alice", login="aliciotta", name="Aliciotta")
        command = replace(order("!forget @aliciotta Birba", by="carl", badges=MOD), mentions=(stranger,))
        assert len(await chat.play(command, order("!forget @bob Nerone", by="carl", badges=MOD, seconds=30))) == 2
        held = await chat.held()
        assert "Birba" not in held
        assert "Nerone" not in held


async def test_a_viewers_flood_of_orders_is_heard_once_in_a_while(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        said = await chat.play(*(typed("!forget @alice Birba", seconds=20 + n / 2) for n in range(4)))
        assert len(said) == 1
        assert len(await chat.play(typed("!forget @alice Birba", seconds=40))) == 1


async def test_questions_keep_to_the_cooldown(tmp_path: Path) -> None:
    rules = MannersSettings(channel_cooldown_seconds=0, viewer_cooldown_seconds=10)
    async with a_chat(tmp_path, manners=rules) as chat:
        assert len(await chat.play(typed("!whatdoyouknow"), typed("!whatdoyouknow", seconds=21))) == 1


async def test_moderators_are_told_how_to_order(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        texts = ("!forget", "!correct @bob x", "!forget @bob ?!", "!bot maybe")
        said = await chat.play(*(typed(text, by="carl", badges=MOD, seconds=20 + n) for n, text in enumerate(texts)))
        assert [text.split(":")[0] for text in said] == ["Si usa così"] * 3


async def test_a_moderator_forgets_the_last_message_of_anybody(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        assert await chat.play(typed("!forget last", by="dora", badges=MOD)) == ["Fatto: ho dimenticato 1 cosa di Carl."]
        assert "Panda" not in await chat.held()


@pytest.mark.parametrize("language", ["it", "en"])
def test_every_answer_fits_into_a_chat_line(language: str) -> None:
    for name in WORDS[language].__dataclass_fields__:
        assert len(getattr(WORDS[language], name)) < 400
    assert Commands(CommandSettings(language=language)).shown("forget") == {"it": "!dimentica", "en": "!forget"}[language]


async def test_whoever_was_asked_to_confirm_may_not_make_the_bot_ask_without_end(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        flood = [typed("!forgetme", seconds=20 + tenth / 10) for tenth in range(10)]
        assert len(await chat.play(*flood)) == 1
        assert await chat.play(typed("!forgetme yes", seconds=21)) == ["Fatto: 1 cosa dimenticata."]
