"""From the events of one foreign log to the events of its streams: in order of time, each stream with its beginning and end."""

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory import BotReply, Command, Deletion, Event, Message, Notice, StateCall, StreamEvent
from replays.importers.intake import EPOCH, Intake

WINDOW = 2_000  # events held back so that late ones find their place; a later one stays where it stands
HELD = 4 << 20  # characters held back: a log of huge lines must not fill the memory
GAP = timedelta(hours=6)  # silence after which a log without streams goes on in a new stream

Dated = Message | Notice | Deletion | StreamEvent | BotReply | Command | StateCall


def in_order(events: Iterable[Dated], intake: Intake) -> Iterator[Dated]:
    """Yield the events by time, equal times in the order of the file; each that came late is counted."""
    waiting: list[tuple[datetime, int, Dated]] = []
    latest, held = EPOCH, 0
    for number, event in enumerate(events):
        if event.at < latest:
            intake.report.warn("time_went_back")
        latest = event.at
        heapq.heappush(waiting, (event.at, number, event))
        held += _size(event)
        while len(waiting) > WINDOW or held > HELD:
            first = heapq.heappop(waiting)[2]
            held -= _size(first)
            yield first
    while waiting:
        yield heapq.heappop(waiting)[2]


def _size(event: Dated) -> int:
    return len(getattr(event, "text", None) or "")


@dataclass(slots=True)
class _Open:
    stream_id: str
    last: datetime


def with_streams(events: Iterable[Dated], intake: Intake, taken: set[str]) -> Iterator[Event]:
    """Yield the events with a beginning and an end of every stream; `taken` holds the ids of streams used so far.

    One stream a file; a source without streams is parted where nobody wrote for six hours. Streams that the source itself
    announces are kept.
    """
    stream: _Open | None = None
    for event in events:
        if isinstance(event, StreamEvent):
            if stream and event.event == "online":
                yield _end(stream)
            stream = _Open(event.stream_id, event.at) if event.event == "online" else None
            if event.event == "online":
                intake.report.streams.append(event.stream_id)
            yield event
            continue
        if stream and intake.stream.split_at_gaps and event.at - stream.last > GAP:
            yield _end(stream)
            stream = None
        if stream is None:
            start = _begin(event, intake, taken)
            stream = _Open(start.stream_id, start.at)
            yield start
        stream.last = max(stream.last, event.at)
        yield event
    if stream:
        yield _end(stream)


def _end(stream: _Open) -> StreamEvent:
    return StreamEvent(at=stream.last, event="offline", stream_id=stream.stream_id)


def _begin(first: Dated, intake: Intake, taken: set[str]) -> StreamEvent:
    facts = intake.stream
    is_first = not intake.report.streams
    started = facts.started_at if facts.started_at and is_first and facts.started_at <= first.at else first.at
    place = facts.channel.login if facts.channel and facts.channel.login else intake.format
    wanted = facts.stream_id if facts.stream_id and is_first else f"{place}-{started:%Y%m%dT%H%M%SZ}"
    stream_id, number = wanted, 1
    while stream_id in taken:
        number += 1
        stream_id = f"{wanted}-{number}"
    taken.add(stream_id)
    intake.report.streams.append(stream_id)
    intake.report.channel = facts.channel.login if facts.channel else None
    return StreamEvent(
        at=started,
        event="online",
        stream_id=stream_id,
        title=facts.title,
        category=facts.category,
        channel=facts.channel,
    )
