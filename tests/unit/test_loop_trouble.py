"""The loop when the database is away, an event is bad, the process was killed, or the chat is hostile."""

import pytest
from builders_live import HOME, Bench, at, message, online, run
from fakes.memory import FakeMemory

from bot.batching import BatchingSettings
from bot.loop import ChatLoop
from bot.loop_settings import LoopSettings
from bot.manners import MannersSettings
from memory import Batch, Deletion, Event, InvalidRow, MemoryClosed, StateCall, StoreUnavailable


async def test_nothing_is_lost_while_the_database_is_away_for_a_moment() -> None:
    bench = Bench()
    bench.memory.away = {"observe"}
    await run(bench, online(), message("ricordino uno?", seconds=1), message("due", by="bob", seconds=20), finish=False)
    assert bench.memory.lines == {}
    assert bench.loop.counts["store_unavailable"] > 1
    bench.memory.away = set()
    bench.virtual.move_to(at(40))
    await bench.loop.tick(at(40))
    assert list(bench.memory.lines) == ["m1-alice", "m20-bob"]
    assert bench.heard == ["risposta 1"]


async def test_a_turn_that_could_not_be_recorded_is_recorded_later_and_never_said_again() -> None:
    bench = Bench()
    bench.memory.away = {"record"}
    await run(bench, online(), message("ricordino uno?", seconds=1), message("ciao", by="bob", seconds=20), finish=False)
    assert bench.heard == ["risposta 1"]
    assert bench.outcomes[0].recorded is False
    bench.memory.away = set()
    await bench.loop.finish()
    assert [turn.said.state for turn in bench.memory.turns.values()] == ["sent", "silent"]
    assert bench.heard == ["risposta 1"]


async def test_a_deletion_is_kept_while_the_database_is_away() -> None:
    bench = await run(Bench(), online(), message("ciao", seconds=1), finish=False)
    bench.memory.away = {"delete"}
    deletion = Deletion(at=at(9), scope="message", message_id="m1-alice")
    await bench.loop.feed(deletion)
    bench.memory.away = set()
    await bench.loop.finish()
    assert bench.memory.deletions == [("s1", deletion)]


async def test_a_database_that_stays_away_ends_the_loop_with_a_clear_error() -> None:
    bench = Bench(settings=LoopSettings(waiting_steps=5))
    bench.memory.away = {"begin_stream"}
    with pytest.raises(StoreUnavailable, match="free disk space"):
        await run(bench, online(), *(message("ciao", seconds=20 * n) for n in range(1, 20)))


async def test_finishing_says_what_could_not_be_stored() -> None:
    bench = Bench()
    bench.memory.away = {"observe"}
    with pytest.raises(StoreUnavailable, match="1 steps could not be stored"):
        await run(bench, online(), message("ciao", seconds=1))


async def test_one_bad_event_does_not_end_the_evening(capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench()

    def refuse(_: Batch) -> None:
        bench.memory.on_recall = None
        msg = "testo segreto"
        raise InvalidRow(msg)

    bench.memory.on_recall = refuse
    await run(bench, online(), message("ricordino uno?", seconds=1), message("ricordino due?", seconds=20))
    assert bench.heard == ["risposta 1"]
    assert bench.loop.counts["failures"] == 1
    shown = capsys.readouterr().out
    assert "InvalidRow" in shown
    assert "segreto" not in shown


async def test_a_closed_memory_ends_the_loop() -> None:
    bench = Bench()

    def closed(_: Batch) -> None:
        msg = "closed"
        raise MemoryClosed(msg)

    bench.memory.on_recall = closed
    with pytest.raises(MemoryClosed):
        await run(bench, online(), message("ciao", seconds=1))


async def test_whoever_writes_turns_down_is_heard_when_that_fails() -> None:
    bench = Bench()

    def full(_: object) -> None:
        msg = "no space left"
        raise OSError(msg)

    bench.loop._on_turn = full
    with pytest.raises(OSError, match="no space left"):
        await run(bench, online(), message("ciao", seconds=1))


async def test_a_bot_that_is_leaving_stores_what_it_heard_without_a_look_into_its_memory() -> None:
    looked: list[Batch] = []
    bench = Bench()
    bench.memory.on_recall = looked.append
    await bench.loop.feed(online())
    await bench.loop.feed(message("ricordino?", seconds=1))
    bench.loop.hush()
    await bench.loop.finish()
    (turn,) = bench.memory.turns.values()
    assert (turn.said.state, turn.said.reason, turn.recall) == ("silent", "stopping", None)
    assert (looked, bench.heard) == ([], [])


async def test_turns_that_a_crash_cut_off_are_recorded_in_silence_and_not_answered() -> None:
    bench = Bench()
    line = message("ricordino?", seconds=1)
    bench.memory.cut_off = [Batch(stream_id="s0", lines=(line,), closed_at=at(2))]
    await bench.loop.start()
    await run(bench, online(seconds=5), line)
    (turn,) = bench.memory.turns.values()
    assert (turn.said.state, turn.said.reason, turn.recall) == ("silent", "restarted", None)
    assert bench.heard == []


async def test_a_replay_that_was_killed_goes_on_and_ends_as_the_unbroken_one() -> None:
    events: list[Event] = [
        online(),
        *(message("ricordino?" if n % 3 else "ciao", seconds=n * 2.3, by=f"v{n % 4}") for n in range(40)),
    ]
    rules = MannersSettings()
    whole = await run(Bench(manners=rules), *events)
    memory = FakeMemory()
    await run(Bench(manners=rules, memory=memory), *events[:23], finish=False)
    resumed = Bench(
        manners=rules, memory=memory, settings=LoopSettings(batching=BatchingSettings(grace_seconds=0.5), resume=True)
    )
    await resumed.loop.start()
    await run(resumed, *events)
    assert list(memory.turns) == list(whole.memory.turns)
    assert [turn.said.state for turn in memory.turns.values()] == [turn.said.state for turn in whole.memory.turns.values()]
    assert resumed.loop.counts["turns_recorded_before"] > 0


async def test_hostile_chat_passes_through_unharmed() -> None:
    hostile = [
        "\x00",
        "\ud800",
        "a" * 1_000_000,
        "\u202eoddicroir",
        "'; DROP TABLE message; --",
        "Z\u0363\u0363\u0363" * 500,
        "",
    ]
    bench = await run(Bench(), online(), *(message(f"ricordino {text}", seconds=9 * n) for n, text in enumerate(hostile)))
    assert bench.loop.counts.get("failures", 0) == 0
    assert len(bench.heard) == len(hostile)


async def test_moments_that_go_backwards_do_not_stop_the_loop() -> None:
    bench = await run(Bench(), online(), *(message("ciao", seconds=s, by=f"v{s}") for s in (50, 3, 80, 7, 7.5)))
    assert len(bench.memory.lines) == 5


async def test_a_deletion_that_the_memory_cannot_carry_out_does_not_end_the_evening() -> None:
    bench = await run(Bench(), online(), message("ciao", seconds=1), finish=False)

    async def broken(*_: object) -> int:
        msg = "no such row"
        raise InvalidRow(msg)

    bench.memory.delete = broken  # type: ignore[method-assign, assignment] # a memory that refuses one deletion
    await bench.loop.delete(Deletion(at=at(9), scope="message", message_id="m1-alice"))
    assert bench.loop.counts["failures"] == 1


async def test_a_loop_needs_a_responder_where_its_own_replies_are_wanted() -> None:
    bench = Bench()
    with pytest.raises(ValueError, match="needs a responder"):
        ChatLoop(bench.parts, LoopSettings(replies="log"), HOME)


async def test_what_a_resumed_log_changed_before_is_not_changed_again() -> None:
    events: list[Event] = [online()]
    for n in range(20):
        events.append(message("ciao", seconds=n * 20, by=f"v{n}"))
        events.append(StateCall(at=at(n * 20 + 1), tool="joke_add", arguments={"id": f"j{n}", "text": "x", "participants": []}))
        events.append(Deletion(at=at(n * 20 + 2), scope="user", user_id="somebody"))
    memory = FakeMemory()
    await run(Bench(memory=memory), *events[:31], finish=False)
    done, turns = (len(memory.calls), len(memory.deletions)), len(memory.turns)
    resumed = Bench(memory=memory, settings=LoopSettings(resume=True, recorded_turns=turns))
    await run(resumed, *events[: 3 * turns - 2], finish=False)
    assert resumed.loop.behind
    assert (len(memory.calls), len(memory.deletions)) == done
    await run(resumed, *events[3 * turns - 2 :])
    assert not resumed.loop.behind
    assert len(memory.turns) == 20
    assert {call.arguments["id"] for call in memory.calls} == {f"j{n}" for n in range(20)}


async def test_a_line_that_comes_again_after_a_restart_is_not_answered_again() -> None:
    bench = Bench()
    question = message("ricordino ci sei?", seconds=1)
    await run(bench, online(), question)
    again = Bench(memory=bench.memory)
    await again.loop.start()
    await run(again, online(), question, message("ricordino?", seconds=3, by="bob"))
    assert [asked.user.login for asked in again.responder.asked] == ["bob"]
    assert again.loop.counts["left_out_duplicate"] == 1
