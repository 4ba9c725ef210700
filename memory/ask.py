"""One message turned into what it asks of the memory: whom, what, where and when, each with its reason. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from lore.entry import LoreEntry
from memory.coverage import covered
from memory.language import CLAUSE, Reading, carries, content_stems
from memory.model import Batch, HistoryLine, Stream, Window
from memory.moments import StreamChoice, as_of, lately, streams_for
from memory.names import name_key, parts_of
from memory.normalise import fold, spaced, words
from memory.recipes import Recipe
from memory.rules import Rules
from memory.targets import Around, named_in

PUBLIC = frozenset(
    {"joke", "request", "channel"}
)  # domains that say all there is: no search in the author's messages beside them
OWNED = frozenset({"request", "note", "relation"})  # domains whose records belong to viewers
LOGIN = re.compile(r"@\w|\w*[^\W\d]\w*[\d_]|[\d_]+[^\W\d_]")  # what looks like somebody's name, who is not known here
NEAR_LINES = 6  # lines back in which a pronoun finds its person


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Everything a plan is made from."""

    batch: Batch
    window: Window
    who: Around
    stream: Stream
    past: Sequence[Stream]
    lore: Sequence[LoreEntry]
    rules: Sequence[Rules]
    recipe: Recipe


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What one message wants from the memory."""

    reading: Reading
    why: str  # the decision, in words
    people: Mapping[str, str] = field(default_factory=dict)  # viewer id -> why
    domains: tuple[str, ...] = ()
    lore_ids: tuple[str, ...] = ()
    persona: bool = False
    canon: bool = False  # the canon may say it too, where the question comes near to it
    streams: tuple[StreamChoice, ...] = ()
    covered: str = ""
    as_of: datetime | None = None
    guessed: bool = False  # nobody is named: it may be about its author, and need not be about memory at all

    @property
    def anything(self) -> bool:
        """Whether there is anything to look up."""
        return bool(self.people or self.domains or self.lore_ids or self.persona or self.streams)


def ask_of(reading: Reading, scene: Scene) -> Ask:
    """Return what a message asks of the memory; where that is nothing, `why` says so."""
    if not reading.addressed:
        return Ask(reading=reading, why="is not said to the bot")
    lore_ids = _lore_named(reading, scene.lore)
    if not reading.question and (told := _wanted_lore(reading, lore_ids, {}, scene.lore)):
        return Ask(reading=reading, why="speaks to the bot about its world", lore_ids=told)
    if not reading.question and (reading.remember or not reading.hinted):
        return Ask(reading=reading, why="asks to keep something" if reading.remember else "speaks to the bot and asks nothing")
    reading = _without_excuse(reading, scene.rules)
    people = _people(replace(reading, text=_without_canon(reading.text, lore_ids, scene.lore)), scene)
    domains = reading.domains
    if reading.second and not people and set(domains) == {"relation"}:
        domains = ()  # the bot's own family is canon
    if domains and set(people) <= {scene.stream.channel.id}:
        people = {}  # a record of the channel: its streamer is named and not asked about
    persona = not people and _about_bot(reading, domains)
    settled = domains and PUBLIC.issuperset(domains) and people.keys() <= {reading.message.user.id} and not reading.alone
    whom = {} if settled else people
    streams = () if persona else _streams(reading, people, domains, scene, canon=bool(lore_ids))
    if not (people or domains or lore_ids or persona or streams) and _of_this_chat(reading):
        return _checked(_open(reading, scene), {}, scene)
    ask = Ask(
        reading=reading,
        why=_why(reading, people, persona=persona),
        people=whom,
        domains=domains,
        lore_ids=_wanted_lore(reading, lore_ids, people, scene.lore),
        persona=persona,
        canon=(reading.second or not reading.first)
        and not (persona or reading.world or reading.open_recall or reading.recall)
        and set(people) <= {reading.message.user.id},
        streams=streams,
        as_of=as_of(reading, scene.batch.closed_at, scene.rules) if people else None,
    )
    return _guessed(_checked(ask, people, scene), scene)


def _guessed(ask: Ask, scene: Scene) -> Ask:
    """Return the ask; where it names nobody and nothing, about its author.

    Who asks the bot something often asks about themselves, in ways that no list of words holds. What the gate does not find
    good is not shown, and that nothing was found is not told: it was not asked for (docs/decisions/0021).
    """
    reading = ask.reading
    ask = ask if reading.question else replace(ask, guessed=True)
    if ask.anything or ask.covered or reading.world or reading.second or reading.recall or LOGIN.search(reading.text):
        return ask
    guess = replace(ask, people={reading.message.user.id: "may be about who writes it"}, canon=True, guessed=True)
    return _checked(guess, {}, scene)


def _of_this_chat(reading: Reading) -> bool:
    """Whether a question that names nobody and nothing can be meant for this chat's memory, and not for the world."""
    return not reading.world and (reading.told or reading.happened or reading.ours)


def _open(reading: Reading, scene: Scene) -> Ask:
    """Return the ask of a question about the past of this chat that says neither whose nor when."""
    author = reading.message.user.id
    why = "asks about this chat, and says neither whom nor when"
    return Ask(
        reading=reading,
        why="asks something of this chat",
        people={author: why},
        canon=True,
        streams=lately(scene.stream, scene.past),
        as_of=as_of(reading, scene.batch.closed_at, scene.rules),
    )


def _checked(ask: Ask, people: Mapping[str, str], scene: Scene) -> Ask:
    """Return the ask, marked where the history already answers it."""
    if not (ask.people or ask.streams) or not scene.recipe.coverage_check or ask.lore_ids:
        return ask
    reason = covered(ask.reading, people, scene.window, bot=scene.stream.bot, names=_called(people, scene), rules=scene.rules)
    if not reason:
        return ask
    return Ask(reading=ask.reading, why=ask.why, people=people, domains=ask.domains, covered=reason, as_of=ask.as_of)


def _why(reading: Reading, people: Mapping[str, str], *, persona: bool) -> str:
    if reading.recall:
        return "asks what the memory holds"
    if people:
        return "asks about people"
    return "asks about the bot itself" if persona else "asks something"


def _people(reading: Reading, scene: Scene) -> dict[str, str]:
    """Return whom the message asks about: in the clause that asks, else in the whole message."""
    clause = _asking_clause(reading, scene.rules)
    author = reading.message.user.id
    named = named_in(reading.text, scene.who, scene.rules)
    named |= {
        v.id: "mentioned"
        for v in reading.message.mentions
        if v.id != scene.stream.bot.id and v.id not in named and v.id != author
    }
    in_clause = named if clause == reading.text else named_in(clause, scene.who, scene.rules)
    first_here = reading.first and any(rule.person.first.found(spaced(clause)) for rule in scene.rules)
    if in_clause and not first_here:
        return {person: why for person, why in named.items() if person in in_clause}
    if reading.first and (reading.alone or not named):
        about_me = {author: "speaks of themselves"}
        return about_me | {p: why for p, why in named.items() if not _acts_on_author(p, reading, scene)}
    if named:
        return named
    if reading.third:
        return {author: "speaks of somebody they share"} if reading.ours else _somebody_before(reading, scene)
    return _unknown_name(reading, scene)


def _asking_clause(reading: Reading, rules: Sequence[Rules]) -> str:
    """Return the last clause; where several viewers are listed, what follows a first clause that asks nothing."""
    clauses = [clause for clause in CLAUSE.split(reading.text) if len(clause.split()) > 2]  # noqa: PLR2004 - shorter ones are exclamations
    if len(clauses) < 2:  # noqa: PLR2004 - one clause is the whole text
        return reading.text
    if reading.text.count("@") < 2:  # noqa: PLR2004 - one name is no list
        return clauses[-1]
    introduces = "@" not in clauses[0] and not any(rule.question.found(spaced(clauses[0])) for rule in rules)
    return " ".join(clauses[1:]) if introduces else reading.text


def _without_excuse(reading: Reading, rules: Sequence[Rules]) -> Reading:
    """Return the question alone where its author says first why they missed it ("I was cooking, who broke the glass?").

    What is said of oneself before a question about what happened, in which one is not, is no subject, unless it is after a kind
    of thing that people say of themselves: it says that it was in this stream, where nothing else says when. What the question
    takes up again ("I went to a fair, where was that fair?") is no excuse.
    """
    clause = CLAUSE.split(reading.text)[-1]
    plain = spaced(clause)
    taken_up = not content_stems(reading.text.removesuffix(clause), rules).isdisjoint(content_stems(clause, rules))
    whole = clause == reading.text or not any(carries(word, rules) for word in words(clause))  # "…, what was it": of oneself
    happened = any(rule.episode.event.found(plain) for rule in rules)
    personal = any(rule.person.first.found(plain) or any(slot.ask.found(plain) for slot in rule.slot) for rule in rules)
    if whole or taken_up or not reading.first or not happened or personal:
        return reading
    return replace(reading, text=clause, plain=plain, first=False, cues=reading.cues or ("here",))


def _acts_on_author(person: str, reading: Reading, scene: Scene) -> bool:
    """Whether the named viewer only does something to the author ("Bob offered me …"): then nothing is asked about them."""
    said = words(reading.text)
    called = _called({person: ""}, scene)
    objects = {word for rule in scene.rules for word in rule.person.acted_on}
    return any(word in called and objects.intersection(said[place + 1 : place + 4]) for place, word in enumerate(said))


def _somebody_before(reading: Reading, scene: Scene) -> dict[str, str]:
    """Return the last other person of the conversation: the author replied to, else the last one named, newest line first."""
    author = reading.message.user.id
    parent = parent_of(reading, scene.window)
    if parent and parent.author and parent.author.id not in {author, scene.stream.bot.id}:
        return {parent.author.id: "is the one replied to"}
    for line in reversed(scene.window.lines[-NEAR_LINES:]):
        named = [person for person in named_in(line.text, scene.who, scene.rules) if person != author]
        if named:
            return {named[-1]: "is the last person named before"}
    return {author: "speaks of somebody in their own life"}


def _unknown_name(reading: Reading, scene: Scene) -> dict[str, str]:
    """Return the author, where they ask about a name that is nobody's here ("how old is Rex"): somebody in their own life."""
    tokens = [token.strip("?!.,:;\"'") for token in reading.text.split()[1:]]
    proper = [
        t for t in tokens if t[:1].isupper() and not t.isupper() and not any(fold(t) in rule.stop for rule in scene.rules)
    ]
    return {reading.message.user.id: f"asks about {proper[0]!r}, no viewer"} if proper and reading.about_one else {}


def parent_of(reading: Reading, window: Window) -> HistoryLine | None:
    """Return the line that the message replies to, where it stands in the window."""
    return (
        next((line for line in window.lines if line.id == reading.message.reply_to), None) if reading.message.reply_to else None
    )


def _about_bot(reading: Reading, domains: Sequence[str]) -> bool:
    told = reading.world or reading.open_recall or reading.recall or reading.bot_said
    past = (reading.happened or reading.cues) and not reading.bot
    return reading.persona or (reading.second and not domains and not told and not past)


def _streams(
    reading: Reading, people: Mapping[str, str], domains: Sequence[str], scene: Scene, *, canon: bool
) -> tuple[StreamChoice, ...]:
    """Return the streams asked about; none for a question about the author, or for a record, that points to no stream."""
    if (reading.world or canon) and not people and not reading.cues:
        return ()
    together = reading.ours and reading.happened
    own = set(people) == {reading.message.user.id} and not (reading.bot_said or reading.said or together)
    recorded = domains and (people or set(domains) != {"note"})  # who brings what is noted, or was only said
    if (own or recorded or reading.recall) and not reading.cues:
        return ()
    if not people and not domains and any(rule.happening.found(reading.plain) for rule in scene.rules):
        reading = replace(reading, happened=True)  # after a kind of thing that happens here, and nothing else is named
    chosen = streams_for(reading, scene.stream, scene.past, now=scene.batch.closed_at, rules=scene.rules)
    return chosen or (lately(scene.stream, scene.past) if domains and not people and reading.told else ())


def _called(people: Mapping[str, str], scene: Scene) -> frozenset[str]:
    """Return the folded words by which these viewers and the bot are called."""
    bot = scene.stream.bot
    names = {fold(name) for name in (bot.login, bot.name, *bot.aliases)}
    for person in people:
        viewer = scene.who.index.get(person)
        for name in (viewer.login, viewer.name, *viewer.former) if viewer else ():
            names |= {name_key(name), *parts_of(name), *words(name)}
    return frozenset(names)


def without_names(text: str, person: str, scene: Scene) -> str:
    """Return `text` without the words by which this viewer is called: nobody names themselves in what they say.

    Words that mean something else too stay, and so does a text of nothing else.
    """
    called = _called({person: ""}, scene)
    kept = [token for token in text.split() if not _names(token, called, scene.rules)]
    return " ".join(kept) if any(words(token) for token in kept) else text


def _names(token: str, called: Collection[str], rules: Sequence[Rules]) -> bool:
    said = words(token)
    if not said or said[0] not in called or not set(said[1:]) <= {"s"}:
        return False
    return token.startswith("@") or not any(said[0] in rule.stop or said[0] in rule.ordinary for rule in rules)


def _lore_named(reading: Reading, lore: Sequence[LoreEntry]) -> tuple[str, ...]:
    return tuple(
        entry.id for entry in lore if any(spaced(alias).strip() and spaced(alias) in reading.plain for alias in entry.aliases)
    )


def _without_canon(text: str, ids: Sequence[str], lore: Sequence[LoreEntry]) -> str:
    """Return `text` without the proper names of these entries: a part of such a name is no viewer's."""
    names = {
        word for entry in lore if entry.id in ids for alias in entry.aliases if " " in alias.strip() for word in words(alias)
    }
    return (
        " ".join(token for token in text.split() if not names.issuperset(words(token)) or not words(token)) if names else text
    )


def _wanted_lore(
    reading: Reading, ids: tuple[str, ...], people: Mapping[str, str], lore: Sequence[LoreEntry]
) -> tuple[str, ...]:
    """Return the entries that are meant.

    In a statement, and in a question about a viewer, a common noun is no alias: only a proper name or several words are.
    """
    if not people and reading.question:
        return ids
    telling = {
        entry.id
        for entry in lore
        for alias in entry.aliases
        if spaced(alias) in reading.plain and (" " in alias.strip() or alias[:1].isupper())
    }
    return tuple(entry for entry in ids if entry in telling)
