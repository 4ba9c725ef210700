"""EventSub events as Twitch words them: every key present, null where it does not apply."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from memory import Viewer

Json = dict[str, Any]
SHARED_NOTICES = (
    "sub", "resub", "sub_gift", "community_sub_gift", "gift_paid_upgrade", "prime_paid_upgrade", "raid", "pay_it_forward",
    "announcement", "modiversary",
)  # fmt: skip
NOTICES = (*SHARED_NOTICES, "unraid", "bits_badge_tier", "charity_donation", "watch_streak")


def timestamp(at: datetime) -> str:
    """Return a time with the nine fractional digits that Twitch writes."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f") + "000Z"


def user(viewer: Viewer, prefix: str) -> Json:
    return {f"{prefix}_user_id": viewer.id, f"{prefix}_user_login": viewer.login, f"{prefix}_user_name": viewer.name}


def fragment(text: str, *, emote: str | None = None, mention: Viewer | None = None) -> Json:
    kind = "emote" if emote else "mention" if mention else "text"
    return {
        "type": kind,
        "text": text,
        "cheermote": None,
        "emote": {"id": emote, "emote_set_id": "0", "owner_id": "0", "format": ["static"]} if emote else None,
        "mention": {"user_id": mention.id, "user_login": mention.login, "user_name": mention.name} if mention else None,
    }


def chat_message(
    broadcaster: Viewer,
    chatter: Viewer,
    text: str,
    *,
    message_id: str,
    fragments: Sequence[Json] = (),
    badges: Sequence[str] = (),
    more: Mapping[str, Any] | None = None,
) -> Json:
    return {
        **user(broadcaster, "broadcaster"),
        **user(chatter, "chatter"),
        "message_id": message_id,
        "message": {"text": text, "fragments": list(fragments) or [fragment(text)]},
        "color": "#00FF7F",
        "badges": [{"set_id": badge, "id": "1", "info": ""} for badge in badges],
        "message_type": "text",
        "cheer": None,
        "reply": None,
        "channel_points_custom_reward_id": None,
        "channel_points_animation_id": None,
        "source_broadcaster_user_id": None,
        "source_broadcaster_user_login": None,
        "source_broadcaster_user_name": None,
        "source_message_id": None,
        "source_badges": None,
        "is_source_only": None,
        **(more or {}),
    }


def reply_to(parent_id: str, parent: Viewer, body: str = "…") -> Json:
    return {
        "parent_message_id": parent_id,
        "parent_message_body": body,
        "parent_user_id": parent.id,
        "parent_user_login": parent.login,
        "parent_user_name": parent.name,
        "thread_message_id": parent_id,
        "thread_user_id": parent.id,
        "thread_user_login": parent.login,
        "thread_user_name": parent.name,
    }


def chat_notification(
    broadcaster: Viewer, chatter: Viewer, notice_type: str, *, message_id: str, text: str = "", details: Json | None = None
) -> Json:
    return {
        **user(broadcaster, "broadcaster"),
        **user(chatter, "chatter"),
        "chatter_is_anonymous": False,
        "color": "",
        "badges": [],
        "system_message": f"{chatter.name}: {notice_type}",
        "message_id": message_id,
        "message": {"text": text, "fragments": [fragment(text)] if text else []},
        "notice_type": notice_type,
        **dict.fromkeys(NOTICES),
        **{f"shared_chat_{name}": None for name in SHARED_NOTICES},
        "source_broadcaster_user_id": None,
        "source_broadcaster_user_login": None,
        "source_broadcaster_user_name": None,
        "source_message_id": None,
        "source_badges": None,
        "is_source_only": None,
        notice_type: details,
    }
