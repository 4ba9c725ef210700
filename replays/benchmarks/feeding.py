"""A conversation of a benchmark, said in the chat: each session a stream, each speaker a viewer, dates kept."""

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from memory import Batch, BotIdentity, Channel, Clock, Memory, Message, Said, Stream, Turn, Viewer, VirtualClock

CHANNEL = Channel(id="benchmark", login="benchmark_channel", name="Benchmark")
BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo", aliases=("ricordo",))
BOT_VIEWER = Viewer(id=BOT.id, login=BOT.login, name=BOT.name)
ASKER = Viewer(id="asker", login="quizmaster_0", name="quizmaster_0")
ARCHIVE = Viewer(id="archive", login="archive_0", name="archive_0")  # the single archive: one viewer who said everything
TURN_LINES = 4  # lines of a dialogue that make one turn of the chat
WHOLE_SESSION = 100_000  # lines of a turn where only single lines are searched
PACE = timedelta(seconds=20)
LONGEST_LINE = 500  # characters of a chat line on Twitch
Opener = Callable[[Path, Clock], AbstractAsyncContextManager[Memory]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """Something said in a session. What another bot says is in the stream's memory and in no viewer's."""

    id: str
    speaker: Viewer
    text: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session, in its order."""

    id: str
    at: datetime
    lines: tuple[Utterance, ...]


async def feed(memory: Memory, clock: VirtualClock, sessions: Sequence[Session], *, turn_lines: int = TURN_LINES) -> None:
    """Say every session in its own stream, through observe and record, and bring the memory up to date after each."""
    for session in sorted(sessions, key=lambda one: one.at):
        clock.move_to(session.at)
        await memory.begin_stream(_stream(session.id, clock.now()))
        await _say(memory, clock, session, turn_lines)
        await memory.end_stream(session.id, clock.now())
        await memory.run_jobs()


async def _say(memory: Memory, clock: VirtualClock, session: Session, turn_lines: int) -> None:
    waiting: list[Message] = []
    for line in session.lines:
        clock.advance(PACE)
        waiting.append(Message(id=line.id, at=clock.now(), user=line.speaker, text=line.text, is_bot=line.is_bot))
        if len(waiting) == turn_lines:
            await _close(memory, session.id, waiting)
    await _close(memory, session.id, waiting)


async def _close(memory: Memory, stream_id: str, waiting: list[Message]) -> None:
    if not waiting:
        return
    batch = Batch(stream_id=stream_id, lines=tuple(waiting), closed_at=waiting[-1].at)
    waiting.clear()
    await memory.observe(batch)
    await memory.record(Turn(batch=batch, recall=None, said=Said(state="silent", reason="a benchmark's conversation")))


async def begin_questions(memory: Memory, clock: VirtualClock, at: datetime) -> str:
    """Begin the stream in which the questions are asked; return its id. Nothing was said in it: its history is empty."""
    clock.move_to(at)
    await memory.begin_stream(_stream("questions", clock.now()))
    return "questions"


def as_archive(sessions: Sequence[Session]) -> list[Session]:
    """Return the sessions as one viewer's words, `Name: text` a line: the memory without viewers, one collection for all."""
    return [
        Session(
            id=session.id,
            at=session.at,
            lines=tuple(
                Utterance(id=line.id, speaker=ARCHIVE, text=f"{line.speaker.name}: {line.text}") for line in session.lines
            ),
        )
        for session in sessions
    ]


def chat_lines(text: str, longest: int = LONGEST_LINE) -> list[str]:
    """Return a long text as chat lines of at most `longest` characters, cut at white space where there is any."""
    words, lines, line = text.split(), [], ""
    for word in words:
        for piece in (word[start : start + longest] for start in range(0, len(word), longest)):
            if line and len(line) + 1 + len(piece) > longest:
                lines.append(line)
                line = piece
            else:
                line = f"{line} {piece}" if line else piece
    return [*lines, line] if line else lines


def _stream(stream_id: str, at: datetime) -> Stream:
    return Stream(id=stream_id, channel=CHANNEL, bot=BOT, started_at=at)
