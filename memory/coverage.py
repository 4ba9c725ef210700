"""Whether the recent history already answers a question, so that nothing needs to be searched. Pure."""

from collections.abc import Collection, Sequence

from memory.events import BotIdentity
from memory.language import Reading, content_stems
from memory.model import HistoryLine, Window
from memory.normalise import fold, same_key, words
from memory.rules import Rules

ENOUGH = 0.6  # share of what is asked that must stand in the lines looked at
JUST_NOW = 8  # lines back that "just now" means
TELLING = 4  # letters from which a single word says enough


def covered(
    reading: Reading,
    people: Collection[str],
    window: Window,
    *,
    bot: BotIdentity,
    names: Collection[str],
    rules: Sequence[Rules],
) -> str:
    """Return why the history answers the question, or an empty text.

    `people` are the viewers asked about, `names` the folded words by which they and the bot are called: who is asked about
    does not say what is asked. A question that points out of the window, or at memory itself, is never covered.
    """
    if reading.recall or reading.open_recall or not {"here"}.issuperset(reading.cues):
        return ""
    lines = [
        line
        for line in window.lines
        if line.author and line.author.id != bot.id and same_key(line.text) != same_key(reading.text)
    ]
    others = {person for person in people if person != reading.message.user.id}
    if reading.cues or (reading.away and others):
        dated = reading.remote or _asks_when(reading, rules)
        missed = reading.away and not dated and others & _authors(lines)
        return "missed what somebody said, and it stands in the history" if missed else ""
    if not reading.first and (just_now := _just_now(reading, others, lines, rules)):
        return just_now
    subject = _subject(reading, lines, names, rules)
    if subject and not others:
        return f"{subject!r}, whom it is about, stands in the history"
    return _by_content(reading, people, lines, names=names, rules=rules)


def _authors(lines: Sequence[HistoryLine]) -> set[str]:
    return {line.author.id for line in lines if line.author}


def _just_now(reading: Reading, others: Collection[str], lines: Sequence[HistoryLine], rules: Sequence[Rules]) -> str:
    happened = reading.happened and not (reading.remote or reading.said)
    asks = reading.catch_up or (happened and not _asks_when(reading, rules))
    if asks and not _authors(lines[-JUST_NOW:]).isdisjoint(others):
        return "asks what somebody has just said, and it stands in the history"
    return "asks what has just happened, and it stands in the history" if lines and reading.catch_up and happened else ""


def _asks_when(reading: Reading, rules: Sequence[Rules]) -> bool:
    """Whether it is after a date: then what happened need not have happened just now."""
    return any(slot.ask.found(reading.plain) for rule in rules for slot in rule.slot if not slot.lasting)


def _by_content(
    reading: Reading, people: Collection[str], lines: Sequence[HistoryLine], *, names: Collection[str], rules: Sequence[Rules]
) -> str:
    asked = content_stems(reading.text, rules, without=names)
    told = [
        line
        for line in lines
        if line.author and (line.author.id in people or not people) and not line.text.rstrip().endswith("?")
    ]
    if not asked or (not people and len(asked) < 2) or (len(asked) == 1 and len(next(iter(asked))) < TELLING):  # noqa: PLR2004 - one word of an open question proves nothing
        return ""
    best = max((len(asked & content_stems(line.text, rules)) / len(asked) for line in told), default=0.0)
    return "what it asks for stands in the history" if best >= ENOUGH else ""


def _subject(reading: Reading, lines: Sequence[HistoryLine], names: Collection[str], rules: Sequence[Rules]) -> str:
    """Return a proper name of the question that is no viewer's and stands in the history as a proper name too."""
    if reading.first or reading.text.isupper():
        return ""
    tokens = reading.text.split()[1:]
    proper = {fold(token).strip("?!.,:;\"'()") for token in tokens if token[:1].isupper() and not token.isupper()}
    proper = {name for name in proper if len(name) > 2 and name not in names and not any(name in rule.stop for rule in rules)}  # noqa: PLR2004 - shorter ones are particles
    return next((name for name in sorted(proper) for line in lines if name in words(line.text)), "")
