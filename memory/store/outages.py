"""What does not answer, as the worker saw it last: kept so that commands beside the bot can tell it."""

import json
from datetime import datetime

from sqlalchemy import Connection, delete, select

from memory.breaker import Outage
from memory.store import meta

_KEY = "outage:"


def note(connection: Connection, outage: Outage) -> None:
    """Keep an outage, in place of what was kept of the same thing."""
    told = {"since": outage.since.isoformat(), "until": outage.until.isoformat(), "kinds": outage.kinds, "why": outage.why}
    meta.store_value(connection, f"{_KEY}{outage.what}", json.dumps(told))


def over(connection: Connection, *what: str) -> None:
    """Forget the outages of these."""
    connection.execute(delete(meta.META).where(meta.META.c.key.in_([f"{_KEY}{one}" for one in what])))


def forget(connection: Connection) -> None:
    """Forget every outage: who starts anew asks anew."""
    connection.execute(delete(meta.META).where(meta.META.c.key.startswith(_KEY)))


def listed(connection: Connection) -> list[Outage]:
    """Return the outages there are, oldest first."""
    rows = connection.execute(select(meta.META.c.key, meta.META.c.value).where(meta.META.c.key.startswith(_KEY)))
    return sorted((_outage(key, json.loads(value)) for key, value in rows), key=lambda one: (one.since, one.what))


def _outage(key: str, told: dict[str, str]) -> Outage:
    since, until = (datetime.fromisoformat(told[name]) for name in ("since", "until"))
    return Outage(what=key.removeprefix(_KEY), since=since, until=until, kinds=tuple(told["kinds"]), why=told["why"])
