"""Work that is asked of the running bot: written as jobs into its database, and waited for."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from bot.cli.shell import CommandFailed, err
from memory import DirectoryInUse, JobRow, Jobs, refuse_in_use

LOOK_SECONDS = 0.5
PATIENT_SECONDS = 60.0  # a bot at work takes a job up, or a stretch further, well within this


def in_use(folder: Path) -> bool:
    """Return whether a bot works in the folder of a memory."""
    try:
        refuse_in_use(folder)
    except DirectoryInUse:
        return True
    return False


async def waited_for(
    jobs: Jobs,
    prefix: str,
    folder: Path,
    *,
    ended: Callable[[Sequence[JobRow]], bool],
    told: Callable[[Sequence[JobRow]], str],
    patience: float = PATIENT_SECONDS,
) -> list[JobRow]:
    """Return the jobs whose keys begin with `prefix`, once they have `ended`; meanwhile `told` says how far they are.

    Raises:
        CommandFailed: one of them gave up, the bot was stopped, or nothing moved for `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    before: list[JobRow] = []
    moved = loop.time()
    with err.status("the running bot has been asked") as status:
        while True:
            rows = await jobs.keyed(prefix)
            if ended(rows):
                return rows
            if rows != before:
                before, moved = rows, loop.time()
            if loop.time() - moved >= patience:
                text = "what uses the folder does not take it up; it stays asked: `ricordo jobs` shows when it is done"
                raise CommandFailed(text)
            if dead := next((row for row in rows if row.state == "dead"), None):
                text = f"the bot gave up: {dead.last_error}; `ricordo jobs retry {dead.id}` has it try again"
                raise CommandFailed(text)
            if not await asyncio.to_thread(in_use, folder):
                text = "the bot was stopped meanwhile; it goes on when it is started, or run this again now"
                raise CommandFailed(text)
            status.update(told(rows))
            await asyncio.sleep(LOOK_SECONDS)
