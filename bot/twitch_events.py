"""TwitchIO's payloads become our events."""

from datetime import datetime

import twitchio

from bot.stand_in import CHANNEL_UPDATE
from bot.twitch_text import NOTICE_KINDS, badges_of, emotes_of, without_action, without_parent
from memory import Channel, Message, Notice, StreamEvent, Viewer


def viewer_of(user: twitchio.PartialUser) -> Viewer:
    """Return a user as a viewer."""
    return Viewer(id=user.id, login=(user.name or user.id).lower(), name=user.display_name or user.name or user.id)


def message_of(payload: twitchio.ChatMessage, at: datetime) -> Message:
    """Return a chat message, what Twitch wraps around its text taken off."""
    text, is_action = without_action(payload.text)
    if payload.reply is not None:
        parent = payload.reply.parent_user
        text = without_parent(text, (parent.name, parent.display_name))
    source = payload.source_broadcaster
    return Message(
        id=payload.id,
        at=at,
        user=viewer_of(payload.chatter),
        text=text,
        badges=badges_of([badge.set_id for badge in payload.badges]),
        reply_to=payload.reply.parent_message_id if payload.reply else None,
        is_action=is_action,
        bits=payload.cheer.bits if payload.cheer else 0,
        emotes=emotes_of([(fragment.text, fragment.emote is not None) for fragment in payload.fragments], text),
        mentions=tuple(viewer_of(user) for user in payload.mentions),
        source_channel=source.id if source is not None and source.id != payload.broadcaster.id else None,
    )


def on_air_of(stream: twitchio.Stream, channel: Channel) -> StreamEvent:
    """Return the stream that is on air as the event with which it began."""
    return StreamEvent(
        at=stream.started_at,
        event="online",
        stream_id=stream.id,
        title=stream.title,
        category=stream.game_name,
        channel=channel,
    )


def update_of(payload: twitchio.ChannelUpdate, at: datetime) -> Notice:
    """Return a new title or category as a notice, which nobody in particular gives; Twitch has no id for it."""
    data = {"title": payload.title, "category_name": payload.category_name}
    return Notice(id=f"channel_update:{at.isoformat()}", at=at, kind=CHANNEL_UPDATE, user=None, data=data)


def notice_of(payload: twitchio.ChatNotification, at: datetime) -> Notice:
    """Return a platform notice; the viewer's own words, where it carries some, are its text."""
    return Notice(
        id=payload.id,
        at=at,
        kind=NOTICE_KINDS.get(payload.notice_type, payload.notice_type),
        user=None if payload.anonymous else viewer_of(payload.chatter),
        text=payload.text or None,
        data={
            "notice_type": payload.notice_type,
            "system_message": payload.system_message,
            **({"viewers": payload.raid.viewer_count} if payload.raid else {}),
            **({"months": payload.resub.cumulative_months} if payload.resub else {}),
        },
    )
