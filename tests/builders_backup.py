"""A memory with a past, backups of it, and every byte that is in them."""

import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

from builders_memory import a_past_stream, opened, tell
from builders_recall import CHANNEL, NOON, a_batch, a_clock, a_message

from bot.app import remember_channel
from memory import Kept, Restored, Said, back_up, restore

MADE_AT = NOON


async def a_memory(folder: Path) -> Path:
    """A stream of the past, with what the bot answered in the present one."""
    async with opened(folder) as memory:
        await a_past_stream(memory)
        said = Said(state="sent", text="Birba, che bel nome", at=NOON, in_reply_to=("m3",))
        await tell(memory, a_batch(a_message("m3", "Birba dorme sul divano", after=1)), said=said)
        await memory.run_jobs()
    remember_channel(folder, CHANNEL)
    return folder


async def a_backup(folder: Path, target: Path) -> Kept:
    return await back_up(folder, target, MADE_AT)


async def put_back(file: Path, folder: Path, *, force: bool = True) -> Restored:
    return await restore(file, folder, a_clock(), force=force, keep=folder / "backups")


def backups_with(folder: Path, *words: str) -> list[str]:
    """The backups in a folder in whose database a word stands, whatever its case, once they are unpacked."""
    found = []
    for path in sorted(folder.glob("*.ricordo")):
        with zipfile.ZipFile(path) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist()).lower()
        found += [path.name] if any(word.lower().encode() in content for word in words) else []
    return found


def change(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()


def look(database: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(query).fetchall()
