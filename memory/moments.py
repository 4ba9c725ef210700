"""When a question is about: a moment in the past for facts, and the streams that an episode may stand in. Pure."""

import calendar
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from memory.language import Reading, content_stems
from memory.model import Stream
from memory.normalise import words
from memory.rules import Rules, Unit

PAST_STREAMS = 3  # looked at where a question says no more than that it was some earlier stream
RECENT_STREAMS = 2  # looked at beside the present one where it does not even say that
_DAYS: dict[Unit, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChoice:
    """A stream to look into, and why."""

    stream_id: str
    why: str


def as_of(reading: Reading, now: datetime, rules: Sequence[Rules]) -> datetime | None:
    """Return the moment that the question is about, None where it is the present or cannot be told.

    A period ("last month", "a febbraio", "in 2024") gives its last second: what was true when it ended; "three weeks ago"
    that many days back (a month has 30, a year 365).
    """
    found = [
        moment
        for rule in rules
        for moment in (_ago(reading, now, rule), _period(reading, now, rule), _month(reading, now, rule))
        if moment is not None and moment < now
    ]
    year = _year(reading, now)
    return min([*found, year] if year else found, default=None)


def _ago(reading: Reading, now: datetime, rule: Rules) -> datetime | None:
    phrase = rule.ago.first(reading.plain)
    if phrase is None:
        return None
    said = phrase.split()
    numbers = [int(word) if word.isascii() and word.isdigit() else rule.numbers.get(word) for word in said]
    number = next((value for value in numbers if value), None)
    unit = next((rule.units[word] for word in said if word in rule.units), None)
    if number is None or unit is None or number > 100:  # noqa: PLR2004 - nobody remembers a stream a hundred years ago
        return None
    return now - timedelta(days=number * _DAYS[unit])


def _period(reading: Reading, now: datetime, rule: Rules) -> datetime | None:
    found = next((period for period in rule.period if period.phrases.found(reading.plain)), None)
    if found is None:
        return None
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    start_of_unit = {
        "day": midnight - timedelta(days=found.back - 1),
        "week": midnight - timedelta(days=midnight.weekday() + 7 * (found.back - 1)),
        "month": _month_start(now, found.back - 1),
        "year": datetime(max(1, now.year - found.back + 1), 1, 1, tzinfo=UTC),
    }
    return start_of_unit[found.unit] - timedelta(seconds=1)


def _month_start(now: datetime, back: int) -> datetime:
    months = now.year * 12 + now.month - 1 - back
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


def _month(reading: Reading, now: datetime, rule: Rules) -> datetime | None:
    said = words(reading.text)
    for before, word in pairwise(said):
        month = rule.months.get(word)
        if month is None or before not in rule.in_month:
            continue
        year = now.year if month < now.month else now.year - 1
        return (
            datetime(year, month, calendar.monthrange(year, month)[1], 23, 59, 59, tzinfo=UTC) if month != now.month else None
        )
    return None


def _year(reading: Reading, now: datetime) -> datetime | None:
    digits = [int(word) for word in words(reading.text) if word.isascii() and word.isdigit() and len(word) == len("2000")]
    return next((datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC) for year in digits if now.year - 20 <= year < now.year), None)


def streams_for(
    reading: Reading, stream: Stream, past: Sequence[Stream], *, now: datetime, rules: Sequence[Rules]
) -> tuple[StreamChoice, ...]:
    """Return the streams that the question points to, most likely first; none where it points to no episode."""
    earlier = sorted(
        (other for other in past if other.id != stream.id), key=lambda other: (other.started_at, other.id), reverse=True
    )
    chosen = [*_by_cue(reading, stream, earlier, now=now, rules=rules)]
    if not chosen and (reading.happened or reading.bot_said or reading.said or reading.open_recall):
        chosen = [*lately(stream, earlier)]
    return tuple({choice.stream_id: choice for choice in reversed(chosen)}.values())[::-1]


def lately(stream: Stream, past: Sequence[Stream]) -> tuple[StreamChoice, ...]:
    """Return this stream and the ones before it, for a question about what happened at some time."""
    earlier = sorted((s for s in past if s.id != stream.id), key=lambda s: (s.started_at, s.id), reverse=True)
    return (
        StreamChoice(stream_id=stream.id, why="asks about something that happened"),
        *(StreamChoice(stream_id=s.id, why="it may have happened in an earlier stream") for s in earlier[:RECENT_STREAMS]),
    )


def _by_cue(
    reading: Reading, stream: Stream, earlier: Sequence[Stream], *, now: datetime, rules: Sequence[Rules]
) -> Iterator[StreamChoice]:
    if "first" in reading.cues and earlier:
        yield StreamChoice(stream_id=earlier[-1].id, why="the first stream is meant")
        return
    titled = _by_title(reading, earlier, rules) if "past" in reading.cues or "last" in reading.cues else []
    yield from (StreamChoice(stream_id=s.id, why="its title is named") for s in titled)
    if "last" in reading.cues and earlier:
        moment = as_of(reading, now, rules)
        dated = _around(moment, earlier) if moment else []
        yield from (StreamChoice(stream_id=s.id, why="the last stream is meant") for s in dated or earlier[:1])
    if "past" in reading.cues and not titled:
        yield from (StreamChoice(stream_id=s.id, why="an earlier stream is meant") for s in earlier[:PAST_STREAMS])
    if "here" in reading.cues:
        yield StreamChoice(stream_id=stream.id, why="earlier in this stream is meant")


def _by_title(reading: Reading, earlier: Sequence[Stream], rules: Sequence[Rules]) -> list[Stream]:
    asked = content_stems(reading.text, rules)
    return [s for s in earlier if asked & content_stems(f"{s.title or ''}", rules)][:PAST_STREAMS]


def _around(moment: datetime, earlier: Sequence[Stream]) -> list[Stream]:
    return [s for s in earlier if abs((s.started_at - moment).total_seconds()) < timedelta(days=1).total_seconds()][:1]
