"""From a turn to the messages for the model. Pure: the same turn gives the same prompt, and chat text never leaves its quotes.

The system message holds the persona and the rules alone, so no chat can reach it. Evidence and question stand together in the
user message, where small models find them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from bot.llm_values import ChatMessage, estimate_tokens
from bot.persona import Persona
from bot.quoting import defused, named, quoted
from bot.texts import PromptWords, prompt_words
from memory import Batch, HistoryLine, Message, Recall, Stream, Viewer

MEMORY, CHAT, NEW = "memory", "recent_chat", "new_messages"  # the first is the block's own delimiter
TAGS = (MEMORY, CHAT, NEW)
FRAME_TOKENS = 60  # the tags, their line ends, and what a chat template adds
ASKED_CHARACTERS = 500  # of the message that is answered, as long as chat lets it be
SMALLEST_PROMPT = 2_600  # tokens: rules, persona and question, each as long as it can be


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLimits:
    """How long a prompt may be."""

    prompt_tokens: int = 3_500  # hard, by our own estimate, which is on the safe side
    line_characters: int = 500  # of one quoted line
    reply_characters: int = 350  # asked of the model; what is longer is cut before it is sent

    def __post_init__(self) -> None:
        """Refuse a prompt that could not hold its own rules."""
        if self.prompt_tokens < SMALLEST_PROMPT:
            msg = f"prompt_tokens must be at least {SMALLEST_PROMPT}, not {self.prompt_tokens}"
            raise ValueError(msg)
        if not 20 <= self.line_characters <= 1_000:  # noqa: PLR2004 - twice a chat line
            msg = f"line_characters must be between 20 and 1000, not {self.line_characters}"
            raise ValueError(msg)

    def shrunk_to(self, tokens: int) -> "PromptLimits":
        """Return the same limits with a prompt of at most `tokens`, as far down as a prompt can go."""
        return replace(self, prompt_tokens=max(SMALLEST_PROMPT, min(self.prompt_tokens, tokens)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is to be answered, with everything known about it."""

    batch: Batch
    to: Message  # the message of the batch that gets the answer
    recall: Recall
    language: str  # of the answer
    also: tuple[Message, ...] = ()  # older messages by others that the same line answers
    stream: Stream | None = None
    addressed: frozenset[str] = frozenset()  # ids of the messages that speak to the bot
    tools: bool = False  # the model may call tools


def build_prompt(question: Question, persona: Persona, limits: PromptLimits) -> tuple[ChatMessage, ...]:
    """Return the system and the user message, together at most `limits.prompt_tokens` long."""
    writer = _Writer(question=question, persona=persona, words=prompt_words(question.language), limits=limits)
    system = writer.system()
    user = writer.user(limits.prompt_tokens - estimate_tokens(system) - FRAME_TOKENS)
    return (ChatMessage(role="system", content=system), ChatMessage(role="user", content=user))


def shown_memory(question: Question, persona: Persona, limits: PromptLimits) -> str:
    """Return what the prompt shows of the past, as it stands there: the memory block, then the recent chat."""
    writer = _Writer(question=question, persona=persona, words=prompt_words(question.language), limits=limits)
    past, _ = writer.quoted(limits.prompt_tokens - estimate_tokens(writer.system()) - FRAME_TOKENS)
    return "\n".join(past)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Writer:
    question: Question
    persona: Persona
    words: PromptWords
    limits: PromptLimits

    def system(self) -> str:
        """Return who the bot is and what it must keep to."""
        language = self.question.language
        tools = self.words.tools if self.question.tools else self.words.no_tools
        rules = (*self.persona.rules(language), *self.words.rules, tools)
        lines = [self.persona.described(language), *(f"- {rule}" for rule in rules)]
        return "\n".join(lines).replace("{characters}", str(self.limits.reply_characters)).strip()

    def user(self, room: int) -> str:
        """Return memory, history, batch and question in at most `room` tokens; history gives way first."""
        past, new = self.quoted(room)
        return "\n".join([self._head(), *past, *new, self._ask()])

    def quoted(self, room: int) -> tuple[list[str], list[str]]:
        """Return the lines of memory and recent history, and those of the batch, in what head and question leave of `room`."""
        room -= estimate_tokens(self._head()) + estimate_tokens(self._ask())
        memory = _fitting_block(self.question.recall.block.text or self.words.nothing_recalled, room // 2)
        room -= estimate_tokens(memory)
        new = _newest(self._batch_lines(), room * 2 // 3)
        room -= sum(map(_cost, new))
        past = _newest(self._history_lines(), room)
        return [*_inside(MEMORY, [memory]), *_inside(CHAT, past)], _inside(NEW, new)

    def _head(self) -> str:
        closed, stream = self.question.batch.closed_at, self.question.stream
        head = self.words.now.format(date=closed.strftime("%Y-%m-%d"), time=closed.strftime("%H:%M"))
        if stream is None or not stream.title:
            return head
        title = quoted(stream.title, 140) + (f" ({named(stream.category)})" if stream.category else "")
        return f"{head} {self.words.stream.replace('{title}', title)}"

    def _ask(self) -> str:
        recall, to = self.question.recall, self.question.to
        asked = (*self.question.also, to)
        longest = min(self.limits.line_characters, ASKED_CHARACTERS // len(asked))
        lines = [
            self.words.answer.replace("{name}", named(message.user.name)).replace("{text}", quoted(message.text, longest))
            for message in asked
        ]
        if len(asked) > 1:
            lines.append(self.words.together.replace("{names}", ", ".join(f"@{named(one.user.name)}" for one in asked)))
        if recall.block.abstained and recall.block.items:
            lines.append(self.words.unsure)
        elif recall.block.abstained or (recall.plan.asks_memory and not recall.block.items and not recall.plan.covered):
            lines.append(self.words.admit)
        if recall.degraded:
            lines.append(self.words.degraded)
        return "\n".join(lines)

    def _batch_lines(self) -> Iterator[str]:
        """Yield the batch's lines, newest first."""
        for line in reversed(self.question.batch.lines):
            addressed = line.id in self.question.addressed or line.id == self.question.to.id
            author = self._viewer(line.user)
            text = line.text or ("" if isinstance(line, Message) else line.kind)
            yield self._line(line.at, author + (f" ({self.words.to_you})" if addressed else ""), text)

    def _history_lines(self) -> Iterator[str]:
        """Yield the recent history without the batch itself, newest first."""
        present = {line.id for line in self.question.batch.lines}
        for line in reversed(self.question.recall.window.lines):
            if line.id not in present:
                yield self._line(line.at, self._past_author(line), line.text)

    def _past_author(self, line: HistoryLine) -> str:
        if line.kind == "reply":
            return f"{named(self.persona.name)} ({self.words.you})"
        return self._viewer(line.author)

    def _viewer(self, viewer: Viewer | None) -> str:
        """Return a viewer's name; one that is the platform's or the bot's here is told from theirs."""
        if viewer is None:
            return self.words.event
        name = named(viewer.name)
        return f"@{name}" if name.casefold() in {self.words.event, named(self.persona.name).casefold()} else name

    def _line(self, at: datetime, author: str, text: str) -> str:
        return f"{at.strftime('%H:%M')} {author}: {quoted(text, self.limits.line_characters)}"


def _inside(tag: str, lines: list[str]) -> list[str]:
    return [f"<{tag}>", *lines, f"</{tag}>"]


def _fitting_block(text: str, room: int) -> str:
    """Return what stands inside the block, or as many of its first lines as fit: the memory keeps its own, smaller limit."""
    safe = defused(text.removeprefix(f"<{MEMORY}>\n").removesuffix(f"\n</{MEMORY}>"), TAGS)
    return safe if estimate_tokens(safe) <= room else "\n".join(_first(iter(safe.splitlines()), room))


def _newest(newest_first: Iterator[str], room: int) -> list[str]:
    """Return as many of the newest lines as fit, oldest first."""
    return _first(newest_first, room)[::-1]


def _first(lines: Iterator[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= _cost(line)
        if room < 0:
            break
        kept.append(line)
    return kept


def _cost(line: str) -> int:
    return estimate_tokens(line) + 1
