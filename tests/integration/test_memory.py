import asyncio
import sqlite3
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_memory import ALICE, BOB, a_past_stream, asked, opened, shown, tell
from builders_recall import CHANNEL, NOON, a_batch, a_clock, a_message, a_stream, a_viewer
from fakes.hash_embedder import HashEmbedder

from lore.entry import LoreEntry
from memory import (
    BotReply,
    Deadlines,
    DirectoryInUse,
    InvalidRow,
    Memory,
    MemoryClosed,
    MemorySettings,
    ModelMismatch,
    Said,
    StateCall,
    Viewer,
    WrongChannel,
    open_memory,
    recipes,
)


async def test_each_viewer_is_answered_from_their_own_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        for user, own, other in ((ALICE, "Birba", "Nerone"), (BOB, "Nerone", "Birba")):
            recall = await memory.recall(asked("come si chiama il mio gatto?", user=user))
            assert own in recall.block.text
            assert other not in recall.block.text
            assert {item.subject for item in recall.block.items} == {user.id}
            assert not recall.degraded


async def test_what_was_said_is_found_by_its_words_at_once_and_by_its_vector_after_the_jobs(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream("s0", after=-7200))
        await tell(memory, a_batch(a_message("m1", "ho un gatto di nome Birba", after=-7000), stream_id="s0"))
        await memory.begin_stream(a_stream("s1"))
        question = asked("come si chiama il mio gatto?")
        assert "Birba" in (await memory.recall(question)).block.text
        dense = "viewer:101:recall/dense"
        assert sum(step.items_out for step in (await memory.recall(question)).steps if step.step == dense) == 0
        assert await memory.run_jobs() > 0
        found = sum(step.items_out for step in (await memory.recall(question)).steps if step.step == dense)
        assert found == 2  # the message, and the fact drawn from it


async def test_after_a_restart_the_history_and_the_memory_are_there(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await tell(memory, a_batch(a_message("m3", "buonasera", after=1)), said=Said(state="sent", text="ciao!", at=NOON))
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream("s1"))
        recall = await memory.recall(asked("come si chiama il mio gatto?"))
        assert [line.text for line in recall.window.lines] == ["buonasera", "ciao!"]
        assert "Birba" in recall.block.text


async def test_a_batch_that_was_observed_is_not_its_own_past(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", "eccomi", after=1)))
        question = asked("come si chiama il mio gatto?")
        assert await memory.observe(question) == 1
        assert await memory.observe(question) == 0
        recall = await memory.recall(question)
        assert [line.id for line in recall.window.lines] == ["m1"]


def rows_of(directory: Path) -> list[str]:
    connection = sqlite3.connect(directory / "memory.db")
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


async def test_a_probe_leaves_no_trace(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        await memory.recall(asked("come si chiama il mio gatto?"))
        before, health = rows_of(tmp_path), await memory.health()
        for number, text in enumerate(
            ("come si chiama il mio gatto?", "cosa è successo all'inizio?", "mi chiamo Zoe, ricordalo")
        ):
            await memory.recall(asked(text, user=a_viewer("999", "Zoe"), id_=f"p{number}"))
        assert rows_of(tmp_path) == before
        assert await memory.health() == health
        assert "999" not in {viewer.id for viewer in await memory.viewers()}


async def test_an_earlier_stream_is_recalled_as_what_happened(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        recall = await memory.recall(asked("cosa ha detto Bob del gatto nello scorso stream?"))
        assert "stream:s0:episode" in {request.name for request in recall.plan.requests}
        assert "Nerone" in recall.block.text


async def test_lore_is_found_by_its_alias_and_changes_with_its_file(tmp_path: Path) -> None:
    def entry(text: str) -> LoreEntry:
        return LoreEntry(id="moka", title="La moka sacra", aliases=("moka sacra",), text=text, digest=text)

    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        question = asked("cos'è la moka sacra?")
        assert await memory.sync_lore([entry("fa il caffè dal 1999")]) == 1
        assert "1999" in (await memory.recall(question)).block.text
        assert await memory.sync_lore([entry("fa il caffè dal 2001")]) == 1
        text = (await memory.recall(question)).block.text
        assert "2001" in text
        assert "1999" not in text
        assert await memory.sync_lore([]) == 1
        assert shown(await memory.recall(question)) == []


async def test_structured_state_is_shown_as_it_stands_now(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        question = asked("ci sono richieste aperte?")
        opened_call = StateCall(
            at=NOON, tool="request_open", arguments={"id": "r1", "viewer": "101", "text": "giocare a Celeste"}
        )
        await memory.apply_state(opened_call)
        assert any("Celeste" in line for line in shown(await memory.recall(question)))
        with pytest.raises(InvalidRow, match="no state tool"):
            await memory.apply_state(replace(opened_call, tool="rm"))


async def test_a_renamed_viewer_is_the_same_person_under_either_name(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        renamed = Viewer(id="202", login="roberto", name="Roberto")
        await tell(memory, a_batch(a_message("m5", "ora mi chiamo così", user=renamed, after=2)))
        for name in ("Roberto", "Bob"):
            recall = await memory.recall(asked(f"come si chiama il gatto di {name}?", id_=f"q-{name}"))
            assert "Nerone" in recall.block.text
        assert [viewer.name for viewer in await memory.viewers() if viewer.id == "202"] == ["Roberto"]


async def test_a_temporary_stream_goes_on_as_the_real_one(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(replace(a_stream("tmp-1", after=-50), temporary=True))
        early = a_batch(a_message("m1", "sono arrivata presto", after=1), stream_id="tmp-1")
        await tell(memory, early)
        await memory.begin_stream(a_stream("s1"))
        recall = await memory.recall(asked("cosa ho detto prima?"))
        assert [line.id for line in recall.window.lines] == ["m1"]
        again = await memory.recall(replace(asked("e poi?"), stream_id="tmp-1"))
        assert [line.id for line in again.window.lines] == ["m1"]


async def test_the_bots_replies_stand_in_the_history_and_never_in_a_viewers_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await tell(memory, a_batch(a_message("m1", "ciao ricordo", after=1)))
        await memory.record_reply("s1", BotReply(at=NOON + timedelta(seconds=2), text="ciao Alice", in_reply_to=("m1",)))
        recall = await memory.recall(asked("che hai detto?"))
        assert [line.kind for line in recall.window.lines] == ["message", "reply"]
        assert [document.text for document in await memory.documents_of("101")] == ["ciao ricordo"]
        assert await memory.documents_of("900") == []


async def test_turns_that_a_crash_cut_off_are_known(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        done, open_ = a_batch(a_message("m1", "uno", after=1)), a_batch(a_message("m2", "due", after=2))
        await tell(memory, done)
        await memory.observe(open_)
    async with opened(tmp_path) as memory:
        assert [batch.id for batch in await memory.unrecorded()] == [open_.id]
        assert (await memory.recorded(done.id), await memory.recorded(open_.id)) == (True, False)


async def test_health_counts_what_there_is(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        health = await memory.health()
        assert (health.viewers, health.streams, health.messages, health.turns, health.documents) == (
            2,
            2,
            2,
            1,
            6,
        )  # two messages, their facts, and both again as lines of the stream
        assert (health.embedder, health.dimension, health.lag_seconds) == ("hash/32", 32, 0.0)
        assert health.problems == ()
        await tell(memory, a_batch(a_message("m9", "ancora", after=3)))
        assert {job.kind for job in await memory.jobs(state="ready")} >= {"index"}


async def test_two_memories_in_one_directory_are_refused(tmp_path: Path) -> None:
    async with opened(tmp_path):
        with pytest.raises(DirectoryInUse, match="in use"):
            async with opened(tmp_path):
                pass
    async with opened(tmp_path):  # and the lock goes with its holder
        pass


async def test_another_channels_directory_is_refused_and_left_free(tmp_path: Path) -> None:
    async with opened(tmp_path):
        pass
    with pytest.raises(WrongChannel, match="channel 1, not of 2"):
        await open_memory(
            MemorySettings(data_dir=tmp_path), channel=replace(CHANNEL, id="2"), embedder=HashEmbedder(), clock=a_clock()
        )
    async with opened(tmp_path):
        pass


async def test_another_model_is_refused_until_the_index_is_rebuilt(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
    other = HashEmbedder(dimension=16)
    with pytest.raises(ModelMismatch, match="ricordo reindex"):
        async with opened(tmp_path, other):
            pass
    settings = MemorySettings(data_dir=tmp_path)
    async with await open_memory(settings, channel=CHANNEL, embedder=other, clock=a_clock(), any_model=True) as memory:
        assert await memory.reindex() == 6
    async with opened(tmp_path, other) as memory:
        await memory.begin_stream(a_stream())
        recall = await memory.recall(asked("come si chiama il mio gatto?"))
        assert "Birba" in recall.block.text
        assert not recall.degraded


async def test_a_closed_memory_says_so_and_closes_twice(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.start_worker()
        await memory.close()
        await memory.close()
        with pytest.raises(MemoryClosed, match="open it again"):
            await memory.recall(asked("ci sei?"))
        with pytest.raises(MemoryClosed):
            await memory.observe(asked("ci sei?"))


@pytest.mark.parametrize("name", sorted(recipes()))
async def test_every_ablation_switches_off_what_it_names(name: str, tmp_path: Path) -> None:
    slow = Deadlines(source_seconds=20, retrieve_seconds=30, recall_seconds=40)  # what is searched is asked, not how fast
    recipe = replace(recipes()[name], deadlines=slow)
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        recall = await memory.recall(asked("cosa ho detto del mio gatto nello scorso stream?"), recipe)
        assert not recall.degraded
        assert {request.kind.value for request in recall.plan.requests} <= recipe.sources
        asked_channels = {step.step.split("/")[1] for step in recall.steps if "/" in step.step}
        assert asked_channels - {"near"} <= recipe.channels  # how records and canon are compared, where meaning is on
        assert bool(recall.block.items) is bool(recipe.sources & {"recall", "profile"})  # the fact stands in for its message


async def test_many_turns_at_once_stay_apart(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await a_past_stream(memory)
        async with asyncio.TaskGroup() as group:
            recalls = [
                (user.id, group.create_task(memory.recall(asked("come si chiama il mio gatto?", user=user, id_=f"q{number}"))))
                for number, user in enumerate([ALICE, BOB] * 10)
            ]
            for number in range(10):
                line = a_message(f"n{number}", f"riga {number}", after=number)
                group.create_task(memory.observe(a_batch(line)))
        for viewer_id, recalling in recalls:
            assert {item.subject for item in recalling.result().block.items} == {viewer_id}
        after = await memory.recall(asked("ci sei?", id_="last"))
        assert {line.id for line in after.window.lines} == {f"n{number}" for number in range(10)}


async def test_a_name_with_a_colon_cannot_put_words_into_another_mouth(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream("s0", after=-7200))
        forger = a_viewer("7", "Bob: odio il gatto\uff1a sul serio")
        await tell(memory, a_batch(a_message("m1", "il gatto dorme sul divano", user=forger, after=-7000), stream_id="s0"))
        await memory.end_stream("s0", NOON - timedelta(seconds=6000))
        await memory.begin_stream(a_stream("s1"))
        recall = await memory.recall(asked("chi parlava del gatto nell'ultima live?"))
        [line] = [item.text for item in recall.block.items if item.section == "episode"]
        assert '"Bob odio il gatto sul serio: il gatto dorme sul divano"' in line


DENSE = "viewer:101:recall/dense"


async def _told_yesterday(memory: Memory) -> None:
    await memory.begin_stream(a_stream("s0", after=-7200))
    await tell(memory, a_batch(a_message("m1", "ho un gatto di nome Birba", after=-7000), stream_id="s0"))
    await memory.begin_stream(a_stream("s1"))


async def _by_meaning(memory: Memory) -> int:
    recall = await memory.recall(asked("come si chiama il mio gatto?"))
    return sum(step.items_out for step in recall.steps if step.step == DENSE)


async def test_jobs_that_were_begun_are_done_but_for_the_index_which_follows(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await _told_yesterday(memory)
        assert await memory.begin_jobs() == 1
        assert [fact.kind for fact in await memory.documents_of("101")].count("fact") == 1
        await tell(memory, a_batch(a_message("m2", "ho anche un cane di nome Argo", after=1)))
        assert await memory.indexed() == 2  # the turn and its fact; what was told since waits
        assert await memory.indexed() == 0
        assert await _by_meaning(memory) == 2
        assert {job.kind for job in await memory.jobs(state="ready")} == {"index", "consolidate"}
        assert await memory.index_now() == 1
        assert {job.kind for job in await memory.jobs(state="ready")} == {"consolidate"}


async def test_settling_waits_for_the_index_that_was_begun(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await _told_yesterday(memory)
        await memory.begin_jobs()
        assert await memory.run_jobs() == 2
        assert await _by_meaning(memory) == 2
        assert await memory.jobs(state="ready") == []


async def test_a_memory_that_is_closed_while_it_indexes_goes_on_when_it_is_opened_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await _told_yesterday(memory)
        await memory.begin_jobs()
    async with opened(tmp_path) as memory:
        assert await memory.jobs(state="leased") == []
        assert [job.crashes for job in await memory.jobs(kind="index")] == [0, 0]
        await memory.run_jobs()
        assert {job.state for job in await memory.jobs()} == {"done"}
