"""Statements of the hot path, compiled once and run on SQLite's own connection.

Through the engine, a statement of two rows costs four times what SQLite does for it; a turn has a dozen of them.
"""

import json
import sqlite3
from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import JSON, Boolean, ColumnElement, Connection, Insert, Select, TextClause, Update
from sqlalchemy.dialects.sqlite.base import SQLiteDialect
from sqlalchemy.exc import DBAPIError

_DIALECT = SQLiteDialect(paramstyle="named")
Statement = Insert | Update | Select[Any] | TextClause


def dump(value: Any) -> str:  # noqa: ANN401 - whatever a JSON column is given
    """Return the text of a JSON column."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str)


def _load(value: str | None) -> Any:  # noqa: ANN401 - whatever a JSON column holds
    return None if value is None else json.loads(value)


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)


class Prepared:
    """One statement; what it is given and what it returns are as with `Connection.execute`."""

    def __init__(self, statement: Statement, *, without: Sequence[str] = (), names: Sequence[str] = ()) -> None:
        """Compile it.

        `without`: columns that an insert leaves to SQLite, as it does those with a default in the schema; `names`: the columns
        of plain text.
        """
        self._statement = statement
        self._given: dict[str, Any] = {}
        self._dumped: tuple[str, ...] = ()
        keys: list[str] | None = None
        if isinstance(statement, Insert):
            columns = [
                column for column in statement.table.columns if column.key not in without and column.server_default is None
            ]
            keys = [column.key for column in columns]
            self._given = {column.key: getattr(column.default, "arg", None) for column in columns}
            self._dumped = tuple(column.key for column in columns if isinstance(column.type, JSON))
        compiled = statement.compile(dialect=_DIALECT, column_keys=keys)
        self._sql = str(compiled)
        fixed = {name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required}
        self._given = {**fixed, **self._given}
        shown = _columns(statement)
        self._row = _row_of([*names] or [column.key or "" for column in shown])
        self._read = tuple(
            (place, _load if isinstance(column.type, JSON) else _flag)
            for place, column in enumerate(shown)
            if isinstance(column.type, JSON | Boolean)
        )

    def run(self, connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
        """Run it once a row and return how many rows of the table were added or changed."""
        raw = _sqlite(connection)
        if raw is None:
            return connection.execute(self._statement, rows).rowcount
        values = [{**self._given, **row} for row in rows]
        for row in values:
            for name in self._dumped:
                if row[name] is not None:
                    row[name] = dump(row[name])
        try:
            return raw.executemany(self._sql, values).rowcount
        except sqlite3.Error as error:
            raise self._told(error) from error

    def all(self, connection: Connection, values: Mapping[str, Any]) -> Sequence[Any]:
        """Return its rows, whose columns are attributes."""
        raw = _sqlite(connection)
        if raw is None:
            return connection.execute(self._statement, values).all()
        try:
            found = raw.execute(self._sql, {**self._given, **values}).fetchall()
        except sqlite3.Error as error:
            raise self._told(error) from error
        return [self._row(self._converted(row)) for row in found]

    def first(self, connection: Connection, values: Mapping[str, Any]) -> Any | None:  # noqa: ANN401 - a row of any columns
        """Return its only row, None where there is none."""
        rows = self.all(connection, values)
        return rows[0] if rows else None

    def _told(self, error: sqlite3.Error) -> BaseException:
        """Return the error as the engine would raise it, without the values, which are chat."""
        return DBAPIError.instance(self._sql, None, error, sqlite3.Error, hide_parameters=True, dialect=_DIALECT)

    def _converted(self, row: tuple[Any, ...]) -> Sequence[Any]:
        if not self._read:
            return row
        values = list(row)
        for place, read in self._read:
            values[place] = read(values[place])
        return values


def _row_of(names: Sequence[str]) -> Callable[[Sequence[Any]], Any]:
    make: Callable[[Sequence[Any]], Any] = getattr(namedtuple("PreparedRow", names), "_make")  # noqa: B009, PYI024 - named by the statement
    return make


def _columns(statement: Statement) -> list[ColumnElement[Any]]:
    if isinstance(statement, Select):
        return list(statement.selected_columns)
    if isinstance(statement, TextClause):
        return []
    return list(statement.exported_columns)


def _sqlite(connection: Connection) -> sqlite3.Connection | None:
    """Return SQLite's own connection; None where another driver is between (the readers')."""
    raw = connection.connection.driver_connection
    return raw if isinstance(raw, sqlite3.Connection) else None
