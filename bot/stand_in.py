"""Streams as events: the temporary one while the platform has named none, and the event with which a stream begins."""

from dataclasses import replace
from datetime import datetime

from memory import BotIdentity, Channel, Event, Notice, Stream, StreamEvent

CHANNEL_UPDATE = "channel_update"  # the kind of notice that says what the channel is about from now on


def stand_in(channel: Channel, bot: BotIdentity, now: datetime) -> Stream:
    """Return the stream that stands for the one that has not been named yet."""
    name = f"live-{channel.login}-{now:%Y%m%dT%H%M%SZ}"
    return Stream(id=name, channel=channel, bot=bot, started_at=now, temporary=True)


def is_update(event: Event) -> bool:
    """Return whether an event says what the channel is about from now on."""
    return isinstance(event, Notice) and event.kind == CHANNEL_UPDATE


def retitled(stream: Stream | None, event: Event) -> Stream | None:
    """Return the stream with the title and the category that a notice gives it, None where it gives it none, or no news."""
    if stream is None or not isinstance(event, Notice) or not is_update(event):
        return None
    title, category = event.data.get("title"), event.data.get("category_name")
    fresh = replace(
        stream,
        title=title if isinstance(title, str) and title else stream.title,
        category=category if isinstance(category, str) and category else stream.category,
    )
    return fresh if fresh != stream else None


def begun(stream: Stream) -> StreamEvent:
    """Return the event that begins a stream, with everybody's names, as a log has it."""
    return StreamEvent(
        at=stream.started_at,
        event="online",
        stream_id=stream.id,
        title=stream.title,
        category=stream.category,
        channel=stream.channel,
        bot=stream.bot,
        extra={"temporary": True} if stream.temporary else {},
    )


def stream_of(event: StreamEvent, channel: Channel, bot: BotIdentity) -> Stream:
    """Return the stream that an event begins; `channel` is its home where the event names none."""
    return Stream(
        id=event.stream_id,
        channel=event.channel or channel,
        bot=bot,
        started_at=event.at,
        title=event.title,
        category=event.category,
        temporary=event.extra.get("temporary") is True,
    )
