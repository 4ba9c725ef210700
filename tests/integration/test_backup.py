import hashlib
import json
import stat
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest
from builders_backup import MADE_AT, a_backup, a_memory, backups_with, change, look, put_back
from builders_forget import LATER, correcting, everything_held, files_with, forgetting
from builders_memory import ALICE, BOB, opened, shown, tell
from builders_recall import CHANNEL, NOON, a_batch, a_clock, a_message, a_stream
from fakes.hash_embedder import HashEmbedder

from memory import (
    BackupInvalid,
    BackupPlan,
    Channel,
    Deletion,
    DirectoryInUse,
    Memory,
    MemoryExists,
    MemorySettings,
    SchemaTooNew,
    StateCall,
    StateOrder,
    StoreUnavailable,
    WrongChannel,
    back_up,
    open_memory,
    read_backup,
)
from memory.opening import open_parts


async def _shown(folder: Path) -> str:
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        await memory.reindex()
        await memory.run_jobs()
        return await everything_held(memory)


async def test_a_backup_made_while_the_memory_is_written_to_is_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder, file = tmp_path / "m", tmp_path / "safe" / "b.ricordo"
    await a_memory(folder)
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        await tell(memory, a_batch(a_message("m9", "e adesso piove", after=9)))
        made = await a_backup(folder, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (made.manifest.messages, made.manifest.login, made.size) == (4, CHANNEL.login, file.stat().st_size)
    assert read_backup(file) == made.manifest
    assert [path.name for path in file.parent.iterdir()] == ["b.ricordo"]
    done = await put_back(file, tmp_path / "new", force=False)
    assert (done.before, done.damaged, done.known_until, done.removed_again) == (None, None, None, 0)
    told = await _shown(tmp_path / "new")
    assert "piove" in told
    assert "Birba" in told


async def test_a_restored_memory_recalls_by_meaning_and_by_words_once_it_is_indexed(tmp_path: Path) -> None:
    file = tmp_path / "b.ricordo"
    await a_backup(await a_memory(tmp_path / "m"), file)
    await put_back(file, tmp_path / "new", force=False)
    async with opened(tmp_path / "new") as memory:
        await memory.begin_stream(a_stream("s2"))
        await memory.reindex()
        question = a_batch(a_message("q", "@ricordo come si chiama il mio gatto?", after=10), stream_id="s2")
        recall = await memory.recall(question)
        assert any("Birba" in text for text in shown(recall))
        assert not recall.degraded


async def test_a_backup_replaces_an_older_one_and_nothing_else(tmp_path: Path) -> None:
    file, other = tmp_path / "b.ricordo", tmp_path / "notes.txt"
    folder = await a_memory(tmp_path / "m")
    await a_backup(folder, file)
    await back_up(folder, file, MADE_AT + timedelta(hours=1))
    assert read_backup(file).made_at == MADE_AT + timedelta(hours=1)
    other.write_text("mine")
    with pytest.raises(BackupInvalid, match="no backup"):
        await a_backup(folder, other)
    assert other.read_text() == "mine"
    (tmp_path / "shut").write_text("")
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        await a_backup(folder, tmp_path / "shut" / "b.ricordo")
    with pytest.raises(StoreUnavailable, match="no memory here"):
        await a_backup(tmp_path / "nothing", file)


async def test_a_memory_that_is_there_is_replaced_only_by_force_and_kept_as_a_backup(tmp_path: Path) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        await tell(memory, a_batch(a_message("m9", "e adesso piove", after=9)))
        with pytest.raises(DirectoryInUse):
            await put_back(file, folder)
    with pytest.raises(MemoryExists, match="--force"):
        await put_back(file, folder, force=False)
    done = await put_back(file, folder)
    assert "piove" not in await _shown(folder)
    assert done.before is not None
    assert backups_with(folder / "backups", "piove") == [done.before.name]
    await put_back(done.before, folder)
    assert "piove" in await _shown(folder)


async def _forget_some(memory: Memory) -> None:
    await memory.forget(forgetting("words", viewer_id=ALICE.id, words="Birba"))


async def _forget_viewer(memory: Memory) -> None:
    await memory.forget(forgetting("viewer", viewer_id=ALICE.id))


async def _forget_all(memory: Memory) -> None:
    await memory.forget(forgetting("everything"))


async def _opt_out(memory: Memory) -> None:
    await memory.opt_out(ALICE.id, LATER)


async def _moderate(memory: Memory) -> None:
    for stream_id in ("s0", "s1"):
        await memory.delete(stream_id, Deletion(at=LATER, scope="user", user_id=ALICE.id))


async def _correct(memory: Memory) -> None:
    await memory.correct(correcting("Zorro", viewer_id=ALICE.id, old="Birba"))


_REMOVALS = [_forget_some, _forget_viewer, _forget_all, _opt_out, _moderate, _correct]


@pytest.mark.parametrize(
    ("removing", "finished"), [*((way, True) for way in _REMOVALS), (_forget_some, False), (_correct, False)]
)
async def test_a_restore_never_brings_back_what_was_removed_since(
    tmp_path: Path,
    removing: object,
    finished: bool,
) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        await removing(memory)  # type: ignore[operator]  # one of the above
        if finished:
            await memory.run_jobs()
    done = await put_back(file, folder)
    assert done.removed_again > 0
    assert not files_with(folder, "Birba")
    assert not backups_with(folder / "backups", "Birba")
    told = await _shown(folder)
    assert "Birba" not in told
    assert ("Nerone" in told) is (removing is not _forget_all)
    if removing is _correct:
        assert "Zorro" in told
    if removing is _opt_out:
        async with opened(folder) as memory:
            assert memory.opted_out(ALICE.id, LATER)


async def test_an_opt_in_since_the_backup_holds_after_the_restore(tmp_path: Path) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    async with opened(folder) as memory:
        await memory.opt_out(BOB.id, NOON)
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.opt_in(BOB.id, LATER)
    await put_back(file, folder)
    async with opened(folder) as memory:
        assert not memory.opted_out(BOB.id, LATER)
        assert [entry.verb for entry in await memory.audit(viewer_id=BOB.id)] == ["opt_in", "opt_out"]


async def test_a_record_that_was_forgotten_by_its_words_stays_away(tmp_path: Path) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    note = {"id": "n1", "viewer": ALICE.id, "text": "odia il sedano"}
    async with opened(folder) as memory:
        await memory.apply_state(StateCall(at=NOON, tool="note_set", arguments=note))
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.forget(forgetting("words", viewer_id=ALICE.id, words="sedano"))
        await memory.run_jobs()
    await put_back(file, folder)
    assert look(folder / "memory.db", "SELECT count(*) FROM state_record") == [(0,)]
    assert not files_with(folder, "sedano")


@pytest.mark.parametrize("way", ["item", "words", "message", "user"])
async def test_a_record_goes_with_the_message_that_asked_for_it_and_no_backup_brings_it_back(tmp_path: Path, way: str) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    call = StateCall(at=NOON, tool="note_set", arguments={"id": "n1", "viewer": ALICE.id, "text": "odia il sedano"})
    async with opened(folder) as memory:
        await memory.change_state(StateOrder(call=call, source="m3"))
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.begin_stream(a_stream("s1"))
        if way in {"item", "words"}:
            asked = {"id": "m3"} if way == "item" else {"viewer_id": ALICE.id, "words": "divano"}
            assert (await memory.forget(forgetting(way, **asked))).records == 1
        else:
            ids = {"message_id": "m3"} if way == "message" else {"user_id": ALICE.id}
            await memory.delete("s1", Deletion(at=LATER, scope=way, **ids))  # type: ignore[arg-type] # one of two
        await memory.run_jobs()
    assert look(folder / "memory.db", "SELECT count(*) FROM state_record") == [(0,)]
    await put_back(file, folder)
    assert look(folder / "memory.db", "SELECT count(*) FROM state_record") == [(0,)]
    assert not files_with(folder, "sedano")


@pytest.mark.parametrize("spoil", ["cut", "changed", "foreign", "empty", "other zip", "newer", "gone"])
async def test_a_file_that_is_no_whole_backup_is_refused_and_nothing_is_lost(tmp_path: Path, spoil: str) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    await a_backup(folder, file)
    _spoil(file, spoil)
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(BackupInvalid):
        await put_back(file, folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert "Birba" in await _shown(folder)


def _spoil(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how == "cut":
        file.write_bytes(content[: len(content) // 2])
    elif how == "changed":
        middle = len(content) // 2
        file.write_bytes(content[:middle] + bytes(64) + content[middle + 64 :])
    elif how in {"foreign", "empty"}:
        file.write_bytes(b"not a backup" * 100 if how == "foreign" else b"")
    elif how == "gone":
        file.unlink()
    elif how == "other zip":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("memory.db", "x")
    else:
        with zipfile.ZipFile(file) as archive:
            said = json.loads(archive.read("manifest.json"))
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("manifest.json", json.dumps({**said, "format": 99}))


async def test_a_backup_of_a_newer_schema_is_refused(tmp_path: Path) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    await a_backup(folder, file)
    _with_database(file, tmp_path / "work", "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaTooNew):
        await put_back(file, folder)
    assert "Birba" in await _shown(folder)


def _with_database(file: Path, work: Path, statement: str) -> None:
    """Write a backup anew with a changed database, its checksum right."""
    with zipfile.ZipFile(file) as archive:
        archive.extractall(work)
    change(work / "memory.db", statement)
    content = (work / "memory.db").read_bytes()
    said = json.loads((work / "manifest.json").read_text())
    said["files"]["memory.db"] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("manifest.json", json.dumps(said))
        archive.writestr("memory.db", content)
        archive.write(work / "channel.json", "channel.json")


async def test_another_channels_memory_is_not_replaced(tmp_path: Path) -> None:
    file, folder = tmp_path / "b.ricordo", tmp_path / "other"
    await a_backup(await a_memory(tmp_path / "m"), file)
    other = Channel(id="7", login="altro", name="Altro")
    settings = MemorySettings(data_dir=folder)
    async with await open_memory(settings, channel=other, embedder=HashEmbedder(dimension=32), clock=a_clock()):
        pass
    with pytest.raises(WrongChannel, match="channel 7"):
        await put_back(file, folder)


async def test_a_damaged_memory_is_moved_aside_and_what_the_newest_backup_knows_to_be_gone_stays_gone(tmp_path: Path) -> None:
    folder, file = await a_memory(tmp_path / "m"), tmp_path / "b.ricordo"
    await a_backup(folder, file)
    async with opened(folder) as memory:
        await memory.forget(forgetting("words", viewer_id=ALICE.id, words="Birba"))
        await memory.run_jobs()
    newest = await back_up(folder, folder / "backups" / "20260302T000000Z.ricordo", MADE_AT + timedelta(days=1))
    (folder / "memory.db").write_bytes(b"\xff" * 50_000)
    done = await put_back(file, folder)
    assert done.known_until == newest.manifest.made_at
    assert done.damaged is not None
    assert (done.damaged / "memory.db").read_bytes() == b"\xff" * 50_000
    told = await _shown(folder)
    assert "Birba" not in told
    assert "Nerone" in told


async def test_backups_by_the_clock_lose_what_is_forgotten_or_corrected_later(tmp_path: Path) -> None:
    folder = await a_memory(tmp_path / "m")
    backups = folder / "backups"
    await back_up(folder, backups / "20260301T000000Z.ricordo", MADE_AT)
    await back_up(folder, backups / "20260302T000000Z.ricordo", MADE_AT)
    (backups / "20260303T000000Z.ricordo").write_bytes(b"cut short")
    (backups / ".ricordo-backup-999999999-x").mkdir()
    (backups / ".ricordo-backup-999999999-x" / "memory.db").write_text("Birba")
    assert backups_with_readable(backups, "Birba")
    async with opened(folder) as memory:
        await memory.forget(forgetting("words", viewer_id=ALICE.id, words="Birba"))
        await memory.run_jobs()
        assert not backups_with(backups, "Birba")
        assert len(backups_with(backups, "Nerone")) == 2
        await memory.correct(correcting("Zorro", viewer_id=BOB.id, old="Nerone"))
        await memory.run_jobs()
    assert not backups_with(backups, "Nerone")
    assert len(backups_with(backups, "Zorro")) == 2
    assert not files_with(folder, "Birba", "Nerone")
    assert [path.name for path in sorted(backups.iterdir())] == ["20260301T000000Z.ricordo", "20260302T000000Z.ricordo"]
    assert read_backup(backups / "20260301T000000Z.ricordo").made_at == MADE_AT


async def test_what_a_killed_restore_left_goes_with_the_next_words_that_are_forgotten(tmp_path: Path) -> None:
    folder = await a_memory(tmp_path / "m")
    left = folder / ".ricordo-backup-999999999-x"
    left.mkdir()
    (left / "memory.db").write_text("Birba")
    async with opened(folder) as memory:
        await memory.forget(forgetting("words", viewer_id=ALICE.id, words="Birba"))
        await memory.run_jobs()
    assert not files_with(folder, "Birba")


def backups_with_readable(folder: Path, word: str) -> list[str]:
    (folder / "20260303T000000Z.ricordo").rename(folder / "kept-for-a-moment")
    try:
        return backups_with(folder, word)
    finally:
        (folder / "kept-for-a-moment").rename(folder / "20260303T000000Z.ricordo")


async def test_the_clock_makes_backups_as_jobs_and_keeps_the_newest(tmp_path: Path) -> None:
    folder = await a_memory(tmp_path / "m")
    settings = MemorySettings(data_dir=folder, backup=BackupPlan(keep=2, directory=tmp_path / "safe"))
    clock = a_clock()
    parts = await open_parts(settings, channel=CHANNEL, embedder=HashEmbedder(dimension=32), clock=clock)
    async with parts.held:
        (tmp_path / "safe").mkdir()
        (tmp_path / "safe" / "before-the-move.ricordo").write_text("somebody's own")
        for _ in range(3):
            await parts.upkeep.order_backup()
            await parts.upkeep.order_backup()  # the same second: one backup
            await parts.upkeep.run_jobs()
            clock.advance(timedelta(hours=24))
    made = sorted(path.name for path in (tmp_path / "safe").iterdir())
    assert made == ["20260302T120000Z.ricordo", "20260303T120000Z.ricordo", "before-the-move.ricordo"]
    async with opened(folder) as memory:
        assert [job.state for job in await memory.jobs(kind="backup")] == ["done"] * 3
