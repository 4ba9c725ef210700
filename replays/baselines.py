"""What the memory is compared with: one archive of all chat, and the whole chat in the prompt. Simple on purpose, and fair."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import numpy as np

from memory import (
    Batch,
    Block,
    BotReply,
    Deletion,
    Embedder,
    Event,
    Item,
    Message,
    Notice,
    Plan,
    Recall,
    Section,
    StreamEvent,
    Vectors,
    Window,
    count_tokens,
)

TOP = 5
ARCHIVE = "archive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatLine:
    """A line of the log, as a memory without any notion of whose it is would keep it."""

    id: str
    at: datetime
    author: str | None
    name: str
    text: str
    stream_id: str | None


@dataclass(slots=True)
class ChatSoFar:
    """Every line until now, of all streams. Moderated lines are taken out, as any archive would; chat commands are not read."""

    lines: list[ChatLine] = field(default_factory=list)
    bot_id: str = "bot"
    bot_name: str = "bot"
    _stream_id: str | None = None

    def see(self, event: Event) -> None:
        """Take one event of the log."""
        match event:
            case StreamEvent(event="online"):
                self._stream_id = event.stream_id
                if event.bot:
                    self.bot_id, self.bot_name = event.bot.id, event.bot.name
            case Message() | Notice(user=object(), text=str()):
                if event.user and event.text:
                    self._add(event.id, event.at, event.text, author=event.user.id, name=event.user.name)
            case BotReply(id=str() as reply_id):
                self._add(reply_id, event.at, event.text, author=self.bot_id, name=self.bot_name)
            case Deletion():
                self.lines = [line for line in self.lines if not self._covers(event, line)]
            case _:
                pass

    def _add(self, id_: str, at: datetime, text: str, *, author: str, name: str) -> None:
        self.lines.append(ChatLine(id=id_, at=at, author=author, name=name, text=text, stream_id=self._stream_id))

    def _covers(self, deletion: Deletion, line: ChatLine) -> bool:
        if deletion.scope == "message":
            return line.id == deletion.message_id
        return deletion.scope == "user" and line.author == deletion.user_id and line.stream_id == self._stream_id


class Baseline(Protocol):
    """Something that gives a block without being the memory."""

    @property
    def sources(self) -> tuple[str, ...]:
        """What is asked beside the history."""
        ...

    async def recall(self, batch: Batch, window: Window, chat: ChatSoFar) -> Recall:
        """Return what stands in the prompt for this batch, beside the recent history of `window`."""
        ...


class SingleArchive:
    """Dense top 5 over one collection of all chat, by the memory's own embedder: no scopes, no planner, no gate."""

    sources: tuple[str, ...] = (ARCHIVE,)

    def __init__(self, embedder: Embedder) -> None:
        """The embedder stays the caller's."""
        self._embedder = embedder
        self._rows: dict[str, Vectors] = {}

    async def recall(self, batch: Batch, window: Window, chat: ChatSoFar) -> Recall:
        """Return the lines nearest to the batch's words."""
        fresh = [line for line in chat.lines if line.id not in self._rows]
        if fresh:
            vectors = await self._embedder.embed([line.text for line in fresh])
            self._rows.update({line.id: vectors[place] for place, line in enumerate(fresh)})
        if not chat.lines:
            return _recall(window, [])
        asked = await self._embedder.embed_query("\n".join(line.text for line in batch.messages))
        scores = np.stack([self._rows[line.id] for line in chat.lines]) @ asked[0]
        best = sorted(range(len(chat.lines)), key=lambda place: (-round(float(scores[place]), 6), place))[:TOP]
        return _recall(window, [_item(chat.lines[place], "recall", float(scores[place])) for place in best])


class FullContext:
    """The whole log so far in the prompt. What is in the recent history is shown there, and not twice."""

    sources: tuple[str, ...] = ()

    async def recall(self, batch: Batch, window: Window, chat: ChatSoFar) -> Recall:  # noqa: ARG002 - the protocol's
        """Return every older line."""
        recent = {line.id for line in window.lines}
        return _recall(window, [_item(line, "episode", 0.0) for line in chat.lines if line.id not in recent])


def _item(line: ChatLine, section: Section, score: float) -> Item:
    text = f"{line.name}: {line.text}"
    return Item(
        section=section,
        source=ARCHIVE,
        subject=line.author,
        author=line.author,
        text=text,
        provenance=(line.id,),
        tokens=count_tokens(text),
        score=score,
        at=line.at,
    )


def _recall(window: Window, items: Sequence[Item]) -> Recall:
    block = Block(text="\n".join(item.text for item in items), items=tuple(items), tokens=sum(item.tokens for item in items))
    return Recall(plan=Plan(), window=window, block=block)
