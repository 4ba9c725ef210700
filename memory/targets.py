"""Whom a turn is about: viewers named in the text, and the ranking of viewers on observable signals. Pure."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from rapidfuzz import process
from rapidfuzz.distance import OSA

from memory.events import Notice
from memory.language import Reading
from memory.model import Batch, Target, Window
from memory.names import SHORTEST_PART, Hit, NameIndex, floor_for
from memory.normalise import LONGEST_TEXT, fold
from memory.rules import Rules

# Powers of two: a stronger signal outweighs all weaker ones together.
SIGNALS: Mapping[str, int] = {
    "asks to remember": 64, "platform event": 32, "speaks to the bot": 16, "asks a question": 8,
    "sent bits or media": 4, "mentioned by another": 2, "active": 1,
}  # fmt: skip
SMALL_CHAT = 2000  # viewers up to which a lower-case part of a name counts though its owner is not around
LONGEST_SCAN = 60  # words of a text in which names are looked for
BARE_NEAR = 6  # letters from which a near miss without @ counts
_TOKEN = re.compile(r"@?\w+")
_LINK = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """Who is around: viewers who wrote in the window or the batch. Their names are the likely ones."""

    index: NameIndex
    ids: frozenset[str]
    bot_id: str
    names: Mapping[str, str] = field(default_factory=dict)  # look-up key -> viewer id; a shared name is nobody's


def around(batch: Batch, window: Window, index: NameIndex, bot_id: str) -> Around:
    """Return who is around in this turn."""
    people = {line.author.id: line.author for line in window.lines if line.author}
    people |= {line.user.id: line.user for line in batch.lines if line.user}
    people.pop(bot_id, None)
    names: dict[str, str] = {}
    for viewer in people.values():
        for name in index.names_of(viewer):
            names[name] = viewer.id if names.get(name, viewer.id) == viewer.id else ""  # a shared part names nobody
    return Around(
        index=index, ids=frozenset(people), bot_id=bot_id, names={name: owner for name, owner in names.items() if owner}
    )


def named_in(text: str, who: Around, rules: Sequence[Rules]) -> dict[str, str]:
    """Return the viewers named in `text` (id -> the reason), in the order of naming; bots and the bot itself aside."""
    tokens = _TOKEN.findall(text[:LONGEST_TEXT])[:LONGEST_SCAN]
    shouting = text.isupper()
    found: dict[str, str] = {}
    for place, token in enumerate(tokens):
        capital = token[0].isupper() and place > 0 and not shouting
        pair = token + tokens[place + 1] if place + 1 < len(tokens) else ""
        for hit, word in _hits(token, pair, capital=capital, who=who, rules=rules):
            viewer = who.index.get(hit.viewer_id)
            if hit.viewer_id != who.bot_id and not (viewer and viewer.is_bot):
                found.setdefault(hit.viewer_id, f"named as {word!r} ({hit.how})")
    return found


def _hits(token: str, pair: str, *, capital: bool, who: Around, rules: Sequence[Rules]) -> Iterator[tuple[Hit, str]]:
    word = fold(token.lstrip("@"))
    sure = token.startswith("@")
    if not sure and (len(word) < SHORTEST_PART or _is_word(word, rules, capital=capital)):
        if pair and len(word) >= SHORTEST_PART:
            yield from ((hit, pair) for hit in _one_of(who.index.exact(pair), who))
        return
    whole = who.index.exact(token) or who.index.exact(pair)
    found = _one_of(whole, who) or _part(word, who, sure=sure or capital)
    if not found and word.endswith("s"):  # chat leaves out the apostrophe: "bobs dog"
        found = _one_of(who.index.exact(word[:-1]), who) or _part(word[:-1], who, sure=sure or capital)
    yield from ((hit, word) for hit in (found or _near(word, who, sure=sure)))


def _is_word(word: str, rules: Sequence[Rules], *, capital: bool) -> bool:
    return any(word in rule.stop for rule in rules) or (not capital and any(word in rule.ordinary for rule in rules))


def _one_of(hits: Sequence[Hit], who: Around) -> tuple[Hit, ...]:
    """Return the one owner that is meant: the only one, or the only one around; an ambiguous name names nobody."""
    here = [hit for hit in hits if hit.viewer_id in who.ids]
    chosen = here if len(here) == 1 else hits
    return tuple(chosen) if len(chosen) == 1 else ()


def _part(word: str, who: Around, *, sure: bool) -> tuple[Hit, ...]:
    chosen = _one_of(who.index.part(word), who)
    if chosen and chosen[0].viewer_id not in who.ids and not sure and len(who.index) > SMALL_CHAT:
        return ()
    return chosen


def _near(word: str, who: Around, *, sure: bool) -> tuple[Hit, ...]:
    """Near misses: with @ among everybody, without only among those around, and only of longer names."""
    if len(word) >= BARE_NEAR and who.names:
        names = [name for name in who.names if abs(len(name) - len(word)) <= 1]
        best = process.extractOne(word, names, scorer=OSA.normalized_similarity, score_cutoff=floor_for(len(word)))
        if best:
            return (Hit(who.names[best[0]], "near", best[1]),)
    return _one_of(who.index.near(word), who) if sure else ()


def ranked(batch: Batch, readings: Sequence[Reading], mentioned: Collection[str]) -> tuple[Target, ...]:
    """Return everybody of the turn, the strongest signals first; ties go to the newest message, then to the smaller id."""
    signals: dict[str, set[str]] = {}
    newest: dict[str, tuple[float, int]] = {}
    for place, line in enumerate(batch.lines):
        if line.user is not None:
            signals.setdefault(line.user.id, set()).add("platform event" if isinstance(line, Notice) else "active")
            newest[line.user.id] = (line.at.timestamp(), place)
    for reading in readings:
        signals.setdefault(reading.message.user.id, set()).update(_signals(reading))
    for viewer_id in mentioned:
        signals.setdefault(viewer_id, set()).add("mentioned by another")
    targets = [
        Target(viewer_id=viewer_id, score=float(sum(SIGNALS[name] for name in names)), reasons=_strongest_first(names))
        for viewer_id, names in signals.items()
    ]
    return tuple(sorted(targets, key=lambda t: (-t.score, *(-part for part in newest.get(t.viewer_id, (0.0, 0))), t.viewer_id)))


def _strongest_first(names: Collection[str]) -> tuple[str, ...]:
    return tuple(name for name in SIGNALS if name in names)


def _signals(reading: Reading) -> Iterator[str]:
    if reading.remember:
        yield "asks to remember"
    if reading.addressed:
        yield "speaks to the bot"
    if reading.question:
        yield "asks a question"
    if reading.message.bits or _LINK.search(reading.message.text[:LONGEST_TEXT]):
        yield "sent bits or media"
