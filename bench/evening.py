"""Evenings of the shipped program, as a process, against a Twitch on this machine: two hours with every fault, and its pace."""

import asyncio
import itertools
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from builders_process import Running, a_bot, a_config
from fakes import issued, twitch_script
from fakes.llm_server import FakeLlmServer, says
from fakes.twitch import FakeTwitch

from bench.figures import Figure, percentiles
from bot.account import CHAT, MODERATION, NOTICES, STREAMS

WANTED = {CHAT, NOTICES, *MODERATION, *STREAMS}
RATE = 50  # messages a second of the channel's own time
AHEAD = 6_000  # messages that were said and are not stored yet, at most: the chat is compressed, the queue is not
LOST_SECONDS = 120.0  # what was not stored within so long after the last line will never be
_VIEWERS = 500
_LONG = 100_000  # messages: before that the program still starts its threads
_SAYINGS = ("che bella la partita oggi", "vivo a Torino", "I love this soundtrack", "ho due gatti", "non mi piace il boss")


@dataclass
class Evening:
    """A running bot and the chat around it."""

    fake: FakeTwitch
    bot: Running
    folder: Path
    said: int = 0
    asked: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    healed: int = 0
    sizes: list[tuple[float, int, int]] = field(default_factory=list)  # resident MB, own threads, all threads, now and then

    async def say(self) -> None:
        """One line of the chat."""
        self.said += 1
        await self.fake.chat(f"viewer_{self.said * 7919 % _VIEWERS}", f"{_SAYINGS[self.said % 5]} {self.said}")

    async def ask(self, *, deleted: bool = False) -> str:
        """Ask the bot something; `deleted`: moderation takes the question back at once."""
        asked = await self.fake.chat("alice", f"memo che cosa sai della cosa {len(self.asked)}?", badges=("moderator",))
        self.asked.append(asked)
        if deleted:
            await self.fake.delete("alice", asked)
            self.deleted.append(asked)
        return asked

    async def suffer(self, name: str, deed: Callable[[FakeTwitch], Awaitable[None]]) -> None:
        """Let one fault of the script happen, and wait until everything is heard again."""
        await deed(self.fake)
        await self.fake.reached(lambda: self.fake.heard_types() >= WANTED, seconds=120)
        self.faults[name] += 1
        self.healed += name in twitch_script.CONNECTION_FAULTS

    def answers(self) -> list[str]:
        """Return which questions were answered, in the order of the posts; those that Twitch refused do not count."""
        taken = (post for post in self.fake.posts if "fault" not in post)
        return [post["reply_parent_message_id"] for post in taken if "reply_parent_message_id" in post]

    def stored(self) -> list[str]:
        """Return the ids of the stored messages, in their order."""
        return [row[0] for row in self._read("SELECT id FROM line WHERE kind = 'message' ORDER BY seq")]

    def _read(self, query: str) -> list[tuple[Any, ...]]:
        (path,) = self.folder.glob("data/*/memory.db")
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    async def keep_up(self, ahead: int) -> None:
        """Wait until no more than `ahead` lines wait to be stored, or nothing is stored any more: the rest is lost."""
        expected = len(set(self.fake.delivered) - set(self.deleted) - {"never"})
        counting, stored, moved = "SELECT count(*) FROM line WHERE kind = 'message'", -1, time.perf_counter()
        while expected - (found := (await asyncio.to_thread(self._read, counting))[0][0]) > ahead:
            if found != stored:
                stored, moved = found, time.perf_counter()
            if time.perf_counter() - moved > LOST_SECONDS:
                return
            await asyncio.sleep(0.25)

    def measure_size(self) -> None:
        """Note how large the process is. The index opens its parts when they are asked for, each with threads of its own."""
        process = Path(f"/proc/{self.bot.process.pid}")
        values = dict(line.split(":", 1) for line in (process / "status").read_text(encoding="ascii").splitlines())
        own = (process / "comm").read_text(encoding="utf-8")
        threads = [comm.read_text(encoding="utf-8") for comm in process.glob("task/*/comm")]
        self.sizes.append((int(values["VmRSS"].split()[0]) / 1024, threads.count(own), len(threads)))


def measure(out: Path, *, messages: int, every: int, questions: int, burst: float) -> list[Figure]:
    """Live through `messages` with a fault each `every`; anew, answer `questions`, then take a flood of `burst` seconds."""
    shutil.rmtree(out, ignore_errors=True)
    for part in ("faults", "pace"):
        (out / part).mkdir(parents=True)
    return [
        *asyncio.run(_with_faults(out / "faults", messages, every)),
        *asyncio.run(_paced(out / "pace", questions, burst)),
    ]


async def _with_faults(folder: Path, messages: int, every: int) -> list[Figure]:
    issued.forget()
    script = {**twitch_script.MESSAGE_FAULTS, **twitch_script.POST_FAULTS, **twitch_script.CONNECTION_FAULTS}
    async with FakeTwitch() as fake, FakeLlmServer([says(f"risposta {number}") for number in range(messages)]) as llm:
        fake.patience = 120
        await fake.go_online("777")
        async with a_bot(a_config(folder, fake, llm=llm.url, watchdog=1), fake) as bot:
            evening = Evening(fake, bot, folder)
            await fake.reached(lambda: fake.heard_types() >= WANTED)
            began = time.perf_counter()
            await _play(evening, itertools.cycle(script.items()), messages, every)
            await evening.keep_up(0)
            seconds = time.perf_counter() - began
            evening.measure_size()
            code = await bot.stop()
    return _told(evening, seconds, code)


async def _play(
    evening: Evening, script: "itertools.cycle[tuple[str, Callable[[FakeTwitch], Awaitable[None]]]]", messages: int, every: int
) -> None:
    for number in range(1, messages + 1):
        await evening.say()
        if number % 200 == 0:
            await asyncio.sleep(0)
        if number % (AHEAD // 2) == 0:
            await evening.keep_up(AHEAD // 2)
        if number % every == every // 2:
            await evening.ask(deleted=number // every % 3 == 0)
        if number % every == 0:
            await evening.suffer(*next(script))
        if number % max(1, messages // 20) == 0:
            evening.measure_size()


def _told(evening: Evening, seconds: float, code: int) -> list[Figure]:
    delivered = list(dict.fromkeys(evening.fake.delivered))
    stored = evening.stored()
    wanted = [line for line in delivered if line not in {*evening.deleted, "never"}]
    place = {line: number for number, line in enumerate(delivered)}
    answers = evening.answers()
    half = evening.sizes[len(evening.sizes) // 2]
    counted = {
        "messages stored twice": len(stored) - len(set(stored)),
        "accepted messages missing": len(set(wanted) - set(stored)),
        "messages out of order": sum(
            place[one] > place[other] for one, other in pairwise(stored) if {one, other} <= place.keys()
        ),
        "questions answered twice": len(answers) - len(set(answers)),
        "replies to deleted questions": len(set(answers) & set(evening.deleted)),
        "connection faults not healed": sum(evening.faults[name] for name in twitch_script.CONNECTION_FAULTS) - evening.healed,
        "secrets in the log": len(issued.leaks()),
        "exit code": code,
    }
    virtual = evening.said / RATE
    return [
        Figure(bench="evening", name="messages", value=evening.said, unit=""),
        Figure(bench="evening", name="channel time", value=virtual / 60, unit="min"),
        Figure(bench="evening", name="time it took", value=seconds / 60, unit="min"),
        Figure(bench="evening", name="messages a second", value=evening.said / seconds, unit=""),
        Figure(bench="evening", name="faults", value=evening.faults.total(), unit=""),
        Figure(bench="evening", name="connection faults healed", value=evening.healed, unit=""),
        Figure(
            bench="evening",
            name="questions answered",
            value=len(answers),
            unit=f"of {len(evening.asked) - len(evening.deleted)}",
        ),
        *(Figure(bench="evening", name=name, value=value, unit="", goal="<= 0") for name, value in counted.items()),
        Figure(bench="evening", name="memory half way", value=half[0], unit="MB"),
        Figure(bench="evening", name="memory at the end", value=evening.sizes[-1][0], unit="MB"),
        Figure(bench="evening", name="own threads half way", value=half[1], unit=""),
        Figure(
            bench="evening",
            name="own threads at the end",
            value=evening.sizes[-1][1],
            unit="",
            goal=f"<= {half[1] + 2}" if evening.said >= _LONG else "",
        ),
        Figure(bench="evening", name="all threads at the end", value=evening.sizes[-1][2], unit=""),
    ]


async def _paced(folder: Path, questions: int, burst: float) -> list[Figure]:
    async with FakeTwitch() as fake, FakeLlmServer([says(f"risposta {number}") for number in range(questions + 9)]) as llm:
        fake.patience = 120
        await fake.go_online("777")
        async with a_bot(a_config(folder, fake, llm=llm.url, grace=0), fake) as bot:
            evening = Evening(fake, bot, folder)
            await fake.reached(lambda: fake.heard_types() >= WANTED)
            spent = [await _answered_in(evening) for _ in range(questions)]
            before, began = evening.said, time.perf_counter()
            while (passed := time.perf_counter() - began) < burst:
                while evening.said - before < passed * 1000:
                    await evening.say()
                await asyncio.sleep(0.005)
            rate = (evening.said - before) / burst
            await evening.keep_up(0)
            await bot.stop()
    lost = len(set(fake.delivered) - set(evening.stored()))
    return [
        *percentiles("evening", "message in to reply sent, 50 messages/s", spent[1:], p95="<= 100"),
        Figure(bench="evening", name="burst", value=rate, unit="messages/s", goal=">= 980"),
        Figure(bench="evening", name="messages lost in the burst", value=lost, unit="", goal="<= 0"),
    ]


async def _answered_in(evening: Evening) -> float:
    """Chat on for longer than the pause between two posts, then ask; return how long the answer took."""
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < 1.7:  # noqa: PLR2004 - 20 posts in 32 seconds
        await evening.say()
        await asyncio.sleep(max(0.0, 1 / RATE - (time.perf_counter() - began - passed)))
    began, count = time.perf_counter(), len(evening.fake.posts)
    await evening.ask()
    await evening.fake.until(lambda: len(evening.fake.posts) > count)
    return time.perf_counter() - began
