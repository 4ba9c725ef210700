"""The streamer's own files: canon and persona, read at the start and, by `!reload`, while the bot runs."""

from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path

import structlog

from bot.persona import Persona, PersonaError, load_persona
from lore.loader import CanonError, load_canon
from memory import Memory

log = structlog.get_logger(__name__)
Reload = Callable[[], Awaitable[int | None]]  # how many entries changed; None: the files have mistakes, nothing was changed


async def sync_canon(memory: Memory, folder: Path | None) -> int:
    """Make the memory's canon equal to the files of `folder` (None: the bundled ones); return how many entries changed."""
    return await memory.sync_lore(load_canon(folder or Path(str(files("lore").joinpath("canon")))))


def reloading(memory: Memory, canon: Path | None, persona: Path | None, *, become: Callable[[Persona], None] | None) -> Reload:
    """Return what `!reload` does: read persona and canon anew. Files with mistakes are named in the log and change nothing."""

    async def reload() -> int | None:
        try:
            played = load_persona(persona)
            changed = await sync_canon(memory, canon)
        except (PersonaError, CanonError) as error:
            log.warning("reload_failed", reason=str(error))
            return None
        if become is not None:
            become(played)
        log.info("files_reloaded", entries=changed)
        return changed

    return reload
