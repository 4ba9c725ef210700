"""What the bot says unasked, when it keeps silent for the whole chat, what it does not even take in, and what it may spend."""

import asyncio
import os
import signal
from dataclasses import replace
from datetime import timedelta

import pytest
import structlog
from builders_live import BOT, EAGER, Bench, at, message, notice, offline, online, run
from builders_llm import addressing, batch_of, item, recall_of
from builders_llm import message as told
from fakes.llm_server import FakeLlmServer, says
from fakes.memory import FakeMemory

from bot.addressing import Addressing
from bot.allowance import Allowance, MeteredChat
from bot.app import Hooks, make_loop
from bot.hangup import reloading_on_hangup
from bot.llm import LanguageModel
from bot.llm_values import LlmSettings
from bot.loop_settings import LoopSettings
from bot.manners import Manners
from bot.persona import RICORDO
from bot.prompt import PromptLimits
from bot.remembering import MemoryResponder
from bot.reply import LlmResponder
from bot.responder import ResponderFailed
from bot.speak import Delivery
from config.sections import Manners as MannersSection
from config.sections import Twitch as TwitchSection
from config.settings import Settings
from memory import Batch, Channel, Stream, VirtualClock


async def test_chance_answers_about_its_share_and_the_same_batches_each_time() -> None:
    lines = [message(f"riga {n}", seconds=n * 10, by=f"v{n}") for n in range(200)]
    first, second = [await run(Bench(manners=replace(EAGER, chance=0.25)), online(), *lines) for _ in range(2)]
    assert 25 <= len(first.heard) <= 75
    assert first.said == second.said


async def test_without_chance_nothing_is_said_unasked() -> None:
    bench = await run(Bench(), online(), *(message("riga", seconds=n * 10, by=f"v{n}") for n in range(30)))
    assert bench.heard == []


async def test_who_asks_goes_before_chance_and_events() -> None:
    bench = Bench(manners=replace(EAGER, chance=1.0, events=frozenset({"raid"})))
    await run(
        bench, online(), notice("raid", by="dora"), message("ricordino?", by="bob", seconds=0.1), message("ciao", seconds=0.2)
    )
    assert [asked.user.login for asked in bench.responder.asked] == ["bob"]


async def test_an_event_gets_a_word_that_hangs_on_no_message() -> None:
    threads: list[str | None] = []

    class Voice:
        async def say(self, text: str, reply_to: str | None) -> Delivery:
            threads.append(reply_to)
            return Delivery(state="sent", id="p1")

    bench = Bench(manners=replace(EAGER, events=frozenset({"raid", "resub"})), voice=Voice())
    await run(bench, online(), notice("raid", by="dora", seconds=1), notice("resub", by="dora", seconds=20, text="due anni!"))
    assert threads == [None, None]
    assert [asked.text for asked in bench.responder.asked] == ["raid", "due anni!"]
    assert bench.outcomes[0].turn.said.in_reply_to == ("n1-dora",)


async def test_an_event_that_is_not_chosen_or_names_nobody_gets_none() -> None:
    bench = Bench(manners=replace(EAGER, events=frozenset({"raid"})))
    await run(bench, online(), notice("resub", seconds=1), replace(notice("raid", seconds=20), user=None))
    assert bench.heard == []


def test_unasked_words_keep_to_the_cooldowns_and_to_silence() -> None:
    target = Manners(replace(EAGER, chance=1.0, channel_cooldown_seconds=60), Addressing(BOT))

    def reason(seconds: float) -> str:
        line = message("ciao", seconds=seconds, by=f"v{seconds}")
        return target.choose(Batch(stream_id="s", lines=(line,), closed_at=at(seconds)), now=at(seconds)).reason

    assert [reason(0), reason(30), reason(61)] == ["chance", "channel_cooldown", "chance"]
    target.quiet = True
    assert reason(200) == "quiet"


async def test_where_only_a_running_stream_is_answered_chat_outside_of_it_is_remembered() -> None:
    bench = Bench(manners=replace(EAGER, online_only=True))
    await run(
        bench,
        message("ricordino prima?", seconds=1),
        online(seconds=20),
        message("ricordino durante?", seconds=21),
        message("ricordino alla fine?", seconds=40),
        offline(seconds=40.1),
        message("ricordino dopo?", seconds=60),
    )
    assert [asked.text for asked in bench.responder.asked] == ["ricordino durante?", "ricordino alla fine?"]
    assert [reason for _, reason in bench.said] == ["offline", "", "", "offline"]
    assert len(bench.memory.lines) == 4


async def test_a_blocked_line_is_neither_remembered_nor_answered() -> None:
    bench = Bench(settings=LoopSettings(blocked=("Parolaccia", "brutta cosa")))
    await run(
        bench,
        online(),
        message("ricordino PAROLACCIA!", seconds=1),
        message("una brutta  cosa", seconds=2),
        message("ricordino, parolacciaio?", seconds=3),
    )
    assert [line.text for line in bench.memory.lines.values()] == ["ricordino, parolacciaio?"]
    assert bench.loop.counts["left_out_blocked"] == 2


def test_no_reply_begins_with_the_prefix_of_commands_whatever_it_is() -> None:
    target = Manners(replace(EAGER, prefix="?"), Addressing(BOT))
    assert target.polish("?comando", now=at(0)).text == "comando"
    assert target.polish("!/ . ciao?", now=at(0)).text == "ciao?"


@pytest.mark.parametrize(("language", "word"), [("it", "Baffo"), ("en", "Baffo")])
async def test_a_fixed_language_is_that_of_every_prompt(language: str, word: str) -> None:
    async with FakeLlmServer([says(word)]) as server, _model(server) as model:
        responder = LlmResponder(
            model, persona=RICORDO, addressing=addressing(), limits=PromptLimits(), language=language
        )  # fmt: skip
        asked = told("ricordo what is my cat called?" if language == "it" else "ricordo come si chiama il mio gatto?")
        await responder.reply(batch_of(asked), recall_of(item("x")), asked)
    assert RICORDO.described(language) in server.requests[0]["messages"][0]["content"]


async def test_a_fixed_language_is_spoken_without_a_model_too() -> None:
    asked = told("ricordo what is my cat called?")
    answer = {
        language: (await MemoryResponder(addressing(), language=language).reply(batch_of(asked), recall_of(), asked)).text
        for language in ("it", "en")
    }
    assert answer["it"] != answer["en"]


def _model(server: FakeLlmServer) -> LanguageModel:
    return LanguageModel(LlmSettings(base_url=server.url, model="fake-1", retries=0))


def _stream(id_: str, *, temporary: bool = False) -> Stream:
    return Stream(
        id=id_, channel=Channel(id="1", login="c", name="C"), bot=BOT, started_at=at(0), temporary=temporary
    )  # fmt: skip


@pytest.mark.parametrize("field", ["calls_per_hour", "calls_per_stream", "tokens_per_hour", "tokens_per_stream"])
async def test_a_model_whose_allowance_is_spent_is_not_asked(field: str) -> None:
    allowed = 2 if field.startswith("calls") else 20  # an answer of one word costs 8 tokens here: three fit
    clock = VirtualClock(at(0))
    async with FakeLlmServer([says("sì")] * 9) as server, _model(server) as model:
        metered = MeteredChat(model, Allowance(**{field: allowed}), clock)
        responder = LlmResponder(metered, persona=RICORDO, addressing=addressing(), limits=PromptLimits())
        asked = told("ricordo?")
        metered.begin(_stream("s1"))

        async def ask(times: int) -> list[str]:
            said = []
            for _ in range(times):
                try:
                    said.append((await responder.reply(batch_of(asked), recall_of(), asked)).text)
                except ResponderFailed as error:
                    said.append(error.kind)
            return said

        fits = 2 if field.startswith("calls") else 3
        with structlog.testing.capture_logs() as logs:
            assert await ask(5) == ["sì"] * fits + ["allowance_spent"] * (5 - fits)
        assert [entry["limit"] for entry in logs if entry["event"] == "llm_allowance_spent"] == [field]
        metered.begin(_stream("s1"))
        assert await ask(1) == ["allowance_spent"]  # the same stream goes on
        if field.endswith("hour"):
            clock.advance(timedelta(hours=1, seconds=1))
        else:
            metered.begin(_stream("s2"))
        assert await ask(1) == ["sì"]
    assert len(server.requests) == fits + 1


async def test_the_real_stream_goes_on_spending_what_its_temporary_one_began_with() -> None:
    async with FakeLlmServer([says("sì")] * 2) as server, _model(server) as model:
        metered = MeteredChat(model, Allowance(calls_per_stream=1), VirtualClock(at(0)))
        responder = LlmResponder(metered, persona=RICORDO, addressing=addressing(), limits=PromptLimits())
        asked = told("ricordo?")
        metered.begin(_stream("live-1", temporary=True))
        await responder.reply(batch_of(asked), recall_of(), asked)
        metered.begin(_stream("s1"))
        with pytest.raises(ResponderFailed, match="allowance_spent"):
            await responder.reply(batch_of(asked), recall_of(), asked)


async def test_without_a_model_unasked_words_are_off_and_that_is_said() -> None:
    settings = Settings(manners=MannersSection(chance=1.0, channel_cooldown_seconds=0))
    memory, clock = FakeMemory(), VirtualClock(at(0))
    with structlog.testing.capture_logs() as logs:
        loop = make_loop(
            settings, memory=memory, clock=clock, channel=Channel(id="1", login="c", name="C"), bot=BOT, hooks=Hooks()
        )
    assert [entry["event"] for entry in logs] == ["unasked_words_need_a_model"]
    await loop.feed(message("ciao"))
    await loop.finish()
    assert [turn.said.reason for turn in memory.turns.values()] == ["not_addressed"]


@pytest.mark.parametrize("wanted", [False, True])
async def test_a_shared_chat_is_taken_in_only_where_that_is_configured(*, wanted: bool) -> None:
    settings, memory = Settings(twitch=TwitchSection(shared_chat=wanted)), FakeMemory()
    home = Channel(id="1", login="c", name="C")
    loop = make_loop(settings, memory=memory, clock=VirtualClock(at(0)), channel=home, bot=BOT, hooks=Hooks())
    await loop.feed(message("ciao dagli altri", source_channel="555"))
    await loop.finish()
    assert [line.text for line in memory.lines.values()] == (["ciao dagli altri"] if wanted else [])


async def test_a_hangup_reloads_once_each_and_no_more_after_leaving() -> None:
    reloaded: list[int] = []
    before = signal.getsignal(signal.SIGHUP)

    async def reload() -> int:
        reloaded.append(1)
        return 0

    async with reloading_on_hangup(reload):
        for count in (1, 2):
            os.kill(os.getpid(), signal.SIGHUP)
            async with asyncio.timeout(10):
                while len(reloaded) < count:  # noqa: ASYNC110 - the signal comes when it comes
                    await asyncio.sleep(0.01)
    assert signal.getsignal(signal.SIGHUP) == before
    async with reloading_on_hangup(None):
        assert signal.getsignal(signal.SIGHUP) == before
