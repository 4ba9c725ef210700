"""Moderation: what was removed is gone, with what rests on it alone, whichever came first."""

import json
from pathlib import Path
from typing import Literal

import pytest
from builders_record import BOB, Store, at, message, notice, opened, put_older_turn, said, stream, turn
from sqlalchemy import Connection

from memory.errors import InvalidRow
from memory.events import BotReply, Deletion
from memory.model import Document
from memory.store import fulltext, tombstones
from memory.store.document_writes import put
from memory.store.stamps import milliseconds


def of_message(id_: str, second: float = 10) -> Deletion:
    return Deletion(at=at(second), scope="message", message_id=id_)


def of_user(id_: str, second: float = 10) -> Deletion:
    return Deletion(at=at(second), scope="user", user_id=id_)


async def everything(store: Store) -> str:
    tables = ("line", "document", "fact", "decision", "edge", "turn", "memory_job", "tombstone")
    return json.dumps([await store.rows(f"SELECT * FROM {table}") for table in tables])  # noqa: S608 - names of the test's own


async def a_turn_of_an_older_memory(store: Store, *line_ids: str) -> Document:
    return await store.database.write(lambda connection: put_older_turn(connection, *line_ids))


async def test_a_deleted_message_is_gone_from_everywhere(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "segretissimo", extra={"x": "segretissimo"}), message("m2", "ciao", BOB))
        assert await store.recorder.delete("s1", of_message("m1")) == 1
        assert "segretissimo" not in await everything(store)
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m2"]
        assert await store.personal() == []
        assert [(whole.text, whole.provenance) for whole in await store.episodic()] == [("Bob: ciao", ("m2",))]
        assert await store.reader.full_text("stream-s1", "segretissimo", 5) == []


async def test_the_index_is_told_by_ids_what_to_drop_and_what_to_make_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", "ehi", BOB))
        whole = await a_turn_of_an_older_memory(store, "m1", "m2")
        [own], lines = await store.personal(), await store.episodic()
        [line] = [one for one in lines if one.provenance == ("m1",)]
        await store.rows("UPDATE document SET indexed_model = 'm' RETURNING id")
        await store.recorder.delete("s1", of_message("m1"))
        assert await store.jobs("purge") == [
            {"documents": {"viewer-1001": [own.id], "stream-s1": [line.id]}, "collections": []}
        ]
        assert (await store.jobs("index"))[-1] == {"documents": [whole.id]}
        assert {one.text for one in await store.episodic()} == {"Bob: ehi"}
        assert await store.rows("SELECT indexed_model FROM document WHERE id = ?", whole.id) == [(None,)]


async def test_a_turn_of_which_nothing_is_left_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), said=said("rispondo a m1", "m1"))
        assert await store.recorder.delete("s1", of_message("m1")) == 1
        assert await store.episodic() == []
        assert await store.reader.history("s1", 10) == []
        assert "rispondo" not in await everything(store)


async def test_a_reply_to_others_too_stays(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=BOB), said=said("a tutti", "m1", "m2"))
        await store.observe_and_record(message("m3"), message("m4", user=BOB), said=said("alla stanza"))
        await store.recorder.record_reply("s1", BotReply(at=at(7), text="a m1 solo", in_reply_to=("m1",), id="r1"))
        await store.recorder.record_reply("s1", BotReply(at=at(8), text="a nessuno", id="r2"))
        await store.recorder.delete("s1", of_message("m1"))
        texts = [line.text for line in await store.reader.history("s1", 10)]
        assert "a m1 solo" not in texts
        assert {"a tutti", "alla stanza", "a nessuno"} <= set(texts)


async def test_a_deletion_that_comes_before_its_message_hides_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert await store.recorder.delete("s1", of_message("m1")) == 0
        await store.observe_and_record(message("m1", "troppo tardi"), notice("n1", text="resto"), message("m2", user=BOB))
        assert "troppo tardi" not in await everything(store)
        assert [line.id for line in await store.reader.history("s1", 10)] == ["n1", "m2"]
        assert [document.provenance for document in await store.personal()] == [("n1",)]


async def test_a_deletion_between_observing_and_recording_is_honoured(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        whole = turn(message("m1", "cancellami"))
        await store.recorder.observe(whole.batch)
        await store.recorder.delete("s1", of_message("m1"))
        await store.recorder.record(whole)
        assert "cancellami" not in await everything(store)
        assert await store.recorder.recorded(whole.batch.id)


async def test_a_time_out_removes_that_viewers_lines_of_this_stream_alone(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "di prima"))
        await store.recorder.begin_stream(stream("s2", started_at=at(100)))
        await store.observe_and_record(message("m2"), message("m3", user=BOB), message("m4"), stream_id="s2")
        assert await store.recorder.delete("s2", of_user("1001")) == 2
        assert [line.id for line in await store.reader.history("s2", 10)] == ["m3"]
        assert [document.text for document in await store.personal()] == ["di prima"]


async def test_what_a_timed_out_viewer_wrote_before_stays_out_and_after_counts_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        assert await store.recorder.delete("s1", of_user("1001", second=10)) == 0
        await store.observe_and_record(message("m1", second=9), message("m2", second=11), message("m3", user=BOB, second=9))
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m2", "m3"]


async def test_clearing_the_chat_empties_the_history_and_no_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=BOB))
        clear = Deletion(at=at(10), scope="chat")
        assert await store.recorder.delete("s1", clear) == 2
        assert await store.recorder.delete("s1", clear) == 0
        await store.observe_and_record(message("m3", second=8), message("m4", second=12))
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m4"]
        assert len(await store.personal()) == 3
        assert len(await store.episodic()) == 4


async def test_deleting_twice_changes_nothing_the_second_time(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2", user=BOB))
        assert await store.recorder.delete("s1", of_message("m1", second=10)) == 1
        before = await everything(store)
        assert await store.recorder.delete("s1", of_message("m1", second=10)) == 0
        assert await everything(store) == before


async def test_a_viewers_tombstone_covers_what_was_written_up_to_it(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.database.write(lambda c: tombstones.bury(c, "viewer", ["1001"], milliseconds(at(10))))
        await store.observe_and_record(message("m1", second=10), message("m2", second=11))
        assert [document.provenance for document in await store.personal()] == [("m2",)]


@pytest.mark.parametrize("scope", ["message", "user"])
async def test_a_deletion_of_nothing_in_particular_is_refused(tmp_path: Path, scope: Literal["message", "user"]) -> None:
    async with opened(tmp_path) as store:
        with pytest.raises(InvalidRow, match=f"needs the id of a {scope}"):
            await store.recorder.delete("s1", Deletion(at=at(1), scope=scope))


def add_fact(connection: Connection, id_: str, *lines: str, superseded_by: str | None = None) -> None:
    document = Document(
        id=id_, collection="viewer-1001", kind="fact", text=f"fact {id_}", at=at(1), provenance=lines,
        subject="1001", author="1001", valid_at=at(1), invalid_at=at(5) if superseded_by else None,
    )  # fmt: skip
    put(connection, [document])
    invalid = milliseconds(at(5)) if superseded_by else None
    connection.exec_driver_sql(
        "INSERT INTO fact (id, subject, predicate, object, text, valid_at, valid_precision, invalid_at, created_at, "
        "expired_at, salience, confidence, superseded_by) VALUES (?, '1001', 'lives_in', 'x', 't', ?, 'day', ?, 0, ?, 0, 1, ?)",
        (id_, milliseconds(at(1)), invalid, invalid, superseded_by),
    )


async def test_a_fact_goes_with_its_last_line_and_not_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2"))
        await store.database.write(lambda c: add_fact(c, "f1", "m1", "m2"))
        await store.recorder.delete("s1", of_message("m2"))
        assert [fact.provenance for fact in await store.reader.facts("1001")] == [("m1",)]
        await store.recorder.delete("s1", of_message("m1"))
        assert await store.reader.facts("1001") == []
        assert await store.rows("SELECT count(*) FROM fact") == [(0,)]


async def test_a_fact_goes_with_the_line_whose_words_it_has_and_the_others_are_read_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2"))
        await store.database.write(lambda c: add_fact(c, "f1", "m1", "m2"))
        await store.recorder.delete("s1", of_message("m1"))
        assert await store.reader.facts("1001") == []
        assert {"lines": ["m2"]} in await store.jobs("consolidate")


async def test_a_fact_is_true_again_when_its_contradiction_was_deleted(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1"), message("m2"))
        await store.database.write(lambda c: add_fact(c, "old", "m1", superseded_by="new"))
        await store.database.write(lambda c: add_fact(c, "new", "m2"))
        assert [fact.id for fact in await store.reader.facts("1001")] == ["new"]
        assert [fact.id for fact in await store.reader.facts("1001", as_of=at(3))] == ["new", "old"]
        await store.recorder.delete("s1", of_message("m2"))
        assert [(fact.id, fact.invalid_at) for fact in await store.reader.facts("1001")] == [("old", None)]


async def test_erased_words_leave_the_file_after_optimising_and_a_checkpoint(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "zzsegretozz"), message("m2", "ciao", BOB))
        await store.recorder.delete("s1", of_message("m1"))
        await store.database.write(fulltext.optimise)
        await store.database.write(fulltext.check)
    assert b"zzsegretozz" not in (tmp_path / "memory.db").read_bytes()


async def test_what_was_said_after_a_time_out_or_a_clearing_stays_where_a_log_is_played_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "prima", second=5))
        await store.observe_and_record(message("m2", "dopo", second=20))
        for deletion in (of_user("1001"), Deletion(at=at(10), scope="chat")):
            await store.recorder.delete("s1", deletion)
        assert [line.text for line in await store.reader.history("s1", 10)] == ["dopo"]


async def test_a_ban_reaches_this_stream_alone_and_a_clearing_no_memory(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "ieri"))
        await store.recorder.begin_stream(stream("s2"))
        await store.observe_and_record(message("m2", "oggi", second=2), stream_id="s2")
        await store.observe_and_record(message("m3", "io", BOB, second=2), stream_id="s2")
        await store.recorder.delete("s2", of_user("1001"))
        await store.recorder.delete("s2", Deletion(at=at(10), scope="chat"))
        assert [document.text for document in await store.personal()] == ["ieri"]
        assert [document.text for document in await store.personal(BOB)] == ["io"]
        assert await store.reader.history("s2", 10) == []


async def test_a_recorded_answer_to_a_message_deleted_before_it_keeps_no_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.recorder.delete("s1", of_message("m1"))
        await store.observe_and_record(message("m1", "segretissimo"), message("m2", "ciao", BOB))
        await store.recorder.record_reply("s1", BotReply(at=at(7), text="segretissimo?", in_reply_to=("m1",), id="r1"))
        await store.recorder.record_reply("s1", BotReply(at=at(7), text="a tutti", in_reply_to=("m1", "m2"), id="r2"))
        assert "segretissimo" not in await everything(store)
        assert [line.id for line in await store.reader.history("s1", 10)] == ["m2", "r2"]


async def test_what_moderation_took_back_is_in_the_audit_once_with_whose_it_was_and_no_words(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        await store.observe_and_record(message("m1", "segretissimo"), message("m2", "anche questo"), message("m3", user=BOB))
        for deletion in (of_message("m1"), of_message("m1"), of_message("mai visto"), of_user("1001", second=12)):
            await store.recorder.delete("s1", deletion)
        await store.recorder.delete("s1", Deletion(at=at(13), scope="chat"))
        told = await store.rows("SELECT verb, by, viewer_id, at, lines, documents FROM audit ORDER BY seq")
        assert told == [
            ("moderated", None, "1001", milliseconds(at(10)), 1, 2),
            ("moderated", None, "1001", milliseconds(at(12)), 1, 2),
        ]
