"""`ricordo top`: what a look at a memory finds, beside the bot, and how it is shown."""

import asyncio
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from builders_cli import Run
from builders_memory import opened, tell
from builders_recall import CHANNEL, a_batch, a_message, a_stream, a_viewer
from rich.console import Console

from bot.app import remember_channel
from bot.cli.login_texts import Language
from bot.cli.look import Look, Quote, TurnLook, looker
from bot.cli.top import picture
from bot.watch_server import SOCKET
from memory import Deletion, PastTurn, Present, Said, Turn, VirtualClock

NOW = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
RUNNING: dict[str, Any] = {
    "started_at": "2026-03-01T18:00:00+00:00",
    "waiting_events": 1200,
    "counts": {"turns": 9, "said_sent": 2, "said_silent": 7, "failures": 1},
    "degraded_turns": 3,
    "missing_sources": {"recall": 2},
    "tokens": {"prompt": 1234, "completion": 56},
    "milliseconds": {"recall": {"p50": 4.2, "p95": 12.0}, "total": {"p50": 900.0, "p95": 2100.0}},
    "turns": [],
}


def a_turn(**more: Any) -> PastTurn:  # noqa: ANN401 - any field
    values: dict[str, Any] = {
        "id": "t1", "at": NOW, "line_ids": ("m1",), "reply": "Briciola!", "in_reply_to": ("m1",), "rests_on": ("m0",),
        "reply_state": "sent", "reply_reason": "", "model": "tiny", "prompt_tokens": 9, "completion_tokens": 3,
        "reply_seconds": 0.5, **more,
    }  # fmt: skip
    return PastTurn(**values)


def a_look(*turns: TurnLook, running: dict[str, Any] | None = None, dead: int = 0) -> Look:
    present = Present(jobs={"dead": dead}, lag_jobs=3, lag_seconds=90, heard=(25, 60), turns=())
    return Look(at=NOW, present=present, sums={"viewers": 1, "messages": 2, "documents": 3}, turns=turns, running=running)


def shown(look: Look, language: Language = "en") -> str:
    console = Console(file=StringIO(), width=120)
    console.print(picture(look, "Casa", language))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_pace_lag_and_dead_jobs_are_shown() -> None:
    text = shown(a_look(dead=2))
    assert "2.5 messages/s in 10 s · 1.0 messages/s in 60 s" in text  # 25 / 10 and 60 / 60
    assert "lag: 3 jobs wait, the oldest since 2 min · 2 dead: see `ricordo jobs`" in text
    assert "no bot is running here" in text
    assert "no reply yet" in text


def test_a_running_bot_adds_times_degraded_sources_tokens_and_failures() -> None:
    text = shown(a_look(running=RUNNING))
    for told in (
        "1,200 not read yet", "9 (2 sent, 7 silent)", "memory 4 ms, slow 12", "whole turn 900 ms, slow 2,100",
        "3 turns: the memory was late or broken (recall 2 times)", "1,234 read · 56 written", "1: a bug, see the log",
    ):  # fmt: skip
        assert told in text


def test_what_was_lost_is_shown_where_something_was() -> None:
    counts = {"dropped": 5, "repaired": 2, "unsaid_rate_limited": 3, "unsaid_msg_slowmode": 1}
    text = shown(a_look(running={**RUNNING, "counts": counts}))
    for told in (
        "5 events: the chat was faster than the bot", "2 subscriptions were gone, and are back",
        "4 replies did not go",
    ):  # fmt: skip
        assert told in text
    assert "lost" not in shown(a_look(running=RUNNING))


def test_it_speaks_italian_where_that_is_asked_for() -> None:
    cat = Quote(who="Anna", at=NOW - timedelta(days=30), text="la mia gatta si chiama Briciola")
    failed = a_turn(reply=None, reply_state="failed", reply_reason="rate_limited")
    turns = [
        TurnLook(
            turn=a_turn(reply_seconds=1.5),
            asked=(),
            memories=(cat,),
            also=("lore:osteria",),
            running={"degraded": True, "missing": []},
        ),
        TurnLook(turn=failed, asked=(), memories=(), also=(), running={}),
    ]
    text = shown(a_look(*turns, running=RUNNING, dead=2), "it")
    for told in (
        "acceso dal 1 mar 2026", "2,5 messaggi/s in 10 s", "1.200 non ancora letti", "1 spettatore",
        "ritardo: 3 lavori in attesa, il più vecchio da 2 min · 2 morti", "9 (2 inviate, 7 in silenzio)",
        "turno intero 900 ms, lento 2.100", "3 turni: la memoria era in ritardo o guasta (recall 2 volte)",
        "1.234 letti · 56 scritti", "1: un difetto, vedi il registro", "└ Anna, 30 gen 2026: la mia gatta",
        "▸ Briciola!  1.500 ms", "└ canone osteria", "ridotto: senza un passo", "✗ non riuscita: rate_limited",
    ):  # fmt: skip
        assert told in text, told
    for english in ("turns", "running", "messages", "degraded", "viewers", "without"):
        assert english not in text
    assert "qui non gira nessun bot" in shown(a_look(), "it")


def test_a_running_bot_without_a_turn_yet_has_nothing_to_complain_of() -> None:
    quiet = {**RUNNING, "counts": {}, "degraded_turns": 0, "missing_sources": {}, "milliseconds": {}, "waiting_events": 0}
    text = shown(a_look(running=quiet))
    assert "no turn yet" in text
    assert "none yet" in text
    assert "failures" not in text


def test_a_turn_is_shown_with_its_question_its_memories_and_what_was_missing() -> None:
    cat = Quote(who="Anna", at=NOW - timedelta(days=30), text="la mia gatta si chiama Briciola")
    asked = Quote(who="Anna", at=NOW, text="memo come si chiama?")
    told = {"milliseconds": {"total": 1234.5}, "degraded": True, "missing": ["episode"]}
    text = shown(
        a_look(TurnLook(turn=a_turn(), asked=(asked,), memories=(cat,), also=("lore:osteria", "state:n1"), running=told))
    )
    for line in (
        "▸ Briciola!  1,234 ms",
        "└ Anna, 30 Jan 2026: la mia gatta",
        "└ canon osteria",
        "└ note n1",
        "without episode",
    ):
        assert line in text


@pytest.mark.parametrize(("language", "told"), [("en", "▸ sent, and forgotten since"), ("it", "▸ inviata, e poi dimenticata")])
def test_a_reply_that_was_sent_and_is_forgotten_says_so(language: Language, told: str) -> None:
    turn = TurnLook(turn=a_turn(reply=None), asked=(), memories=(), also=(), running={})
    assert told in shown(a_look(turn), language)


def test_a_reply_that_was_not_sent_says_why_and_hostile_chat_commands_no_terminal() -> None:
    evil = Quote(who="[bold]\x1b[31mEve", at=NOW, text="\x1b]0;title\x07 [link=x]hi[/link] \u202e")
    failed = a_turn(reply=None, reply_state="failed", reply_reason="rate_limited", reply_seconds=0.0)
    text = shown(a_look(TurnLook(turn=failed, asked=(evil,), memories=(), also=(), running={})))
    assert "✗ failed: rate_limited" in text
    assert "[bold]" in text
    assert "[link=x]hi[/link]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


async def _asked(folder: Path) -> None:
    """Leave a memory in which Alice told of her cat and was answered, and Bob's turn failed."""
    alice = a_viewer("101", "Alice")
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        await tell(memory, a_batch(a_message("m1", "il mio gatto si chiama Nerone", user=alice, after=1), stream_id="s1"))
        batch = a_batch(a_message("m2", "memo il mio gatto?", user=alice, after=60), stream_id="s1")
        await memory.observe(batch)
        said = Said(state="sent", text="Nerone!", reply_id="r1", at=batch.closed_at, in_reply_to=("m2",))
        await memory.record(Turn(batch=batch, recall=await memory.recall(batch), said=said))
        late = a_batch(a_message("m3", "memo ciao", user=alice, after=120), stream_id="s1")
        await memory.observe(late)
        await memory.record(Turn(batch=late, recall=None, said=Said(state="silent", reason="responder_late")))
    remember_channel(folder, CHANNEL)


async def test_a_look_finds_the_last_replies_and_what_is_erased_is_gone_from_it(tmp_path: Path) -> None:
    await _asked(tmp_path)
    clock = VirtualClock(NOW)
    async with looker(tmp_path, clock) as looking:
        late, answered = (await looking.look(5)).turns
    assert (late.turn.reply, late.turn.reply_reason, late.asked[0].text) == (None, "responder_late", "memo ciao")
    assert (answered.turn.reply, [quote.text for quote in answered.asked]) == ("Nerone!", ["memo il mio gatto?"])
    async with opened(tmp_path) as memory:
        await memory.delete("s1", Deletion(at=NOW, scope="message", message_id="m2"))
    async with looker(tmp_path, clock) as looking:
        assert "memo il mio gatto?" not in str((await looking.look(5)).turns)


async def test_what_the_running_bot_says_is_joined_to_the_turns_of_the_database(tmp_path: Path) -> None:
    await _asked(tmp_path)
    async with looker(tmp_path, VirtualClock(NOW)) as looking:
        answered = (await looking.look(5)).turns[1].turn

    async def told(_: web.Request) -> web.Response:
        memories = [{"section": "recall", "subject": "101", "provenance": ["m1", "lore:osteria"]}]
        seen = {"id": answered.id, "at": "x", "memories": memories, "milliseconds": {"total": 7.0}, "degraded": False}
        return web.json_response({**RUNNING, "turns": [seen]})

    app = web.Application()
    app.router.add_get("/watch", told)
    runner = web.AppRunner(app, shutdown_timeout=0.2)
    await runner.setup()
    await web.UnixSite(runner, str(tmp_path / SOCKET)).start()
    async with looker(tmp_path, VirtualClock(NOW)) as looking:
        found = await looking.look(5)
    await runner.cleanup()
    assert found.running is not None
    turn = found.turns[1]
    assert [quote.text for quote in turn.memories] == ["il mio gatto si chiama Nerone"]
    assert turn.also == ("lore:osteria",)
    assert turn.running == {"milliseconds": {"total": 7.0}, "degraded": False}


def test_the_command_prints_a_picture_or_json(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "data" / f"channel-{CHANNEL.id}"
    folder.mkdir(parents=True)
    asyncio.run(_asked(folder))
    code, picture_shown, _ = run("top", "--once")
    assert (code, "▸ Nerone!" in picture_shown) == (0, True)
    assert "qui non gira nessun bot" in run("top", "--once", "--language", "it")[1]
    code, as_json, _ = run("top", "--json", "--turns", "1")
    assert code == 0
    assert '"running": null' in as_json
    assert as_json.count('"reply_state"') == 1
