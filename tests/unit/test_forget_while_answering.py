"""An order to forget that waits behind a turn stops the answer that is being made of what must go, and no other."""

from pathlib import Path

import pytest
from builders_live import at, message
from builders_obey import MOD, Chat, a_chat
from fakes.responder import FakeResponder

from bot.tombstones import ANYBODY, Tombstones
from memory import Batch, Message, StoreUnavailable

OWNER = ("broadcaster",)


async def asked_while(chat: Chat, responder: FakeResponder, *orders: Message) -> list[str]:
    """Ask the bot something, have orders come in while it answers; return what it says to the question."""

    async def come_in() -> None:
        responder.before = None
        for one in orders:
            chat.loop.foresee(one)

    responder.before = come_in
    said = await answered(chat, message("ricordino dove abito?", seconds=20))
    assert responder.before is None
    return said


async def answered(chat: Chat, question: Message) -> list[str]:
    before = len(chat.heard)
    await chat.play(question)
    await chat.loop.flush("end")
    return chat.heard[before:]


@pytest.mark.parametrize(
    ("text", "by", "badges", "withheld"),
    [
        ("!forget @alice", "carl", MOD, True),
        ("!forget @alice Birba", "carl", MOD, True),
        ("!dimentica ultimo", "carl", MOD, True),
        ("!forget #a1", "carl", MOD, True),
        ("!correct @alice Birba -> Pippo", "carl", MOD, True),
        ("!optout", "alice", (), True),
        ("!forget @alice Birba", "alice", (), True),
        ("!forget last", "alice", (), True),
        ("!forget @nobody", "carl", MOD, False),
        ("!forget @alice", "bob", (), False),
        ("!forgetme", "alice", (), False),
        ("!wipe si", "carl", OWNER, False),
        ("!memories @alice", "carl", MOD, False),
        ("!forget @alice", "carl", (), False),
        ("alice ha un gatto", "carl", MOD, False),
    ],
)
async def test_an_answer_is_withheld_where_an_order_that_waits_may_reach_it(
    tmp_path: Path, text: str, by: str, badges: tuple[str, ...], *, withheld: bool
) -> None:
    responder = FakeResponder()
    async with a_chat(tmp_path, responder=lambda *_: responder) as chat:
        waiting = message(text, by=by, seconds=21, badges=badges)
        assert await asked_while(chat, responder, waiting) == ([] if withheld else ["risposta 1"])
        await chat.play(waiting)
        assert await answered(chat, message("ricordino ci sei?", by="carl", seconds=30)) == ["risposta 2"]


async def test_a_confirmed_order_counts_and_an_unconfirmed_one_does_not(tmp_path: Path) -> None:
    responder = FakeResponder()
    async with a_chat(tmp_path, responder=lambda *_: responder) as chat:
        await chat.play(message("!forgetme", seconds=15))
        assert await asked_while(chat, responder, message("!forgetme si", seconds=21)) == []


async def test_an_order_that_is_left_out_stops_nothing_for_long(tmp_path: Path) -> None:
    responder = FakeResponder()
    async with a_chat(tmp_path, responder=lambda *_: responder) as chat:
        bots = message("!optout", seconds=21, is_bot=True)
        assert await asked_while(chat, responder, bots) == []
        await chat.play(bots)
        assert await answered(chat, message("ricordino ci sei?", seconds=30)) == ["risposta 2"]


def test_an_order_is_expected_until_it_is_carried_out_and_goes_on_where_it_must_be_given_again() -> None:
    stones = Tombstones()
    stones.expect("c1", ANYBODY)
    with pytest.raises(StoreUnavailable), stones.carrying_out("c1", unless=StoreUnavailable):
        raise StoreUnavailable
    assert stones.touches(_batch(), None)
    with pytest.raises(LookupError), stones.carrying_out("c1", unless=StoreUnavailable):
        raise LookupError
    assert not stones.touches(_batch(), None)


def _batch() -> Batch:
    return Batch(stream_id="s1", lines=(message("x"),), closed_at=at(1), flush_reason="quiet")
