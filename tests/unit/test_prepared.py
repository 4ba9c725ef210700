"""Prepared statements: the same rows, values and errors as through the engine."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, bindparam, create_engine, select, text, update
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.exc import IntegrityError, OperationalError

from memory.store.prepared import Prepared, dump
from memory.store.tables import METADATA, LineRow, MemoryJob, TurnRow, ViewerRow, table_of

LINE, TURN, VIEWER, JOB = table_of(LineRow), table_of(TurnRow), table_of(ViewerRow), table_of(MemoryJob)
ADD = Prepared(insert(LINE).on_conflict_do_nothing(index_elements=["id"]), without=("seq",))


@pytest.fixture
def connection() -> Iterator[Connection]:
    engine = create_engine("sqlite://", json_serializer=dump)
    METADATA.create_all(engine)
    with engine.begin() as open_connection:
        yield open_connection
    engine.dispose()


def line(name: str, **more: object) -> dict[str, object]:
    return {"id": name, "stream_id": "s", "kind": "message", "at": 5, "text": "ciao", **more}


def test_rows_written_either_way_are_equal(connection: Connection) -> None:
    detail = {"badges": ["è"], "bits": 3}
    ADD.run(connection, [line("a", detail=detail), line("b")])
    connection.execute(insert(LINE), [line("c", detail=detail)])
    connection.execute(insert(LINE), [line("d")])
    rows = connection.execute(text("SELECT * FROM line ORDER BY seq")).all()
    assert [row[2:] for row in rows[:2]] == [row[2:] for row in rows[2:]]


def test_rows_read_either_way_are_equal(connection: Connection) -> None:
    ADD.run(connection, [line("a", detail={"x": [1, None]}, hidden=True), line("b")])
    statement = select(LINE).order_by(LINE.c.seq)
    through_the_engine = connection.execute(statement).all()
    prepared = Prepared(statement).all(connection, {})
    assert [tuple(row) for row in prepared] == [tuple(row) for row in through_the_engine]
    assert prepared[0].hidden is True
    assert prepared[1].detail is None


def test_a_known_key_is_not_counted(connection: Connection) -> None:
    assert ADD.run(connection, [line("a"), line("b")]) == 2
    assert ADD.run(connection, [line("b"), line("c")]) == 1


def test_an_update_returns_its_row_once(connection: Connection) -> None:
    turn = {"id": "t", "stream_id": "s", "at": 1, "state": "open", "line_ids": ["a"]}
    Prepared(insert(TURN), without=("seq",)).run(connection, [turn])
    close = Prepared(
        update(TURN).where(TURN.c.id == bindparam("turn"), TURN.c.state == "open").values(state="recorded").returning(TURN)
    )
    row = close.first(connection, {"turn": "t"})
    assert row is not None
    assert (row.state, row.line_ids, row.prompt_tokens) == ("recorded", ["a"], 0)
    assert close.first(connection, {"turn": "t"}) is None


def test_defaults_of_the_schema_are_left_to_it(connection: Connection) -> None:
    job = {"kind": "index", "key": "k", "payload": {}, "run_after": 1, "created_at": 1, "updated_at": 1}
    Prepared(insert(JOB), without=("id",)).run(connection, [job])
    assert connection.execute(select(JOB.c.state, JOB.c.attempts)).all() == [("ready", 0)]


def test_an_error_is_the_engines_and_tells_no_values(connection: Connection) -> None:
    add = Prepared(insert(VIEWER))
    with pytest.raises(IntegrityError) as told:
        add.run(connection, [{"id": "secret-id", "login": None}])
    assert "secret-id" not in str(told.value)
    with pytest.raises(OperationalError):
        Prepared(text("SELECT nothing FROM nowhere"), names=("nothing",)).all(connection, {})
