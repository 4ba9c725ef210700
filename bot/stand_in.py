"""Streams as events: the temporary one while the platform has named none, and the event with which a stream begins."""

from datetime import datetime

from memory import BotIdentity, Channel, Stream, StreamEvent


def stand_in(channel: Channel, bot: BotIdentity, now: datetime) -> Stream:
    """Return the stream that stands for the one that has not been named yet."""
    name = f"live-{channel.login}-{now:%Y%m%dT%H%M%SZ}"
    return Stream(id=name, channel=channel, bot=bot, started_at=now, temporary=True)


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
