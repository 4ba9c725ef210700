"""Restoring a backup: what was removed and put right since stays so, and nothing is touched before the file proved whole."""

import asyncio
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

from memory.backup import Kept, back_up, cleaned
from memory.clock import Clock
from memory.errors import BackupInvalid, BotMemoryError, MemoryExists, StoreUnavailable, WrongChannel
from memory.store import archive, meta, overview, removals, snapshot
from memory.store.archive import Manifest
from memory.store.database import Database
from memory.store.instance_lock import InstanceLock

_REBUILT = ("chroma", "scheduler.db", "scheduler.db-wal", "scheduler.db-shm")  # made anew from SQL
_LOGS = ("-wal", "-shm", "-journal")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What a restore did."""

    manifest: Manifest
    folder: Path
    removed_again: int  # lines of the backup whose words had been removed or put right since
    before: Path | None  # a backup of the memory that was replaced; None where there was none, or it could not be read
    damaged: Path | None  # where the files of a memory lie that could not be read
    known_until: datetime | None  # what was removed later than this is not known; None: all is


def read_backup(file: Path) -> Manifest:
    """Return what a backup says of itself: whose memory, when, how much.

    Raises:
        BackupInvalid: the file is missing, cut short, no backup, or of a newer version.
    """
    return archive.read_manifest(file)


async def restore(file: Path, folder: Path, clock: Clock, *, force: bool = False, keep: Path | None = None) -> Restored:
    """Make the memory in `folder` that of the backup; its index is empty then, and is built anew by `reindex`.

    With `force` a memory that is there is replaced. What was forgotten, opted out and corrected in it is carried over first,
    and a backup of it is written into `keep`. One that cannot be read is moved aside.

    Raises:
        BackupInvalid: the file is missing, cut short, changed, no backup, or of a newer version; nothing was changed.
        SchemaTooNew: a newer program made it; nothing was changed.
        MemoryExists: a memory is there, and `force` is not given; nothing was changed.
        DirectoryInUse: a bot works there; nothing was changed.
        WrongChannel: the memory there is another channel's; nothing was changed.
        StoreUnavailable: the disk is full or cannot be written; the memory is as it was.
    """
    manifest = await asyncio.to_thread(archive.read_manifest, file)
    existing = folder / archive.DATABASE
    if not force and _holds_something(folder):
        raise MemoryExists(
            f"{folder} holds a memory already: name another folder with --data, or replace it with --force "
            "(a backup of it is made first, and what was forgotten in it stays forgotten)"
        )
    lock = await asyncio.to_thread(InstanceLock.take, folder)
    try:
        with archive.workshop(existing) as work:
            await asyncio.to_thread(archive.unpack, file, work)
            there = await asyncio.to_thread(existing.is_file)
            gone, readable = await _known(existing, manifest) if there else (removals.Removals(), False)
            known_until = None
            if there and not readable:
                gone, known_until = await _known_of_backups(keep, manifest, work)
            lines = await _prepared(work / archive.DATABASE, gone, clock.now())
            before = await _kept(folder, keep, clock.now()) if readable else None
            damaged = await asyncio.to_thread(_moved_aside, folder, clock.now()) if there and not readable else None
            await asyncio.to_thread(_put_in_place, work, folder)
    finally:
        lock.release()
    log.info("backup_restored", made_at=manifest.made_at.isoformat(), removed_again=lines)
    return Restored(
        manifest=manifest,
        folder=folder,
        removed_again=lines,
        before=before.path if before else None,
        damaged=damaged,
        known_until=known_until,
    )


def _holds_something(folder: Path) -> bool:
    return folder.is_dir() and any(path.name not in {"lock", "channel.json"} for path in folder.iterdir())


async def _known(existing: Path, manifest: Manifest) -> tuple[removals.Removals, bool]:
    """Return what was removed in the memory that is there, and whether it can be read."""
    try:
        await asyncio.to_thread(_whole, existing)
        database = await Database.open(existing)
        try:
            return await database.write(lambda connection: _removed(connection, existing, manifest)), True
        finally:
            await database.close()
    except WrongChannel:
        raise
    except (BotMemoryError, DatabaseError, sqlite3.Error) as error:
        log.warning("memory_not_readable", degraded="what was forgotten since the backup is not known", error=str(error))
        return removals.Removals(), False


async def _known_of_backups(keep: Path | None, manifest: Manifest, work: Path) -> tuple[removals.Removals, datetime]:
    """Return what was removed as far as the newest readable backup of `keep` knows, and when that was made."""
    for path in await asyncio.to_thread(archive.listed, keep) if keep else ():
        try:
            newest = await asyncio.to_thread(archive.read_manifest, path)
            if newest.made_at <= manifest.made_at or newest.channel_id != manifest.channel_id:
                continue
            aside = work / "newest"
            aside.mkdir(exist_ok=True)
            await asyncio.to_thread(archive.unpack, path, aside)
            database = await Database.open(aside / archive.DATABASE)
            try:
                return await database.write(removals.read), newest.made_at
            finally:
                await database.close()
        except BotMemoryError as error:
            log.warning("backup_not_readable", name=path.name, error=str(error))
        shutil.rmtree(work / "newest", ignore_errors=True)
    return removals.Removals(), manifest.made_at


def _whole(path: Path) -> None:
    if found := snapshot.faults(path):
        raise StoreUnavailable(f"{path}: {found[0]}; it is moved aside")


def _removed(connection: Connection, path: Path, manifest: Manifest) -> removals.Removals:
    owner = meta.owner(connection)
    if owner not in {None, manifest.channel_id}:
        raise WrongChannel(
            f"{path.parent} holds the memory of channel {owner}, the backup that of {manifest.channel_id} ({manifest.login}): "
            "choose another folder with --data"
        )
    return removals.read(connection)


async def _prepared(copy: Path, gone: removals.Removals, now: datetime) -> int:
    """Bring the unpacked database up to date, without what was removed; return how many lines lost their words.

    Raises:
        BackupInvalid: SQLite finds it damaged.
    """
    if found := await asyncio.to_thread(snapshot.faults, copy):
        raise BackupInvalid(f"the database in the backup is damaged ({found[0]}); take an older backup")
    lines = await cleaned(copy, gone, now)
    database = await Database.open(copy)
    try:
        await database.write(overview.doubt_index)
        await database.scrub()
    finally:
        await database.close()
    await asyncio.to_thread(snapshot.settle, copy)
    return lines


async def _kept(folder: Path, keep: Path | None, now: datetime) -> Kept | None:
    return await back_up(folder, keep / f"{now:%Y%m%dT%H%M%SZ}{archive.SUFFIX}", now) if keep else None


def _moved_aside(folder: Path, now: datetime) -> Path:
    aside = folder / f"damaged-{now:%Y%m%dT%H%M%SZ}"
    aside.mkdir()
    for name in (archive.DATABASE, *(f"{archive.DATABASE}{log_}" for log_ in _LOGS)):
        if (folder / name).exists():
            (folder / name).rename(aside / name)
    return aside


def _put_in_place(work: Path, folder: Path) -> None:
    """Killed at any step, the memory is the old one whole, or the new one; an index that is missing is built anew."""
    target = folder / archive.DATABASE
    with _told(folder):
        if target.exists():
            snapshot.settle(target)
        for name in _REBUILT:
            path = folder / name
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        (work / archive.DATABASE).replace(target)
        if (work / archive.CHANNEL).is_file():
            (work / archive.CHANNEL).replace(folder / archive.CHANNEL)


@contextmanager
def _told(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{folder}: {error.strerror or error}; mend its rights, then restore again") from error
