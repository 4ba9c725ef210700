"""Which memories answer a question, told by the words they share with it. Pure; the order is the same for the same input."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.language import content_of, words_of
from memory import HistoryLine, Item

TOLD = 2  # memories in one reply; three where all that is known, or several people, were asked for
_SECTION_ORDER = ("recall", "profile", "lore", "state", "episode")
_EVERYTHING_ORDER = ("profile", "recall", "state", "episode", "lore")
_WHEN = re.compile(r"^(?:e |and |but |ma )?(?:quando|when|what time|what day|a che ora|(?:in )?che giorno|che data)\b")
_TIME = re.compile(
    r"\d|\b(?:ieri|domani|lunedi|martedi|mercoledi|giovedi|venerdi|sabato|domenica|settiman\w+|mes[ei]|ann[oi]|"
    r"gennaio|febbraio|marzo|aprile|maggio|giugno|luglio|agosto|settembre|ottobre|novembre|dicembre|estate|inverno|primavera|"
    r"yesterday|tomorrow|\w+day|week\w*|months?|years?|january|february|march|april|may|june|july|august|"
    r"september|october|november|december|summer|winter|spring|autumn)\b"
)
_LINE = re.compile(
    r"- \[(?P<whose>[^\]]*?)(?: · [^\]]*)?\](?: (?:secondo|according to) (?P<by>[^\":]+):)? "
    r'(?P<quotes>"[^"]*"(?: "[^"]*")*)'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What is told. Not `sure`: it shares no word with the question, and only the memory's own search speaks for it."""

    items: tuple[Item, ...] = ()
    sure: bool = True


def choose(
    items: Sequence[Item], question: str, *, without: Sequence[str], own_names: Collection[str], everything: bool
) -> Choice:
    """Return the items that share most words with `question`, names aside (those of `without` and of the items themselves).

    `everything`: all that is known was asked for, so that items without a shared word count as well. A remembered question
    answers nothing, and a passage of a stream without a shared word neither.
    """
    shown = [item for item in items if item.section != "history"]
    asked = content_of(question, without=[*without, *(name for item in shown for name in people(item))])
    hits = {id(item): len(asked & content_of(words(item))) for item in shown}
    useful = [item for item in shown if hits[id(item)] or not (item.section == "episode" or _is_question(item, own_names))]
    matched = any(hits.values())
    everything = everything and not matched
    order = _SECTION_ORDER if matched else _EVERYTHING_ORDER
    named = set(words_of(question))

    def told_of(item: Item) -> bool:
        return bool(hits[id(item)]) and _about(item, named)

    useful.sort(
        key=lambda item: (
            _is_question(item, own_names),
            not told_of(item),
            -hits[id(item)],
            not item.current,
            order.index(item.section),
            -item.score,
        )
    )
    useful = _unlike(useful)
    if not useful:
        return Choice()
    several = _one_each(useful, question)
    if several:
        return Choice(items=several)
    best = hits[id(useful[0])]
    alike = [item for item in useful if best and hits[id(item)] == best and told_of(item) == told_of(useful[0])]
    kept = useful if everything else alike or useful[:1]
    personal = any(item.section in {"recall", "episode"} and not is_fact(item) for item in useful)
    return Choice(items=tuple(kept[: TOLD + everything]), sure=bool(best) or everything or not personal)


def _is_question(item: Item, own_names: Collection[str]) -> bool:
    """Return whether somebody's words ask: they end so, or they ask the bot, whatever they say after it."""
    said = words(item).rstrip()
    asks = said.endswith("?") or ("?" in said and not set(own_names).isdisjoint(words_of(said)))
    return asks and item.section in {"recall", "profile"} and not is_fact(item)


def _one_each(items: Sequence[Item], question: str) -> tuple[Item, ...]:
    """Return the best item about each person whom the question names, where it names several."""
    said = set(words_of(question))
    best: dict[str, Item] = {}
    for item in items:
        if item.subject is not None and _about(item, said):
            best.setdefault(item.subject, item)
    return tuple(best.values())[: TOLD + 1] if len(best) > 1 else ()


def _about(item: Item, said: Collection[str]) -> bool:
    """Return whether the words of a question name the item's subject."""
    return not set(words_of(item.subject_name or part(item, "whose") or "")).isdisjoint(said)


def said_lately(
    lines: Sequence[HistoryLine], question: str, *, without: Sequence[str], about: str | None = None
) -> HistoryLine | None:
    """Return the line of the recent chat that answers best, the newest of equals; None where none does.

    One word in common is enough from somebody whom the question names, or whom it is `about` (the id of an asker who speaks
    of themselves), two from anybody else. Questions answer nothing.
    """
    asked, named = content_of(question, without=without), set(words_of(question))
    best, most = None, 1
    for line in lines:
        found = len(asked & content_of(line.text))
        by_named = line.author is not None and (line.author.id == about or not named.isdisjoint(words_of(line.author.name)))
        if found and found + by_named > max(1, most - 1) and not line.text.rstrip().endswith("?"):
            best, most = line, found + by_named
    return best


def asks_when(question: str) -> bool:
    """Return whether a question is after a time."""
    return bool(_WHEN.search(" ".join(words_of(question))))


def tells_when(item: Item) -> bool:
    """Return whether a memory holds a time: a number, a day, a month, a word such as tomorrow. What happened has its own."""
    return item.section == "episode" or bool(_TIME.search(" ".join(words_of(words(item)))))


def is_fact(item: Item) -> bool:
    """Return whether the item is a statement about its subject, not their own words."""
    return item.kind == "fact" or (item.section == "profile" and item.kind != "message")


def _present_fact(item: Item) -> bool:
    return is_fact(item) and item.current and item.author in {None, item.subject}


def grouped(items: Sequence[Item]) -> list[list[Item]]:
    """Return the items with neighbouring present facts about the same person put together."""
    groups: list[list[Item]] = []
    for item in items:
        if groups and _present_fact(item) and _present_fact(groups[-1][-1]) and groups[-1][-1].subject == item.subject:
            groups[-1].append(item)
        else:
            groups.append([item])
    return groups


def _unlike(items: Sequence[Item]) -> list[Item]:
    """Return the items without those that say the same again."""
    kept: dict[str, Item] = {}
    for item in items:
        kept.setdefault(" ".join(words_of(words(item))), item)
    return list(kept.values())


def part(item: Item, name: str) -> str | None:
    """Return what the item's line in the block says: `whose` it is, or `by` whom."""
    line = _LINE.fullmatch(item.text)
    return line[name] if line else None


def people(item: Item) -> list[str]:
    """Return every name that the item carries."""
    return [name for name in (item.subject_name, item.author_name, part(item, "whose"), part(item, "by")) if name]


def words(item: Item) -> str:
    """Return the item's statement: its own words, else what its line in the block quotes, else the whole line."""
    if item.words:
        return item.words
    line = _LINE.fullmatch(item.text)
    return "\n".join(re.findall(r'"([^"]*)"', line["quotes"])) if line else item.text
