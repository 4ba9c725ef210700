"""Lines, people and a wired loop for the tests of the way from chat to reply."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from fakes.memory import FakeMemory
from fakes.responder import FakeResponder

from bot.addressing import Addressing
from bot.batching import BatchingSettings
from bot.loop import ChatLoop
from bot.loop_settings import LoopSettings
from bot.manners import Manners, MannersSettings
from bot.play import play
from bot.speak import ConsoleVoice, Speaker, SpeakSettings, Voice
from bot.tombstones import Tombstones
from bot.turn import TurnOutcome, TurnParts
from memory import BotIdentity, Channel, Clock, Event, Message, Notice, Stream, StreamEvent, Viewer, VirtualClock

START = datetime(2026, 3, 1, 20, 0, tzinfo=UTC)
BOT = BotIdentity(id="900", login="ricordo_bot", name="Ricordo_Bot", aliases=("ricordino",))
HOME = Channel(id="100", login="casa", name="Casa")
EAGER = MannersSettings(channel_cooldown_seconds=0, viewer_cooldown_seconds=0)
QUICK = SpeakSettings(spacing_seconds=0, duplicate_seconds=0)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def viewer(login: str) -> Viewer:
    return Viewer(id=f"id-{login}", login=login, name=login.capitalize())


def message(text: str, *, by: str = "alice", seconds: float = 0, message_id: str = "", **more: Any) -> Message:  # noqa: ANN401 - any field of Message
    return Message(id=message_id or f"m{seconds}-{by}", at=at(seconds), user=viewer(by), text=text, **more)


def notice(kind: str = "resub", *, by: str = "alice", seconds: float = 0, text: str | None = None) -> Notice:
    return Notice(id=f"n{seconds}-{by}", at=at(seconds), kind=kind, user=viewer(by), text=text)


def online(stream_id: str = "s1", *, seconds: float = 0, bot: BotIdentity | None = None) -> StreamEvent:
    return StreamEvent(at=at(seconds), event="online", stream_id=stream_id, channel=HOME, bot=bot, title="Serata")


def offline(stream_id: str = "s1", *, seconds: float = 0) -> StreamEvent:
    return StreamEvent(at=at(seconds), event="offline", stream_id=stream_id)


async def at_once(_seconds: float) -> None:
    """A pause that takes no time: for virtual clocks."""


class Bench:
    """A loop with everything around it within a test's reach."""

    def __init__(
        self,
        *,
        responder: FakeResponder | None = None,
        voice: Voice | None = None,
        manners: MannersSettings = EAGER,
        settings: LoopSettings | None = None,
        clock: Clock | None = None,
        memory: FakeMemory | None = None,
        speak: SpeakSettings = QUICK,
    ) -> None:
        self.virtual = VirtualClock(START)
        self.clock: Clock = clock or self.virtual
        self.memory = memory or FakeMemory()
        self.responder = responder or FakeResponder()
        self.addressing = Addressing(BOT)
        self.manners = Manners(manners, self.addressing)
        self.heard: list[str] = []
        pause: Callable[[float], Any] = at_once
        self.speaker = Speaker(voice or ConsoleVoice(self.heard.append), speak, self.clock, pause=pause)
        self.settings = settings or LoopSettings(batching=BatchingSettings(grace_seconds=0.5))
        self.parts = TurnParts(
            memory=self.memory,
            responder=None if self.settings.replies == "log" else self.responder,
            speaker=self.speaker,
            manners=self.manners,
            clock=self.clock,
            deleted=Tombstones(),
            reply_seconds=5,
            answer_known=self.settings.resume,
        )
        self.outcomes: list[TurnOutcome] = []
        self.streams: list[Stream] = []
        self.loop = ChatLoop(self.parts, self.settings, HOME, on_turn=self.outcomes.append, on_stream=self.streams.append)

    @property
    def said(self) -> list[tuple[str, str]]:
        return [(outcome.turn.said.state, outcome.turn.said.reason) for outcome in self.outcomes]


async def run(bench: Bench, *events: Event, finish: bool = True) -> Bench:
    for event in events:
        await play(bench.loop, event, bench.virtual)
    if finish:
        await bench.loop.finish()
    return bench
