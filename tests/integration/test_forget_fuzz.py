"""Recalls, turns, orders to forget and deletions at once, in any order: nobody is shown what was erased before they asked."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from builders_memory import opened, tell
from builders_recall import BOT_VIEWER, NOON, a_batch, a_message, a_stream, a_viewer

from memory import CorrectRequest, Deletion, ForgetRequest, Memory

PEOPLE = [a_viewer(str(100 + number), f"Viewer{number}") for number in range(5)]
OPERATIONS = 1000  # over the real store; tests/unit/test_recall_erasure_fuzz.py does ten times as many without it


@dataclass(slots=True)
class Told:
    """A message with a word that stands nowhere else."""

    word: str
    id: str
    viewer_id: str
    at: float
    stored: bool = False


@dataclass(slots=True)
class Evening:
    """What was told, what was erased for certain, and what a recall showed of it."""

    memory: Memory
    random: Random
    told: list[Told] = field(default_factory=list)
    erased: set[str] = field(default_factory=set)
    found: int = 0
    asked: int = 0
    leaks: list[str] = field(default_factory=list)
    second: float = 0.0

    def now(self) -> float:
        self.second += 1
        return self.second

    async def record(self) -> None:
        at, people = self.now(), self.random.sample(PEOPLE, 2)
        mine = [Told(f"parola{len(self.told) + n}x", f"m{len(self.told) + n}", one.id, at) for n, one in enumerate(people)]
        self.told += mine
        lines = [
            a_message(one.id, f"mi piace {one.word} con il pane", user=person, after=at)
            for one, person in zip(mine, people, strict=True)
        ]
        await tell(self.memory, a_batch(*lines))
        for one in mine:
            one.stored = True

    async def recall(self) -> None:
        if not self.told:
            return
        wanted = self.random.choice(self.told)
        person = next(one for one in PEOPLE if one.id == wanted.viewer_id)
        question = a_message(
            f"q{self.now()}", f"@ricordo cosa mi piace, {wanted.word}?", user=person, after=self.second, mentions=(BOT_VIEWER,)
        )
        recall = await self.memory.recall(a_batch(question))
        shown = " ".join([recall.block.text, *(line.text for line in recall.window.lines)]).split()
        self.asked += 1
        self.found += wanted.word in shown
        self.leaks += self.erased.intersection(shown)  # all whose erasure has returned by now, not only before asking

    async def forget(self) -> None:
        at, stored = self.now(), [one for one in self.told if one.stored]
        scope = self.random.choice(["viewer", "words", "item", "item", "words"])
        if not stored:
            return
        one = self.random.choice(stored)
        moment = NOON + timedelta(seconds=at)
        if scope == "viewer" and self.random.random() < 0.2:
            gone = [other for other in self.told if other.viewer_id == one.viewer_id and other.at <= at]
            await self.memory.forget(ForgetRequest(scope="viewer", at=moment, viewer_id=one.viewer_id))
        elif scope == "words":
            gone = [one]
            await self.memory.forget(ForgetRequest(scope="words", at=moment, viewer_id=one.viewer_id, words=one.word))
        else:
            gone = [one]
            await self.memory.forget(ForgetRequest(scope="item", at=moment, id=one.id))
        self.erased.update(other.word for other in gone)

    async def correct(self) -> None:
        stored = [one for one in self.told if one.stored]
        if not stored:
            return
        one, at = self.random.choice(stored), NOON + timedelta(seconds=self.now())
        await self.memory.correct(CorrectRequest(at=at, new="acqua", old=one.word, viewer_id=one.viewer_id))
        self.erased.add(one.word)

    async def delete(self) -> None:
        """A message that is known, one that is still to come, or a time-out."""
        at = self.now()
        moment = NOON + timedelta(seconds=at)
        if self.random.random() < 0.1:
            person = self.random.choice(PEOPLE)
            gone = [one for one in self.told if one.viewer_id == person.id and one.at <= at]
            await self.memory.delete("s1", Deletion(at=moment, scope="user", user_id=person.id))
            self.erased.update(one.word for one in gone)
            return
        number = self.random.randrange(len(self.told) + 3)
        await self.memory.delete("s1", Deletion(at=moment, scope="message", message_id=f"m{number}"))
        self.erased.add(f"parola{number}x")

    async def jobs(self) -> None:
        await self.memory.run_jobs()

    def operation(self) -> Callable[[], Awaitable[None]]:
        some = [self.record, self.recall, self.forget, self.delete, self.correct, self.jobs]
        return self.random.choices(some, weights=[26, 52, 9, 9, 2, 0.7])[0]


@pytest.mark.slow
@pytest.mark.timeout(900)  # 20 s alone, minutes on a busy machine
async def test_no_recall_that_began_after_an_erasure_returned_shows_what_was_erased(tmp_path: Path) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        evening = Evening(memory=memory, random=Random(7))
        done = 0
        while done < OPERATIONS:
            at_once = evening.random.randint(2, 12)
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(run(evening.operation()))
            done += at_once
        assert evening.leaks == []
        assert evening.asked > OPERATIONS / 3
        assert evening.found > evening.asked / 10  # or else nothing could have leaked
        assert len(evening.erased) > OPERATIONS / 20
        await memory.run_jobs()
        held = " ".join([str(await memory.export(person.id)) for person in PEOPLE])
        assert [word for word in evening.erased if f"{word} " in held] == []
        assert await memory.jobs(state="dead") == []


async def run(operation: Callable[[], Awaitable[None]]) -> None:
    await operation()
