"""What is known of viewers does not hang on the order in which the jobs are carried out that read their messages."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from builders_memory import BOB, opened
from builders_recall import NOON, a_batch, a_stream, a_viewer
from builders_told import facts, line, past, said_of

from memory import CorrectRequest, ForgetRequest, Memory, Message, Said, StoreUnavailable, Turn, UndoRequest
from memory.consolidate import Consolidator

CHATS = int(os.environ.get("RICORDO_ORDERS", "60"))
LONGEST = 7  # lines of one viewer
FACTS = """
SELECT fact.id, predicate, object, fact.text, fact.valid_at, fact.invalid_at, expired_at IS NOT NULL, superseded_by, salience,
       used_at, speaker IS NOT NULL, document.at, document.provenance, document.valid_at, document.invalid_at,
       (SELECT group_concat(id) FROM
         (SELECT line.id FROM document_source JOIN line ON line.seq = line_seq WHERE document_seq = document.seq ORDER BY 1)),
       (SELECT group_concat(relation || tail) FROM edge WHERE fact_id = fact.id)
FROM fact JOIN document ON document.id = fact.id
WHERE coalesce(speaker, fact.subject) = ? ORDER BY document.at, predicate, object
"""
MESSAGES = "SELECT provenance, valid_at, invalid_at FROM document WHERE kind = 'message' AND subject = ? ORDER BY at"
TEXTS = (
    "vivo a Torino",
    "io vivo a torino!!",
    "vivo a Bologna",
    "vivo a Bologna vicino alla stazione",
    "mi sono trasferita a Bologna",
    "vivo a Lecce e ho un gatto di nome Birba",
    "anzi no, Varese",
    "anzi no, Como",
    "non vivo più a Torino",
    "da ottobre vivo a Torino",
    "l'anno scorso vivevo a Roma",
    "faccio il cuoco",
    "ho lasciato il lavoro",
    "ora lavoro in libreria",
    "gioco a Hades",
    "ho smesso di giocare a Hades",
    "mi piacciono le olive",
    "odio le olive",
    "mi piacciono le olive nere",
    "ho un gatto di nome Birba",
    "ho due gatti",
    "domani ho un esame",
    "che bella partita",
    "Bob vive a Milano",
    "Bob vive a Roma",
)


@dataclass(frozen=True)
class Chat:
    """What one viewer writes, and in which groups of jobs it is read: by its numbers, one group after another."""

    viewer: str
    texts: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...]

    @property
    def messages(self) -> list[Message]:
        user = a_viewer(self.viewer, self.viewer)
        return [line(f"{self.viewer}-m{n}", text, after=-8000 + 10 * n, user=user) for n, text in enumerate(self.texts)]


def in_order(viewer: str, texts: Sequence[str]) -> Chat:
    return Chat(viewer, tuple(texts), tuple((number,) for number in range(len(texts))))


def shuffled(viewer: str, texts: Sequence[str], random: Random) -> Chat:
    order = random.sample(range(len(texts)), len(texts))
    cuts = sorted({0, len(texts), *(random.randrange(len(texts)) for _ in range(random.randrange(len(texts) + 1)))})
    return Chat(viewer, tuple(texts), tuple(tuple(order[a:b]) for a, b in pairwise(cuts)))


async def read_in_groups(memory: Memory, directory: Path, chats: Sequence[Chat]) -> None:
    """Store what is written, one line a turn, and have it read: the first group of every chat, the second, …"""
    await memory.begin_stream(a_stream("s0", after=-9000))
    await memory.observe(a_batch(line("b0", "ciao", after=-8500, user=BOB), stream_id="s0"))
    jobs: dict[str, str] = {}
    for chat in chats:
        for message in chat.messages:
            batch = a_batch(message, stream_id="s0")
            await memory.observe(batch)
            await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))
            jobs[message.id] = f"consolidate:{batch.id}"
    _put_aside(directory, list(jobs.values()), "dead")
    for step in range(max(len(chat.groups) for chat in chats)):
        some = [chat.messages[n].id for chat in chats for n in (chat.groups[step] if step < len(chat.groups) else ())]
        _put_aside(directory, [jobs[id_] for id_ in some], "ready")
        await memory.run_jobs()


def _put_aside(directory: Path, keys: Sequence[str], state: str) -> None:
    with sqlite3.connect(directory / "memory.db") as connection:
        changed = connection.executemany("UPDATE memory_job SET state = ? WHERE key = ?", [(state, key) for key in keys])
        assert changed.rowcount == len(keys)
    connection.close()


def known_of(directory: Path, viewer: str) -> list[Any]:
    """Return what is known of a viewer and of their messages, facts named by their messages, these by their numbers."""
    connection = sqlite3.connect(directory / "memory.db")
    try:
        held = connection.execute(FACTS, (viewer,)).fetchall()
        messages = connection.execute(MESSAGES, (viewer,)).fetchall()
    finally:
        connection.close()
    names = {row[0]: f"{row[1]} {row[2]} {row[12]}" for row in held}
    plain = [tuple(names.get(value, value) for value in row) for row in (*held, *messages)]
    return [tuple(value.replace(f"{viewer}-", "") if isinstance(value, str) else value for value in row) for row in plain]


async def compared(out: Path, every: Sequence[tuple[Chat, Chat]]) -> None:
    directory = out / "memory"
    async with opened(directory) as memory:
        await read_in_groups(memory, directory, [chat for pair in every for chat in pair])
        assert (await memory.health()).jobs["ready"] == 0
        wrong = [pair for pair in every if known_of(directory, pair[0].viewer) != known_of(directory, pair[1].viewer)]
        for ordered, late in sorted(wrong, key=lambda pair: len(pair[0].texts))[:1]:
            assert known_of(directory, late.viewer) == known_of(directory, ordered.viewer), (
                f"{len(wrong)} of {len(every)}: {late}"
            )


async def test_jobs_in_any_order_come_to_what_they_come_to_in_order(tmp_path: Path) -> None:
    random = Random(20261201)
    drawn = [random.choices(TEXTS, k=random.randrange(2, LONGEST + 1)) for _ in range(CHATS)]
    await compared(
        tmp_path, [(in_order(f"a{n:03}", texts), shuffled(f"b{n:03}", texts, random)) for n, texts in enumerate(drawn)]
    )


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (("io vivo a torino!!", "vivo a Torino"), (1, 0)),
        (("vivo a Torino", "vivo a Bologna", "vivo a Torino"), (0, 2, 1)),
        (("vivo a Torino", "mi sono trasferita a Bologna"), (1, 0)),
        (("gioco a Hades", "ho smesso di giocare a Hades", "gioco a Hades"), (0, 2, 1)),
        (("mi piacciono le olive", "odio le olive", "mi piacciono le olive"), (2, 0, 1)),
        (("vivo a Lecce", "anzi no, Como", "anzi no, Varese"), (2, 1, 0)),
        (("Bob vive a Milano", "Bob vive a Roma", "Bob vive a Milano"), (0, 2, 1)),
    ],
    ids=["said again", "contradicted", "moved", "ended", "contrary", "corrected", "claimed"],
)
async def test_what_is_read_late_stands_where_it_was_said(tmp_path: Path, texts: Sequence[str], order: Sequence[int]) -> None:
    late = Chat("b", tuple(texts), tuple((number,) for number in order))
    await compared(tmp_path, [(in_order("a", texts), late)])


async def read_late(memory: Memory, directory: Path, message: str) -> None:
    """Have one message read, in the end or once more."""
    with sqlite3.connect(directory / "memory.db") as connection:
        turn = connection.execute("SELECT turn_id FROM line WHERE id = ?", (message,)).fetchone()[0]
        free = "UPDATE memory_job SET state = 'ready', run_after = 0 WHERE key = ?"
        assert connection.execute(free, (f"consolidate:{turn}",)).rowcount == 1
    connection.close()
    await memory.run_jobs()


async def _interrupted(*_: object) -> None:
    msg = "a full disk"
    raise StoreUnavailable(msg)


AGAIN = Chat("b", ("io vivo a torino!!", "vivo a Torino"), ((1,), (0,)))


async def test_a_fact_that_rests_on_an_earlier_message_now_keeps_its_history(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await read_in_groups(memory, tmp_path, [AGAIN])
        (fact,) = await memory.fact_history("b")
        assert (fact.provenance, fact.text.split("\n")[0]) == (("b-m0", "b-m1"), "io vivo a torino")
        assert [(one.verb, one.step) for one in fact.decisions] == [("assert", "new"), ("confirm", "repeat")]


async def test_what_was_taken_back_is_not_told_anew_by_an_older_message(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await read_in_groups(memory, tmp_path, [replace(AGAIN, groups=((1,),))])
        (fact,) = await memory.fact_history("b")
        await memory.undo(UndoRequest(at=NOON, id=fact.id))
        await read_late(memory, tmp_path, "b-m0")
        told = {one.provenance: one.retracted for one in await memory.fact_history("b")}
        assert told == {("b-m1",): True, ("b-m0",): False}


async def test_interrupted_before_it_was_told_anew_it_is_told_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(tmp_path) as memory:
        await read_in_groups(memory, tmp_path, [replace(AGAIN, groups=((1,),))])
        with monkeypatch.context() as broken:
            broken.setattr(Consolidator, "retell", _interrupted)
            await read_late(memory, tmp_path, "b-m0")
        assert [one.provenance for one in await memory.fact_history("b")] == [("b-m1",)]
        await read_late(memory, tmp_path, "b-m0")
        assert [one.provenance for one in await memory.fact_history("b")] == [("b-m0", "b-m1")]


async def test_an_older_message_that_is_put_right_does_not_end_what_was_said_since(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await past(memory, line("m1", "vivo a Bologna", after=-8000), line("m2", "vivo a Bologna", after=-7500))
        first = (await said_of(memory))["m1"].id
        await memory.correct(CorrectRequest(at=NOON, viewer_id="101", id=first, new="vivo a Lecce"))
        await memory.run_jobs()
        told = {one.text.split("\n")[0]: (one.provenance, one.invalid_at is None) for one in await facts(memory)}
        assert told == {"vivo a Lecce": (("m1",), False), "vivo a Bologna": (("m2",), True)}


async def test_a_line_that_is_being_forgotten_hides_nothing_for_good(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        chat = Chat("b", ("io vivo a torino!!", "vivo a Torino", "vivo a Torino"), ((1, 2),))
        await read_in_groups(memory, tmp_path, [chat])
        last = (await said_of(memory, "b"))["b-m2"].id
        assert (await memory.forget(ForgetRequest(scope="item", at=NOON, id=last))).lines == 1
        await read_late(memory, tmp_path, "b-m0")
        assert {source for one in await facts(memory, "b") for source in one.provenance} == {"b-m0", "b-m1"}
