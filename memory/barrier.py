"""The ingestion barrier: whom tools that ran in a turn keep out of its personal consolidation. Pure.

A record of structured state has one home. What was said to have it set, changed or closed is not kept a second time as
somebody's own memory, where it would go stale.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from memory.model import Batch

_NAMED = ("viewer", "subject", "object")


def held_viewers(batch: Batch, involved: Iterable[str], *, asking: Collection[str]) -> tuple[str, ...]:
    """Return who is held back: those whom the records are about and those who spoke to the bot; else the whole batch.

    Args:
        batch: the turn's lines.
        involved: viewers whom the changed records are, or were, about.
        asking: ids of the messages that spoke to the bot.
    """
    named = dict.fromkeys(involved)
    speaking = [message.user.id for message in batch.messages if not named or message.id in asking]
    return tuple(dict.fromkeys([*named, *speaking]))


def named_in(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the viewers whom a tool call's arguments name."""
    together = arguments.get("participants")
    named = [*(arguments.get(key) for key in _NAMED), *(together if isinstance(together, list | tuple) else ())]
    return tuple(dict.fromkeys(str(viewer) for viewer in named if viewer))
