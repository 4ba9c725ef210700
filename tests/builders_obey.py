"""A chat loop over a real memory: what commands change, seen from outside."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from builders_live import BOT, EAGER, HOME, QUICK, at, at_once, message, online, viewer
from builders_memory import UNHURRIED
from fakes.hash_embedder import HashEmbedder
from fakes.responder import FakeResponder

from bot.addressing import Addressing
from bot.commands import CommandSettings
from bot.loop import ChatLoop
from bot.loop_settings import LoopSettings
from bot.manners import Manners, MannersSettings
from bot.play import play
from bot.recording import Recorder
from bot.responder import Responder
from bot.speak import ConsoleVoice, Speaker
from bot.tombstones import Tombstones
from bot.turn import TurnParts
from memory import Command, Embedder, Event, Memory, MemorySettings, VirtualClock, open_memory

MOD = ("moderator",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """A chat that is played event by event."""

    memory: Memory
    loop: ChatLoop
    clock: VirtualClock
    heard: list[str]
    manners: Manners

    async def play(self, *events: Event) -> list[str]:
        """Play events; return what the bot said to them."""
        before = len(self.heard)
        for event in events:
            await play(self.loop, event, self.clock)
        return self.heard[before:]

    async def held(self) -> str:
        """Every text that can be read back of Alice, Bob and Carl, and the history."""
        await self.loop.flush("end")
        texts = [str(await self.memory.export(f"id-{name}")) for name in ("alice", "bob", "carl")]
        return "\n".join(texts)


@asynccontextmanager
async def a_chat(
    directory: Path,
    *,
    replies: Literal["bot", "log"] = "bot",
    language: str = "it",
    manners: MannersSettings = EAGER,
    responder: Callable[[Memory, Addressing, Tombstones], Responder] | None = None,
    recorder: Callable[[VirtualClock], Recorder] | None = None,
    embedder: Embedder | None = None,
) -> AsyncIterator[Chat]:
    """Alice, Bob and Carl have said something each."""
    clock, heard = VirtualClock(at(0)), list[str]()
    settings = MemorySettings(data_dir=directory, recipe=UNHURRIED)
    async with await open_memory(
        settings, channel=HOME, embedder=embedder or HashEmbedder(dimension=32), clock=clock
    ) as memory:
        polite, deleted = Manners(manners, Addressing(BOT)), Tombstones()
        answering = responder(memory, polite.addressing, deleted) if responder else FakeResponder()
        parts = TurnParts(
            memory=memory,
            responder=None if replies == "log" else answering,
            speaker=Speaker(ConsoleVoice(heard.append), QUICK, clock, pause=at_once),
            manners=polite,
            clock=clock,
            deleted=deleted,
        )
        rules = LoopSettings(replies=replies, commands=CommandSettings(language=language))
        written = recorder(clock) if recorder else None
        loop = ChatLoop(
            parts,
            rules,
            HOME,
            on_turn=written.over if written else None,
            on_event=written.heard if written else None,
        )
        chat = Chat(memory=memory, loop=loop, clock=clock, heard=heard, manners=polite)
        await chat.play(
            online(),
            message("il mio gatto si chiama Birba", seconds=1, message_id="a1"),
            message("il mio gatto si chiama Nerone", seconds=2, by="bob", message_id="b1"),
            message("ho una Panda verde", seconds=3, by="carl", message_id="c1"),
        )
        yield chat


def order(
    text: str, *, by: str = "alice", seconds: float = 20, badges: tuple[str, ...] = (), id_: str | None = None
) -> Command:
    """A command that a recorded log says was given."""
    return Command(at=at(seconds), user=viewer(by), text=text, badges=badges, id=id_)
