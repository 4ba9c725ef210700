"""Every file of the development data imports, or fails with one clear error where it is no chat."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from builders_logs import Imported, load, load_lines

from bot.chatlog import event_to_line
from memory import Message, Notice
from replays.errors import NotAChat
from replays.import_log import import_logs
from replays.log import read_log
from replays.log_report import LogReport

TWITCH = Path(os.environ.get("RICORDO_DATA", Path(__file__).parents[3] / "shared" / "data")) / "twitch"
FILES = sorted(path for path in TWITCH.rglob("*") if path.is_file())
HARD = TWITCH / "irc_cases" / "twitch_lines.jsonl"
CASES = [json.loads(line) for line in HARD.read_text(encoding="utf-8").split("\n") if line] if HARD.exists() else []
pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not FILES, reason=f"the development data is not at {TWITCH}: set RICORDO_DATA"),
]

# Messages, notices, deletions. A message marked `rm-deleted` counts as a deletion too.
COUNTS = {
    "irc/busy_2019-09-15.txt": (4933, 9, 58),
    "irc/emote_heavy_2022-01-01.txt": (1941, 1, 58),
    "malformed/irc_nul_separated.txt": (146, 0, 4),
    "recent_messages/recent_2024-01-06.json": (798, 0, 6),
    "rechat_v5/vod_2021-07-15.json": (3069, 21, 0),
    "rechat_v5/single_comment.json": (1, 0, 0),
    "rechat_v5/single_comment_cheer.json": (0, 1, 0),
    "rechat_v5/single_comment_simple.json": (1, 0, 0),
    "twitchdownloader/two_comments.json": (2, 0, 0),
    "twitchdownloader/excerpt_2025-01-01.txt": (14, 0, 0),
    "chat_downloader/old_vod_2020-12.json": (264, 0, 0),
    "chat_downloader/old_live_2020-12_truncated_types.json": (3341, 0, 0),
    "chat_downloader/modern_samples.json": (9, 0, 0),
}
# EventSub types that are no public chat: settings, rights, and what was held back from the chat.
NO_CHAT = (
    "automod", "channel.moderate ", "user_message_", "suspicious_user", "frame ", "no event", "progress", "guest_star", "unban",
    "shield_mode", "subscription.end", "vip", "warning", "moderator.add", "authorization", "user.update", "chat_settings",
    "redemption.update", "extension.bits", "several types", "keys:", "is empty",
)  # fmt: skip


def of(name: str) -> Imported:
    return load(TWITCH / name)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(TWITCH)))
def test_every_file_imports_or_says_why_it_is_no_chat(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    try:
        summary = import_logs([path], out)
    except NotAChat as error:
        assert any(reason in str(error) for reason in NO_CHAT), error  # noqa: PT017 -- both ends are right, per file
        assert not out.exists()
        return
    report = LogReport(path=out)
    events = [logged.event for logged in read_log(out, report)]
    assert events
    assert report.skipped == 0
    assert "".join(event_to_line(event) + "\n" for event in events).encode() == out.read_bytes()
    assert summary.skipped == (20 if path.name == "irc_syntax.jsonl" else 0)


@pytest.mark.parametrize("name", COUNTS)
def test_nothing_is_lost(name: str) -> None:
    loaded = of(name)
    assert (len(loaded.messages), len(loaded.notices), len(loaded.deletions)) == COUNTS[name]
    assert len(loaded.streams) % 2 == 0


def test_a_busy_channel_keeps_its_people_and_times() -> None:
    loaded = of("irc/busy_2019-09-15.txt")
    assert len({event.user.id for event in loaded.messages + loaded.notices if event.user}) >= 1200
    times = [event.at for event in loaded.messages]
    assert times == sorted(times)
    assert (times[-1] - times[0]).total_seconds() == pytest.approx(7.7 * 60, abs=10)
    assert all(event.scope == "user" and event.user_id for event in loaded.deletions)
    assert Counter(notice.kind for notice in loaded.notices).keys() <= {"sub", "resub", "gift", "raid"}


def test_an_emote_heavy_channel_keeps_actions_replies_and_invisible_characters() -> None:
    loaded = of("irc/emote_heavy_2022-01-01.txt")
    assert sum(message.is_action for message in loaded.messages) == 71
    assert sum(message.reply_to is not None for message in loaded.messages) == 3
    assert sum("\U000e0000" in message.text for message in loaded.messages) == 143
    assert len({message.user.id for message in loaded.messages}) == 165


def test_a_highlight_is_dated_by_its_offsets() -> None:
    loaded = of("rechat_v5/vod_2021-07-15.json")
    times = [event.at for event in loaded.messages]
    assert (max(times) - min(times)).total_seconds() > 2900
    people = {event.user.id for event in loaded.messages + loaded.notices if event.user}
    assert len(people) == 836
    with_emotes = [message for message in loaded.messages if message.emotes]
    assert len(with_emotes) > 800
    assert all(message.text[e.start : e.end + 1] == e.name for message in with_emotes for e in message.emotes)


@pytest.mark.slow
def test_a_year_of_tcd_becomes_one_log_with_its_streams_in_order(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    summary = import_logs(sorted((TWITCH / "tcd").glob("*.tcd"), reverse=True), out)
    assert summary.total("counts") == {"message": 91_187, "stream": 74}
    assert [path.stat().st_size for path, _ in summary.failed] == [0]
    assert summary.skipped == 0
    users, ids = Counter[str](), set()
    last = None
    for logged in read_log(out):
        if isinstance(logged.event, Message):
            users[logged.event.user.id] += 1
            ids.add(logged.event.id)
            assert last is None or logged.event.at >= last
            last = logged.event.at
    assert len(users) == 3531
    assert len(ids) == 91_187


@pytest.mark.parametrize("case", [case for case in CASES if "expect" in case], ids=lambda case: case["case"])
def test_hard_lines_mean_what_another_client_made_of_them(case: dict[str, Any], tmp_path: Path) -> None:
    try:
        loaded = load_lines(tmp_path, [case])
    except NotAChat:
        assert case["category"] == "NOTICE"
        return
    said: list[Message | Notice] = [*loaded.messages, *loaded.notices]
    for expected in case["expect"]:
        if "loginName" in expected or "localizedName" in expected:
            assert any(_matches(event, expected) for event in said), expected
        elif "timeoutUser" in expected:
            target = expected["timeoutUser"]
            assert any(target in {f"msg:{event.message_id}", event.extra.get("login")} for event in loaded.deletions)
        elif case["category"] != "NOTICE":
            assert loaded.notices or loaded.deletions


def _matches(event: Message | Notice, expected: dict[str, Any]) -> bool:
    """Compare what the other client made of a line: it takes the mention off a reply, and reads every line in one channel."""
    text = event.text or ""
    if isinstance(event, Message) and event.reply_to:
        text = text.partition(" ")[2].strip()
    badges = event.badges if isinstance(event, Message) else event.extra.get("badges", ())
    known = {
        "loginName": event.user.login if event.user else None,
        "displayName": event.user.name if event.user else None,
        "localizedName": event.user.name if event.user else None,
        "userID": event.user.id if event.user else None,
        "id": event.id,
        "messageText": text,
        "twitchBadges": list(badges),
        "bits": event.bits if isinstance(event, Message) else None,
        "replyParent": event.reply_to if isinstance(event, Message) else None,
    }
    return all(known[key] == value for key, value in expected.items() if key != "channelName")
