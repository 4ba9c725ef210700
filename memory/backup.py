"""Backups of a memory: one file with everything SQL holds, made while the bot goes on; and those made by the clock, kept clean.

The vector index, the full text's cache of embeddings and the schedule are not in them: they are built anew. A backup holds no
words of what was hidden when it was made, and those made by the clock lose what is removed later, too.
"""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import structlog
from sqlalchemy import Connection, create_engine, select
from sqlalchemy.pool import NullPool

from memory.clock import Clock
from memory.errors import BackupInvalid
from memory.store import archive, fulltext, meta, removals, snapshot
from memory.store.archive import Manifest
from memory.store.database import Database
from memory.store.schema import check_schema, revision_of
from memory.store.streams import STREAM

T = TypeVar("T")
_STAMP = "%Y%m%dT%H%M%SZ"
_BY_THE_CLOCK = re.compile(r"\d{8}T\d{6}Z\.ricordo")
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A backup on disk."""

    path: Path
    manifest: Manifest
    size: int


async def back_up(directory: Path, target: Path, at: datetime) -> Kept:
    """Write a backup of the memory in `directory` to `target`, whether or not a bot works in it; nothing there is changed.

    Raises:
        StoreUnavailable: there is no memory, it cannot be read, or `target` cannot be written: an older file stays as it was.
        SchemaTooNew: a newer program wrote the memory.
        BackupInvalid: `target` is there, and is no backup.
    """
    source = directory / archive.DATABASE
    await asyncio.to_thread(_check, source, target)
    return await _write(source, target, at)


def _check(source: Path, target: Path) -> None:
    check_schema(source)
    if target.exists():
        archive.read_manifest(target)  # only a backup is replaced


async def _write(source: Path, target: Path, at: datetime) -> Kept:
    with archive.workshop(target) as work:
        copy = work / archive.DATABASE
        await asyncio.to_thread(snapshot.take, source, copy)
        await cleaned(copy, removals.Removals(), at)
        made = await asyncio.to_thread(partial(_seal, copy, source.with_name(archive.CHANNEL), target, at=at))
    log.info("backup_written", name=target.name, bytes=made.size, messages=made.manifest.messages)
    return made


def _seal(copy: Path, channel: Path, target: Path, *, at: datetime, state: str = "") -> Kept:
    """Make a backup of a copy of the database; `state` is the fingerprint of what was removed, its own where empty."""
    compact = copy.with_name(f"compact-{copy.name}")
    snapshot.take(copy, compact)
    manifest = _named(_described(compact, at), channel)
    files = {archive.DATABASE: compact} | ({archive.CHANNEL: channel} if channel.is_file() else {})
    whole = archive.pack(target, replace(manifest, removals=state or manifest.removals), files)
    return Kept(path=target, manifest=whole, size=target.stat().st_size)


async def cleaned(copy: Path, gone: removals.Removals, at: datetime) -> int:
    """Bring a copy of the database up to date and take out what is hidden in it or `gone` since; return how many lines changed.

    Raises:
        SchemaTooNew, StoreUnavailable: it cannot be read.
    """
    database = await Database.open(copy)
    try:
        changed = await database.write(lambda connection: removals.apply(connection, gone, at))
        if changed:
            await database.write(fulltext.optimise)
        return changed
    finally:
        await database.close()


def _described(path: Path, at: datetime) -> Manifest:
    engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
    with engine.connect() as connection:
        return _told(connection, path, at)


def _told(connection: Connection, path: Path, at: datetime) -> Manifest:
    newest = connection.execute(select(STREAM.c.channel).order_by(STREAM.c.started_at.desc()).limit(1)).scalar()
    channel = newest or {}
    return Manifest(
        made_at=at,
        channel_id=meta.owner(connection) or str(channel.get("id", "")),
        login=str(channel.get("login", "")),
        name=str(channel.get("name", "")),
        schema=revision_of(path),
        messages=meta.counts(connection)["messages"],
        removals=removals.fingerprint(connection),
    )


def _named(manifest: Manifest, channel: Path) -> Manifest:
    """Prefer the names that stand beside the memory: the database has those of its last stream."""
    try:
        said = json.loads(channel.read_text(encoding="utf-8"))
        return replace(manifest, login=str(said["login"]), name=str(said["name"]))
    except (OSError, ValueError, KeyError, TypeError):
        return manifest


class Backups:
    """The backups that the bot makes by the clock, in a folder of their own. One call at a time."""

    def __init__(self, database: Database, clock: Clock, *, directory: Path, keep: int) -> None:
        """Back up `database` into `directory`, which is made where it is missing; keep the `keep` newest."""
        self._database = database
        self._clock = clock
        self._directory = directory
        self._keep = keep

    async def make(self) -> Kept:
        """Make one now, and remove those that are too many.

        Raises:
            StoreUnavailable: it could not be written; the older ones stay.
        """
        now = self._clock.now()
        target = self._directory / f"{now:{_STAMP}}{archive.SUFFIX}"
        await asyncio.to_thread(archive.sweep, self._directory)
        made = await _write(self._database.path, target, now)
        for old in [path for path in self.listed() if _BY_THE_CLOCK.fullmatch(path.name)][self._keep :]:
            old.unlink(missing_ok=True)
            log.info("backup_removed", name=old.name)
        return made

    def listed(self) -> list[Path]:
        """Return the backups there are, newest first."""
        return archive.listed(self._directory)

    async def expire(self, before: datetime) -> int:
        """Remove those that were made by the clock before that moment; return how many."""
        kept = f"{before:{_STAMP}}{archive.SUFFIX}"
        old = [path for path in self.listed() if _BY_THE_CLOCK.fullmatch(path.name) and path.name < kept]
        for path in old:
            await asyncio.to_thread(path.unlink, missing_ok=True)
            log.info("backup_removed", name=path.name)
        return len(old)

    async def clean(self) -> int:
        """Take what was removed since out of every backup; return how many were written anew. One that cannot be read goes.

        Raises:
            StoreUnavailable: words may be left; call again.
        """
        for folder in (
            self._directory,
            self._database.path.parent,
        ):  # a restore that was killed leaves its copy beside the memory
            await asyncio.to_thread(archive.sweep, folder)
        found = self.listed()
        if not found:
            return 0
        state = await self._read(removals.fingerprint)
        stale = [path for path in found if await asyncio.to_thread(_state_of, path) != state]
        if stale:
            gone = await self._read(removals.read)
            for path in stale:
                await self._write_anew(path, gone)
            log.info("backups_cleaned", backups=len(stale))
        return len(stale)

    async def _write_anew(self, path: Path, gone: removals.Removals) -> None:
        with archive.workshop(path) as work:
            try:
                before = await asyncio.to_thread(archive.unpack, path, work)
            except BackupInvalid as error:
                await asyncio.to_thread(path.unlink, missing_ok=True)
                log.warning("backup_removed", name=path.name, reason="it cannot be read", error=str(error))
                return
            copy, channel = work / archive.DATABASE, work / archive.CHANNEL
            await cleaned(copy, gone, before.made_at)
            await asyncio.to_thread(partial(_seal, copy, channel, path, at=before.made_at, state=gone.state))

    async def _read(self, fn: Callable[[Connection], T]) -> T:
        async with self._database.reading() as session:
            return await session.run_sync(lambda reading: fn(reading.connection()))


def _state_of(path: Path) -> str:
    try:
        return archive.read_manifest(path).removals
    except BackupInvalid:
        return ""
