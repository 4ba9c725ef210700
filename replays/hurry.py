"""What a long run asks of the process it runs in."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from memory import ARENA_MAX, ask_allocator

_ARENAS = 2
_TURN_SECONDS = 0.0005


def few_arenas() -> bool:
    """Have glibc allocate from two arenas instead of eight a processor; return whether it agreed. Call it before threads start.

    Each arena keeps what its threads once used. Elsewhere than on glibc nothing happens.
    """
    return ask_allocator(ARENA_MAX, _ARENAS)


def short_turns() -> None:
    """Have a thread that computes hand the interpreter over after half a millisecond instead of five.

    The loop of a replay waits for it a few times a turn, while facts are extracted and texts embedded on other threads.
    """
    sys.setswitchinterval(_TURN_SECONDS)


@contextmanager
def loading() -> Iterator[None]:
    """Look for no garbage while modules are loaded, and never again among what they hold, which stays until the end.

    Otherwise a sixth of the time to load goes into it, and most of each full collection later, in a chat that runs.
    """
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # once a process: what is passed over is never freed
            gc.freeze()
        gc.enable()  # whatever was frozen before: a collector that stays away is a leak
