"""Work that is asked of the running bot: written as jobs into its database, and waited for."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from bot.cli.shell import CommandFailed, err
from memory import DirectoryInUse, JobRow, Jobs, refuse_in_use

LOOK_SECONDS = 0.5


def in_use(folder: Path) -> bool:
    """Return whether a bot works in the folder of a memory."""
    try:
        refuse_in_use(folder)
    except DirectoryInUse:
        return True
    return False


async def waited_for(
    jobs: Jobs, prefix: str, folder: Path, *, ended: Callable[[Sequence[JobRow]], bool], told: Callable[[Sequence[JobRow]], str]
) -> list[JobRow]:
    """Return the jobs whose keys begin with `prefix`, once they have `ended`; meanwhile `told` says how far they are.

    Raises:
        CommandFailed: one of them gave up, or the bot was stopped.
    """
    with err.status("the running bot has been asked") as status:
        while True:
            rows = await jobs.keyed(prefix)
            if ended(rows):
                return rows
            if dead := next((row for row in rows if row.state == "dead"), None):
                text = f"the bot gave up: {dead.last_error}; `ricordo jobs retry {dead.id}` has it try again"
                raise CommandFailed(text)
            if not await asyncio.to_thread(in_use, folder):
                text = "the bot was stopped meanwhile; it goes on when it is started, or run this again now"
                raise CommandFailed(text)
            status.update(told(rows))
            await asyncio.sleep(LOOK_SECONDS)
