"""What a failed attempt means: the kind of error, how long to wait, and when to stop asking a dependency. No I/O."""

import asyncio
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import PurePath
from random import Random
from typing import Literal

from memory.errors import (
    AnswerUnusable,
    BotMemoryError,
    CollectionLost,
    IndexUnavailable,
    InvalidRow,
    LanguageModelUnavailable,
    ModelUnavailable,
)

Dependency = Literal["vector index", "embedder", "language model"]  # what jobs need besides the database
Fault = Literal["temporary", "permanent", "unknown"]

_LEAST_SECONDS = 0.25  # full jitter may draw 0: a retry is never at the same moment
_TOLERATED = 3  # temporary errors in a row before what failed is held
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


def dependency(error: BaseException) -> Dependency | None:
    """Return what failed, where every part of an error says the same; None where none is named, or several are."""
    named = {_dependency(leaf) for leaf in _leaves(error)}
    return next(iter(named)) if len(named) == 1 else None


def _dependency(error: BaseException) -> Dependency | None:
    match error:
        case CollectionLost():  # one collection, not the index: to be built anew, which the index is needed for
            return None
        case IndexUnavailable():
            return "vector index"
        case ModelUnavailable():
            return "embedder"
        case LanguageModelUnavailable():
            return "language model"
        case _:
            return None


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """Something that jobs need is not asked for now."""

    what: str  # a dependency, or a kind of jobs that fails without naming one
    since: datetime
    until: datetime  # then one group of jobs is tried
    kinds: tuple[str, ...]  # the kinds that wait for it
    why: str  # the last error


class Breaker:
    """Stops claiming what needs a dependency after three temporary errors of it in a row, so that an outage burns no attempts.

    An error that names no dependency counts against its own kind of jobs. When the hold ends one more group is tried: the
    success of a kind that had failed closes the breaker, another error doubles the hold (to five minutes).
    """

    def __init__(self, base_seconds: float) -> None:
        """Hold for `base_seconds` at first."""
        self._base = base_seconds
        self._needs: dict[str, frozenset[Dependency]] = {}
        self._errors: dict[str, int] = {}
        self._met_by: dict[str, set[str]] = {}  # what failed: the kinds that met it
        self._until: dict[str, datetime] = {}
        self._since: dict[str, datetime] = {}

    def needs(self, kind: str, dependencies: Iterable[Dependency]) -> None:
        """Note what jobs of a kind need."""
        self._needs[kind] = frozenset(dependencies)

    def failed(self, kind: str, now: datetime, *, what: Dependency | None = None, why: str = "") -> Outage | None:
        """Count a temporary error that a job of that kind met, of `what` where the kind needs that; return what is held now."""
        name = what if what and what in self._needs.get(kind, ()) else kind
        errors = self._errors[name] = self._errors.get(name, 0) + 1
        self._met_by.setdefault(name, set()).add(kind)
        since = self._since.setdefault(name, now)
        if errors < _TOLERATED:
            return None
        seconds = min(_HOLD_CAP_SECONDS, self._base * 2.0 ** min(errors - _TOLERATED, 60))
        until = self._until[name] = now + timedelta(seconds=seconds)
        kinds = sorted({one for one, needed in self._needs.items() if name in needed} | ({kind} if name == kind else set()))
        return Outage(what=name, since=since, until=until, kinds=tuple(kinds), why=why)

    def succeeded(self, kind: str) -> tuple[str, ...]:
        """Forget the errors that this kind had met: what it needs answers. Return what was held and is so no longer."""
        closed = [name for name, kinds in self._met_by.items() if kind in kinds]
        over = tuple(name for name in closed if name in self._until)
        for name in closed:
            for known in (self._errors, self._met_by, self._until, self._since):
                known.pop(name, None)
        return over

    def held_until(self, kind: str, now: datetime) -> datetime | None:
        """Return when that kind may be tried again, None where it may be now."""
        longest = now + timedelta(seconds=_HOLD_CAP_SECONDS)  # further away: the clock was set back since
        holds = [self._until[name] for name in (kind, *self._needs.get(kind, ())) if name in self._until]
        return max((until for until in holds if now < until <= longest), default=None)
