"""`!state` and `!wipe`: records by chat command for moderators, and everything forgotten for the broadcaster."""

from pathlib import Path

import pytest
from builders_live import at, message
from builders_obey import MOD, Chat, a_chat, order

from bot.canon import reloading
from bot.persona import Persona
from bot.state_command import StateCommand, state_command_of
from memory import DOMAINS, Message

OWNER = ("broadcaster",)


def typed(text: str, *, by: str = "carl", seconds: float = 20, badges: tuple[str, ...] = MOD, **more: str) -> Message:
    return message(text, by=by, seconds=seconds, message_id=f"t{seconds}{by}", badges=badges, **more)


async def records(chat: Chat) -> list[tuple[str, str, tuple[str, ...], str]]:
    found = await chat.memory.state(DOMAINS, chat.clock.now())
    return [(one.domain, one.text, one.viewers, one.status) for one in found]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("", StateCommand()),
        ("lista @Bob", StateCommand(name="Bob")),
        ("richiesta @bob una torta", StateCommand(tool="request_open", arguments={"viewer": "bob", "text": "una torta"})),
        ("request una torta", None),
        ("request @bob", None),
        ("fatto #ab12", StateCommand(tool="request_complete", id="ab12")),
        ("done", None),
        ("nota @bob porta il vino", StateCommand(tool="note_set", arguments={"viewer": "bob", "text": "porta il vino"})),
        (
            "note niente spoiler fino al 2026-03-10",
            StateCommand(
                tool="note_set",
                arguments={"viewer": None, "text": "niente spoiler", "expires_at": "2026-03-10T23:59:59+00:00"},
            ),
        ),
        ("nota @bob", None),
        (
            "relazione @bob cugino di @carl",
            StateCommand(tool="relation_set", arguments={"subject": "bob", "relation": "cugino di", "object": "carl"}),
        ),
        ("relation @bob @carl", None),
        ("tormentone @bob la papera", StateCommand(tool="joke_add", arguments={"text": "la papera", "participants": ["bob"]})),
        ("joke @bob", None),
        ("togli #ab12", StateCommand(drop=True, id="ab12")),
        ("drop ab 12", None),
        ("imposta giorni = martedì", StateCommand(tool="channel_set", arguments={"key": "giorni", "value": "martedì"})),
        ("set giorni", None),
        ("esplodi", None),
    ],
)
def test_what_is_typed_is_read(text: str, meant: StateCommand | None) -> None:
    assert state_command_of(text) == meant


async def test_a_moderator_notes_lists_and_closes(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        [said] = await chat.play(typed("!stato richiesta @bob una torta"))
        assert said.startswith("Fatto. #request-")
        assert said.endswith("richiesta Bob: una torta")
        assert await records(chat) == [("request", "una torta", ("id-bob",), "open")]
        id_ = said.split()[1]
        [listed] = await chat.play(typed("!state", seconds=30))
        assert listed == f"{id_} richiesta Bob: una torta"
        [done] = await chat.play(typed(f"!state fatto {id_}", seconds=40))
        assert done.endswith("una torta ✓")
        assert await records(chat) == [("request", "una torta", ("id-bob",), "done")]


async def test_other_kinds_are_set_and_dropped(tmp_path: Path) -> None:
    async with a_chat(tmp_path, language="en") as chat:
        await chat.play(
            typed("!state note @bob brings wine until 2026-03-10"),
            typed("!state relation @bob cousin of @alice", seconds=21),
            typed("!state joke @bob the duck", seconds=22),
            typed("!state set stream days = tuesday", seconds=23),
            typed("!state set Stream Days = friday", seconds=24),
        )
        assert sorted(await records(chat)) == [
            ("channel", "Stream Days: friday", (), "open"),
            ("joke", "the duck", ("id-bob",), "open"),
            ("note", "brings wine", ("id-bob",), "open"),
            ("relation", "cousin of", ("id-bob", "id-alice"), "open"),
        ]
        [listed] = await chat.play(typed("!state list note", seconds=30))
        assert (await chat.play(typed(f"!state drop {listed.split()[0]}", seconds=31)))[0].startswith("Done.")
        [channel] = await chat.play(typed("!state list channel", seconds=32))
        assert await chat.play(typed(f"!state drop {channel.split()[0]}", seconds=33)) == ["Nothing is noted."]
        assert await chat.play(typed("!state list note", seconds=34)) == ["Nothing is noted."]
        assert len(await chat.play(typed("!state list @alice", seconds=35))) == 1


async def test_the_same_command_again_changes_nothing_more(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        given = order("!state nota niente spoiler", by="carl", badges=MOD, id_="c1")
        await chat.play(given, given)
        assert len(await records(chat)) == 1


@pytest.mark.parametrize("text", ["!state richiesta @bob torta", "!stato", "!wipe", "!wipe sì", "!azzera yes"])
async def test_viewers_are_not_heard(tmp_path: Path, text: str) -> None:
    async with a_chat(tmp_path) as chat:
        assert await chat.play(typed(text, by="alice", badges=("vip",))) == []
        assert await records(chat) == []
        assert "Birba" in await chat.held()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("!state richiesta @zorro torta", "Non so chi sia"),
        ("!state lista @zorro", "Non so chi sia"),
        ("!state boh", "Si usa così"),
        ("!state nota x fino al 2026-99-99", "Si usa così"),
        ("!state fatto #abcdefgh", "Non c'è nulla di annotato."),
    ],
)
async def test_what_cannot_be_done_is_told_to_moderators(tmp_path: Path, text: str, answer: str) -> None:
    async with a_chat(tmp_path) as chat:
        [said] = await chat.play(typed(text))
        assert said.startswith(answer)


async def test_nothing_is_noted_of_who_opted_out(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.memory.opt_out("id-bob", at(15))
        [said] = await chat.play(typed("!state tormentone @bob la papera"))
        assert said.startswith(("Non so chi sia", "Qualcuno dei nominati"))
        assert await records(chat) == []


async def test_the_broadcaster_wipes_everything_once_confirmed(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        assert await chat.play(typed("!wipe", by="casa", badges=OWNER)) == [
            "Dimentico per sempre TUTTO ciò che so di questo canale, di chiunque? Se sì: !azzera sì entro 60 secondi."
        ]
        assert "Nerone" in await chat.held()
        assert await chat.play(typed("!wipe sì", by="casa", seconds=25, badges=OWNER)) == ["Fatto: 3 cose dimenticate."]
        await chat.memory.run_jobs()
        held = await chat.held()
        assert "Nerone" not in held
        assert "Birba" not in held
        [entry] = await chat.memory.audit()
        assert (entry.verb, entry.by, entry.lines) == ("forget", "id-casa", 3)


@pytest.mark.parametrize(
    ("text", "seconds", "badges"), [("!wipe sì", 25, MOD), ("!wipe sì", 99, OWNER), ("!wipe no", 25, OWNER)]
)
async def test_a_wipe_is_confirmed_by_the_broadcaster_in_time_or_not_at_all(
    tmp_path: Path, text: str, seconds: float, badges: tuple[str, ...]
) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.play(typed("!wipe", by="casa", badges=OWNER))
        await chat.play(typed(text, by="casa", seconds=seconds, badges=badges))
        assert "Nerone" in await chat.held()


async def test_confirming_to_be_forgotten_does_not_confirm_a_wipe(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        await chat.play(typed("!forgetme", by="casa", badges=OWNER))
        await chat.play(typed("!wipe sì", by="casa", seconds=25, badges=OWNER))
        assert "Nerone" in await chat.held()


async def test_a_recorded_wipe_is_done_at_once(tmp_path: Path) -> None:
    async with a_chat(tmp_path, replies="log") as chat:
        await chat.play(order("!wipe", by="casa", badges=OWNER))
        assert "Nerone" not in await chat.held()


async def test_the_broadcaster_has_the_files_read_again(tmp_path: Path) -> None:
    folder, played = tmp_path / "canon", list[Persona]()
    folder.mkdir()
    persona = tmp_path / "persona.toml"
    persona.write_text('name = "Faro"\n[description]\nit = "Sei un faro."\n[tone]\nit = ["Breve."]\n', encoding="utf-8")

    async with a_chat(tmp_path / "data") as chat:
        chat.loop._obeyer._reload = reloading(chat.memory, folder, persona, become=played.append)
        (folder / "a.md").write_text("---\nid: faro\ntitle: Il faro\naliases: [Faro]\n---\nSpento da anni.\n", encoding="utf-8")
        assert await chat.play(typed("!reload")) == []  # a moderator
        [said] = await chat.play(typed("!ricarica", by="casa", seconds=25, badges=OWNER))
        assert said == "Riletto: 1 voce del canone è cambiata."
        assert [one.name for one in played] == ["Faro"]
        (folder / "a.md").write_text("senza intestazione", encoding="utf-8")
        [said] = await chat.play(typed("!reload", by="casa", seconds=30, badges=OWNER))
        assert said.startswith("Nei file c'è un errore")
        assert len(played) == 1


async def test_a_replay_has_no_files_to_read_again(tmp_path: Path) -> None:
    async with a_chat(tmp_path) as chat:
        assert await chat.play(order("!reload", by="casa", badges=OWNER)) == []
