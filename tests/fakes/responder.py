"""A responder that answers as its test says, and waits where the test makes it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from bot.responder import Answer, ResponderFailed
from memory import Batch, Message, Recall


class FakeResponder:
    """Answers `text` (a `{}` in it takes a running number); `before` runs while the answer is in the making."""

    def __init__(self, text: str = "risposta {}") -> None:
        self.text = text
        self.asked: list[Message] = []
        self.fails: str | None = None
        self.before: Callable[[], Awaitable[None]] | None = None
        self.changed_domains: tuple[str, ...] = ()

    async def reply(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message] = ()) -> Answer:
        self.asked += [*also, to]
        await asyncio.sleep(0)
        if self.before is not None:
            await self.before()
        if self.fails is not None:
            raise ResponderFailed(self.fails)
        return Answer(text=self.text.format(len(self.asked)), model="fake", changed_domains=self.changed_domains)
