"""TwitchIO's payload classes, built offline from what Twitch sends, become our events."""

from typing import Any

import pytest
import twitchio
from builders_live import at, viewer
from fakes import twitch_payloads as payloads
from twitchio.models.eventsub_ import create_event_instance

from bot.twitch_events import message_of, notice_of

HOME, ALICE, BOB = viewer("casa"), viewer("alice"), viewer("bob")
SUB = {"sub_tier": "1000", "is_prime": False, "duration_months": 1}
RESUB = {
    "cumulative_months": 14, "duration_months": 1, "streak_months": None, "sub_tier": "1000", "is_prime": False,
    "is_gift": False,
    "gifter_is_anonymous": None, "gifter_user_id": None, "gifter_user_name": None, "gifter_user_login": None,
}  # fmt: skip
RAID = {"user_id": "7", "user_login": "altri", "user_name": "Altri", "viewer_count": 42, "profile_image_url": ""}


def build(kind: str, event: payloads.Json) -> Any:  # noqa: ANN401 - TwitchIO's own return type
    metadata = {
        "message_id": "d1", "message_type": "notification", "message_timestamp": "2026-03-01T20:00:00.123456789Z",
        "subscription_type": kind, "subscription_version": "1",
    }  # fmt: skip
    return create_event_instance(kind, {"metadata": metadata, "payload": {"subscription": {}, "event": event}})


def chat(text: str, **more: Any) -> twitchio.ChatMessage:  # noqa: ANN401 - any key of the payload
    event = payloads.chat_message(HOME, ALICE, text, message_id="m1", more=more)
    built: twitchio.ChatMessage = build("channel.chat.message", event)
    return built


def test_a_chat_message_keeps_its_words_its_writer_and_its_moment() -> None:
    payload = chat("ciao")
    assert payload.timestamp is not None
    message = message_of(payload, payload.timestamp)
    assert (message.id, message.text, message.user, message.at.microsecond) == ("m1", "ciao", ALICE, 123456)
    assert (message.reply_to, message.bits, message.source_channel, message.is_action) == (None, 0, None, False)


def test_bits_replies_and_shared_chat_are_kept() -> None:
    payload = chat(
        "@Bob Cheer100 grazie",
        cheer={"bits": 100},
        reply=payloads.reply_to("m0", BOB),
        source_broadcaster_user_id="555",
        source_broadcaster_user_login="altri",
        source_broadcaster_user_name="Altri",
    )
    message = message_of(payload, at(0))
    assert (message.text, message.bits, message.reply_to, message.source_channel) == ("Cheer100 grazie", 100, "m0", "555")


def test_a_shared_chat_message_from_home_is_from_home() -> None:
    payload = chat(
        "ciao", source_broadcaster_user_id=HOME.id, source_broadcaster_user_login="casa", source_broadcaster_user_name="Casa"
    )
    assert message_of(payload, at(0)).source_channel is None


@pytest.mark.parametrize(
    ("notice_type", "details", "text", "kind", "facts"),
    [
        ("sub", SUB, "", "sub", {}),
        ("resub", RESUB, "quattordici mesi!", "resub", {"months": 14}),
        ("raid", RAID, "", "raid", {"viewers": 42}),
        ("announcement", {"color": "PRIMARY"}, "stasera torneo", "announcement", {}),
        ("watch_streak", {"streak_count": 5, "channel_points_awarded": 100}, "cinque!", "watch_streak", {}),
        ("prime_paid_upgrade", {"sub_tier": "1000"}, "", "sub", {}),
        ("community_sub_gift", {"id": "1", "total": 5, "sub_tier": "1000", "cumulative_total": None}, "", "gift", {}),
    ],
)
def test_a_notice_keeps_the_viewers_own_words(  # noqa: PLR0917 - one row of the table
    notice_type: str, details: payloads.Json, text: str, kind: str, facts: payloads.Json
) -> None:
    event = payloads.chat_notification(HOME, ALICE, notice_type, message_id="n1", text=text, details=details)
    notice = notice_of(build("channel.chat.notification", event), at(0))
    assert (notice.id, notice.kind, notice.user, notice.text) == ("n1", kind, ALICE, text or None)
    assert notice.data == {"notice_type": notice_type, "system_message": f"Alice: {notice_type}", **facts}


def test_an_anonymous_giver_stays_anonymous() -> None:
    event = payloads.chat_notification(HOME, ALICE, "raid", message_id="n1", details=RAID) | {"chatter_is_anonymous": True}
    assert notice_of(build("channel.chat.notification", event), at(0)).user is None
