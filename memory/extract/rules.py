"""Extraction by rules: what chat lines say about their own authors, offline, the same every time. Pure.

Precision comes first. A statement needs a form that speaks of its author, outside of questions, jests, quotations, wishes,
reports, orders to the bot and role play; whatever is sensitive is left where it was said. What viewers say about others is
read apart from it, as their claims: `memory.extract.others`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache

from memory.extract.dates import Dates, Said, first, reckoned, shown, without
from memory.extract.hits import Hit, before, best, dates_of
from memory.extract.languages import Language, Rule, load_languages, load_slots
from memory.extract.patterns import Anchored, Pattern
from memory.extract.tokens import BREAK, Sentence, joined, sentences, unquoted
from memory.normalise import same_key, words
from memory.statements import ENDED, Precision, Slot, Statement

LONGEST_TEXT, LONGEST_OBJECT = 300, 80
_TAKEN_BACK = timedelta(minutes=3)  # a correction this long after a statement still means it
_UNMEANT = re.compile(r"[♪♫♬🎵🎶🎤]|(?:^|\s)/(?:s|j|jk|sarcasm|joking)(?![\w/])")  # a song, or a mark of irony
_SUBJECT = 2  # words in which a subject stands before its verb: "i have", "mi sono"
_REACH = 3  # words before a statement in which a negator undoes it
_LONGEST_ANSWER, _LONGEST_RIGHT, _LONGEST_SPELT, _LONGEST_RETRACTION = 6, 3, 2, 4  # words
_PLACES = frozenset({"home", "origin", "workplace"})  # none is written with digits
_SPELT = frozenset({"name", "home", "origin", "age"})  # slots that a bare "*word" puts right
_CORRECTED = re.compile(r"^\s*\*\s*([^*\s][^*]{0,60})\*?\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """A line that may state something about its author."""

    id: str
    author: str
    at: datetime
    text: str
    emotes: frozenset[str] = frozenset()
    is_action: bool = False
    answers: str = ""  # the text of the line that it replies to
    answers_whom: str = ""  # who wrote that line
    mentions: Mapping[str, str] = field(default_factory=dict)  # folded names, to viewer ids, as the platform gave them


class Reader:
    """One language's rules, ready to match."""

    def __init__(self, language: Language, slots: Mapping[str, Slot]) -> None:
        self.language = language
        self._slots = slots
        self._dates = Dates(language)
        self._rules = Anchored((rule, pattern) for rule in language.rule for pattern in language.compiled(rule.patterns))
        self._joke = Anchored((None, pattern) for pattern in language.compiled(language.joke))
        vetoes = (*language.unreal, *language.order, *language.sensitive)
        self._veto = Anchored((None, pattern) for pattern in language.compiled(vetoes))
        self._correction = language.compiled(language.correction)
        self._answer = language.compiled(language.answer)
        self._evasive = Anchored((None, pattern) for pattern in language.compiled(language.evasive))
        self._asked = [(question.slot, language.compiled(question.patterns)) for question in language.asked]

    def jokes(self, sentence: Sentence) -> bool:
        """Return whether the line says itself that it is not meant."""
        return self._any(self._joke, sentence)

    def vetoes(self, sentence: Sentence) -> bool:
        """Return whether nothing in this sentence may be kept."""
        return self._any(self._veto, sentence)

    def asks(self, sentence: Sentence) -> bool:
        """Return whether the sentence is a question, with or without its mark."""
        return (
            sentence.asks or next((w for w in sentence.words if w not in self.language.openers), "") in self.language.question
        )

    def statements(self, line: Spoken, sentence: Sentence) -> Iterator[tuple[int, Statement]]:
        """Yield what the rules find in a sentence, with its place."""
        dates = self._dates.find(sentence)
        plain = without(sentence, dates)
        hits = best(list(self._hits(plain, dated=bool(dates))))
        for hit in hits:
            yield hit.start, self._statement(line, sentence, hit, dates_of(hit, hits, dates))

    def _hits(self, sentence: Sentence, *, dated: bool) -> Iterator[Hit]:
        for rule, pattern in self._rules.near(sentence.words):
            if rule.dated and not dated:
                continue
            for match in pattern.regex.finditer(sentence.spaced):
                start, end = sentence.place(match.start()), sentence.place(match.end() - 1) + 1
                if not self._stands(sentence, start, pattern):
                    continue
                hit = self._hit(sentence, rule, match, start=start, end=end)
                if hit is not None:
                    yield hit

    def _stands(self, sentence: Sentence, start: int, pattern: Pattern) -> bool:
        if not self._opens(sentence, start, pattern) or not self._is_own(sentence, start):
            return False
        near = sentence.words[:start][-_REACH:]
        while BREAK in near:
            near = near[near.index(BREAK) + 1 :]
        return self.language.negators.isdisjoint(near)

    def _opens(self, sentence: Sentence, start: int, pattern: Pattern) -> bool:
        if not pattern.opens or start == 0 or sentence.words[start - 1] == BREAK:
            return True
        return sentence.words[start - 1] in self.language.openers and self._is_own(sentence, start - 1)

    def _is_own(self, sentence: Sentence, start: int) -> bool:
        """Return whether what begins at `start` is said of the author: "just quit" after "my brother" is not."""
        if sentence.words[start] not in self.language.unspoken:
            return True
        before = sentence.words[:start]
        if not before or before[-1] == BREAK or before[-1] in self.language.openers:
            return True
        return not self.language.speaker.isdisjoint(before[-_SUBJECT:])

    def _any(self, patterns: Anchored[None], sentence: Sentence) -> bool:
        return any(
            self._opens(sentence, sentence.place(match.start()), pattern)
            for _, pattern in patterns.near(sentence.words)
            for match in pattern.regex.finditer(sentence.spaced)
        )

    def _hit(self, sentence: Sentence, rule: Rule, match: re.Match[str], *, start: int, end: int) -> Hit | None:
        spans = {name: match.span(name) for name, value in match.groupdict().items() if value}
        key = self._captured(sentence, spans.pop("key")) if "key" in spans else rule.key
        said = self._captured(sentence, (min(s for s, _ in spans.values()), max(e for _, e in spans.values()))) if spans else ""
        if rule.most and not rule.least <= self._value((match.groupdict().get("number") or "").strip()) <= rule.most:
            return None
        if not spans and rule.effect == "is" and not rule.dated:
            said = self._captured(sentence, match.span())
        if (spans and not said) or self._says_nothing(said) or ("key" in match.re.groupindex and not self._is_key(key)):
            return None
        if spans and rule.bare and not _begins(said, sentence, sentence.place(min(s for s, _ in spans.values()))):
            return None
        if (rule.slot in _PLACES and any(char.isdigit() for char in said)) or (rule.proper and not said[:1].isupper()):
            return None
        return Hit(start=start, end=end, rule=rule, object=said[:LONGEST_OBJECT], key=key)

    def _captured(self, sentence: Sentence, span: tuple[int, int]) -> str:
        """Return what stands in a span as it was written, without articles before it and adverbs behind it."""
        start, end = sentence.place(span[0]), sentence.place(span[1] - 1) + 1
        while start < end and sentence.words[start] in self.language.articles:
            start += 1
        while start < end and sentence.words[end - 1] in self.language.trailing:
            end -= 1
        return joined(sentence.said[start:end])

    def _says_nothing(self, said: str) -> bool:
        found = words(said)
        return bool(said) and (not found or (len(found) == 1 and found[0] in self.language.empty))

    def _is_key(self, key: str) -> bool:
        return not self.language.vague.issuperset(words(key))

    def _value(self, number: str) -> int:
        folded = number.casefold()
        return int(folded) if folded.isdigit() else self.language.numbers.get(folded, 0)

    def _statement(self, line: Spoken, sentence: Sentence, hit: Hit, dates: Sequence[Said]) -> Statement:
        rule, slot = hit.rule, self._slots[hit.rule.slot]
        begun, ended = first(dates, "since", "at"), first(dates, "until")
        start = reckoned(begun, line.at, rule.toward, fronted=before(begun, hit, dates)) if begun else None
        end = reckoned(ended, line.at, rule.toward) if ended else None
        said = hit.object or (begun.words if begun and rule.dated else "")
        precision: Precision = start[1] if start else ""
        return Statement(
            subject=line.author,
            slot=slot,
            predicate=_predicate(slot, hit.key, ended=rule.effect == "ends"),
            object=said,
            text=_text(sentence.text, self.language.labels.get(slot.name, ""), start),
            at=line.at,
            source=line.id,
            effect=rule.effect,
            change=rule.change,
            valid_at=start[0] if start else None,
            precision=precision,
            invalid_at=end[0] if end else None,
            confidence=rule.confidence,
        )

    def stated(self, line: Spoken, sentence: Sentence, rule: Rule, *, said: str, key: str = "") -> Statement:
        """Return a statement that no pattern found: `said`, in a sentence of `line`, with the dates that stand there."""
        hit = Hit(start=0, end=len(sentence.words), rule=rule, object=said[:LONGEST_OBJECT], key=key)
        return self._statement(line, sentence, hit, self._dates.find(sentence))

    def addresses(self, sentence: Sentence) -> bool:
        """Return whether the sentence speaks to somebody."""
        return not self.language.address.isdisjoint(sentence.words)

    def speaks(self, sentence: Sentence) -> int:
        """Return how many small words of a sentence are this language's."""
        small = self.language.stops | self.language.openers | self.language.articles
        return sum(word in small for word in sentence.words)

    def corrected(self, sentence: Sentence) -> str:
        """Return what a correction puts in place of the last statement; empty: this is none."""
        for pattern in self._correction:
            for match in pattern.regex.finditer(sentence.spaced):
                said = self._captured(sentence, match.span("x"))
                if self._stands(sentence, sentence.place(match.start()), pattern) and 0 < len(words(said)) <= _LONGEST_RIGHT:
                    return "" if self._says_nothing(said) else said
        return ""

    def answer(self, line: Spoken) -> Statement | None:
        """Return what a short reply says to the question that it answers."""
        slot, key = self._slot_asked(line.answers)
        given = sentences(line.text, line.emotes)
        if not slot or not given or given[0].asks or len(given[0].words) > _LONGEST_ANSWER:
            return None
        said = self._short(given[0])
        if (
            not words(said)
            or words(said)[0] in self.language.empty
            or self.vetoes(given[0])
            or self._any(self._evasive, given[0])
        ):
            return None
        return Statement(
            subject=line.author,
            slot=self._slots[slot],
            predicate=_predicate(self._slots[slot], key, ended=False),
            object=said,
            text=_text(said, self.language.labels.get(slot, ""), None),
            at=line.at,
            source=line.id,
            confidence=0.7,
        )

    def _slot_asked(self, text: str) -> tuple[str, str]:
        for sentence in sentences(text):
            for slot, patterns in self._asked:
                match = next((found for pattern in patterns if (found := pattern.regex.search(sentence.spaced))), None)
                if match is not None:
                    return slot, (match.groupdict().get("key") or "").strip()
        return "", ""

    def _short(self, sentence: Sentence) -> str:
        for pattern in self._answer:
            match = pattern.regex.match(sentence.spaced, 1)
            if match and match.end() == len(sentence.spaced):
                return self._captured(sentence, match.span("x"))
        return "" if BREAK in sentence.words else self._captured(sentence, (1, len(sentence.spaced) - 1))


@lru_cache(maxsize=4)
def rule_extractor(languages: tuple[str, ...]) -> "RuleExtractor":
    """Return the extractor of the shipped rules of these languages, made once.

    Raises:
        RulesInvalid: a file is missing or wrong.
    """
    return RuleExtractor(load_languages(languages), load_slots())


class RuleExtractor:
    """Reads chat lines by the rules of several languages at once: a chat mixes them."""

    def __init__(self, languages: Sequence[Language], slots: Mapping[str, Slot]) -> None:
        """Make every pattern ready; `languages.load_languages` and `load_slots` read the files.

        Raises:
            KeyError: a rule names a slot that there is not.
            ValueError: a pattern does not follow the notation.
        """
        self.readers = [Reader(language, slots) for language in languages]

    def extract(self, lines: Sequence[Spoken]) -> list[Statement]:
        """Return what the lines, oldest first, say about their authors, in their order.

        A line may take back what the same author stated in their line before, up to three minutes ago, or call it a joke.
        """
        found: list[Statement] = []
        last: dict[str, Statement] = {}
        joked = self._joked(lines)
        for line in lines:
            if line.id in joked:
                continue
            stated = self._of_line(line, last.pop(line.author, None))
            found += stated
            if stated:
                last[line.author] = stated[-1]
        return found

    def _joked(self, lines: Sequence[Spoken]) -> set[str]:
        """Return the lines behind which their author soon says, in few words, that it was a joke."""
        before: dict[str, Spoken] = {}
        joked: set[str] = set()
        for line in lines:
            said = before.get(line.author)
            before[line.author] = line
            if said is None or line.at - said.at > _TAKEN_BACK or len(words(line.text)) > _LONGEST_RETRACTION:
                continue
            if any(reader.jokes(sentence) for sentence in sentences(line.text) for reader in self.readers):
                joked.add(said.id)
        return joked

    def _of_line(self, line: Spoken, last: Statement | None) -> list[Statement]:
        read = sentences(unquoted(line.text), line.emotes)
        if self.unmeant(line, read):
            return []
        found: list[Statement] = []
        for sentence in read:
            found += self._of_sentence(line, sentence, found[-1] if found else last)
        if not found and line.answers:
            found = [statement for reader in self.readers if (statement := reader.answer(line))][:1]
        if not found and last and last.slot.name in _SPELT and line.at - last.at <= _TAKEN_BACK:
            found = _spelt(line, last)
        return _settled(found)

    def unmeant(self, line: Spoken, read: Sequence[Sentence]) -> bool:
        """Return whether a line is role play, sung, an order, or says itself that it is not meant."""
        if line.is_action or _UNMEANT.search(line.text) or line.text.lstrip().startswith((">", "!")):
            return True
        return any(reader.jokes(sentence) for sentence in read for reader in self.readers)

    def passed_over(self, sentence: Sentence) -> bool:
        """Return whether nothing of a sentence may be kept: it asks, supposes, reports, orders, or is sensitive."""
        return any(reader.vetoes(sentence) or reader.asks(sentence) for reader in self.readers)

    def _of_sentence(self, line: Spoken, sentence: Sentence, last: Statement | None) -> list[Statement]:
        if self.passed_over(sentence):
            return []
        placed = [hit for reader in self.readers for hit in reader.statements(line, sentence)]
        found = [statement for _, statement in sorted(placed, key=lambda pair: pair[0])]
        meant = found[-1] if found else last
        if meant is None or not meant.slot.single or line.at - meant.at > _TAKEN_BACK:
            return found
        right = next((said for reader in self.readers if (said := reader.corrected(sentence))), "")
        if not right or same_key(right) == same_key(meant.object):
            return found
        return [*found, _right(meant, right, line, sentence.text)]


def _spelt(line: Spoken, last: Statement) -> list[Statement]:
    """Return the statement before with a word put right, as chat does with an asterisk."""
    starred = _CORRECTED.match(line.text)
    right = starred.group(1).strip() if starred else ""
    return [_right(last, right, line, line.text)] if 0 < len(words(right)) <= _LONGEST_SPELT else []


def _right(wrong: Statement, right: str, line: Spoken, text: str) -> Statement:
    return replace(
        wrong,
        object=right[:LONGEST_OBJECT],
        text=_text(text, _label(wrong.text), None),
        at=line.at,
        source=line.id,
        effect="corrects" if wrong.source != line.id else wrong.effect,
        corrects=wrong.source,
        confidence=0.85,
    )


def _settled(found: Sequence[Statement]) -> list[Statement]:
    """Return the statements of one line, without those that the same line takes back, each once."""
    back = [one for one in found if one.corrects == one.source]
    kept = [one for one in found if not any(other.predicate == one.predicate and other is not one for other in back)]
    unique: dict[tuple[str, str], Statement] = {}
    for one in kept:
        unique.setdefault((one.predicate, same_key(one.object)), replace(one, corrects="") if one in back else one)
    return list(unique.values())


def _begins(said: str, sentence: Sentence, place: int) -> bool:
    """Return whether `said` begins with the word at `place`: nothing was taken from before it."""
    return words(said)[:1] == sentence.words[place : place + 1]


def _predicate(slot: Slot, key: str, *, ended: bool) -> str:
    named = f"{slot.name}:{same_key(key)}" if key else slot.name
    return f"{ENDED}{named}" if ended else named


def _text(sentence: str, label: str, start: tuple[datetime, Precision] | None) -> str:
    """Return the sentence and, on a line below, what it is about and when: found by both, quoted without the second."""
    plain = " ".join(sentence.split())
    said = plain if len(plain) <= LONGEST_TEXT else f"{plain[: LONGEST_TEXT - 1]}…"
    behind = "; ".join(part for part in (label, shown(*start) if start else "") if part)
    return f"{said}\n({behind})" if behind else said


def _label(text: str) -> str:
    return text[text.rindex("(") + 1 : -1].split("; ", 1)[0] if text.endswith(")") else ""
