import asyncio

from builders_recall import a_line
from fakes.memory_reader import InMemoryReader

from memory.history import History
from memory.model import HistoryLine


def a_history(reader: InMemoryReader, *, bound: int = 4) -> History:
    history = History(reader, bound=bound)
    history.begin("s1")
    return history


class SlowReader(InMemoryReader):
    """Reads the history, then waits at a gate before it answers."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def history(self, stream_id: str, limit: int) -> list[HistoryLine]:
        lines = await super().history(stream_id, limit)
        await self.gate.wait()
        return lines


async def ids(history: History, limit: int = 10, *, stream_id: str = "s1", without: frozenset[str] = frozenset()) -> list[str]:
    return [line.id for line in (await history.tail(stream_id, limit, without=without)).lines]


async def test_after_a_restart_the_lines_come_from_sql_once() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line("1", "ciao"), a_line("2", "hey")]
    history = a_history(reader)
    assert await ids(history) == ["1", "2"]
    assert await ids(history, 1) == ["2"]
    assert await ids(history, 0) == []
    assert reader.calls == ["history"]


async def test_added_lines_are_read_once_and_push_the_oldest_out() -> None:
    reader = InMemoryReader()
    history = a_history(reader)
    assert await ids(history) == []
    reader.lines["s1"] = [a_line(str(number), "x") for number in (1, 2, 3, 4, 5)]
    await history.added()
    assert await ids(history) == ["2", "3", "4", "5"]
    assert reader.calls == ["history", "history"]


async def test_the_batch_itself_is_not_its_own_past() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line("1", "x"), a_line("2", "y")]
    assert await ids(a_history(reader), without=frozenset({"2"})) == ["1"]


async def test_another_stream_is_read_from_sql_and_never_mixed_in() -> None:
    reader = InMemoryReader()
    reader.lines["s0"] = [a_line("old", "x"), a_line("asked", "y")]
    history = a_history(reader)
    assert await ids(history, 1, stream_id="s0", without=frozenset({"asked"})) == ["old"]
    assert await ids(history) == []
    assert history.known("s0", 10).lines == ()


async def test_the_same_stream_begun_again_is_not_read_again_another_one_is() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line("1", "x")]
    history = a_history(reader)
    assert await ids(history) == ["1"]
    history.begin("s1")
    assert await ids(history) == ["1"]
    assert reader.calls == ["history"]
    history.begin("s2")
    assert history.known("s2", 10).lines == ()


async def test_what_was_removed_is_gone_at_once_before_sql_is_read_again() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line("1", "secret"), a_line("2", "fine")]
    history = a_history(reader)
    await ids(history)
    reader.lines["s1"] = [a_line("2", "fine")]
    history.removed()
    assert history.known("s1", 10).lines == ()
    assert await ids(history) == ["2"]


async def test_while_added_lines_are_read_the_known_ones_stand() -> None:
    reader = SlowReader()
    reader.gate.set()
    reader.lines["s1"] = [a_line("1", "x")]
    history = a_history(reader)
    await ids(history)
    reader.gate.clear()
    reading = asyncio.create_task(history.added())
    await asyncio.sleep(0)
    assert [line.id for line in history.known("s1", 10).lines] == ["1"]
    reader.gate.set()
    await reading


async def test_a_line_removed_while_sql_is_read_does_not_come_back() -> None:
    reader = SlowReader()
    reader.lines["s1"] = [a_line("1", "secret"), a_line("2", "y")]
    history = a_history(reader)
    looking = asyncio.create_task(ids(history))
    await asyncio.sleep(0)
    reader.lines["s1"] = [a_line("2", "y")]
    history.removed()
    reader.gate.set()
    assert await looking == ["2"]


async def test_before_a_stream_began_nothing_is_read() -> None:
    reader = InMemoryReader()
    await History(reader, bound=4).added()
    assert reader.calls == []


async def test_stored_lines_are_appended_without_reading_and_push_the_oldest_out() -> None:
    reader = InMemoryReader()
    reader.lines["s1"] = [a_line("1", "x"), a_line("2", "x")]
    history = a_history(reader)
    await history.added()
    assert history.append("s1", [a_line(name, "x") for name in "345"], since=history.changes)
    assert await ids(history) == ["2", "3", "4", "5"]
    assert reader.calls == ["history"]


async def test_lines_are_not_appended_where_only_sql_knows_what_stands_there() -> None:
    reader = InMemoryReader()
    history = a_history(reader)
    await history.added()
    since = history.changes
    assert not history.append("s1", None, since=since)
    assert not history.append("s2", [a_line("1", "x")], since=since)
    history.removed()  # a deletion came while the lines were being stored
    assert not history.append("s1", [a_line("1", "x")], since=since)
    await history.added()
    assert not history.append("s1", [a_line("1", "x")], since=since)
    assert await ids(history) == []
