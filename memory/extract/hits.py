"""What the rules hit in a sentence: which hits stay, and which dates belong to which. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.extract.dates import Said
from memory.extract.languages import Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A rule that matched."""

    start: int
    end: int
    rule: Rule
    object: str
    key: str = ""


def best(hits: Sequence[Hit]) -> list[Hit]:
    """Return hits of which no two share a word: the longer one stays, and a loose one gives way."""
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda one: (one.rule.loose, one.start - one.end, one.start)):
        inside = any(hit.start < other.end and other.start < hit.end for other in kept)
        if not inside:
            kept.append(hit)
    return kept


def dates_of(hit: Hit, hits: Sequence[Hit], dates: Sequence[Said]) -> list[Said]:
    """Return the dates that belong to a hit: those nearest to it. What needs no date and was always so has none."""
    takers = [one for one in hits if one.rule.dated] or list(hits)
    return [date for date in dates if min(takers, key=lambda one: _distance(one, date, dates)) is hit]


def _place(date: Said, dates: Sequence[Said]) -> int:
    """Return where a date stood among words that are numbered without those of dates, as those of hits are."""
    return date.start - sum(min(other.end, date.start) - other.start for other in dates if other.start < date.start)


def before(date: Said, hit: Hit, dates: Sequence[Said]) -> bool:
    """Return whether a date stands before a hit."""
    return _place(date, dates) <= hit.start


def _distance(hit: Hit, date: Said, dates: Sequence[Said]) -> int:
    """Return how many words lie between."""
    place = _place(date, dates)
    return max(hit.start - place, place - hit.end, 0)
