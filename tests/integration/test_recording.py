"""A recording of the chat: it plays as the evening went, and what is erased from the memory leaves it down to the bytes."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from builders_forget import files_with
from builders_live import at, message, offline, online
from builders_obey import MOD, Chat, a_chat
from builders_twitch import twitch_settings
from fakes import twitch_payloads as payloads
from fakes.twitch import FakeTwitch

from bot.app import Hooks, make_loop, open_channel_memory
from bot.canon import sync_canon
from bot.commands import Commands, CommandSettings
from bot.going_live import recorder_of
from bot.live import LiveSettings, run_live
from bot.recording import Recorder, RecordingSettings, recording
from bot.stopping import Stopping
from bot.turn import TurnOutcome
from bot.twitch import TwitchConnection
from config.settings import Settings
from memory import Clock, Deletion, VirtualClock, WallClock, holding
from replays.runner import Replay, ReplayOptions

OWNER = ("broadcaster",)
PATIENT = {"source_seconds": 40, "retrieve_seconds": 50, "recall_seconds": 60}  # nothing is late, however busy the machine


def lines_of(folder: Path) -> list[dict[str, Any]]:
    """Everything that was recorded, in order."""
    found = sorted((folder / "recordings").glob("*.jsonl"))
    return [json.loads(line) for path in found for line in path.read_text(encoding="utf-8").splitlines()]


def texts_of(folder: Path) -> list[str]:
    return [line["text"] for line in lines_of(folder) if "text" in line]


@dataclass
class Recorded:
    """A chat that is recorded."""

    chat: Chat
    recorder: Recorder
    folder: Path

    async def play(self, *events: Any) -> None:  # noqa: ANN401 - any event
        await self.chat.play(*events)

    async def settle(self) -> None:
        """Let every job end, and write what had to wait."""
        await self.chat.loop.flush("end")
        await self.chat.memory.run_jobs()
        self.recorder.finish()


@asynccontextmanager
async def recorded(folder: Path, **more: Any) -> AsyncIterator[Recorded]:  # noqa: ANN401 - any setting
    made: list[Recorder] = []

    def make(clock: VirtualClock) -> Recorder:
        settings = RecordingSettings(directory=folder / "recordings", **more)
        made.append(Recorder(settings, clock, verb_of=Commands(CommandSettings()).verb_of))
        return made[0]

    async with a_chat(folder, recorder=make) as chat:
        yield Recorded(chat, made[0], folder)


async def test_what_is_heard_and_said_is_written_in_its_order(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(message("ricordino ci sei?", seconds=10, message_id="a2"))
        await evening.play(offline(seconds=60))
    kinds = [(line["type"], line.get("id", line.get("event"))) for line in lines_of(tmp_path)]
    assert kinds == [
        ("stream", "online"), ("message", "a1"), ("message", "b1"), ("message", "c1"), ("message", "a2"),
        ("reply", kinds[5][1]), ("stream", "offline"),
    ]  # fmt: skip
    first, reply = lines_of(tmp_path)[0], lines_of(tmp_path)[5]
    assert (first["channel"]["login"], first["bot"]["login"]) == ("casa", "ricordo_bot")
    assert (reply["in_reply_to"], reply["text"]) == (["a2"], "risposta 1")
    assert all(path.stat().st_mode & 0o77 == 0 for path in (tmp_path / "recordings").iterdir())


async def test_neither_bots_nor_duplicates_nor_the_opted_out_are_written(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(
            message("!optout", by="bob", seconds=10, message_id="b2"),
            message("questo non si tiene", by="bob", seconds=20, message_id="b3"),
            message("!cosasai", by="bob", seconds=30, message_id="b4"),
            message("bip", by="drone", seconds=31, message_id="d1", is_bot=True),
            message("il mio gatto si chiama Birba", seconds=1, message_id="a1"),
            message("!altrobot", seconds=33, message_id="a3"),
        )
        await evening.settle()
    assert [line["id"] for line in lines_of(tmp_path) if line["type"] == "message"] == ["a1", "c1"]


@pytest.mark.parametrize(
    ("orders", "gone", "stays"),
    [
        ([message("!forgetme", seconds=20), message("!forgetme yes", seconds=25)], "Birba", "Nerone"),
        ([message("!optout", seconds=20)], "Birba", "Nerone"),
        ([message("!forget @bob nerone", by="mara", seconds=20, badges=MOD)], "Nerone", "Birba"),
        ([message("!forget #a1", by="mara", seconds=20, badges=MOD)], "Birba", "Nerone"),
        ([message("!forget last", by="mara", seconds=20, badges=MOD)], "Panda", "Nerone"),
        ([message("!wipe", by="casa", seconds=20, badges=OWNER), message("!wipe yes", by="casa", seconds=25, badges=OWNER)],
         "Birba", "stream"),
        ([message("!correct @alice Birba -> Nuvola Ottava", by="mara", seconds=20, badges=MOD)], "Birba", "Nuvola Ottava"),
        ([Deletion(at=at(20), scope="message", message_id="a1")], "Birba", "Nerone"),
        ([Deletion(at=at(20), scope="user", user_id="id-alice")], "Birba", "Nerone"),
    ],
    ids=["forgetme", "optout", "words", "id", "last", "wipe", "correct", "deletion", "time-out"],
)  # fmt: skip
async def test_what_is_erased_leaves_the_recording_down_to_the_bytes(
    tmp_path: Path, orders: list[Any], gone: str, stays: str
) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(message("boh", by="dora", seconds=10, message_id="x"))  # its batch goes before: all is stored
        await evening.chat.loop.flush("end")
        if any("last" in getattr(order, "text", "") for order in orders):
            await evening.play(message("la mia Panda è verde", seconds=12, by="carl", message_id="c9"))
            await evening.chat.loop.flush("end")
            gone = "la mia Panda è verde"
        assert files_with(tmp_path / "recordings", gone)
        await evening.play(*orders)
        await evening.settle()
        assert files_with(tmp_path / "recordings", gone) == []
        assert files_with(tmp_path / "recordings", stays)
        assert files_with(tmp_path, gone) == [] or isinstance(orders[0], Deletion)  # after moderation, SQL is cleaned by night


async def test_a_time_out_takes_the_lines_of_its_own_stream_alone(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(offline(seconds=30), online("s2", seconds=7200))
        await evening.play(message("oggi ho un pappagallo", seconds=7201, message_id="a2"))
        await evening.play(Deletion(at=at(7210), scope="user", user_id="id-alice"))
        await evening.settle()
        assert files_with(tmp_path / "recordings", "pappagallo") == []
        assert files_with(tmp_path / "recordings", "Birba")
        await evening.chat.memory.run_jobs()
        assert files_with(tmp_path / "recordings", "Birba")


async def test_a_command_that_names_somebody_else_stays(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(message("!memories @alicetta", by="mara", seconds=11, badges=MOD))
        await evening.play(message("!forgetme", seconds=20), message("!forgetme yes", seconds=25))
        await evening.settle()
        assert "!memories @alicetta" in texts_of(tmp_path)


async def test_a_reply_to_an_erased_question_goes_with_it(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(message("ricordino ci sei?", seconds=10, message_id="a2"))
        await evening.chat.loop.flush("end")
        assert "risposta 1" in texts_of(tmp_path)
        await evening.play(Deletion(at=at(20), scope="message", message_id="a2"))
        await evening.settle()
        assert "risposta 1" not in texts_of(tmp_path)


async def test_a_command_that_names_a_forgotten_viewer_goes_too(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(message("!state note @alice porta il vino", by="mara", seconds=10, badges=MOD))
        await evening.play(message("!memories @alice", by="mara", seconds=11, badges=MOD))
        await evening.settle()
        assert len([text for text in texts_of(tmp_path) if text.startswith("!")]) == 2
        await evening.play(message("!forgetme", seconds=20), message("!forgetme yes", seconds=25))
        await evening.settle()
        assert [text for text in texts_of(tmp_path) if text.startswith("!")] == []


async def test_a_line_that_comes_after_its_deletion_is_not_written(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(
            Deletion(at=at(20), scope="message", message_id="late"), message("segreto", seconds=19, message_id="late")
        )
        await evening.settle()
    assert files_with(tmp_path / "recordings", "segreto") == []


async def test_lines_heard_while_a_file_is_rewritten_are_written_afterwards(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        with holding(tmp_path / "recordings", wait=True) as held:
            assert held
            await evening.play(message("nel frattempo", seconds=10, message_id="a2"))
            assert "nel frattempo" not in texts_of(tmp_path)
        await evening.settle()
        assert texts_of(tmp_path)[-1] == "nel frattempo"


async def test_a_recording_that_cannot_be_rewritten_now_is_cleaned_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = tmp_path / "recordings" / ".lock"
    async with recorded(tmp_path) as evening:
        lock.unlink()
        lock.mkdir()  # nobody can hold the folder
        await evening.play(message("!forgetme", seconds=20), message("!forgetme yes", seconds=25))
        await evening.play(Deletion(at=at(26), scope="message", message_id="b1"))
        await evening.settle()
        assert files_with(tmp_path / "recordings", "Birba")
        assert "recording_not_cleaned" in capsys.readouterr().out
        lock.rmdir()
        await evening.play(message("riecco", seconds=7200, message_id="c2", by="carl"))
        await evening.settle()
        assert files_with(tmp_path / "recordings", "Birba", "Nerone") == []
        assert "riecco" in texts_of(tmp_path)


async def test_lines_that_no_room_is_left_for_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with recorded(tmp_path, most_waiting=2) as evening:
        with holding(tmp_path / "recordings", wait=True):
            for number in range(5):
                await evening.play(message(f"riga {number}", seconds=10 + number, message_id=f"r{number}"))
        await evening.settle()
    assert [text for text in texts_of(tmp_path) if text.startswith("riga")] == ["riga 0", "riga 1"]
    assert "lines_lost=3" in capsys.readouterr().out


async def test_the_keeper_writes_and_cleans_by_itself(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening, recording(evening.recorder):
        await evening.play(Deletion(at=at(20), scope="message", message_id="a1"))
        async with asyncio.timeout(30):
            while files_with(tmp_path / "recordings", "Birba"):  # noqa: ASYNC110 - a thread works on it
                await asyncio.sleep(0.01)


async def test_a_torn_line_goes_with_the_next_erasure(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        [path] = (tmp_path / "recordings").glob("*.jsonl")
        with path.open("ab") as file:
            file.write(b'{"type":"message","id":"z","text":"a met')
        await evening.play(Deletion(at=at(20), scope="message", message_id="a1"))
        await evening.settle()
        assert files_with(tmp_path / "recordings", "a met", "Birba") == []
        assert files_with(tmp_path / "recordings", "Nerone")


async def test_a_stream_that_goes_on_goes_on_in_its_file_and_another_gets_its_own(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(online(seconds=30), message("di nuovo", seconds=31, message_id="a2"), offline(seconds=40))
        await evening.play(online("s2", seconds=7200), message("altra sera", seconds=7201, message_id="a3"))
        first, second = sorted((tmp_path / "recordings").glob("*.jsonl"))
    assert first.stem.endswith("-s1")
    assert second.stem.endswith("-s2")
    assert "di nuovo" in first.read_text(encoding="utf-8")
    assert "altra sera" in second.read_text(encoding="utf-8")


async def test_a_temporary_stream_and_the_real_one_share_a_file(tmp_path: Path) -> None:
    async with recorded(tmp_path) as evening:
        await evening.play(offline(seconds=30), message("prima", seconds=40, message_id="a2"))
        await evening.play(online("777", seconds=50), message("dopo", seconds=51, message_id="a3"))
    [path] = [path for path in (tmp_path / "recordings").glob("*.jsonl") if "live-casa" in path.stem]
    streams = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if '"stream"' in line]
    assert [(one["stream_id"], one.get("temporary", False)) for one in streams][1:] == [("777", False)]
    assert streams[0]["temporary"]
    assert "dopo" in path.read_text(encoding="utf-8")


async def test_a_file_that_is_full_is_followed_by_another_that_can_be_played_alone(tmp_path: Path) -> None:
    async with recorded(tmp_path, most_bytes=600) as evening:
        for number in range(6):
            await evening.play(message(f"riga {number}", seconds=10 + number, message_id=f"r{number}"))
    files = sorted((tmp_path / "recordings").glob("*.jsonl"))
    assert len(files) > 2
    assert all(json.loads(path.read_text(encoding="utf-8").splitlines()[0])["type"] == "stream" for path in files)
    assert [text for text in texts_of(tmp_path) if text.startswith("riga")] == [f"riga {number}" for number in range(6)]


async def test_recordings_go_after_their_days_also_where_nothing_is_recorded_any_more(tmp_path: Path) -> None:
    async with recorded(tmp_path):
        pass
    [path] = (tmp_path / "recordings").glob("*.jsonl")
    later = WallClock().now() + timedelta(days=29)
    assert recorder_of(Settings(), tmp_path, VirtualClock(later)) is None
    assert path.exists()
    recorder_of(Settings(), tmp_path, VirtualClock(later + timedelta(days=2)))
    assert not path.exists()


async def test_a_folder_that_cannot_be_written_costs_lines_and_not_the_evening(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "recordings").write_text("in the way")
    async with recorded(tmp_path) as evening:
        await evening.play(message("ricordino ci sei?", seconds=10, message_id="a2"))
        await evening.settle()
        assert evening.chat.heard == ["risposta 1"]
    out = capsys.readouterr().out
    assert "recording_failed" in out
    assert "recording_incomplete" in out


@dataclass(frozen=True)
class Seen:
    """What a turn came to."""

    lines: tuple[str, ...]
    closed: str
    plan: tuple[str, ...]
    block: str
    said: str | None


def seen(outcome: TurnOutcome) -> Seen:
    turn = outcome.turn
    assert turn.recall is not None
    assert not turn.recall.degraded
    return Seen(
        lines=tuple(line.id for line in turn.batch.lines),
        closed=f"{turn.batch.stream_id} {turn.batch.flush_reason} {turn.batch.closed_at.isoformat()}",
        plan=tuple(str(request) for request in turn.recall.plan.requests),
        block=turn.recall.block.text,
        said=turn.said.text,
    )


async def test_a_live_evening_and_the_replay_of_its_recording_give_the_same_plans_and_blocks(tmp_path: Path) -> None:
    sections: dict[str, Any] = {
        "storage": {"data_dir": tmp_path / "data"},
        "twitch": {"channel": "casa"},
        "persona": {"aliases": ("ricordino",)},
        "recording": {"enabled": True},
        "retrieval": PATIENT,
        "batching": {"addressed_grace_seconds": 0.1, "quiet_seconds": 0.3, "longest_wait_seconds": 1.0},
        "manners": {"channel_cooldown_seconds": 0, "viewer_cooldown_seconds": 0},
    }
    settings = Settings(**sections)
    live: list[Seen] = []
    await _live_evening(settings, tmp_path, lambda outcome: live.append(seen(outcome)))
    [log] = (tmp_path / "data" / "channel-100" / "recordings").glob("*.jsonl")
    replayed: list[Seen] = []
    options = ReplayOptions(log=log, out=tmp_path / "out")
    await Replay(options, settings, on_turn=lambda outcome: replayed.append(seen(outcome))).run()
    assert [turn for turn in live if turn.said]
    assert any("serra" in turn.block for turn in live)
    assert replayed == live


async def _live_evening(settings: Settings, folder: Path, over: Callable[[TurnOutcome], None]) -> None:
    clock: Clock = WallClock()
    directory = settings.storage.data_dir / "channel-100"
    turns: list[TurnOutcome] = []
    async with (
        FakeTwitch() as fake,
        TwitchConnection(twitch_settings(fake, folder), clock) as twitch,
    ):
        account = await twitch.log_in()
        async with open_channel_memory(settings, directory, channel=account.channel, clock=clock) as memory:
            await sync_canon(memory, None)
            recorder = recorder_of(settings, directory, clock)
            assert recorder is not None

            def heard(outcome: TurnOutcome) -> None:
                recorder.over(outcome)
                turns.append(outcome)
                over(outcome)

            hooks = Hooks(voice=twitch.voice(), on_event=recorder.heard, on_turn=heard)
            loop = make_loop(settings, memory=memory, clock=clock, channel=account.channel, bot=account.bot, hooks=hooks)
            stopping = Stopping()

            async def until(lines: int) -> None:
                async with asyncio.timeout(60):
                    while sum(len(turn.turn.batch.lines) for turn in turns) < lines:  # noqa: ASYNC110 - filled by a callback
                        await asyncio.sleep(0.02)
                await memory.run_jobs()

            async with recording(recorder), asyncio.TaskGroup() as group:
                group.create_task(run_live(loop, twitch, LiveSettings(), clock, stopping=stopping))
                await fake.until(lambda: "stream.offline" in fake.heard_types())
                await fake.chat("alice", "io lavoro in una serra, vendiamo basilico", message_id="a1")
                await fake.chat("bruno", "che freddo stasera in studio", message_id="b1")
                await fake.chat("bruno", "che freddo stasera in studio", message_id="b1")
                await until(2)
                await fake.go_online("777")
                for number in range(40):
                    await fake.chat("carla", f"riga numero {number}", message_id=f"c{number}")
                await fake.retitle("Si raccoglie il basilico", "Just Chatting")
                await until(43)
                await fake.chat("alice", "ricordino che lavoro faccio?", message_id="a2")
                await until(44)
                parent = payloads.reply_to(fake.post_ids[-1], fake.bot)
                await fake.chat("bruno", "e io invece?", message_id="b2", reply=parent)
                await until(45)
                stopping.asked.set()
