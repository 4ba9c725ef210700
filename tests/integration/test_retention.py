"""Retention: each kind of data goes after its own time, on the virtual clock; what others rest on stays as long as they do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from builders_forget import files_with
from builders_memory import ALICE, BOB, asked, opened, tell
from builders_recall import CHANNEL, NOON, a_batch, a_stream
from builders_told import current, everything_in, facts, line, past, said_of
from fakes.hash_embedder import HashEmbedder

from memory import (
    Deletion,
    ForgetRequest,
    Memory,
    MemorySettings,
    ModelUse,
    Retention,
    Said,
    StateCall,
    VirtualClock,
    open_memory,
)
from memory.allotment import Allotment
from memory.retention import Retainer
from memory.store.database import Database

DEFAULTS = Retention()
FOR_EVER = Retention(**dict.fromkeys(
    ("message_days", "episode_days", "fact_days", "claim_days", "closed_record_days", "audit_days", "backup_days"), 0.0
))  # fmt: skip


async def retain_after(directory: Path, days: float, limits: Retention = DEFAULTS) -> None:
    database = await Database.open(directory / "memory.db")
    try:
        await Retainer(database, VirtualClock(NOON + timedelta(days=days)), limits).retain([{"day": "any"}])
    finally:
        await database.close()


@asynccontextmanager
async def kept(directory: Path, limits: Retention, clock: VirtualClock) -> AsyncIterator[Memory]:
    settings = MemorySettings(data_dir=directory, retention=limits)
    async with await open_memory(settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=clock) as memory:
        yield memory


async def rows_of(directory: Path, table: str) -> int:
    return everything_in(directory).count(f'INSERT INTO "{table}" VALUES')


async def test_messages_and_whole_turns_go_after_their_time_and_not_a_day_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "oggi piove zzpioggia"), line("m2", "anche qui zzneve", user=BOB))
        await retain_after(tmp_path, DEFAULTS.message_days - 1)
        assert set(await said_of(memory)) == {"m1"}
        await retain_after(tmp_path, DEFAULTS.message_days + 1)
        await memory.run_jobs()
        assert await said_of(memory) == {}
        assert await memory.documents_of("202") == []
        assert "zzpioggia" not in everything_in(tmp_path)
        assert "zzneve" not in everything_in(tmp_path)
        assert await rows_of(tmp_path, "line") == await rows_of(tmp_path, "turn") == 0
        assert (await memory.recall(asked("cosa ho detto di zzpioggia?"))).block.items == ()
        await memory._parts.upkeep._background.purger.clean_if_needed()
    assert files_with(tmp_path, "zzpioggia", "zzneve") == []


async def test_a_line_stays_while_a_fact_rests_on_it_so_that_forgetting_it_still_reaches_the_fact(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"))
        await retain_after(tmp_path, DEFAULTS.message_days + 1)
        await memory.run_jobs()
        assert await current(tmp_path) == ["vivo a Torino"]
        assert await said_of(memory) == {}
        receipt = await memory.forget(ForgetRequest(scope="words", at=NOON, viewer_id="101", words="Torino"))
        assert receipt.lines == 1
        assert await current(tmp_path) == []


async def test_a_fact_goes_when_it_was_neither_said_nor_used_for_its_time_with_what_it_had_ended(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "mi sono trasferita, vivo a Napoli", after=-6000))
        assert await current(tmp_path) == ["mi sono trasferita, vivo a Napoli"]
        await retain_after(tmp_path, DEFAULTS.fact_days + 1)
        await memory.run_jobs()
        assert await current(tmp_path) == []  # nor is she back in Turin
        assert await facts(memory) == []
        assert await memory.fact_history("101") == []
        assert await rows_of(tmp_path, "line") == await rows_of(tmp_path, "decision") == 0


async def test_a_fact_that_an_answer_used_is_kept_from_then_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"))
        database = await Database.open(tmp_path / "memory.db")
        used = int((NOON + timedelta(days=1000)).timestamp() * 1000)
        await database.write(lambda c: c.exec_driver_sql("UPDATE fact SET used_at = ?", (used,)))
        await database.close()
        await retain_after(tmp_path, DEFAULTS.fact_days + 1)
        assert await current(tmp_path) == ["vivo a Torino"]


async def test_claims_have_a_time_of_their_own(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m0", "ciao a tutti"), line("m1", "Alice vive a Torino", user=BOB, after=-6000))
        assert [claim.author for claim in await memory.claims("101")] == ["202"]
        await retain_after(tmp_path, DEFAULTS.claim_days + 1)
        await memory.run_jobs()
        assert await memory.claims("101") == []
        assert set(await said_of(memory, "202")) == {"m1"}  # his words stay his


async def test_closed_records_and_the_audit_go_and_open_ones_stay(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        note = {"viewer": None, "expires_at": (NOON + timedelta(days=1)).isoformat()}
        for tool, arguments in (
            ("request_open", {"id": "r1", "viewer": "101", "text": "zzfatta"}),
            ("request_complete", {"id": "r1"}),
            ("request_open", {"id": "r2", "viewer": "101", "text": "zzaperta"}),
            ("note_set", {"id": "n1", "text": "zzscaduta", **note}),
        ):
            await memory.apply_state(StateCall(at=NOON, tool=tool, arguments=arguments))
        await tell(memory, a_batch(line("m1", "dimenticami", after=1)))
        await memory.forget(ForgetRequest(scope="item", at=NOON + timedelta(seconds=9), id="m1", by="303"))
        assert len(await memory.audit()) > 0
        await retain_after(tmp_path, DEFAULTS.closed_record_days + 3)
        assert [record.id for record in await memory.state(("request", "note"), NOON)] == ["r2"]
        assert len(await memory.audit(viewer_id="303")) == 1
        await retain_after(tmp_path, DEFAULTS.audit_days + 3)
        assert await memory.audit() == []
        assert "zzfatta" not in everything_in(tmp_path)
        assert "zzscaduta" not in everything_in(tmp_path)


async def test_the_names_of_who_is_never_seen_again_go_with_the_last_that_is_held_of_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "oggi piove"), line("m2", "vivo a Torino", user=BOB))
        await memory.opt_out("303", NOON)
        await retain_after(tmp_path, DEFAULTS.message_days + 1)
    async with opened(tmp_path) as memory:
        assert {viewer.id for viewer in await memory.viewers()} == {"101", "202"}
    longer = replace(DEFAULTS, fact_days=9999.0)
    await retain_after(tmp_path, 9998, longer)
    async with opened(tmp_path) as memory:
        assert {viewer.id for viewer in await memory.viewers()} == {"101", "202"}
        await retain_after(tmp_path, 9999 + 1, longer)
    async with opened(tmp_path) as memory:
        assert await memory.viewers() == []
        assert (await memory.held("303")).opted_out


async def test_without_limits_nothing_goes(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Torino"), line("m2", "Alice vive a Roma", user=BOB))
        before = everything_in(tmp_path)
        await retain_after(tmp_path, 100_000, FOR_EVER)
        await retain_after(tmp_path, 0)
        assert everything_in(tmp_path) == before


async def test_what_was_erased_stays_erased_when_its_time_has_come_and_its_log_is_played_again(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "zzsegreto"), line("m2", "resta zzresto"))
        await memory.delete("s0", Deletion(at=NOON, scope="message", message_id="m1"))
        await memory.run_jobs()
        await retain_after(tmp_path, DEFAULTS.message_days + 1)
        await past(memory, line("m1", "zzsegreto"), line("m2", "resta zzresto"))
        assert "zzsegreto" not in everything_in(tmp_path)


async def test_a_turn_that_a_crash_left_open_keeps_its_lines(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        await memory.observe(a_batch(line("m1", "a metà", after=1)))
        await retain_after(tmp_path, DEFAULTS.message_days + 1)
        [batch] = await memory.unrecorded()
        assert [one.id for one in batch.lines] == ["m1"]


async def test_the_clock_orders_it_as_a_job_once_a_day_and_old_backups_go(tmp_path: Path) -> None:
    clock = VirtualClock(NOON)
    async with kept(tmp_path, DEFAULTS, clock) as memory:
        await past(memory, line("m1", "oggi piove"))
        background = memory._parts.upkeep._background
        await background.order_backup()
        await memory.run_jobs()
        assert len(list((tmp_path / "backups").glob("*.ricordo"))) == 1
        clock.advance(timedelta(days=DEFAULTS.backup_days + 1))
        await memory.start_worker()
        background.worker.ask("retain")
        background.worker.ask("retain")
        for _ in range(400):
            jobs = await memory.jobs(kind="retain")
            if jobs and jobs[0].state == "done":
                break
            await asyncio.sleep(0.05)
        assert [job.state for job in jobs] == ["done"]
        assert list((tmp_path / "backups").glob("*.ricordo")) == []
        assert set(await said_of(memory)) == {"m1"}


@pytest.mark.parametrize("kind", ["message_days", "episode_days"])
async def test_the_words_and_the_turns_they_stood_in_have_times_of_their_own(tmp_path: Path, kind: str) -> None:
    async with opened(tmp_path) as memory:
        said = Said(state="sent", text="che bel nome", at=NOON, in_reply_to=("m1",))
        await memory.begin_stream(a_stream("s0", after=-9000))
        await tell(memory, a_batch(line("m1", "ho preso Birba"), stream_id="s0"), said=said)
        await memory.run_jobs()
        await retain_after(tmp_path, 30, replace(FOR_EVER, **{kind: 10.0}))
        await memory.run_jobs()
        held = everything_in(tmp_path)
        assert (await said_of(memory) == {}) == (kind == "message_days")
        assert ("Alice: ho preso Birba" in held) == (kind == "message_days")
        assert "ho preso Birba" in held  # the other one rests on the line
        receipt = await memory.forget(ForgetRequest(scope="viewer", at=NOON, viewer_id=ALICE.id))
        await memory.run_jobs()
        assert receipt.lines == 1
        assert "Birba" not in everything_in(tmp_path)


async def test_what_a_stream_cost_is_kept_while_it_may_go_on_and_not_for_ever(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        for name in ("s0", "live-1", "s1"):
            await memory.begin_stream(replace(a_stream(name), temporary=name.startswith("live")))
            await tell(memory, a_batch(line(f"m-{name}", "oggi piove"), stream_id=name))
        await memory.end_stream("s0", NOON + timedelta(days=20))
        await memory.note_spent([ModelUse(at=NOON, tokens=5, stream_id=name) for name in ("s0", "live-1", "s1", "never")])
        allotment = Allotment(memory._parts.spending._database, 100)
        for name in ("s0", "live-1", "s1"):
            await allotment.spend(name, 7)

        async def cost() -> list[tuple[int, bool]]:
            names = ("s0", "s1", "never")
            return [((await memory.spent(name)).tokens, await allotment.affords(name, 100)) for name in names]

        await retain_after(tmp_path, 25, FOR_EVER)
        assert await cost() == [(5, False), (10, False), (0, True)]
        await retain_after(tmp_path, 40, FOR_EVER)
        assert await cost() == [(5, False), (10, False), (0, True)]  # s0 ended lately, and s1 was heard last
        await retain_after(tmp_path, 51, FOR_EVER)
        assert await cost() == [(0, True), (10, False), (0, True)]
        await memory.begin_stream(a_stream("s2", after=51 * 86_400))
        await tell(memory, a_batch(line("m-s2", "oggi no", after=51 * 86_400), stream_id="s2"))
        await retain_after(tmp_path, 52, FOR_EVER)
        assert await cost() == [(0, True), (0, True), (0, True)]
        assert "llm_tokens:" not in everything_in(tmp_path)
