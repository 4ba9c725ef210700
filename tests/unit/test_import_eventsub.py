import json
from pathlib import Path
from typing import Any

import pytest
from builders_logs import CHATTER, HOME, T0, eventsub, load, load_json, load_lines

from memory import Emote
from replays.errors import NotAChat
from replays.import_log import ImportOptions, import_logs

USER = {"user_id": "12", "user_login": "berto", "user_name": "Berto"}
TARGET = {f"target_{key}": value for key, value in USER.items()}


def said(text: str, **changes: object) -> dict[str, Any]:
    body = {"text": text, "fragments": [{"type": "text", "text": text}]}
    event: dict[str, Any] = HOME | CHATTER | {"message_id": "m1", "message": body, "badges": [{"set_id": "vip", "id": "1"}]}
    return event | changes


def test_a_chat_message_keeps_everything(tmp_path: Path) -> None:
    parts = [
        {"type": "mention", "text": "@Berto", "mention": USER},
        {"type": "text", "text": " 😂 "},
        {"type": "emote", "text": "Kappa", "emote": {"id": "25"}},
    ]
    event = said(
        "@Berto 😂 Kappa",
        message={"text": "@Berto 😂 Kappa", "fragments": parts},
        cheer={"bits": 50},
        reply={"parent_message_id": "m0"},
        source_broadcaster_user_id="77",
        message_type="user_intro",
    )
    loaded = load_json(tmp_path, eventsub("channel.chat.message", event))
    message = loaded.messages[0]
    assert (message.user.id, message.at.replace(microsecond=0), message.bits) == ("11", T0, 50)
    assert (message.reply_to, message.source_channel, message.badges) == ("m0", "77", ("vip",))
    assert message.emotes == (Emote(name="Kappa", start=9, end=13),)
    assert [viewer.id for viewer in message.mentions] == ["12"]
    assert message.extra == {"message_type": "user_intro"}
    channel = loaded.streams[0].channel
    assert channel
    assert channel.login == "canale"


def test_an_action_without_matching_fragments_is_read(tmp_path: Path) -> None:
    body = {"text": "\x01ACTION saluta\x01", "fragments": [{"type": "text", "text": "saluta"}]}
    message = load_json(tmp_path, eventsub("channel.chat.message", said("", message=body))).messages[0]
    assert (message.text, message.is_action) == ("saluta", True)


@pytest.mark.parametrize(
    ("kind", "event", "found"),
    [
        ("channel.chat.message_delete", HOME | TARGET | {"message_id": "m1"}, ("message", "m1", "12")),
        ("channel.chat.clear_user_messages", HOME | TARGET, ("user", None, "12")),
        ("channel.chat.clear", HOME, ("chat", None, None)),
        ("channel.ban", HOME | USER | {"is_permanent": True}, ("user", None, "12")),
        ("channel.moderate", HOME | {"action": "timeout", "timeout": USER}, ("user", None, "12")),
        ("channel.moderate", HOME | {"action": "shared_chat_ban", "shared_chat_ban": USER}, ("user", None, "12")),
        ("channel.moderate", HOME | {"action": "delete", "delete": USER | {"message_id": "m1"}}, ("message", "m1", "12")),
        ("channel.moderate", HOME | {"action": "clear"}, ("chat", None, None)),
    ],
)
def test_moderation_becomes_deletions(
    tmp_path: Path, kind: str, event: dict[str, Any], found: tuple[str, str | None, str | None]
) -> None:
    deletion = load_json(tmp_path, eventsub(kind, event)).deletions[0]
    assert (deletion.scope, deletion.message_id, deletion.user_id) == found


def test_a_timeout_keeps_its_length(tmp_path: Path) -> None:
    event = HOME | USER | {"is_permanent": False, "banned_at": "2026-03-01T18:00:00Z", "ends_at": "2026-03-01T18:10:00Z"}
    assert load_json(tmp_path, event).deletions[0].extra["duration"] == 600


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("resub", "resub"),
        ("sub_gift", "gift"),
        ("shared_chat_raid", "raid"),
        ("announcement", "announcement"),
        ("newer", "newer"),
    ],
)
def test_notifications_keep_words_and_details(tmp_path: Path, word: str, kind: str) -> None:
    event = said("evviva", notice_type=word, system_message="Alba!", **{word: {"cumulative_months": 8}})
    notice = load_json(tmp_path, eventsub("channel.chat.notification", event)).notices[0]
    assert (notice.kind, notice.text, notice.data["cumulative_months"]) == (kind, "evviva", 8)
    anonymous = event | {"chatter_is_anonymous": True}
    assert load_json(tmp_path, eventsub("channel.chat.notification", anonymous)).notices[0].user is None


@pytest.mark.parametrize(
    ("kind", "event", "found"),
    [
        ("channel.cheer", HOME | USER | {"bits": 5, "is_anonymous": False, "message": "ciao"}, ("cheer", "12", "ciao")),
        ("channel.cheer", HOME | {"bits": 5, "is_anonymous": True, "message": "ciao"}, ("cheer", None, "ciao")),
        ("channel.subscription.message", HOME | USER | {"message": {"text": "evviva"}}, ("resub", "12", "evviva")),
        (
            "channel.channel_points_custom_reward_redemption.add",
            HOME | USER | {"id": "r1", "user_input": "acqua", "redeemed_at": "2026-03-01T18:00:00Z"},
            ("redemption", "12", "acqua"),
        ),
        (
            "channel.raid",
            {
                "from_broadcaster_user_id": "12",
                "from_broadcaster_user_login": "berto",
                "to_broadcaster_user_id": "99",
                "viewers": 3,
            },
            ("raid", "12", None),
        ),
        ("channel.poll.end", HOME | {"id": "p", "title": "Che gioco?"}, ("poll_end", None, None)),
    ],
)
def test_platform_events_become_notices(
    tmp_path: Path, kind: str, event: dict[str, Any], found: tuple[str, str | None, str | None]
) -> None:
    notice = load_json(tmp_path, eventsub(kind, event)).notices[0]
    assert (notice.kind, notice.user.id if notice.user else None, notice.text) == found


def test_announced_streams_replace_the_ones_made_up(tmp_path: Path) -> None:
    online = eventsub("stream.online", HOME | {"id": "9001", "type": "live", "started_at": "2026-03-01T18:00:00Z"})
    offline = eventsub("stream.offline", HOME | {"id": "9001"}, at="2026-03-01T20:00:00Z")
    message = eventsub("channel.chat.message", said("ciao"), at="2026-03-01T19:00:00Z")
    early = eventsub("channel.chat.message", said("presto", message_id="m0"), at="2026-03-01T17:59:00Z")
    loaded = load_lines(tmp_path, [early, online, message, offline])
    assert [(event.event, event.stream_id) for event in loaded.streams] == [
        ("online", "canale-20260301T175900Z"),
        ("offline", "canale-20260301T175900Z"),
        ("online", "9001"),
        ("offline", "9001"),
    ]


def test_bare_events_and_lists_of_events_are_read(tmp_path: Path) -> None:
    bare = load_json(tmp_path, said("ciao") | {"timestamp": "2026-03-01T18:00:00Z"})
    assert (bare.messages[0].text, bare.messages[0].at) == ("ciao", T0)
    listed = load_json(tmp_path, {"subscription": {"type": "channel.ban"}, "event": [HOME | USER, HOME | USER, 5]})
    assert (len(listed.deletions), listed.report.warnings["no_time"], listed.report.skipped) == (2, 2, 1)
    row = "\n".join(["{", '"subscription": {"type": "channel.chat.clear"}, "event": {}', "}"] * 2)
    path = tmp_path / "row.json"
    path.write_text(row + "{")
    assert len(load(path).deletions) == 2


@pytest.mark.parametrize(
    ("value", "said_so"),
    [
        ({"metadata": {"message_type": "session_keepalive"}, "payload": {}}, "session_keepalive"),
        ({"challenge": "x", "subscription": {"type": "channel.follow"}}, "no event"),
        (eventsub("automod.message.hold", HOME | {"message": {"text": "brutto"}}), "automod.message.hold"),
        (eventsub("channel.moderate", HOME | {"action": "slow"}), "channel.moderate slow"),
        (HOME, "fit several types"),
        (eventsub("channel.chat.message", HOME), "the chatter is missing"),
        (eventsub("channel.chat.message_delete", HOME), "message_id"),
        (eventsub("channel.ban", HOME), "user_id"),
        (eventsub("stream.offline", HOME), "not in the file"),
        ({"text": "", "emotes": None}, "keys: emotes, text"),
    ],
)
def test_what_is_no_chat_is_one_clear_error(tmp_path: Path, value: object, said_so: str) -> None:
    path = tmp_path / "e.json"
    path.write_text(json.dumps(value))
    with pytest.raises(NotAChat, match=said_so):
        import_logs([path], tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_another_channel_is_left_out_where_one_is_asked_for(tmp_path: Path) -> None:
    events = [eventsub("channel.chat.message", said("ciao")), eventsub("channel.chat.clear", HOME)]
    path = tmp_path / "e.json"
    path.write_text("\n".join(json.dumps(event) for event in events))
    with pytest.raises(NotAChat, match="other channel"):
        import_logs([path], tmp_path / "out.jsonl", ImportOptions(channel="altrove"))
