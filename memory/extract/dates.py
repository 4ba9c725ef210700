"""When something was, is or will be, as chat says it, reckoned from the message; how exact it is stays known. Pure."""

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from memory.extract.languages import Language, Toward, Unit, When
from memory.extract.patterns import Anchored, Pattern
from memory.extract.tokens import Sentence
from memory.statements import Precision

_FARTHEST_YEARS = 100
_DAYS = {"day": 1, "week": 7}
_LEAST_AGE_DAYS = 7  # a weekday or a date that has just passed is still "next" for nobody


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A date as it was said: what was captured, and which words of the sentence it took."""

    start: int
    end: int
    when: When
    words: str
    year: int | None = None
    month: int | None = None
    day: int | None = None
    weekday: int | None = None
    number: int | None = None
    unit: Unit | None = None
    offset: int | None = None


class Dates:
    """Finds and reckons the dates of one language."""

    def __init__(self, language: Language) -> None:
        """Make its patterns ready."""
        self._language = language
        self._whens = Anchored((when, pattern) for when in language.when for pattern in language.compiled(when.patterns))

    def find(self, sentence: Sentence) -> list[Said]:
        """Return the dates in a sentence, in the order of their rules; none lies in another."""
        found: list[Said] = []
        taken: set[int] = set()
        for when, pattern in self._whens.near(sentence.words):
            said = self._said(sentence, when, pattern)
            if said is not None and taken.isdisjoint(range(said.start, said.end)):
                taken.update(range(said.start, said.end))
                found.append(said)
        return found

    def _said(self, sentence: Sentence, when: When, pattern: Pattern) -> Said | None:
        match = pattern.regex.search(sentence.spaced)
        if match is None:
            return None
        start, end = sentence.place(match.start()), sentence.place(match.end() - 1) + 1
        given = {name: value.strip() for name, value in match.groupdict().items() if value}
        names = self._language
        day = given.get("day", "")
        feast = names.feasts.get(given.get("feast", ""))
        return Said(
            start=start,
            end=end,
            when=when,
            words=" ".join(sentence.words[start:end]),
            year=int(given["year"]) if "year" in given else None,
            month=feast[0] if feast else names.months.get(given.get("month", ""), names.seasons.get(given.get("season", ""))),
            day=feast[1] if feast else (int(day) if day.isdigit() else names.days[day]) if day else None,
            weekday=names.weekdays.get(given.get("weekday", "")),
            number=_number(given.get("number", ""), names),
            unit=names.units.get(given.get("unit", "")),
            offset=names.offsets.get(given.get("offset", "")),
        )


def _number(word: str, language: Language) -> int | None:
    return int(word) if word.isdigit() else language.numbers.get(word)


def without(sentence: Sentence, found: Iterable[Said]) -> Sentence:
    """Return the sentence without its dates, so that patterns reach across them."""
    for said in sorted(found, key=lambda one: -one.start):
        sentence = sentence.without(said.start, said.end)
    return sentence


def reckoned(said: Said, at: datetime, toward: Toward, *, fronted: bool = False) -> tuple[datetime, Precision] | None:
    """Return the moment that is meant, the beginning of its day, month or year, and how exact it is; None: there is none such.

    `toward` says where a date lies that names no year or week; the words themselves ("last", "since") go before. `fronted`: it
    stands before what it is said of. "From October I work here" may be to come, and is where that is nearer; "since" of what
    is to come begins then.
    """
    way = said.when.toward
    if way == "any":
        way = toward if said.when.role != "since" or toward == "future" else ("any" if fronted else "past")
    today = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    try:
        if said.offset is not None:
            return today + timedelta(days=said.offset), "day"
        if said.unit is not None:
            return _stepped(said, today, said.unit)
        if said.weekday is not None:
            return _weekday(said.weekday, today, past=way == "past"), "day"
        return _calendar(said, today, past=way != "future", nearest=way == "any")
    except (ValueError, OverflowError):  # the 31st of February, the year 90000
        return None


def _stepped(said: Said, today: datetime, unit: Unit) -> tuple[datetime, Precision] | None:
    steps = said.when.back * (said.number if said.number is not None else 1)
    if abs(steps) > _FARTHEST_YEARS * (12 if unit == "month" else 366 if unit in _DAYS else 1):
        return None
    if unit in _DAYS:
        start = today - timedelta(days=today.weekday()) if unit == "week" and said.number is None else today
        return start - timedelta(days=_DAYS[unit] * steps), "day"
    months = today.year * 12 + today.month - 1 - steps * (12 if unit == "year" else 1)
    if unit == "year":
        return today.replace(year=months // 12, month=1, day=1), "year"
    return today.replace(year=months // 12, month=months % 12 + 1, day=1), "month"


def _weekday(weekday: int, today: datetime, *, past: bool) -> datetime:
    ahead = (weekday - today.weekday()) % 7
    return today + timedelta(days=ahead - 7 if past and ahead else ahead or (-7 if past else 7))


def _calendar(said: Said, today: datetime, *, past: bool, nearest: bool) -> tuple[datetime, Precision] | None:
    if said.month is None and said.day is None:
        return (today.replace(year=said.year, month=1, day=1), "year") if said.year else None
    precision: Precision = "day" if said.day else "month"
    if said.month is None:
        found = _day_of_month(said.day or 1, today, past=past and not nearest)
        return (found, precision) if found else None
    day = said.day or 1
    if said.year:
        return today.replace(year=said.year, month=said.month, day=day), precision
    years = [today.year - 1, today.year, today.year + 1]
    dates = [_clipped(today, year, said.month, day) for year in years]
    if nearest:
        return min(dates, key=lambda date: abs(date - today)), precision
    if past:
        return max(date for date in dates if date <= today), precision
    return min(date for date in dates if date > today - timedelta(days=_LEAST_AGE_DAYS)), precision


def _clipped(today: datetime, year: int, month: int, day: int) -> datetime:
    longest = calendar.monthrange(year, month)[1]
    if day > longest and not (month == 2 and day == 29):  # noqa: PLR2004 - the leap day is a day of other years
        raise ValueError(day)
    return today.replace(year=year, month=month, day=min(day, longest))


def _day_of_month(day: int, today: datetime, *, past: bool) -> datetime | None:
    step = -1 if past else 1
    for months in range(4):
        number = today.year * 12 + today.month - 1 + step * months
        year, month = number // 12, number % 12 + 1
        if 1 <= day <= calendar.monthrange(year, month)[1]:
            date = today.replace(year=year, month=month, day=day)
            if (date <= today) if past else (date >= today):
                return date
    return None


def shown(moment: datetime, precision: Precision) -> str:
    """Return a date as exact as it is known: 2026, 2026-03 or 2026-03-01."""
    return moment.date().isoformat()[: {"year": 4, "month": 7}.get(precision, 10)]


def first(found: Sequence[Said], *roles: str) -> Said | None:
    """Return the first date that was said in one of these roles."""
    return next((said for said in found if said.when.role in roles), None)
