"""A memory that only keeps: lines, turns and deletions in lists, nothing recalled but what a test puts into `recalls`."""

from collections.abc import Callable, Sequence
from datetime import datetime

from memory import (
    Batch,
    Block,
    BotReply,
    Deletion,
    KnownViewer,
    Line,
    Memory,
    ModelSpent,
    ModelUse,
    Plan,
    Recall,
    StateCall,
    StoreUnavailable,
    Stream,
    Turn,
    Window,
)
from memory.recipes import Recipe


class FakeMemory(Memory):
    """`away` makes the named calls fail as an unavailable database does."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.ended: list[tuple[str, datetime]] = []
        self.lines: dict[str, Line] = {}
        self.turns: dict[str, Turn] = {}
        self.replies: list[tuple[str, BotReply]] = []
        self.deletions: list[tuple[str, Deletion]] = []
        self.calls: list[StateCall] = []
        self.log: list[str] = []
        self.cut_off: list[Batch] = []
        self.away: set[str] = set()
        self.out: set[str] = set()
        self.block = Block()
        self.on_recall: Callable[[Batch], None] | None = None

    def _call(self, name: str) -> None:
        if name in self.away:
            raise StoreUnavailable(f"{name}: the disk is full")
        self.log.append(name)

    async def begin_stream(self, stream: Stream) -> None:
        self._call("begin_stream")
        self.streams.append(stream)

    async def end_stream(self, stream_id: str, at: datetime) -> None:
        self._call("end_stream")
        self.ended.append((stream_id, at))

    async def observe(self, batch: Batch) -> int:
        self._call("observe")
        new = [line for line in batch.lines if line.id not in self.lines]
        self.lines |= {line.id: line for line in new}
        return len(new)

    async def observe_all(self, batches: Sequence[Batch]) -> int:
        return sum([await self.observe(batch) for batch in batches])

    async def recall(self, batch: Batch, recipe: Recipe | None = None, *, as_of: datetime | None = None) -> Recall:
        self._call("recall")
        if self.on_recall is not None:
            self.on_recall(batch)
        return Recall(plan=Plan(), window=Window(stream_id=batch.stream_id), block=self.block)

    async def record(self, turn: Turn) -> None:
        self._call("record")
        self.turns[turn.batch.id] = turn

    async def record_reply(self, stream_id: str, reply: BotReply) -> None:
        self._call("record_reply")
        self.replies.append((stream_id, reply))

    async def recorded(self, turn_id: str) -> bool:
        return turn_id in self.turns

    async def newest_lines(self, limit: int) -> list[str]:
        self._call("newest_lines")
        return [*(line.id for batch in self.cut_off for line in batch.lines), *self.lines][-limit:]

    async def spent(self, stream_id: str) -> ModelSpent:
        self._call("spent")
        return ModelSpent(calls=0, tokens=0, hour=())

    async def note_spent(self, uses: Sequence[ModelUse]) -> None:
        self._call("note_spent")

    def waiting(self, lines: int) -> None:
        self.log.append("waiting")

    async def unrecorded(self) -> list[Batch]:
        return self.cut_off

    async def delete(self, stream_id: str, deletion: Deletion) -> int:
        self._call("delete")
        self.deletions.append((stream_id, deletion))
        return 1

    def opted_out(self, viewer_id: str, at: datetime) -> bool:
        return viewer_id in self.out

    def named(self, name: str) -> tuple[KnownViewer, ...]:
        return ()

    async def apply_state(self, call: StateCall) -> None:
        self._call("apply_state")
        self.calls.append(call)

    async def run_jobs(self, limit: int | None = None) -> int:
        self._call("run_jobs")
        return 0

    async def close(self) -> None:
        self._call("close")

    def said(self) -> Sequence[str]:
        """What the bot said in its turns, in order."""
        return [turn.said.text for turn in self.turns.values() if turn.said.state == "sent" and turn.said.text]
