"""What a message says, as far as the language rules can tell: does it address the bot, ask, and about whom and when. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.events import BotIdentity, Message
from memory.normalise import LONGEST_TEXT, fold, spaced, stem, words
from memory.phrases import Phrases
from memory.rules import Rules

CLAUSE = re.compile(r"[,;:.!]\s+")
LEGIBLE, LEGIBLE_SHARE = 4, 0.2  # words from which a language can be told, and the share of them that are its common ones
ASKING = 4  # words from which a line that has no form of a question may be one
_EDGE = " \t,.:;!-@"  # what the bot's name leaves behind at the ends of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One message, read. `text` is what is asked, without the bot's name; the flags are observations, not decisions."""

    message: Message
    text: str
    plain: str  # `text` folded and spaced
    addressed: str = ""  # why it counts as said to the bot; empty: it is not
    question: bool = False
    hinted: bool = False  # may ask something, without the form of a question
    remember: bool = False  # asks to keep something
    recall: bool = False  # asks what the memory holds about somebody
    open_recall: bool = False
    first: bool = False  # speaks of its author
    alone: bool = False  # … and not only of what is theirs with others
    second: bool = False  # speaks of the bot
    bot: bool = False  # … as the one who does or is it
    third: bool = False  # speaks of somebody named before
    persona: bool = False
    catch_up: bool = False
    follow_up: bool = False
    away: bool = False
    happened: bool = False  # asks about something that happened
    remote: bool = False  # … and says that it is long past
    said: bool = False  # asks who said or did it
    world: bool = False  # asks about the world at large
    about_one: bool = False  # asks about one person or animal: "how old is …"
    bot_said: bool = False
    ours: bool = False  # speaks of the author and others together
    told: bool = False  # in the past tense, or pointing at what this chat knows
    shared: bool = False  # asks who else has or does something, or what two people have to do with each other
    cues: tuple[str, ...] = ()  # of here, last, past, first
    domains: tuple[str, ...] = ()


def read(
    message: Message, bot: BotIdentity, rules: Sequence[Rules], *, replies_to_bot: bool = False, goes_on: bool = False
) -> Reading:
    """Return the reading of `message`; every language's rules apply. A message that is not said to the bot is not read further.

    `replies_to_bot`: it answers one of the bot's lines. `goes_on`: it may go on from a question to the bot without naming it.
    """
    raw = message.text[:LONGEST_TEXT]
    text, named = without_address(_without_emotes(message, raw), bot)
    addressed = _addressed(message, bot, named=named, replies=replies_to_bot)
    if not addressed and not goes_on:
        return Reading(message=message, text=text, plain="")
    plain = spaced(text)
    if not addressed and not _any(rules, "follow_up", plain):
        return Reading(message=message, text=text, plain=plain)
    return _flags(message, text, plain, addressed, bot=bot, rules=rules)


def _flags(message: Message, text: str, plain: str, addressed: str, *, bot: BotIdentity, rules: Sequence[Rules]) -> Reading:
    bare = _bare(plain, rules)
    episode = [rule.episode for rule in rules]
    cues = tuple(cue for cue in ("here", "last", "past", "first") if any(getattr(table, cue).found(plain) for table in episode))
    unread = _unread(plain, rules)
    single = _without(bare, (rule.person.all for rule in rules))
    away = any(table.away.found(plain) for table in episode)
    sayable = _without_names_of(plain, bot, rules)
    return Reading(
        message=message,
        text=text,
        plain=plain,
        addressed=addressed,
        question="?" in text or _asks(text, plain, rules),
        hinted=len(plain.split()) >= ASKING and _any(rules, "hint", plain) and not _any(rules, "exclaim", plain),
        remember=_any(rules, "remember", plain),
        recall=_any(rules, "recall", plain),
        open_recall=_any(rules, "open_recall", plain),
        first=_first(bare, rules),
        alone=_first(_unshared(bare, rules), rules),
        second=any(rule.person.second.found(single) for rule in rules),
        bot=any(rule.person.bot.found(single) for rule in rules),
        third=any(rule.person.third.found(bare) for rule in rules),
        persona=_any(rules, "persona", plain),
        catch_up=_any(rules, "catch_up", plain),
        follow_up=_any(rules, "follow_up", plain),
        away=away,
        happened=any(table.event.found(plain) for table in episode),
        remote=any(table.remote.found(plain) for table in episode),
        said=any(table.said.found(plain) for table in episode),
        world=_any(rules, "world", plain),
        about_one=_any(rules, "about_one", plain),
        bot_said=any(table.bot_said.found(plain) for table in episode),
        ours=any(rule.person.ours.found(bare) for rule in rules),
        told=any(table.told.found(plain) for table in episode),
        shared=_any(rules, "shared", plain),
        cues=("here", *cues) if away and not cues else cues,
        domains=() if unread else tuple(dict.fromkeys(d for rule in rules for d in rule.state.domains(sayable))),
    )


def _asks(text: str, plain: str, rules: Sequence[Rules]) -> bool:
    """Return whether the text, or a clause of it, has the form of a question: chat leaves the question mark out."""
    if _any(rules, "exclaim", plain):
        return False
    whole = any(_any(rules, name, plain) for name in ("question", "ask", "recall", "open_recall"))
    return whole or any(_any(rules, "question", spaced(clause)) for clause in CLAUSE.split(text)[1:])


def _bare(plain: str, rules: Sequence[Rules]) -> str:
    """Return the text without courtesies and set phrases, whose persons mean nothing ("can you tell me" is not about me)."""
    return _without(plain, (some for rule in rules for some in (rule.ask, rule.episode.away, rule.person.first_not)))


def _without(plain: str, lists: Iterable[Phrases]) -> str:
    for phrases in lists:
        plain = phrases.removed(plain)
    return plain


def _first(bare: str, rules: Sequence[Rules]) -> bool:
    """Return whether it speaks of its author; where the bot is the one who does it, a verb or noun that looks so does not."""
    if not any(rule.person.first.found(bare) for rule in rules):
        return False
    said = frozenset(bare.split())
    outright = any(rule.person.bot.found(bare) for rule in rules)
    asked = any(_any(rules, name, bare) for name in ("open_recall", "recall", "world"))  # whether the bot knows, or thinks
    return not outright or asked or any(said & rule.person.sure for rule in rules)


def _unshared(bare: str, rules: Sequence[Rules]) -> str:
    return f" {' '.join(word for word in bare.split() if not any(word in rule.person.shared for rule in rules))} "


def _without_names_of(plain: str, bot: BotIdentity, rules: Sequence[Rules]) -> str:
    """Return `plain` without any form of the bot's names: one that is also a word says nothing of what is asked."""
    names = {stemmed(word, rules) for name in (bot.login, bot.name, *bot.aliases) for word in words(name)}
    return f" {' '.join(word for word in plain.split() if stemmed(word, rules) not in names)} "


def _unread(plain: str, rules: Sequence[Rules]) -> bool:
    """Return whether so few words are common ones of a known language that it must be another."""
    said = plain.split()
    known = sum(any(word in rule.stop for rule in rules) for word in said)
    return len(said) >= LEGIBLE and known < LEGIBLE_SHARE * len(said)


def _any(rules: Sequence[Rules], name: str, plain: str) -> bool:
    return any(_phrases(rule, name).found(plain) for rule in rules)


def _phrases(rule: Rules, name: str) -> Phrases:
    found = getattr(rule, name)
    if not isinstance(found, Phrases):
        raise TypeError(f"{name} is no list of phrases")
    return found


def _addressed(message: Message, bot: BotIdentity, *, named: bool, replies: bool) -> str:
    if any(viewer.id == bot.id for viewer in message.mentions) or named:
        return "names the bot"
    return "replies to the bot" if replies else ""


def _without_emotes(message: Message, text: str) -> str:
    names = {emote.name for emote in message.emotes}
    return " ".join(word for word in text.split(" ") if word not in names) if names else text


def without_address(text: str, bot: BotIdentity) -> tuple[str, bool]:
    """Return `text` without the bot's names and aliases at any place, and whether one stood there."""
    names = {fold(name) for name in (bot.login, bot.name, *bot.aliases) if name}
    folded = fold(text)
    if not any(name in folded for name in names):
        return text.strip(_EDGE), False
    kept: list[str] = []
    found = False
    for token in text.split():
        core = token.strip("@,.:;!?()\"'«»…")
        if core and fold(core) in names:
            found = True
            if "?" in token:
                kept.append("?")
        else:
            kept.append(token)
    joined = re.sub(r" ([?,.!])", r"\1", " ".join(kept)) if found else " ".join(kept)
    return joined.strip(_EDGE), found


def content_stems(text: str, rules: Sequence[Rules], *, without: Iterable[str] = ()) -> frozenset[str]:
    """Return the stems of the words that carry content: no stop words of any language and none of `without`."""
    aside = frozenset(without)
    return frozenset(stemmed(word, rules) for word in words(text) if word not in aside and carries(word, rules))


def carries(word: str, rules: Sequence[Rules]) -> bool:
    """Return whether a folded word carries content."""
    return len(word) > 1 and not any(word in rule.stop for rule in rules)


def stemmed(word: str, rules: Sequence[Rules]) -> str:
    """Return the shortest stem that any language's endings give, so that both languages' forms join in mixed chat."""
    return min((stem(word, rule.endings) for rule in rules), key=len, default=word)


def language_of(texts: Iterable[str], rules: Sequence[Rules]) -> str:
    """Return the language whose stop words are most frequent; the first one where none is."""
    found = [word for text in texts for word in words(text)]
    counts = [(sum(word in rule.stop for word in found), -index) for index, rule in enumerate(rules)]
    return rules[-max(counts)[1]].language
