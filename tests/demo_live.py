"""`make demo-live`: the shipped bot, live in your terminal, against a stand-in for Twitch. You are the chat."""

import argparse
import asyncio
import contextlib
import os
import shutil
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from fakes.twitch import FakeTwitch
from rich.console import Console
from rich.text import Text

from bot.cli.look import Looker, TurnLook, looker
from bot.cli.terminal import day, printable
from config.settings import Settings, load_settings
from memory import Message, Viewer, WallClock
from replays.log import read_log

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "replays" / "samples" / "osteria.jsonl"
FOLDER = Path("out/demo-live")
START_SECONDS, STOP_SECONDS, RECORD_SECONDS = 60.0, 20.0, 3.0
IDLE_SECONDS, IDLE_WITH_MODEL_SECONDS = 2.5, 15.0
HELP = """\
Write chat as  name: text     for example   anna: my cat is called Nerone
Speak to the bot by its name               anna: memo what is my cat called?
A line without a name is by whoever wrote last. Commands of the bot work too:   anna: !whatdoyouknow
  /mod NAME       make somebody a moderator        /delete         delete the last message, as a moderator would
  /timeout NAME   time somebody out                /help   /quit   (also Ctrl+D)
The streamer is casa. What is told stays in the folder of this demo: start it again, and the bot remembers."""


class Chat:
    """The people of the demo: the same person has the same id in every run."""

    def __init__(self, twitch: FakeTwitch) -> None:
        self.twitch = twitch
        self.sent = 0
        self.last = ("", "")  # login and id of the newest message
        self._writer = "anna"
        self._moderators: set[str] = set()
        self.orders: set[str] = set()  # ids of lines that are commands: no memory is behind their answers
        twitch.people[twitch.channel.login] = twitch.channel

    async def say(self, name: str, text: str) -> None:
        login = self._known(name)
        badges = ("broadcaster",) if login == self.twitch.channel.login else ("moderator",) if login in self._moderators else ()
        self.sent += 1
        message_id = f"demo-{os.urandom(6).hex()}"
        if text.startswith("!"):
            self.orders.add(message_id)
        self.last = (login, message_id)
        await self.twitch.chat(login, text, badges=badges, message_id=message_id)

    async def typed(self, line: str) -> str | None:
        """Take a line from the keyboard; return what to print, None to end."""
        order, _, rest = line.strip().partition(" ")
        if order in {"/quit", "/exit"}:
            return None
        if order.startswith("/"):
            return await self._order(order, rest.strip())
        name, colon, text = line.partition(":")
        if colon and text.strip() and len(name.split()) == 1:
            self._writer = name.strip()
        else:
            text = line
        if text.strip():
            await self.say(self._writer, text.strip())
        return ""

    async def _order(self, order: str, name: str) -> str:
        match order:
            case "/mod" if name:
                self._moderators.add(self._known(name))
                return f"{name} is a moderator now"
            case "/timeout" if name:
                await self.twitch.time_out(self._known(name))
                return f"{name} was timed out: what they wrote this evening goes"
            case "/delete" if self.last[1]:
                await self.twitch.delete(*self.last)
                return "the last message was deleted"
            case _:
                return HELP

    def meet(self, viewer: Viewer) -> None:
        self.twitch.people.setdefault(viewer.login, viewer)

    def _known(self, name: str) -> str:
        shown = name.strip().lstrip("@")
        login = shown.casefold()
        self.meet(Viewer(id=str(10_000 + zlib.crc32(login.encode()) % 1_000_000_000), login=login, name=shown))
        return login


def write_config(folder: Path, twitch: FakeTwitch, own: Settings) -> Path:
    """Write the demo's configuration, with the language model of the streamer's own."""
    path = folder / "ricordo.toml"
    path.write_text(
        f"""\
[storage]
data_dir = "data"
[log]
format = "json"
[twitch]
client_id = "client"
channel = "{twitch.channel.login}"
api_url = "{twitch.url}"
[persona]
aliases = ["memo", "ricordo"]
[batching]
addressed_grace_seconds = 0.3
quiet_seconds = 1.0
longest_wait_seconds = 3.0
[manners]
channel_cooldown_seconds = 0
viewer_cooldown_seconds = 0
[llm]
base_url = "{own.llm.base_url}"
model = "{own.llm.model}"
""",
        encoding="utf-8",
    )
    return path


def environment(own: Settings) -> Mapping[str, str]:
    """Return the bot's environment: nothing of the streamer's own settings but the key of the language model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_")}
    return kept | {
        "RICORDO_TWITCH__ACCESS_TOKEN": "access-1",
        "RICORDO_TWITCH__REFRESH_TOKEN": "refresh-1",
        "RICORDO_TWITCH__CLIENT_SECRET": "client-secret",
        "RICORDO_LLM__API_KEY": own.llm.api_key.get_secret_value(),
        "PYTHONPATH": str(ROOT),
    }


@asynccontextmanager
async def running(config: Path, twitch: FakeTwitch, own: Settings) -> AsyncIterator[None]:
    """Run the shipped program until left; its log goes into a file beside the configuration."""
    (config.parent / "data" / "twitch-tokens.json").unlink(missing_ok=True)  # of the former stand-in
    log = config.parent / "bot.log"
    with log.open("wb") as written:
        bot = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "replays", "run", "--config", config.name,
            cwd=config.parent, env=environment(own), stdin=asyncio.subprocess.DEVNULL, stdout=written,
            stderr=written, start_new_session=True,
        )  # fmt: skip
        try:
            async with asyncio.timeout(START_SECONDS):
                while "channel.chat.message" not in twitch.heard_types():
                    if bot.returncode is not None:
                        raise SystemExit(f"the bot ended with {bot.returncode}:\n{log.read_text(encoding='utf-8')[-2000:]}")
                    await asyncio.sleep(0.05)
            yield
        finally:
            if bot.returncode is None:
                bot.terminate()
                await asyncio.wait_for(bot.wait(), STOP_SECONDS)


class Screen:
    """What the person at the keyboard sees of the bot."""

    def __init__(self, chat: Chat, looking: Looker, console: Console) -> None:
        self._chat = chat
        self._twitch = chat.twitch
        self._looking = looking
        self._console = console
        self.shown = 0

    async def watch(self) -> None:
        """Print every post with the memories behind it, for ever."""
        while True:
            await asyncio.sleep(0.05)
            while self.shown < len(self._twitch.posts):
                post = self._twitch.posts[self.shown]
                await self._show(str(post["message"]), to=str(post.get("reply_parent_message_id")))
                self.shown += 1

    async def _show(self, text: str, *, to: str) -> None:
        self._console.print(Text.assemble(("  ▸ Ricordo: ", "bold green"), (printable(text), "bold")))
        turn = None if to in self._chat.orders else await self._recorded(text)
        if turn is None:
            return
        for quote in turn.memories:
            who = printable(quote.who or "somebody", 25)
            self._console.print(Text(f"      └ {who} wrote, {day(quote.at)}: {printable(quote.text, 160)}", style="dim"))
        for id_ in turn.also:
            self._console.print(Text(f"      └ {printable(id_, 60)}", style="dim"))
        if not turn.memories and not turn.also:
            self._console.print(Text("      └ no memory was found, or needed", style="dim"))

    async def _recorded(self, text: str) -> TurnLook | None:
        """Return the turn that said it, as soon as it is recorded."""
        for _ in range(int(RECORD_SECONDS / 0.1)):
            look = await self._looking.look(3)
            if found := next((turn for turn in look.turns if turn.turn.reply == text), None):
                return found
            await asyncio.sleep(0.1)
        return None

    async def idle(self, sent: int, seconds: float) -> None:
        """Return when everything that was sent was heard, and nothing has happened for so long."""
        before, since = None, 0.0
        while since < seconds:
            look = await self._looking.look(1)
            counts = look.running["counts"] if look.running else {}
            now = (counts, len(self._twitch.posts), self.shown)
            since = since + 0.25 if now == before and counts.get("message", 0) >= sent else 0.0
            before = now
            await asyncio.sleep(0.25)


class Keyboard:
    """Lines from standard input, read beside everything else; None at its end."""

    def __init__(self) -> None:
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="keyboard", daemon=True).start()

    def _read(self) -> None:
        begun = b""
        while read := os.read(0, 65_536):  # not `sys.stdin`: its lock, held here, would spoil the end of the program
            *lines, begun = (begun + read).split(b"\n")
            self._hand_over(*(line.decode("utf-8", "replace") for line in lines))
        self._hand_over(*([begun.decode("utf-8", "replace")] if begun else []), None)

    def _hand_over(self, *lines: str | None) -> None:
        with contextlib.suppress(RuntimeError):  # the demo is over
            for line in lines:
                self._loop.call_soon_threadsafe(self.lines.put_nowait, line)


async def play(chat: Chat, log: Path, every: float, console: Console) -> None:
    """Let the people of a native log speak, a line each `every` seconds."""
    for logged in read_log(log):
        if isinstance(logged.event, Message):
            chat.meet(logged.event.user)
            console.print(Text(f"{printable(logged.event.user.name, 25):<14}  {printable(logged.event.text, 500)}"))
            await chat.say(logged.event.user.login, logged.event.text)
            await asyncio.sleep(every)


async def listen(chat: Chat, console: Console, every: float) -> None:
    """Take what is typed until the end."""
    keyboard = Keyboard()
    while (line := await keyboard.lines.get()) is not None:
        if not sys.stdin.isatty():
            console.print(Text(line.rstrip()))
        answer = await chat.typed(line)
        if answer is None:
            return
        if answer:
            console.print(Text(answer, style="dim"))
        if not sys.stdin.isatty():
            await asyncio.sleep(every)  # a script speaks at the pace of people


async def demo(arguments: argparse.Namespace, console: Console) -> None:
    own, folder = load_settings(arguments.config), arguments.folder
    if arguments.fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    async with FakeTwitch() as twitch:
        began = datetime.now(UTC)
        twitch.stream = a_stream(twitch, began)
        console.print(Text("starting the bot …", style="dim"))
        async with (
            running(write_config(folder, twitch, own), twitch, own),
            looker(folder / "data" / f"channel-{twitch.channel.id}", WallClock()) as looking,
        ):
            model = (
                f"answers come from {own.llm.model}"
                if own.llm.base_url
                else "no language model: answers come from the memory alone"
            )
            console.print(Text(f"live on the channel of casa; {model}", style="bold"))
            chat = Chat(twitch)
            screen = Screen(chat, looking, console)
            async with asyncio.TaskGroup() as group:
                watching = group.create_task(screen.watch())
                if arguments.play:
                    await play(chat, arguments.play, arguments.every, console)
                if not arguments.play or sys.stdin.isatty():
                    console.print(Text(HELP, style="dim"))
                    await listen(chat, console, arguments.every)
                if not sys.stdin.isatty():
                    await screen.idle(chat.sent, IDLE_WITH_MODEL_SECONDS if own.llm.base_url else IDLE_SECONDS)
                watching.cancel()
    console.print(Text(f"stopped. {chat.sent} lines were written. The bot's log: {folder / 'bot.log'}", style="dim"))


def a_stream(twitch: FakeTwitch, began: datetime) -> dict[str, object]:
    """Return the stream that is on, as Twitch tells it: a new one each time."""
    channel = twitch.channel
    return {
        "id": f"{began:%Y%m%d%H%M%S}", "user_id": channel.id, "user_login": channel.login, "user_name": channel.name,
        "game_id": "1", "game_name": "Just Chatting", "type": "live", "title": "Demo", "tags": [], "viewer_count": 1,
        "started_at": f"{began:%Y-%m-%dT%H:%M:%SZ}", "language": "it", "thumbnail_url": "", "tag_ids": [], "is_mature": False,
    }  # fmt: skip


def main() -> None:
    """Run the demo."""
    parser = argparse.ArgumentParser(description="The bot, live in this terminal, against a stand-in for Twitch.")
    parser.add_argument(
        "--play", type=Path, nargs="?", const=SAMPLE, help="let a native chat log speak (default: the bundled one)"
    )
    parser.add_argument("--every", type=float, default=1.5, help="seconds between two lines of a log or a script")
    parser.add_argument("--fresh", action="store_true", help="forget what was told in earlier demos")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the demo keeps its memory")
    parser.add_argument("--config", type=Path, help="configuration whose language model is used (default: ricordo.toml)")
    try:
        asyncio.run(demo(parser.parse_args(), Console(highlight=False, soft_wrap=True)))
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
