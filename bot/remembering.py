"""Answers from the memory block alone, without a model: the same turn gives the same words, and nothing is invented."""

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.addressing import Addressing
from bot.language import content_of, language_of, words_of
from bot.plain import cut, visible
from bot.quoting import named, quoted
from bot.remembering_choice import asks_when, choose, grouped, is_fact, part, said_lately, tells_when
from bot.remembering_choice import words as words_in
from bot.remembering_texts import MemoryWords, day_of, memory_words
from bot.responder import Answer
from memory import Batch, BotIdentity, HistoryLine, Item, Message, Recall

REPLY_CHARACTERS = 450
QUOTE_CHARACTERS = 200
SHORTEST_QUOTE, FRAME_CHARACTERS = 60, 90  # of a quote, and of the words around it, where one line answers several people

CANON_CHARACTERS = 280
TURN_LINES = 2
SMALL_TALK_WORDS = 7  # "are you there tonight too" is small talk, a longer question may be one
_HEADING = re.compile(r"^[^.!?:]{1,80}: (?=[A-ZÀ-Ý])")  # the entry's title before its text
_SENTENCE = re.compile(r"(?<=[.!?»])\s+")
_QUOTE = re.compile(r"«[^»]*»|“[^”]*”")
_INSIDE = str.maketrans("\u201c\u201d\u201e\u201f", "\u2018\u2019\u2018\u2018")  # double quotation marks within others


class MemoryResponder:
    """The responder for a bot without a language model."""

    def __init__(self, addressing: Addressing, *, language: str | None = None) -> None:
        """Take the bot's names, which are not part of a question, and its language; None: the asker's."""
        self._addressing = addressing
        self._language = language

    async def reply(self, batch: Batch, recall: Recall, to: Message, also: Sequence[Message] = ()) -> Answer:
        """Return the answer to `to`, in its language, and to `also`, each in theirs; it never fails and never waits."""
        asked = (*also, to)
        room = (REPLY_CHARACTERS + 1) // len(asked) - 1
        told = [self._telling(message, asked, batch, recall).text() for message in asked]
        telling = " ".join(_QUOTE.findall(" ".join(told)))  # around them are templates, names, days and the canon
        if len(told) > 1:
            told = [_to_whom(text, message, room) for text, message in zip(told, asked, strict=True)]
        return Answer(text=" ".join(cut(text, room) for text in told), telling=telling)

    def _telling(self, to: Message, asked: Sequence[Message], batch: Batch, recall: Recall) -> "_Telling":
        bare = self._addressing.question(to)
        others = {message.user.id: message.user.name for message in asked if message.user.id != to.user.id}
        return _Telling(
            to=to,
            bare=bare,
            recall=recall,
            items=_apart(recall.block.items, others, bare),
            room=(REPLY_CHARACTERS + 1) // len(asked) - 1,
            today=batch.closed_at.date(),
            language=self._language or language_of(bare, recall.plan.language),
            own_names=_own_names(self._addressing.bot),
            names=_names(batch, recall),
            lately=(*recall.window.lines, *_before(to, batch)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Telling:
    """One answer in the making."""

    to: Message
    bare: str  # the message without the bot's name
    recall: Recall
    items: tuple[Item, ...]  # of the block, those that this answer may use
    room: int  # characters
    today: date
    language: str
    own_names: frozenset[str]  # words by which the chat calls the bot
    names: dict[str, str]  # viewer id -> display name, as far as the chat at hand tells
    lately: tuple[HistoryLine, ...]  # the history, and what was said beside the question

    @property
    def words(self) -> MemoryWords:
        return memory_words(self.language)

    @property
    def folded(self) -> str:
        return " ".join(words_of(self.bare))

    @property
    def _longest_quote(self) -> int:
        return min(QUOTE_CHARACTERS, max(SHORTEST_QUOTE, self.room - FRAME_CHARACTERS))

    def text(self) -> str:
        """Return what is said."""
        courtesy = self._small_talk() or self._courtesy()
        if courtesy:
            return self._say(courtesy)
        if any(self.folded.startswith(beginning) for beginning in self.words.remember) or self._puts_right():
            return self._say(self.words.noted)
        told, sure = self._told()
        if told and sure:
            return told
        if self.recall.plan.covered:
            return told or self._from_history()
        return self._just_said() or told or self._without_memory()

    def _puts_right(self) -> bool:
        """Return whether the message contradicts something and speaks of its author: there is nothing to look up."""
        said = words_of(self.bare)
        contradicts = any(f"{self.folded} ".startswith(f"{beginning} ") for beginning in self.words.contradicting)
        return contradicts and "?" not in self.to.text and not self.words.own.isdisjoint(said)

    def _courtesy(self) -> tuple[str, ...]:
        """Return the answer to a message that says hello, thanks or goodbye to the bot and nothing else."""
        words = self.words
        said = set(words_of(_after_name(self.bare, self.own_names))) - self.own_names
        if not said:
            return words.heard
        kinds = (
            (words.farewells, words.farewell),
            (words.thanks, words.welcome),
            (words.greetings, words.greeting),
        )
        if not said <= words.fillers.union(*(kind for kind, _ in kinds)):
            return ()
        return next((answers for kind, answers in kinds if said & kind), ())

    def _small_talk(self) -> tuple[str, ...]:
        """Return the answer to whoever asks, after a greeting perhaps, whether the bot is there or how it is."""
        said = self.folded.split()
        while said and (said[0] in self.words.greetings or said[0] in self.own_names):
            said.pop(0)
        asked = f"{' '.join(said)} "
        for beginnings, answers in ((self.words.there, self.words.heard), (self.words.how_are_you, self.words.fine)):
            if any(asked.startswith(f"{beginning} ") for beginning in beginnings) and len(said) <= SMALL_TALK_WORDS:
                return answers
        return ()

    def _told(self) -> tuple[str, bool]:
        """Return as many of the best memories as one line holds, empty where there are none, and whether they are meant."""
        line = ""
        everything = self.recall.plan.explicit_recall
        known = [*self.own_names, *self.names.values()]
        choice = choose(self.items, self.bare, without=known, own_names=self.own_names, everything=everything)
        sure = (
            choice.sure
            and not self.recall.block.abstained
            and not (asks_when(self.bare) and choice.items and not tells_when(choice.items[0]))
        )
        for group in grouped(choice.items):
            more = self._several(group) if len(group) > 1 else self._memory(group[0], first=sure and not line)
            if line and len(line) + 1 + len(more) > self.room:
                break
            line = f"{line} {more}".strip()
        return (line if sure or not line else self._perhaps(line)), sure

    def _perhaps(self, line: str) -> str:
        return f"{self.words.perhaps} {line}"

    def _several(self, facts: Sequence[Item]) -> str:
        mine = facts[0].subject == self.to.user.id
        what = "; ".join(self._quote(words_in(fact), self._longest_quote // 2) for fact in facts)
        templates = self.words.several_about_you if mine else self.words.several_about_them
        return self._say(templates, what=what, item=facts[0], who=self._subject(facts[0]))

    def _memory(self, item: Item, *, first: bool) -> str:
        words, what = self.words, self._quote(self._telling_lines(words_in(item)), self._longest_quote)
        match item.section:
            case "lore":
                return self._say(words.canon, text=self._passage(words_in(item)))
            case "state":
                return self._say(words.record, what=what)
            case "episode":
                return self._episode(item, what)
            case _:
                return self._personal(item, what, first=first)

    def _telling_lines(self, text: str) -> str:
        """Return a turn's lines as one, only those closest to the question where all are too long to quote."""
        lines = [line for line in text.splitlines() if line.strip()]
        if len(text) > self._longest_quote:
            asked = content_of(self.bare, without=self.own_names)
            shared = [len(asked & content_of(line)) for line in lines]
            best = sorted(range(len(lines)), key=lambda index: (-shared[index], index))[:TURN_LINES]
            lines = [lines[index] for index in sorted(best) if shared[index] or not any(shared)]
        return " / ".join(lines)

    def _episode(self, item: Item, what: str) -> str:
        if item.kind == "claim":
            return self._personal(item, what, first=False)
        if item.kind == "reply":
            bare = words_in(item).partition(": ")
            what = self._quote(bare[2], self._longest_quote) if set(words_of(bare[0])) & self.own_names and bare[2] else what
            return self._say(self.words.i_said, what=what, item=item)
        if item.author is not None:
            return self._written(item, what)
        return self._say(self.words.happened, what=what, item=item)

    def _personal(self, item: Item, what: str, *, first: bool) -> str:
        words, mine = self.words, item.subject == self.to.user.id
        if item.author is not None and item.author != item.subject:
            claimed = words.claim_about_you if mine else words.claim
            return self._say(claimed, what=what, item=item, who=self._author(item))
        if not item.current:
            templates = words.once_you if mine else words.once_them
        elif is_fact(item):
            templates = words.about_you if mine else words.about_them
        else:
            return self._written(item, what, first=first)
        return self._say(templates, what=what, item=item, who=self._subject(item))

    def _written(self, item: Item, what: str, *, first: bool = True) -> str:
        own = item.author == self.to.user.id or (item.author is None and item.subject == self.to.user.id)
        templates = self.words.you_wrote if own else self.words.they_wrote
        who = self._author(item) if item.author is not None else self._subject(item)
        return self._say(templates if first else templates[1:], what=what, item=item, who=who)

    def _passage(self, text: str) -> str:
        """Return the sentences of the canon that answer best: from the best one on, as many as are read at a glance."""
        asked = content_of(self.bare, without=self.own_names)
        sentences = _SENTENCE.split(_HEADING.sub("", visible(text), count=1))
        start = max(range(len(sentences)), key=lambda index: (len(asked & content_of(sentences[index])), -index))
        passage = ""
        for sentence in sentences[start:]:
            if passage and len(passage) + len(sentence) >= min(CANON_CHARACTERS, self.room):
                break
            passage = f"{passage} {sentence}".strip()
        return passage

    def _just_said(self) -> str:
        """Return what somebody has said about it lately, empty where nobody has."""
        known = [*self.own_names, *self.names.values()]
        lines = [line for line in self.lately if _may_quote(line, self.to)]
        own = self.to.user.id if not self.words.own.isdisjoint(words_of(self.bare)) else None
        line = said_lately(lines, self.bare, without=known, about=own)
        if line is None or line.author is None:
            return ""
        return self._say(self.words.just_now, what=self._quote(line.text, self._longest_quote), who=named(line.author.name))

    def _from_history(self) -> str:
        asked = content_of(self.bare, without=[self.to.user.name, *self.own_names])
        best, hits = None, 0
        for line in self.lately:
            found = len(asked & content_of(f"{line.author.name if line.author else ''} {line.text}"))
            if _may_quote(line, self.to) and found >= max(hits, 1):
                best, hits = line, found
        if best is None or best.author is None:
            return self._say(self.words.above)
        who = named(best.author.name)
        return self._say(self.words.just_now, what=self._quote(best.text, self._longest_quote), who=who)

    def _without_memory(self) -> str:
        plan, words = self.recall.plan, self.words
        asks = "?" in self.bare or self.folded.split(" ", 1)[0] in words.asking
        sought = (
            plan.asks_memory
            or plan.explicit_recall
            or self.recall.block.abstained
            or bool((plan.requests or self.recall.block.items) and asks)
        )
        if sought:
            partly = f" {words.partly}" if self.recall.degraded else ""
            return self._say(words.unknown) + partly
        return self._say(words.cannot if asks else words.heard)

    def _say(self, templates: Sequence[str], *, item: Item | None = None, **parts: str) -> str:
        """Fill in one of the templates: which one, only the message and the memory decide."""
        seed = f"{self.to.id} {item.provenance if item else ''}"
        template = templates[hashlib.sha256(seed.encode("utf-8", "replace")).digest()[0] % len(templates)]
        when = day_of(item.at or item.valid_at if item else None, self.today, self.language)
        said = template.format(**{"name": named(self.to.user.name), "when": when, **parts})
        return said[:1].upper() + said[1:]

    def _quote(self, text: str, limit: int) -> str:
        quote = quoted(text, limit)
        return quote if self.language == "it" else f"“{quote[1:-1].translate(_INSIDE)}”"

    def _author(self, item: Item) -> str:
        if item.author == item.subject:
            return self._subject(item)
        return self._name(item.author, item.author_name or part(item, "by"))

    def _subject(self, item: Item) -> str:
        return self._name(item.subject, item.subject_name or (part(item, "whose") if item.subject else None))

    def _name(self, viewer_id: str | None, shown: str | None) -> str:
        if shown:
            return named(shown)
        return named(self.names[viewer_id]) if viewer_id in self.names else self.words.somebody


def _to_whom(text: str, message: Message, room: int) -> str:
    """Return an answer among several with the name of whom it is for, unless it says so itself."""
    name, called = named(message.user.name), set(words_of(message.user.name))
    if called and called <= set(words_of(re.split("[«“]", text)[0])):
        return text
    return f"@{name} {cut(text, max(1, room - len(name) - 2))}"


def _apart(items: Sequence[Item], others: Mapping[str, str], question: str) -> tuple[Item, ...]:
    """Return the items for one of several who ask: what is known of the others is theirs, unless this one asks about them."""
    said = set(words_of(question))
    unasked = {viewer_id for viewer_id, name in others.items() if said.isdisjoint(words_of(name))}
    return tuple(item for item in items if item.subject not in unasked)


def _own_names(bot: BotIdentity) -> frozenset[str]:
    return frozenset(word for name in (bot.login, bot.name, *bot.aliases) for word in words_of(name))


def _names(batch: Batch, recall: Recall) -> dict[str, str]:
    authors = [line.author for line in recall.window.lines] + [line.user for line in batch.lines]
    mentioned = [viewer for message in batch.messages for viewer in message.mentions]
    return {viewer.id: viewer.name for viewer in [*mentioned, *authors] if viewer is not None}


def _after_name(text: str, own_names: frozenset[str]) -> str:
    """Return what follows the bot's name inside the text, where that begins a clause there; else the whole text."""
    clauses = re.split(r"[.!?,;:]+\s+", text)
    for place in range(len(clauses) - 1, 0, -1):
        said = words_of(clauses[place])
        if said and said[0] in own_names:
            return " ".join(clauses[place:])
    return text


def _before(to: Message, batch: Batch) -> Iterator[HistoryLine]:
    """Yield the messages that stand before the question in its own batch: no history has them yet."""
    for line in itertools.takewhile(lambda line: line.id != to.id, batch.messages):
        yield HistoryLine(id=line.id, at=line.at, kind="message", author=line.user, text=line.text, reply_to=line.reply_to)


def _may_quote(line: HistoryLine, to: Message) -> bool:
    """Return whether a line can be told as an answer: somebody's words, which are no question themselves."""
    asks = line.text.rstrip().endswith("?")
    return line.kind == "message" and line.id != to.id and line.author is not None and not asks
