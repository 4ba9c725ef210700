"""Times as the tables hold them: whole milliseconds since 1970, UTC."""

from datetime import UTC, datetime
from typing import overload


@overload
def milliseconds(at: datetime) -> int: ...


@overload
def milliseconds(at: datetime | None) -> int | None: ...


def milliseconds(at: datetime | None) -> int | None:
    """Return a time as whole milliseconds since the epoch."""
    return None if at is None else round(at.timestamp() * 1000)


@overload
def moment(at: int) -> datetime: ...


@overload
def moment(at: int | None) -> datetime | None: ...


def moment(at: int | None) -> datetime | None:
    """Return stored milliseconds as an aware UTC time."""
    return None if at is None else datetime.fromtimestamp(at / 1000, UTC)
