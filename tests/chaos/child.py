"""What the chaos tests kill: the real bot over a chat log, or live over a scripted chat, shot at named steps or from outside.

Started once; each line on stdin starts one life in a fork, so that a life costs no start of the interpreter. The steps are
functions of the product by their names: a renamed one fails the test. Nothing in the product knows of this.
"""

import asyncio
import importlib
import inspect
import os
import random
import resource
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from pathlib import Path
from typing import Any

from builders_lives import serve
from fakes.hash_embedder import HashEmbedder

import bot.app
from bot.app import Hooks, make_loop, open_channel_memory
from bot.cli.logs import set_up_logs
from bot.live import LiveSettings, Tally, run_live
from bot.speak import Delivery, SpeakSettings
from bot.stopping import Stopping
from config.sections import Log
from config.settings import Settings
from memory import Batch, BotIdentity, Channel, Event, Memory, Message, StreamEvent, Viewer, WallClock
from replays.runner import Replay, ReplayOptions

CHANNEL = Channel(id="9000", login="banco", name="Banco")
BOT = BotIdentity(id="bot:ricordo", login="ricordo", name="Ricordo", aliases=("ricordo",))
PATIENT = {  # a slow machine must not change what is recalled
    "retrieval": {"source_seconds": 30, "retrieve_seconds": 40, "recall_seconds": 50},
    "index": {"own_process": False},  # its steps are shot at in the process that is killed
}
SETTINGS = Settings.model_validate(
    {
        **PATIENT,
        "jobs": {"lease_seconds": 15, "recover_seconds": 1},  # what a full disk left in hand comes back soon
        "batching": {"addressed_grace_seconds": 0.01, "quiet_seconds": 0.03, "longest_wait_seconds": 0.2},
        "manners": {"channel_cooldown_seconds": 0, "viewer_cooldown_seconds": 0, "repeat_seconds": 0},
    }
)
_OVERLAP = 3  # messages that are sent again after a kill, though they were confirmed
_EVERY_QUESTION = 7


class Gun:
    """Kills this process at the n-th passing of one named step: `<` before it, `>` after it."""

    def __init__(self, step: str, passes: int) -> None:
        self._left = passes
        if not step:
            return
        side, path = step[0], step[1:]
        module, _, name = path.partition(":")
        owner: Any = importlib.import_module(module)
        *outer, last = name.split(".")
        for part in outer:
            owner = getattr(owner, part)
        original = inspect.getattr_static(owner, last)
        bound = isinstance(original, classmethod | staticmethod)
        wrapped = self._around(original.__func__ if bound else original, before=side == "<")
        setattr(owner, last, type(original)(wrapped) if bound else wrapped)

    def _around(self, function: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def later(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the step takes and gives
                self._pass(now=before)
                result = await function(*args, **named)
                self._pass(now=not before)
                return result

            return later

        @wraps(function)
        def at_once(*args: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the step takes and gives
            self._pass(now=before)
            result = function(*args, **named)
            self._pass(now=not before)
            return result

        return at_once

    def _pass(self, *, now: bool) -> None:
        if now:
            self._left -= 1
            if self._left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)


def chat(count: int) -> list[Message]:
    """The scripted chat: every seventh message is a question to the bot."""
    draw = random.Random(3)
    made = []
    for number in range(count):
        who = f"viewer_{draw.randrange(30)}"
        asked = number % _EVERY_QUESTION == 0
        said = draw.choice(("vivo a Torino", "ho due gatti", "che bella partita", "I play bass", "non mi piace il boss"))
        text = f"@ricordo cosa ricordi di me? {number}" if asked else f"{said} {number}"
        made.append(Message(id=f"m{number}", at=datetime.now(UTC), user=Viewer(id=f"id-{who}", login=who, name=who), text=text))
    return made


class Diary:
    """Append-only lines on disk, each written whole at once: what was confirmed, what was said."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, *lines: str) -> None:
        os.write(self._file, "".join(f"{line}\n" for line in lines).encode())


class Voice:
    """Notes what is posted, and under which message."""

    def __init__(self, diary: Diary) -> None:
        self._diary = diary
        self._count = 0

    async def say(self, text: str, reply_to: str | None) -> Delivery:
        self._count += 1
        self._diary.write(str(reply_to))
        return Delivery(state="sent", id=f"post-{os.getpid()}-{self._count}-{reply_to}")


class Ears:
    """Says the chat from where the memory confirmed it, a little faster than it can be served, and then stops the bot."""

    def __init__(self, messages: list[Message], stopping: Stopping, *, patience: float) -> None:
        self._messages, self._stopping, self._patience = messages, stopping, patience
        self._saying: asyncio.Task[None] | None = None

    async def listen(self, take: Callable[[Event], None]) -> None:
        self._saying = asyncio.create_task(self._say(take))

    async def _say(self, take: Callable[[Event], None]) -> None:
        for message in self._messages:
            take(message)
            await asyncio.sleep(0.003)
        await asyncio.sleep(self._patience)
        self._stopping.asked.set()

    async def check(self) -> list[str]:
        return []

    async def close(self) -> None:
        if self._saying is not None:
            self._saying.cancel()


def confirming(diary: Diary) -> None:
    """Have every stored line confirmed in `diary`."""
    observe = Memory.observe

    async def observed(self: Memory, batch: Batch) -> int:
        new = await observe(self, batch)
        diary.write(*(line.id for line in batch.lines))
        return new

    Memory.observe = observed  # type: ignore[method-assign]  # the test's own witness


async def live(out: Path, life: dict[str, Any]) -> None:
    """Serve the chat from behind the last line that was confirmed, until it is over."""
    confirmed = out / "confirmed.txt"
    known = confirmed.read_text().split() if confirmed.exists() else []
    messages = chat(life["messages"])
    first = max((int(line[1:]) + 1 for line in known), default=0)
    confirming(Diary(confirmed))
    clock, stopping = WallClock(), Stopping()
    async with open_channel_memory(SETTINGS, out / "memory", channel=CHANNEL, clock=clock) as memory:
        await memory.start_worker()
        hooks = Hooks(voice=Voice(Diary(out / "said.txt")))
        loop = make_loop(SETTINGS, memory=memory, clock=clock, channel=CHANNEL, bot=BOT, hooks=hooks)
        online = StreamEvent(at=datetime(2026, 3, 1, tzinfo=UTC), event="online", stream_id="s", channel=CHANNEL, bot=BOT)
        filling = asyncio.create_task(fill(out, *life["full"][:2])) if life["full"] else None
        ears = Ears(messages[max(0, first - _OVERLAP) :], stopping, patience=life["patience"])
        await run_live(loop, ears, LiveSettings(), clock, stopping=stopping, first=online, tally=Tally(waiting=memory.waiting))
        if filling is not None:
            await filling
        if life["settle"]:
            await loop.start()
            while await memory.run_jobs() or await _under_way(memory):  # noqa: ASYNC110 - what failed waits for its next try
                await asyncio.sleep(0.1)


async def _under_way(memory: Memory) -> bool:
    """Tell whether a job waits, or is in the worker's hands."""
    jobs = (await memory.health()).jobs
    return jobs.get("ready", 0) + jobs.get("leased", 0) > 0


async def fill(out: Path, first: float, seconds: float) -> None:
    """Let no file grow any more, for a while."""
    diary = Diary(out / "full.txt")
    await asyncio.sleep(first)
    diary.write("full")
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, most))
    await asyncio.sleep(seconds)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    diary.write("room")


async def replay(out: Path, life: dict[str, Any]) -> None:
    """Play the log to its end, from where an earlier life was killed."""
    await Replay(ReplayOptions(log=Path(life["log"]), out=out), Settings.model_validate(PATIENT)).run()


def main() -> None:
    set_up_logs(Log(), default=os.environ.get("CHAOS_LOG", "warning"))
    bot.app.embedder_of = lambda *_: HashEmbedder()
    vars(bot.app)["SpeakSettings"] = lambda **_: SpeakSettings(
        spacing_seconds=0, duplicate_seconds=0, per_window=1000
    )  # no pace
    serve(lived)


def lived(life: dict[str, Any]) -> None:
    Gun(life["step"], life["passes"])
    out = Path(life["out"])
    out.mkdir(parents=True, exist_ok=True)
    asyncio.run(replay(out, life) if life["log"] else live(out, life))


if __name__ == "__main__":
    main()
