"""Typed access to the fields of a JSON object; whatever is missing or of the wrong shape is named."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from memory import utc

Json = dict[str, Any]


MISSING = "missing"
# Beyond these a day before or after, or the same moment in milliseconds, may be no date at all; no chat is so old, or so new.
_EARLIEST, _LATEST = datetime(1970, 1, 1, tzinfo=UTC), datetime(3000, 1, 1, tzinfo=UTC)


class BadEvent(ValueError):
    """A JSON object that is no event of the chat log; the text names the field and what it should hold."""


def time_of(value: object, field: str = "at") -> datetime:
    """Return an RFC 3339 time in UTC; digits below the microsecond are cut.

    Raises:
        BadEvent: no time, one without a zone, or one before 1970 or after 2999.
    """
    if not isinstance(value, str):
        raise BadEvent(f"{field}: an RFC 3339 time is missing")
    try:
        at = utc(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        raise BadEvent(f"{field}: not an RFC 3339 time with a zone: {value[:40]!r}") from None
    if not _EARLIEST <= at < _LATEST:
        raise BadEvent(f"{field}: a time from 1970 to 2999 is expected, not {value[:40]!r}")
    return at


def text_of(obj: Mapping[str, Any], key: str, where: str = "") -> str:
    """Return the text under `key`."""
    value = obj.get(key)
    if isinstance(value, str):
        return value
    problem = MISSING if value is None else f"a text is expected, this is a {type(value).__name__}"
    raise BadEvent(f"{where}{key}: {problem}")


def optional_text(obj: Mapping[str, Any], key: str) -> str | None:
    """Return the text under `key`, or None."""
    return None if obj.get(key) is None else text_of(obj, key)


def id_of(obj: Mapping[str, Any], key: str = "id", where: str = "") -> str:
    """Return the id under `key`; a whole number becomes its digits."""
    value = obj.get(key)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    found = text_of(obj, key, where)
    if not found:
        raise BadEvent(f"{where}{key}: empty")
    return found


def optional_id(obj: Mapping[str, Any], key: str) -> str | None:
    """Return the id under `key`, or None."""
    return None if obj.get(key) is None else id_of(obj, key)


def number_of(obj: Mapping[str, Any], key: str, where: str = "", *, default: int | None = None) -> int:
    """Return the whole number under `key`."""
    value = obj.get(key, default)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise BadEvent(f"{where}{key}: a whole number is expected")


def flag_of(obj: Mapping[str, Any], key: str, *, default: bool = False) -> bool:
    """Return the truth value under `key`."""
    value = obj.get(key, default)
    if isinstance(value, bool):
        return value
    raise BadEvent(f"{key}: true or false is expected")


def objects_of(obj: Mapping[str, Any], key: str) -> list[tuple[str, Json]]:
    """Return the objects of a list with the path of each."""
    value = obj.get(key)
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise BadEvent(f"{key}: a list of objects is expected")
    return [(f"{key}[{n}].", item) for n, item in enumerate(value)]


def texts_of(obj: Mapping[str, Any], key: str, where: str = "") -> tuple[str, ...]:
    """Return the texts of a list; a missing list is empty."""
    value = obj.get(key)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise BadEvent(f"{where}{key}: a list of texts is expected")
    return tuple(value)


def object_of(obj: Mapping[str, Any], key: str) -> Json:
    """Return the object under `key`."""
    value = obj.get(key)
    if not isinstance(value, dict):
        raise BadEvent(f"{key}: {MISSING if value is None else 'an object is expected'}")
    return value
