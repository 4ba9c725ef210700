"""What a failed attempt means: the kind of error, how long to wait, and when to stop asking a dependency. No I/O."""

import asyncio
import traceback
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import PurePath
from random import Random
from typing import Literal

from memory.errors import AnswerUnusable, BotMemoryError, InvalidRow

Fault = Literal["temporary", "permanent", "unknown"]

_LEAST_SECONDS = 0.25  # full jitter may draw 0: a retry is never at the same moment
_TOLERATED = 3  # temporary errors in a row before a kind is held
_HOLD_CAP_SECONDS = 300.0  # an outage of hours is noticed to be over within five minutes


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    else:
        yield error


def fault(error: BaseException) -> Fault:
    """Return what kind of error this is; of a group, the least hopeful one.

    A value that must not be stored is permanent. What a dependency or the machine did (the rest of our errors, time-outs, the
    operating system) is temporary. Anything else, an answer that cannot be used among them, may or may not go away: unknown.
    """
    faults = {_single(leaf) for leaf in _leaves(error)}
    if "permanent" in faults:
        return "permanent"
    return "unknown" if "unknown" in faults else "temporary"


def _single(error: BaseException) -> Fault:
    if isinstance(error, InvalidRow):
        return "permanent"
    if isinstance(error, AnswerUnusable):
        return "unknown"
    if isinstance(error, BotMemoryError | TimeoutError | OSError | asyncio.CancelledError):
        return "temporary"
    return "unknown"


def told(error: BaseException) -> str:
    """Return an error as it may be stored: our own messages whole, of others only the type and the place.

    Foreign messages quote the value they choked on, which may be chat text.
    """
    return "; ".join(dict.fromkeys(_told(leaf) for leaf in _leaves(error)))


def _told(error: BaseException) -> str:
    name = type(error).__name__
    if isinstance(error, BotMemoryError):
        return f"{name}: {error}".encode("utf-8", "replace").decode().replace("\x00", "")
    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {PurePath(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
    number = f" (errno {error.errno})" if isinstance(error, OSError) and error.errno else ""
    return f"{name}{number}{place}"


class Backoff:
    """Growing, jittered waits: uniform(0, min(cap, base · 2^(n-1))), "full jitter" (AWS Architecture Blog, 2015)."""

    def __init__(self, base_seconds: float, cap_seconds: float, random: Random) -> None:
        """Draw from `random`, which a replay seeds."""
        self._base = base_seconds
        self._cap = cap_seconds
        self._random = random

    def after(self, attempts: int) -> timedelta:
        """Return the wait after the `attempts`-th failed attempt (1 is the first)."""
        ceiling = min(self._cap, self._base * 2.0 ** min(attempts - 1, 60))
        return timedelta(seconds=max(_LEAST_SECONDS, self._random.uniform(0, ceiling)))


class Breaker:
    """Stops claiming a kind after three temporary errors in a row, so that an outage burns no attempts.

    When the hold ends one more group is tried: success closes the breaker, another error doubles the hold (to five minutes).
    """

    def __init__(self, base_seconds: float) -> None:
        """Hold for `base_seconds` at first."""
        self._base = base_seconds
        self._errors: dict[str, int] = {}
        self._until: dict[str, datetime] = {}

    def failed(self, kind: str, now: datetime) -> None:
        """Count a temporary error of that kind."""
        errors = self._errors[kind] = self._errors.get(kind, 0) + 1
        if errors >= _TOLERATED:
            seconds = min(_HOLD_CAP_SECONDS, self._base * 2.0 ** min(errors - _TOLERATED, 60))
            self._until[kind] = now + timedelta(seconds=seconds)

    def succeeded(self, kind: str) -> None:
        """Forget that kind's errors: its dependency answers."""
        self._errors.pop(kind, None)
        self._until.pop(kind, None)

    def held_until(self, kind: str, now: datetime) -> datetime | None:
        """Return when that kind may be tried again, None where it may be now."""
        until = self._until.get(kind)
        longest = timedelta(seconds=_HOLD_CAP_SECONDS)  # further away: the clock was set back since
        return until if until is not None and now < until <= now + longest else None
