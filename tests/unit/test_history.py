import asyncio

from builders_recall import BOT, NOON, a_line, a_message
from fakes.memory_reader import InMemoryReader

from memory.events import BotReply, Notice
from memory.history import History, line_of, line_of_reply
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


async def test_new_lines_push_the_oldest_out_and_known_ones_change_nothing() -> None:
    history = a_history(InMemoryReader())
    await ids(history)
    history.add("s1", [a_line(str(number), "x") for number in (1, 2, 3, 4, 5, 5, 3)])
    assert await ids(history) == ["2", "3", "4", "5"]
    history.add("s1", [a_line("1", "again")])  # pushed out long ago, so new to the tail
    assert await ids(history) == ["3", "4", "5", "1"]


async def test_the_batch_itself_is_not_its_own_past() -> None:
    history = a_history(InMemoryReader())
    await ids(history)
    history.add("s1", [a_line("1", "x"), a_line("2", "y")])
    assert await ids(history, without=frozenset({"2"})) == ["1"]


async def test_another_stream_is_read_from_sql_and_never_mixed_in() -> None:
    reader = InMemoryReader()
    reader.lines["s0"] = [a_line("old", "x")]
    history = a_history(reader)
    history.add("s0", [a_line("stray", "x")])
    assert await ids(history, stream_id="s0") == ["old"]
    assert await ids(history) == []


async def test_the_same_stream_begun_again_keeps_its_lines() -> None:
    history = a_history(InMemoryReader())
    await ids(history)
    history.add("s1", [a_line("1", "x")])
    history.begin("s1")
    assert await ids(history) == ["1"]
    history.begin("s2")
    assert await ids(history, stream_id="s2") == []


async def test_after_a_doubt_only_what_sql_still_holds_is_shown() -> None:
    reader = InMemoryReader()
    history = a_history(reader)
    history.add("s1", [a_line("1", "secret"), a_line("2", "fine")])
    reader.lines["s1"] = [a_line("2", "fine")]
    history.doubt()
    assert await ids(history) == ["2"]


async def test_a_line_observed_while_sql_is_read_is_not_lost_or_doubled() -> None:
    reader = SlowReader()
    reader.lines["s1"] = [a_line("1", "x"), a_line("2", "y")]
    history = a_history(reader)
    looking = asyncio.create_task(ids(history))
    await asyncio.sleep(0)
    history.add("s1", [a_line("2", "y"), a_line("3", "z")])
    reader.gate.set()
    assert await looking == ["1", "2", "3"]


async def test_a_line_removed_while_sql_is_read_does_not_come_back() -> None:
    reader = SlowReader()
    reader.lines["s1"] = [a_line("1", "secret"), a_line("2", "y")]
    history = a_history(reader)
    looking = asyncio.create_task(ids(history))
    await asyncio.sleep(0)
    reader.lines["s1"] = [a_line("2", "y")]
    history.doubt()
    reader.gate.set()
    assert await looking == ["2"]


def test_lines_keep_who_said_what_to_whom() -> None:
    assert line_of(a_message("1", "ciao")).kind == "message"
    notice = line_of(Notice(id="n", at=NOON, kind="raid", user=None))
    assert (notice.kind, notice.text, notice.author) == ("notice", "", None)
    reply = line_of_reply(BotReply(id="r", at=NOON, text="ecco", in_reply_to=("1", "2")), BOT)
    assert reply is not None
    assert (reply.kind, reply.reply_to, reply.author and reply.author.id) == ("reply", "2", BOT.id)
    assert line_of_reply(BotReply(at=NOON, text="ecco"), BOT) is None
