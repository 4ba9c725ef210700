"""Who takes part in the chat: the id is the person, names are dated sightings, and a book in memory answers the planner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Any

from sqlalchemy import Connection, Row, bindparam, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncSession

from memory.events import Line, Message
from memory.model import KnownViewer
from memory.store.database import Database
from memory.store.document_writes import IDS, chunks, packed
from memory.store.prepared import Prepared
from memory.store.rows import Values
from memory.store.scrub import clean
from memory.store.stamps import milliseconds, moment
from memory.store.tables import ViewerNameRow, ViewerRow, table_of

VIEWER = table_of(ViewerRow)
NAME = table_of(ViewerNameRow)
_BY_ID = Prepared(select(VIEWER).where(VIEWER.c.id.in_(IDS)))
_ADD = Prepared(insert(VIEWER))
_CHANGED = ("login", "name", "is_bot", "first_seen", "last_seen")
_CHANGE = Prepared(
    update(VIEWER).where(VIEWER.c.id == bindparam("of")).values({name: bindparam(f"new_{name}") for name in _CHANGED})
)
_NAMES = upsert(NAME)
_ADD_NAMES = Prepared(
    _NAMES.on_conflict_do_update(
        index_elements=["viewer_id", "login", "name"],
        set_={
            "first_at": func.min(NAME.c.first_at, _NAMES.excluded.first_at),
            "last_at": func.max(NAME.c.last_at, _NAMES.excluded.last_at),
        },
    )
)
_NEWEST_NAME = (NAME.c.last_at.desc(), NAME.c.login, NAME.c.name)


@dataclass(slots=True, kw_only=True)
class _Sighting:
    """What one batch says about one viewer."""

    id: str
    login: str
    name: str
    is_bot: bool
    first: int
    last: int
    names: dict[tuple[str, str], tuple[int, int]]


def _sightings(lines: Sequence[Line]) -> list[_Sighting]:
    seen: dict[str, _Sighting] = {}
    for line in lines:
        if line.user is None:
            continue
        at = milliseconds(line.at)
        id_, login, name = clean(line.user.id), clean(line.user.login), clean(line.user.name)
        is_bot = isinstance(line, Message) and line.is_bot
        one = seen.setdefault(id_, _Sighting(id=id_, login=login, name=name, is_bot=is_bot, first=at, last=at, names={}))
        if at >= one.last:
            one.login, one.name, one.last = login, name, at
        one.first, one.is_bot = min(one.first, at), one.is_bot or is_bot
        first, last = one.names.get((login, name), (at, at))
        one.names[(login, name)] = (min(first, at), max(last, at))
    return list(seen.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a batch changed about viewers: those who are new or were renamed, and when the others were last seen."""

    changed: tuple[KnownViewer, ...] = ()
    last_seen: Mapping[str, datetime] = field(default_factory=dict)


def see(connection: Connection, lines: Sequence[Line]) -> Seen:
    """Note who wrote these lines and what they were called. Older sightings never rename anybody."""
    seen = _sightings(lines)
    known = {row.id: row for row in _BY_ID.all(connection, {"ids": packed(one.id for one in seen)})}
    added = [_new_row(one) for one in seen if one.id not in known]
    changed = [_changed_row(one, known[one.id]) for one in seen if one.id in known]
    if added:
        _ADD.run(connection, added)
    if changed:
        _CHANGE.run(connection, changed)
    names = [row for one in seen for row in _name_rows(one, known.get(one.id))]
    if names:
        _ADD_NAMES.run(connection, names)
    fresh = {row["viewer_id"] for row in names}
    return Seen(
        changed=tuple(known_of(connection, sorted(fresh))) if fresh else (),
        last_seen={row["of"]: moment(row["new_last_seen"]) for row in changed if row["of"] not in fresh},
    )


def _new_row(one: _Sighting) -> Values:
    return {
        "id": one.id,
        "login": one.login,
        "name": one.name,
        "is_bot": one.is_bot,
        "opted_out": False,
        "first_seen": one.first,
        "last_seen": one.last,
    }


def _changed_row(one: _Sighting, row: Row[Any]) -> Values:
    newer = one.last >= row.last_seen
    return {
        "of": one.id,
        "new_login": one.login if newer else row.login,
        "new_name": one.name if newer else row.name,
        "new_is_bot": one.is_bot or row.is_bot,
        "new_first_seen": min(one.first, row.first_seen),
        "new_last_seen": max(one.last, row.last_seen),
    }


def _name_rows(one: _Sighting, row: Row[Any] | None) -> list[Values]:
    """Return the names to note: none where the pair in use was merely seen again (its last date is the viewer's own)."""
    dated = dict(one.names)
    if row is not None:
        if list(dated) == [(row.login, row.name)] and one.first >= row.first_seen:
            return []
        dated.setdefault((row.login, row.name), (row.last_seen, row.last_seen))
    return [
        {"viewer_id": one.id, "login": login, "name": name, "first_at": first, "last_at": last}
        for (login, name), (first, last) in dated.items()
    ]


def known_of(connection: Connection, ids: Sequence[str]) -> list[KnownViewer]:
    """Return what is known of these viewers, opted-out ones aside."""
    return [
        viewer
        for piece in chunks(ids)
        for viewer in _known(
            connection.execute(select(VIEWER).where(VIEWER.c.id.in_(piece), VIEWER.c.opted_out.is_(False))).all(),
            connection.execute(select(NAME).where(NAME.c.viewer_id.in_(piece)).order_by(*_NEWEST_NAME)).all(),
        )
    ]


async def all_known(session: AsyncSession) -> list[KnownViewer]:
    """Return everybody seen in this channel, opted-out viewers aside."""
    people = (await session.execute(select(VIEWER).where(VIEWER.c.opted_out.is_(False)))).all()
    return _known(people, (await session.execute(select(NAME).order_by(*_NEWEST_NAME))).all())


def _known(people: Sequence[Row[Any]], names: Sequence[Row[Any]]) -> list[KnownViewer]:
    called: dict[str, list[str]] = {}
    for row in names:
        called.setdefault(row.viewer_id, []).extend((row.login, row.name))
    return [
        KnownViewer(
            id=row.id,
            login=row.login,
            name=row.name,
            former=tuple(dict.fromkeys(name for name in called.get(row.id, ()) if name not in {row.login, row.name})),
            is_bot=row.is_bot,
            last_seen=moment(row.last_seen),
        )
        for row in people
    ]


class ViewerBook:
    """Everybody known, in memory: the planner asks every turn, and 100,000 rows are too many to read every turn.

    Read whole once, then kept up by whoever writes, from the writer's thread. What is noted while a reading is under way is
    laid over its result: the reading may have begun before it.
    """

    def __init__(self) -> None:
        """Start unread."""
        self._lock = Lock()
        self._people: dict[str, KnownViewer] | None = None
        self._readings = 0
        self._forgotten = 0  # times that a reading under way became worthless
        self._meanwhile: list[Seen] = []

    async def everybody(self, database: Database) -> list[KnownViewer]:
        """Return everybody, reading them from the database the first time, and after `forget`.

        Raises:
            StoreUnavailable: the first reading failed; the next call tries again.
        """
        people = self._people
        while people is None:
            people = await self._read(database)
        return list(people.values())

    async def _read(self, database: Database) -> dict[str, KnownViewer] | None:
        """Read everybody and return them; None where somebody was taken out meanwhile."""
        with self._lock:
            self._readings += 1
            forgotten = self._forgotten
        try:
            async with database.reading() as session:
                read = {viewer.id: viewer for viewer in await all_known(session)}
            with self._lock:
                if self._people is None and forgotten == self._forgotten:
                    self._people = read
                    for seen in self._meanwhile:
                        _lay_over(read, seen)
                return self._people
        finally:
            with self._lock:
                self._readings -= 1
                if not self._readings:
                    self._meanwhile.clear()

    def note(self, seen: Seen) -> None:
        """Take what was just committed; from any thread."""
        with self._lock:
            if self._people is not None:
                _lay_over(self._people, seen)
            elif self._readings:
                self._meanwhile.append(seen)

    def forget(self) -> None:
        """Read everybody anew at the next question."""
        with self._lock:
            self._people = None
            self._forgotten += 1


def _lay_over(people: dict[str, KnownViewer], seen: Seen) -> None:
    people.update((viewer.id, viewer) for viewer in seen.changed)
    people.update((id_, replace(people[id_], last_seen=at)) for id_, at in seen.last_seen.items() if id_ in people)
