"""Damaged files of every format: an import ends with a log or with one of our errors, never with anything else."""

import json
import random
from contextlib import suppress
from pathlib import Path

import pytest
from builders_logs import CHATTER, HOME, command, comment, eventsub, irc

from bot.chatlog import event_to_line
from replays.errors import LogError
from replays.import_log import ImportOptions, import_logs
from replays.log import read_log

USER = {"id": "1", "login": "alba", "name": "Alba"}
ITEM = {"message_id": "m", "timestamp": 1772388000000000, "author": USER, "message": "ciao", "message_type": "text_message"}
SAID = (
    HOME | CHATTER | {"message_id": "m1", "message": {"text": "a", "fragments": [{"type": "text", "text": "a"}]}, "badges": []}
)
NATIVE = {"type": "message", "id": "m", "at": "2026-03-01T18:00:00Z", "user": USER, "text": "ciao", "bits": 1, "x": {"y": 1}}
LOGGED = {"text": "a", "username": "alba", "tags": {"id": "1"}, "timestamp": "2026-03-01T18:00:00Z"}
SAMPLES = {
    "native": f"{json.dumps(NATIVE)}\n{json.dumps(NATIVE)}",
    "irc": "\n".join([irc("ciao", tags={"emotes": "25:0-3", "bits": "1"}), command("CLEARCHAT", " :x"), command("USERNOTICE")]),
    "tcd": "[0:00:01] <~Alba> ciao\n[0:00:02] <Berto> ciao\n",
    "twitchdownloader-text": "[2026-03-01 18:00:00 UTC] Alba: ciao\n[0:00:01] Berto: sì\n",
    "justlog-text": "[2026-03-01 18:00:00] #canale alba: ciao\n[2026-03-01 18:00:01] #canale x has been banned\n",
    "chatterino": "# Start logging at 2026-03-01 18:00:00 UTC\n[18:00:01] alba: ciao\n[18:00:02] x has been banned.\n",
    "rechat": json.dumps({"video": {"id": "v"}, "comments": [comment(1, "a"), comment(2, "b")]}),
    "rechat-comment": json.dumps(comment(1, "a", created_at="2026-03-01T18:00:00Z", message={"user_badges": [{"_id": "vip"}]})),
    "chat-downloader": json.dumps([ITEM, ITEM | {"message_type": "ban_user", "banned_user": "x"}]),
    "recent-messages": json.dumps({"messages": [irc("ciao"), irc("sì")]}),
    "rustlog": json.dumps({"messages": [LOGGED, LOGGED]}),
    "eventsub": json.dumps(eventsub("channel.chat.message", SAID)),
    "irc-cases": json.dumps({"case": "x", "line": irc("ciao")}),
}
TOKENS = [
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"\0",
    b"\xff",
    b'"\\ud800"',
    b"9" * 400,
    b"\n",
    b"NaN",
    b'""',
    b"3.5",
    b"[" * 2000,
]
ROUNDS = 40


def damaged(content: bytes, luck: random.Random) -> bytes:
    work = bytearray(content)
    for _ in range(luck.choice([1, 2, 6])):
        at = luck.randrange(len(work) + 1)
        how = luck.randrange(4)
        if how == 0:
            work[at:at] = luck.choice(TOKENS)
        elif how == 1:
            del work[at : at + luck.randrange(1, 30)]
        elif how == 2:
            colon, comma = work.find(b": ", at), work.find(b",", at + 2)
            work[colon + 2 : comma if comma > colon else len(work)] = luck.choice(TOKENS)
        else:
            work[at:at] = work[luck.randrange(len(work) + 1) :][:50]
    return bytes(work)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_imports_whole(name: str, tmp_path: Path) -> None:
    path, out = tmp_path / "chat", tmp_path / "out.jsonl"
    path.write_text(SAMPLES[name], encoding="utf-8")
    summary = import_logs([path], out)
    assert summary.files[0].format == name
    assert summary.skipped == 0
    assert summary.events > 0


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("forced", [False, True], ids=["told from the content", "forced"])
def test_damage_is_an_error_of_ours_or_a_log_that_reads_back(name: str, tmp_path: Path, *, forced: bool) -> None:
    luck = random.Random(f"{name} {forced}")
    path, out = tmp_path / "chat", tmp_path / "out.jsonl"
    written = 0
    for _ in range(ROUNDS):
        path.write_bytes(damaged(SAMPLES[name].encode(), luck))
        with suppress(LogError):
            import_logs([path], out, ImportOptions(format=name if forced else None))
            lines = [event_to_line(logged.event) for logged in read_log(out)]
            assert "".join(f"{line}\n" for line in lines).encode() == out.read_bytes()
            written += 1
    assert written > 0
