"""Random evenings of chat and tool calls: records are what the tools made of them, and no older memory says otherwise."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

import pytest
from builders_memory import opened
from builders_recall import BOT_VIEWER, NOON, a_batch, a_message, a_stream, a_viewer

from memory import DOMAINS, Batch, Memory, Rights, Said, StateCall, StateOrder, Turn, Viewer

PEOPLE = [a_viewer(str(100 + number), name) for number, name in enumerate(("Ada", "Bruno", "Carla"))]
TOWNS = ("Treviso", "Padova", "Bari", "Lecce", "Genova", "Napoli", "Torino", "Modena", "Parma", "Siena", "Udine", "Varese")
STEPS = 45


@dataclass(slots=True)
class Evening:
    """What the tools made of the records, and what the older memories must not say any more."""

    memory: Memory
    random: Random
    records: dict[str, tuple[str, str, str]] = field(default_factory=dict)  # id -> viewer, town, status
    ended: list[tuple[str, str, datetime]] = field(default_factory=list)  # viewer, town, moment of the change
    in_tool_turns: set[str] = field(default_factory=set)  # message ids
    second: float = 0.0
    asked: int = 0
    past: int = 0

    def now(self) -> datetime:
        self.second += 1
        return NOON + timedelta(seconds=self.second)

    def said(self, person: Viewer, text: str) -> Batch:
        self.now()
        return a_batch(a_message(f"m{self.second}", text, user=person, after=self.second))

    async def chat(self) -> None:
        batch = self.said(self.random.choice(PEOPLE), f"abito a {self.random.choice(TOWNS)} da anni")
        await self.memory.observe(batch)
        await self.memory.record(Turn(batch=batch, recall=None, said=Said(state="silent")))

    async def tool(self) -> None:
        """A turn in which a tool sets, replaces or deletes the note about where somebody lives."""
        person = self.random.choice(PEOPLE)
        id_, before = f"note-{person.id}", self.records.get(f"note-{person.id}")
        town = self.random.choice(TOWNS)
        closing = before is not None and before[2] == "open" and self.random.random() < 0.4
        text = "cancella la nota" if closing else f"segna che abito a {town}"
        batch = self.said(person, text)
        await self.memory.observe(batch)
        tool = "note_delete" if closing else "note_set"
        arguments = {"id": id_} if closing else {"id": id_, "viewer": person.id, "text": f"abita a {town}"}
        at = self.now()
        key = f"{batch.id}:{tool}"
        order = StateOrder(
            call=StateCall(at=at, tool=tool, arguments=arguments),
            rights=Rights(viewer_id=person.id, present=frozenset({person.id})),
            key=key,
            turn_id=batch.id,
            held=(person.id,),
        )
        for _ in range(self.random.randint(1, 2)):  # a call that is made twice changes nothing more
            await self.memory.change_state(order)
        await self.memory.record(
            Turn(batch=batch, recall=None, said=Said(state="silent"))
        )  # as after a crash: without its barrier
        self.in_tool_turns.update(line.id for line in batch.lines)
        self.records[id_] = (person.id, before[1] if closing and before else town, "deleted" if closing else "open")
        if before is not None and (closing or before[1] != town):
            self.ended.append((person.id, before[1], at))

    async def jobs(self) -> None:
        await self.memory.run_jobs()

    async def look(self) -> None:
        await self.check()
        person = self.random.choice(PEOPLE)
        question = a_message(f"q{self.second}", "@ricordo dove abito?", user=person, after=self.second, mentions=(BOT_VIEWER,))
        recall = await self.memory.recall(a_batch(question))
        self.asked += 1
        for item in recall.block.items:
            for viewer, town, at in self.ended:
                stale = item.section in {"profile", "recall"} and item.subject == viewer and town in item.text
                assert not (stale and item.current and item.at is not None and item.at <= at), (item.text, town, at)

    async def check(self) -> None:
        at = NOON + timedelta(seconds=self.second)
        live = {record.id: (record.viewers, record.text) for record in await self.memory.state(DOMAINS, at)}
        meant = {id_: ((one,), f"abita a {town}") for id_, (one, town, status) in self.records.items() if status == "open"}
        assert live == meant
        for person in PEOPLE:
            for document in await self.memory.documents_of(person.id):
                assert self.in_tool_turns.isdisjoint(document.provenance)
                for viewer, town, changed in self.ended:
                    if viewer == person.id and town in document.text and document.at <= changed:
                        assert document.invalid_at is not None, (document.text, document.kind)
                        assert document.invalid_at <= changed
                        self.past += 1

    def step(self) -> Callable[[], Awaitable[None]]:
        return self.random.choices([self.chat, self.tool, self.jobs, self.look], weights=[8, 6, 2, 4])[0]


@pytest.mark.parametrize("seed", range(8))
async def test_no_older_memory_contradicts_a_record_that_was_changed_or_deleted(tmp_path: Path, seed: int) -> None:
    async with opened(tmp_path) as memory:
        await memory.begin_stream(a_stream())
        evening = Evening(memory=memory, random=Random(seed))
        for _ in range(STEPS):
            await evening.step()()
        await memory.run_jobs()
        await evening.check()
        assert evening.ended
        assert evening.asked
        assert evening.past  # or else nothing was there that could have contradicted
