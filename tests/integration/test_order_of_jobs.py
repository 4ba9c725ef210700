"""What is known of viewers does not hang on the order in which the jobs are carried out that read their messages."""

import os
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest
from builders_memory import BOB, opened
from builders_recall import a_batch, a_stream, a_viewer
from builders_told import line

from memory import Memory, Message, Said, Turn

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
        facts = connection.execute(FACTS, (viewer,)).fetchall()
        messages = connection.execute(MESSAGES, (viewer,)).fetchall()
    finally:
        connection.close()
    names = {row[0]: f"{row[1]} {row[2]} {row[12]}" for row in facts}
    plain = [tuple(names.get(value, value) for value in row) for row in (*facts, *messages)]
    return [tuple(value.replace(f"{viewer}-", "") if isinstance(value, str) else value for value in row) for row in plain]


async def compared(directory: Path, every: Sequence[tuple[Chat, Chat]]) -> None:
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
