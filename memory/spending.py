"""What answers cost: calls and tokens of a language model, by stream and within the last hour, known across restarts."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from memory.store import meta, streams, tallies
from memory.store.database import Database
from memory.store.stamps import milliseconds, moment

_HOUR = "answers of the last hour"
_MINUTE, _HOUR_LONG = 60_000, 3_600_000  # milliseconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelUse:
    """What was asked of a language model: one call, or a minute's calls with the time of the last."""

    at: datetime
    tokens: int
    calls: int = 1
    stream_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpent:
    """What answers cost in one stream, and minute by minute in the hour before now."""

    calls: int
    tokens: int
    hour: tuple[ModelUse, ...]


class Spending:
    """The account of the answers. The hour is kept by minutes: what falls out of it may do so a minute late, never early."""

    def __init__(self, database: Database) -> None:
        """Keep the account in `database`."""
        self._database = database

    async def of(self, stream_id: str) -> ModelSpent:
        """Return what a stream cost, with all that was or will be joined to it.

        Raises:
            StoreUnavailable: the file cannot be read.
        """
        return await self._database.read(lambda connection: _spent(connection, stream_id))

    async def add(self, uses: Sequence[ModelUse]) -> None:
        """Count what was asked, in one transaction.

        Raises:
            StoreUnavailable: nothing was counted.
        """
        await self._database.write(lambda connection: _add(connection, uses))


def _spent(connection: Connection, stream_id: str) -> ModelSpent:
    counts = [_stream(connection, one) for one in streams.one_with(connection, stream_id)]
    hour = tuple(ModelUse(at=moment(at), calls=calls, tokens=tokens) for at, calls, tokens in _hour(connection))
    return ModelSpent(calls=sum(calls for calls, _ in counts), tokens=sum(tokens for _, tokens in counts), hour=hour)


def _add(connection: Connection, uses: Sequence[ModelUse]) -> None:
    now = max(milliseconds(use.at) for use in uses)
    hour = [[min(at, now), calls, tokens] for at, calls, tokens in _hour(connection) if at > now - _HOUR_LONG]
    for use in uses:
        calls, tokens = _stream(connection, use.stream_id)
        told = json.dumps([calls + use.calls, tokens + use.tokens])
        tallies.store_value(connection, tallies.ANSWERS, use.stream_id, told)
        at = milliseconds(use.at)
        if not hour or hour[-1][0] // _MINUTE != at // _MINUTE:
            hour.append([at, 0, 0])
        last = hour[-1]
        hour[-1] = [max(at, last[0]), last[1] + use.calls, last[2] + use.tokens]
    meta.store_value(connection, _HOUR, json.dumps(hour))


def _stream(connection: Connection, stream_id: str) -> tuple[int, int]:
    calls, tokens = json.loads(tallies.value_of(connection, tallies.ANSWERS, stream_id) or "[0, 0]")
    return calls, tokens


def _hour(connection: Connection) -> list[list[int]]:
    rows: list[list[int]] = json.loads(meta.value_of(connection, _HOUR) or "[]")
    return rows
