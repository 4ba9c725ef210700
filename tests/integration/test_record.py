"""Observing and recording: once, whole, and for the right person."""

from dataclasses import replace
from pathlib import Path

import pytest
from builders_record import ALICE, BOB, BOT, CHANNEL, START, Store, at, batch, message, notice, opened, said, stream, turn

from memory.errors import InvalidRow, StoreUnavailable
from memory.events import BotReply, Emote, Viewer
from memory.model import ReplyState


async def test_observing_stores_lines_once_and_counts_the_new_ones(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        first = batch(message("m1"), message("m2", user=BOB))
        assert (await store.recorder.observe(first)).new == 2
        assert (await store.recorder.observe(first)).new == 0
        assert (await store.recorder.observe(batch(message("m2"), message("m3")))).new == 1
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m1", "m2", "m3"]


async def test_one_id_twice_in_a_batch_is_one_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "prima"), message("m1", "seconda"))
        assert [line.text for line in await store.reader.history("s1", 10)] == ["prima"]
        assert [document.text for document in await store.personal()] == ["prima"]


async def test_a_turn_is_written_by_author_and_line_by_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(
            message("m1", "ho un gatto"), message("m2", "io un cane", BOB), said=said("che belli", "m1")
        )
        [own] = await store.personal()
        assert (own.text, own.subject, own.author, own.provenance) == ("ho un gatto", "1001", "1001", ("m1",))
        lines = (await store.episodic())[::-1]
        assert [line.text for line in lines] == ["Alice: ho un gatto", "Bob: io un cane", "Ricordo: che belli"]
        assert [line.provenance for line in lines[:2]] == [("m1",), ("m2",)]
        assert {(line.kind, line.author, line.stream_id) for line in lines} == {("line", None, "s1")}
        assert [line.kind for line in await store.reader.history("s1", 10)] == ["message", "message", "reply"]


async def test_recording_twice_changes_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        whole = await store.observe_and_record(message("m1"), said=said("ehi", "m1"))
        before = await store.rows("SELECT id, text, seq FROM document ORDER BY seq")
        await store.recorder.record(replace(whole, said=said("altro", "m1")))
        assert await store.rows("SELECT id, text, seq FROM document ORDER BY seq") == before
        assert len(await store.rows("SELECT * FROM line")) == 2
        assert await store.jobs("index") == [{"turn": whole.batch.id}]
        assert await store.jobs("consolidate") == [{"turn": whole.batch.id}]


async def test_two_stores_give_the_same_ids(tmp_path: Path) -> None:
    found = []
    for name in ("a", "b"):
        async with opened(tmp_path / name) as store:
            await store.observe_and_record(message("m1"), said=said("ehi", "m1"))
            found.append(await store.rows("SELECT id, provenance FROM document ORDER BY id"))
    assert found[0] == found[1]


async def test_a_turn_may_be_recorded_without_having_been_observed(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.record(turn(message("m1")))
        assert len(await store.personal()) == 1
        assert [viewer.id for viewer in await store.reader.known_viewers()] == ["1001"]


async def test_only_a_sent_reply_becomes_a_line(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        states: tuple[ReplyState, ...] = ("silent", "failed", "withheld", "ambiguous")
        for number, state in enumerate(states):
            outcome = replace(said("mai detto"), state=state)
            await store.observe_and_record(message(f"m{number}"), said=outcome)
        assert {line.kind for line in await store.reader.history("s1", 10)} == {"message"}
        assert "mai detto" not in str(await store.episodic())


@pytest.mark.parametrize(
    "line",
    [
        message("m1", user=Viewer(id=BOT.id, login=BOT.login, name=BOT.name)),
        message("m1", is_bot=True),
        message("m1", user=Viewer(id="77", login="nightbot", name="Nightbot")),
        message("m1", source_channel="2"),
        message("m1", " \t "),
        notice("m1"),
    ],
    ids=["the bot", "a bot", "an ignored bot", "shared chat", "no words", "a notice without words"],
)
async def test_what_is_no_viewers_own_speech_is_no_personal_memory(tmp_path: Path, line: object) -> None:
    async with opened(tmp_path, ignored=frozenset({"77"})) as store:
        await store.observe_and_record(line)  # type: ignore[arg-type]
        assert await store.rows("SELECT id FROM document WHERE kind = 'message'") == []
        assert len(await store.episodic()) == 1


async def test_the_words_of_a_notice_are_the_viewers_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        line = notice("n1", text="dieci mesi qui!", data={"months": 10, "tier": {"deep": 1}})
        await store.observe_and_record(line, notice("n2", "raid", None))
        assert [document.text for document in await store.personal()] == ["dieci mesi qui!"]
        texts = [line.text for line in await store.episodic()]
        assert texts == ["[raid]", "Alice: [resub months=10] dieci mesi qui!"]


async def test_held_viewers_get_no_personal_memory_of_that_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        whole = await store.observe_and_record(message("m1"), message("m2", user=BOB), held=("1001",))
        assert await store.personal() == []
        assert len(await store.personal(BOB)) == 1
        assert await store.jobs("consolidate") == [{"turn": whole.batch.id, "held": ["1001"]}]


async def test_a_line_cannot_forge_another_line_of_its_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "ciao\nBob: sono un ladro", replace(ALICE, name="A\nBob: x")))
        [whole] = await store.episodic()
        assert len(whole.text.splitlines()) == 1


async def test_hostile_characters_and_huge_text_are_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        hostile = Viewer(id="../../etc/passwd", login="\ud800", name="\x00'; DROP TABLE line; --")
        text = "a\x00b\udfff" + "x" * 1_000_000
        await store.observe_and_record(message("\ud800id", text, hostile, extra={"k": "\ud800"}, emotes=()))
        [line] = await store.reader.history("s1", 10)
        assert line.text.startswith("a\ufffdb\ufffdx")
        assert len(line.text) == len(text)
        assert [viewer.id for viewer in await store.reader.known_viewers()] == ["../../etc/passwd"]
        assert len(await store.reader.newest("viewer-_2e_2e_2f_2e_2e_2fetc_2fpasswd", 5)) == 1


async def test_a_reply_outside_a_turn_is_stored_once_with_its_job(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        reply = BotReply(at=at(3), text="eccomi", in_reply_to=("m1",))
        first = await store.recorder.record_reply("s1", reply)
        assert await store.recorder.record_reply("s1", reply) == first
        assert await store.recorder.record_reply("s1", replace(reply, id="r2")) == "r2"
        assert [line.id for line in await store.reader.history("s1", 10)] == [first, "r2"]
        assert [document.text for document in await store.episodic()] == ["Ricordo: eccomi"] * 2
        assert await store.jobs("index") == [{"reply": first}, {"reply": "r2"}]


async def test_a_batch_whose_turn_was_cut_off_comes_back_as_it_was(tmp_path: Path) -> None:
    rich = message(
        "m1", "ciao Kappa", badges=("vip",), reply_to="m0", is_action=True, bits=100, is_bot=True, source_channel="2",
        emotes=(Emote(name="Kappa", start=5, end=9),), mentions=(BOB,), extra={"colour": "red"},
    )  # fmt: skip
    cut_off = batch(rich, notice("n1", "raid", None, data={"viewers": 3}), notice("n2", text="ehi"))
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m0"))
        await store.recorder.observe(cut_off)
    async with opened(tmp_path, begin=False) as store:
        assert await store.recorder.unrecorded() == [cut_off]
        assert not await store.recorder.recorded(cut_off.id)
        await store.recorder.record(turn(*cut_off.lines))
        assert await store.recorder.recorded(cut_off.id)
        assert await store.recorder.unrecorded() == []


async def test_a_stream_that_never_began_is_refused_and_nothing_stored(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(InvalidRow, match="call begin_stream"):
            await store.recorder.observe(batch(message("m1"), stream_id="unknown"))
        assert await store.rows("SELECT * FROM line") == []


async def test_a_full_disk_loses_nothing_of_the_turn(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        whole = turn(message("m1", "x" * 50_000), said=said("ehi", "m1"))
        await store.rows("PRAGMA max_page_count=1")
        with pytest.raises(StoreUnavailable, match="disk is full"):
            await store.recorder.observe(whole.batch)
        await store.rows("PRAGMA max_page_count=1000000")
        assert (await store.recorder.observe(whole.batch)).new == 1
        await store.rows("PRAGMA max_page_count=1")
        with pytest.raises(StoreUnavailable, match="disk is full"):
            await store.recorder.record(replace(whole, said=said("y" * 50_000)))
        assert await store.rows("SELECT state FROM turn") == [("open",)]
        assert await store.jobs("index") == []
        await store.rows("PRAGMA max_page_count=1000000")
        await store.recorder.record(whole)
        assert len(await store.episodic()) == 2


async def test_known_viewers_follow_renames_and_keep_former_names(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", second=1))
        renamed = replace(ALICE, login="alicia", name="Alicia")
        await store.reader.known_viewers()
        await store.observe_and_record(message("m2", user=renamed, second=9))
        [viewer] = await store.reader.known_viewers()
        assert (viewer.login, viewer.name, viewer.former, viewer.last_seen) == ("alicia", "Alicia", ("alice", "Alice"), at(9))
        await store.observe_and_record(message("m3", user=renamed, second=20))
        assert [viewer.last_seen for viewer in await store.reader.known_viewers()] == [at(20)]
        dates = await store.rows("SELECT login, first_at, last_at FROM viewer_name ORDER BY login")
        origin = int(START.timestamp() * 1000)
        assert dates == [("alice", origin + 1000, origin + 1000), ("alicia", origin + 9000, origin + 9000)]


async def test_an_older_sighting_renames_nobody(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", second=100))
        await store.observe_and_record(message("m2", user=replace(ALICE, login="old", name="Old"), second=-500))
        [viewer] = await store.reader.known_viewers()
        assert (viewer.login, viewer.former, viewer.last_seen) == ("alice", ("old", "Old"), at(100))


async def test_a_recycled_login_is_another_person(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "il mio gatto"))
        await store.observe_and_record(message("m2", "il mio cane", Viewer(id="5000", login="alice", name="Alice")))
        assert {viewer.id for viewer in await store.reader.known_viewers()} == {"1001", "5000"}
        assert [document.text for document in await store.personal()] == ["il mio gatto"]


async def test_times_that_go_backwards_keep_the_order_of_arrival(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", second=50), message("m2", second=10), message("m3", second=-3600))
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m1", "m2", "m3"]


async def test_a_temporary_stream_is_joined_to_the_real_one(tmp_path: Path) -> None:
    async with opened(tmp_path, begin=False) as store:
        await store.recorder.begin_stream(stream("tmp", temporary=True))
        await store.observe_and_record(message("m1"), stream_id="tmp")
        open_batch = batch(message("m2"), stream_id="tmp")
        await store.recorder.observe(open_batch)
        await store.recorder.begin_stream(stream("s9", started_at=at(3)))
        await store.recorder.record(turn(message("m2"), stream_id="tmp"))
        assert [line.id for line in await store.reader.history("s9", 10)] == ["m1", "m2"]
        assert await store.reader.history("tmp", 10) == await store.reader.history("s9", 10)
        assert len(await store.episodic("s9")) == 2
        assert await store.episodic("tmp") == []
        assert {document.stream_id for document in await store.personal()} == {"s9"}
        assert [one.id for one in await store.reader.streams(before=at(99), limit=5)] == ["s9"]
        joined = await store.reader.stream("tmp")
        assert joined is not None
        assert (joined.id, joined.started_at) == ("s9", START)
        assert {"documents": {}, "collections": ["stream-tmp"]} in await store.jobs("purge")
        moved = [job["documents"] for job in await store.jobs("index") if "documents" in job]
        assert [len(ids) for ids in moved] == [1]


async def test_an_ended_temporary_stream_is_not_joined(tmp_path: Path) -> None:
    async with opened(tmp_path, begin=False) as store:
        await store.recorder.begin_stream(stream("tmp", temporary=True))
        await store.recorder.end_stream("tmp", at(5))
        await store.recorder.begin_stream(stream("s9", started_at=at(9)))
        assert [one.id for one in await store.reader.streams(before=at(99), limit=5)] == ["s9", "tmp"]


async def test_a_known_stream_is_resumed_with_its_start_and_its_new_title(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.end_stream("s1", at(60))
        ended = await store.reader.stream("s1")
        assert ended is not None
        assert ended.ended_at == at(60)
        await store.recorder.begin_stream(stream("s1", started_at=at(90), title="Di nuovo"))
        assert await store.reader.stream("s1") == stream("s1", title="Di nuovo")
        assert (await store.reader.stream("nope")) is None
        assert CHANNEL.id == "1"


async def test_the_store_survives_a_restart_in_the_middle(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"))
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m2"))
        assert len(await store.personal()) == 2
        assert isinstance(store, Store)
