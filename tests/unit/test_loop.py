"""The loop from the outside: events in, turns, replies and memory out. On a virtual clock, as a replay drives it."""

from dataclasses import replace

import pytest
from builders_live import BOT, Bench, at, message, notice, offline, online, run, viewer
from fakes.memory import FakeMemory

from bot.loop_settings import LoopSettings
from bot.manners import MannersSettings
from memory import BotIdentity, BotReply, Command, Deletion, Event, Notice, Probe, Settle, StateCall

LOG = LoopSettings(replies="log")


async def test_the_chain_runs_in_its_order_and_ends_with_a_recorded_reply() -> None:
    bench = await run(Bench(), online(), message("ricordino ci sei?", seconds=1))
    assert bench.memory.log == ["begin_stream", "observe", "recall", "record"]
    assert bench.heard == ["risposta 1"]
    (outcome,) = bench.outcomes
    said = outcome.turn.said
    assert (said.state, said.text, said.in_reply_to, said.model) == ("sent", "risposta 1", ("m1-alice",), "fake")
    assert said.reply_id == f"reply:{outcome.turn.batch.id}"
    assert set(outcome.seconds) == {"observe", "recall", "reply", "send", "record", "total"}
    assert bench.memory.turns[outcome.turn.batch.id] == outcome.turn


async def test_an_answer_to_the_bots_own_reply_is_for_the_bot() -> None:
    bench = await run(Bench(), online(), message("ricordino ci sei?", seconds=1), finish=False)
    await bench.loop.finish()
    reply_id = bench.outcomes[0].turn.said.reply_id
    await run(bench, message("e poi?", seconds=30, reply_to=reply_id))
    assert bench.heard == ["risposta 1", "risposta 2"]


async def test_ordinary_chat_is_observed_recalled_and_recorded_in_silence() -> None:
    bench = await run(Bench(), online(), message("bella partita", seconds=1), notice(seconds=2, text="dodici mesi!"))
    assert bench.said == [("silent", "not_addressed")]
    assert len(bench.memory.lines) == 2
    assert bench.responder.asked == []


async def test_batches_of_a_busy_chat_keep_their_order() -> None:
    bench = await run(Bench(), online(), *(message(f"riga {n}", seconds=n * 0.5, by=f"v{n % 7}") for n in range(100)))
    assert list(bench.memory.lines) == [f"m{n * 0.5}-v{n % 7}" for n in range(100)]
    assert bench.memory.log.count("observe") == len(bench.outcomes) == 5


async def test_the_same_log_gives_the_same_turns() -> None:
    events: list[Event] = [
        online(),
        *(message("ricordino?" if n % 3 else "ciao", seconds=n * 1.7, by=f"v{n % 5}") for n in range(60)),
    ]
    rules = MannersSettings()
    first, second = await run(Bench(manners=rules), *events), await run(Bench(manners=rules), *events)
    assert [outcome.turn.batch for outcome in first.outcomes] == [outcome.turn.batch for outcome in second.outcomes]
    assert first.said == second.said
    assert ("silent", "channel_cooldown") in first.said


async def test_a_message_that_comes_twice_is_served_once() -> None:
    line = message("ricordino?", seconds=1)
    bench = await run(Bench(), online(), line, line, replace(line, at=at(9)))
    assert bench.heard == ["risposta 1"]
    assert bench.loop.counts["left_out_duplicate"] == 2


async def test_a_batch_that_the_memory_already_knows_is_not_answered_again() -> None:
    memory = FakeMemory()
    line = message("ricordino?", seconds=1)
    memory.lines[line.id] = line
    bench = await run(Bench(memory=memory), online(), line)
    assert bench.said == [("silent", "seen_before")]
    assert bench.heard == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (message("ricordino?", is_bot=True), "bot"),
        (message("ricordino?", by="nightbot"), "bot"),
        (message("ricordino?", by="moobot"), "bot"),
        (message("ricordino?", source_channel="555"), "foreign"),
        (replace(message("ricordino?"), user=replace(viewer("x"), id=BOT.id)), "own"),
    ],
)
async def test_lines_of_bots_of_the_bot_itself_and_of_foreign_chats_are_left_out(line: Event, reason: str) -> None:
    bench = await run(Bench(settings=LoopSettings(ignored=frozenset({"nightbot", "id-moobot"}))), online(), line)
    assert bench.loop.counts[f"left_out_{reason}"] == 1
    assert bench.memory.lines == {}


async def test_foreign_chat_is_taken_in_where_the_streamer_wants_it() -> None:
    bench = await run(Bench(settings=LoopSettings(foreign_chat=True)), online(), message("ciao", source_channel="555"))
    assert len(bench.memory.lines) == 1


async def test_a_title_is_given_to_the_stream_that_runs_and_begins_none() -> None:
    news = Notice(id="u1", at=at(1), kind="channel_update", user=None, data={"title": "Nuovo", "category_name": ""})
    bench = await run(Bench(), news)
    assert (bench.memory.streams, bench.loop.counts["passed_over"]) == ([], 1)
    bench = await run(Bench(), online(), news, replace(news, id="u2"), replace(news, id="u3", data={"title": 3}))
    assert [(stream.id, stream.title) for stream in bench.memory.streams] == [("s1", "Serata"), ("s1", "Nuovo")]


async def test_a_deletion_takes_a_line_out_of_the_open_batch_and_out_of_the_memory() -> None:
    deletion = Deletion(at=at(1.2), scope="message", message_id="gone")
    bench = await run(Bench(), online(), message("ricordino, segreto", seconds=1, message_id="gone"), deletion)
    assert bench.memory.deletions == [("s1", deletion)]
    assert bench.memory.lines == {}
    assert bench.heard == []


async def test_a_deletion_before_any_stream_waits_for_the_first_one() -> None:
    deletion = Deletion(at=at(0), scope="message", message_id="gone")
    bench = await run(Bench(), deletion, message("ricordino?", seconds=1, message_id="gone"), online(seconds=2))
    assert bench.memory.deletions == [("s1", deletion)]
    assert bench.memory.lines == {}


async def test_a_deletion_after_the_stream_reaches_the_stream_that_ended() -> None:
    deletion = Deletion(at=at(9), scope="user", user_id="id-alice")
    bench = await run(Bench(), online(), message("ciao", seconds=1), offline(seconds=5), deletion)
    assert bench.memory.ended == [("s1", at(5))]
    assert bench.memory.deletions == [("s1", deletion)]


async def test_a_deletion_while_the_answer_is_made_withholds_it() -> None:
    bench = Bench()

    async def deleted() -> None:
        await bench.loop.delete(Deletion(at=at(2), scope="message", message_id="m1-alice"))

    bench.responder.before = deleted
    await run(bench, online(), message("ricordino?", seconds=1))
    assert bench.said == [("withheld", "deleted")]
    assert bench.heard == []
    assert bench.outcomes[0].turn.said.text is None


async def test_a_batch_whose_every_line_was_deleted_while_it_waited_makes_no_turn() -> None:
    bench = Bench()
    bench.memory.away = {"observe"}
    await run(bench, online(), message("ricordino?", seconds=1), message("ciao", by="bob", seconds=30), finish=False)
    await bench.loop.delete(Deletion(at=at(40), scope="message", message_id="m1-alice"))
    bench.memory.away = set()
    await bench.loop.finish()
    assert list(bench.memory.lines) == ["m30-bob"]


async def test_a_responder_that_fails_stays_silent_and_the_turn_is_recorded() -> None:
    bench = Bench()
    bench.responder.fails = "timeout"
    await run(bench, online(), message("ricordino?", seconds=1))
    assert bench.said == [("silent", "responder_timeout")]
    assert len(bench.memory.turns) == 1
    assert bench.heard == []


async def test_a_responder_that_never_ends_is_given_up() -> None:
    bench = Bench()

    async def forever() -> None:
        raise TimeoutError

    bench.responder.before = forever
    await run(bench, online(), message("ricordino?", seconds=1))
    assert bench.said == [("silent", "responder_late")]


@pytest.mark.parametrize(("text", "said"), [("", ("silent", "nothing_to_say")), ("https://example.com", ("withheld", "empty"))])
async def test_an_answer_without_words_is_not_posted(text: str, said: tuple[str, str]) -> None:
    bench = Bench()
    bench.responder.text = text
    await run(bench, online(), message("ricordino?", seconds=1))
    assert bench.said == [said]
    assert bench.heard == []


async def test_the_same_reply_is_not_given_twice() -> None:
    bench = Bench()
    bench.responder.text = "sempre uguale"
    await run(bench, online(), message("ricordino?", seconds=1), message("ricordino?", seconds=30))
    assert bench.said == [("sent", ""), ("withheld", "repeated")]


async def test_chat_without_a_stream_gets_a_temporary_one_and_the_real_one_follows() -> None:
    bench = await run(Bench(), message("presto", seconds=1), online(seconds=2), message("eccoci", seconds=3))
    temporary, real = bench.memory.streams
    assert bench.streams == [temporary, real]
    assert (temporary.id, temporary.temporary) == ("live-casa-20260301T200001Z", True)
    assert (real.id, real.title, real.started_at, real.temporary) == ("s1", "Serata", at(2), False)
    assert [outcome.turn.batch.stream_id for outcome in bench.outcomes] == [temporary.id, "s1"]
    assert bench.memory.log == ["begin_stream", "observe", "recall", "record"] * 2


async def test_a_logs_own_bot_is_the_one_who_is_addressed() -> None:
    giulia = BotIdentity(id="1", login="giulia_bot", name="Giulia", aliases=("giulia",))
    bench = await run(Bench(), online(bot=giulia), message("giulia ci sei?", seconds=1))
    assert bench.memory.streams[0].bot == giulia
    assert bench.heard == ["risposta 1"]


async def test_the_memory_command_explains_the_bot_and_is_no_memory() -> None:
    bench = await run(Bench(), online(), message("!memory", seconds=1))
    assert len(bench.heard) == 1
    assert "bot con memoria" in bench.heard[0]
    assert bench.memory.lines == {}


async def test_commands_of_others_are_ignored_in_silence() -> None:
    command = Command(at=at(2), user=viewer("bob"), text="!forget @alice")
    bench = await run(Bench(), online(), message("!discord", seconds=1), command)
    assert bench.heard == []
    assert bench.memory.lines == {}
    assert bench.loop.counts["command_ignored"] == 2


async def test_a_viewer_cannot_make_the_bot_repeat_itself_by_commands() -> None:
    rules = MannersSettings(channel_cooldown_seconds=0, viewer_cooldown_seconds=10)
    bench = await run(Bench(manners=rules), online(), message("!memory", seconds=1), message("!memory", seconds=2))
    assert len(bench.heard) == 1


async def test_recorded_replies_are_the_bots_words_when_a_log_speaks() -> None:
    reply = BotReply(at=at(6), text="Eccomi", id="r1", in_reply_to=("m1-alice",))
    bench = await run(Bench(settings=LOG), online(), message("ricordino?", seconds=1), reply, message("bene", seconds=7))
    assert bench.memory.log == ["begin_stream", "observe", "recall", "record", "record_reply", "observe", "recall", "record"]
    assert bench.memory.replies == [("s1", reply)]
    assert bench.said == [("silent", "recorded_replies")] * 2
    assert bench.heard == []


async def test_recorded_replies_are_passed_over_where_the_bot_answers_itself() -> None:
    bench = await run(Bench(), online(), message("ricordino?", seconds=1), BotReply(at=at(6), text="Eccomi", id="r1"))
    assert bench.memory.replies == []
    assert bench.heard == ["risposta 1"]


@pytest.mark.parametrize(
    ("call", "domains", "held"),
    [
        (
            {"tool": "request_open", "arguments": {"id": "x", "viewer": "id-bob", "text": "torta"}},
            ("request",),
            {"id-bob", "id-alice"},
        ),
        ({"tool": "joke_add", "arguments": {"id": "x", "participants": ["id-dario"]}}, ("joke",), {"id-dario", "id-alice"}),
        ({"tool": "channel_set", "arguments": {"id": "x", "key": "k", "value": "v"}}, ("channel",), {"id-alice", "id-carla"}),
        ({"tool": "note_set", "arguments": {"id": "x", "viewer": None, "text": "t"}}, ("note",), {"id-alice", "id-carla"}),
    ],
)
async def test_a_recorded_tool_call_keeps_those_it_is_about_out_of_that_turns_consolidation(
    call: dict[str, object], domains: tuple[str, ...], held: set[str]
) -> None:
    state = StateCall(at=at(4), **call)  # type: ignore[arg-type] # fields by name
    bench = await run(
        Bench(settings=LOG),
        online(),
        message("ricordino segna", seconds=1),
        message("ciao", by="carla", seconds=2),
        state,
        BotReply(at=at(8), text="Fatto", id="r1"),
        message("dopo", by="elena", seconds=9),
    )
    assert bench.memory.calls == [state]
    first, second = (outcome.turn for outcome in bench.outcomes)
    assert (first.changed_domains, set(first.held_viewers)) == (domains, held)
    assert (second.changed_domains, second.held_viewers) == ((), ())


async def test_a_tool_call_in_a_busy_recorded_chat_still_finds_the_line_that_asked_for_it() -> None:
    busy = [message("chiacchiere", by=f"v{n}", seconds=3 * n) for n in range(6)]
    call = StateCall(at=at(18), tool="note_set", arguments={"id": "x", "viewer": "id-bob", "text": "t"})
    bench = await run(Bench(settings=LOG), online(), *busy, message("ricordino segna", seconds=16), call)
    (outcome,) = bench.outcomes
    assert set(outcome.turn.held_viewers) == {"id-bob", "id-alice"}


async def test_tools_that_the_responder_called_hold_the_whole_batch_where_nobody_is_named() -> None:
    bench = Bench()
    bench.responder.changed_domains = ("channel",)
    await run(bench, online(), message("ricordino segna", seconds=1))
    assert bench.outcomes[0].turn.held_viewers == ("id-alice",)


async def test_settling_closes_the_batch_and_runs_the_jobs() -> None:
    bench = await run(Bench(), online(), message("ciao", seconds=1), Settle(), finish=False)
    assert bench.memory.log[-2:] == ["record", "run_jobs"]


async def test_a_probe_is_passed_over_and_leaves_the_batch_open() -> None:
    probe = Probe(id="p", at=at(2), category="none", batch=(message("?"),))
    bench = await run(Bench(), online(), message("ciao", seconds=1), probe, finish=False)
    assert bench.loop.pending == 1
    await bench.loop.flush("probe")
    assert bench.outcomes[0].turn.batch.flush_reason == "probe"
