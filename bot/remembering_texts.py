"""The words of the responder that needs no model, by language. Of several, the message decides, always in the same way."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWords:
    """Templates. {name}: who asked; {who}: whose words, or about whom; {when}: a day; {what}: a quote; {text}: canon."""

    you_wrote: tuple[str, ...]
    they_wrote: tuple[str, ...]
    about_you: tuple[str, ...]
    about_them: tuple[str, ...]
    claim_about_you: tuple[str, ...]
    claim: tuple[str, ...]
    happened: tuple[str, ...]
    i_said: tuple[str, ...]
    several_about_you: tuple[str, ...]
    several_about_them: tuple[str, ...]
    once_you: tuple[str, ...]  # what is not true any more
    once_them: tuple[str, ...]
    perhaps: str  # put before a memory that shares no word with the question
    canon: tuple[str, ...]
    record: tuple[str, ...]
    just_now: tuple[str, ...]
    above: tuple[str, ...]
    unknown: tuple[str, ...]
    partly: str  # added where part of the memory could not be read
    cannot: tuple[str, ...]
    noted: tuple[str, ...]
    heard: tuple[str, ...]
    fine: tuple[str, ...]
    greeting: tuple[str, ...]
    welcome: tuple[str, ...]
    farewell: tuple[str, ...]
    somebody: str
    greetings: frozenset[str]
    thanks: frozenset[str]
    farewells: frozenset[str]
    fillers: frozenset[str]  # words that may stand beside those three
    there: tuple[str, ...]  # beginnings that ask whether the bot is there
    how_are_you: tuple[str, ...]  # … and how it is
    remember: tuple[str, ...]  # beginnings that ask to keep something in mind
    contradicting: tuple[str, ...]  # how a message begins that says something is not so
    own: frozenset[str]  # words that speak of their author
    asking: frozenset[str]  # first words of questions without a question mark
    months: tuple[str, ...]


TEXTS: Final[Mapping[str, MemoryWords]] = {
    "it": MemoryWords(
        you_wrote=("Se ricordo bene, {when} hai scritto: {what}.", "{when} hai scritto: {what}."),
        they_wrote=("Se ricordo bene, {when} {who} ha scritto: {what}.", "{when} {who} ha scritto: {what}."),
        about_you=("Di te ricordo questo, {when}: {what}.", "Di te so questo, {name}, da ciò che hai scritto {when}: {what}."),
        about_them=("Di {who} ricordo questo, {when}: {what}.", "Di {who} so questo, da ciò che ha scritto {when}: {what}."),
        claim_about_you=("Secondo {who}, {when}: {what}. Però lo dice {who}, non tu.",),
        claim=("Secondo {who}, {when}: {what}.", "Non ne sono sicuro: lo ha detto {who}, {when}: {what}."),
        happened=("Se ricordo bene, {when} è andata così: {what}.", "{when} in diretta: {what}."),
        i_said=("Se ricordo bene, {when} ho detto io: {what}.",),
        several_about_you=("Di te ricordo: {what}.", "Di te, {name}, so questo: {what}."),
        several_about_them=("Di {who} ricordo: {what}.", "Di {who} so questo: {what}."),
        once_you=("Una volta invece, {when}: {what}.",),
        once_them=("Una volta invece, {who}, {when}: {what}.",),
        perhaps="Non ne sono certo, ma forse c'entra questo.",
        canon=("{text}",),
        record=("Ho segnato questo: {what}.", "Tra le cose segnate c'è: {what}."),
        just_now=("Poco fa {who} ha scritto: {what}.", "È appena passato in chat, da {who}: {what}."),
        above=("Se ne è parlato poco fa qui in chat, {name}, basta risalire di qualche riga.",),
        unknown=(
            "Non me lo ricordo, {name}, e non voglio inventare.",
            "Questo non ce l'ho in memoria, {name}.",
            "Su questo non ricordo nulla, {name}: se me lo scrivi, lo tengo a mente.",
        ),
        partly="In questo momento però non riesco a leggere tutta la memoria.",
        cannot=("Non saprei, {name}: io so solo quello che leggo in questa chat.",),
        noted=("Va bene, {name}, lo tengo a mente.", "Letto, {name}: me lo ricorderò."),
        heard=("Ti leggo, {name}!", "Eccomi, {name}."),
        fine=("Tutto bene, {name}, grazie!", "Bene, {name}: leggo, ascolto e prendo nota."),
        greeting=("Ciao {name}!", "Ehi {name}, ben trovato in chat!", "Ciao {name}, che piacere leggerti!"),
        welcome=("Di niente, {name}!", "Figurati, {name}!"),
        farewell=("A presto, {name}!", "Luce bassa, {name}!"),
        somebody="qualcuno in chat",
        greetings=frozenset({"ciao", "salve", "buongiorno", "buonasera", "buondi", "ehi", "ehila", "hola", "sera", "giorno"}),
        thanks=frozenset({"grazie", "graziemille", "thx", "ringrazio"}),
        farewells=frozenset({"notte", "buonanotte", "arrivederci", "addio"}),
        fillers=frozenset(
            """a tutti bot caro mille tante bella buona ti di nuovo e anche te davvero per oggi stasera tutto voi come va stai
            """.split()  # noqa: SIM905 - a word list
        ),
        there=(
            "ci sei", "ci siete", "sei qui", "sei qua", "sei tra noi", "sei vivo",
            "sei viva", "sei sveglio", "sei sveglia", "mi senti",
        ),
        how_are_you=("come stai", "come va", "come ti va", "come butta", "tutto bene", "tutto ok"),
        remember=("ricordati", "ricorda che", "tieni a mente", "non dimenticare", "memorizza", "segnati"),
        contradicting=("no", "ti sbagli", "sbagliato", "non", "in realta", "veramente", "guarda che"),
        own=frozenset("io mi mio mia miei mie sono ho vivo abito sto lavoro faccio".split()),  # noqa: SIM905 - a word list
        asking=frozenset("chi cosa cos come dove quando quanto quanti quale qual perche dimmi".split()),  # noqa: SIM905 - a word list
        months=(
            "gennaio", "febbraio", "marzo", "aprile", "maggio", "giugno",
            "luglio", "agosto", "settembre", "ottobre", "novembre", "dicembre",
        ),
    ),
    "en": MemoryWords(
        you_wrote=("If I remember right, {when} you wrote: {what}.", "{when} you wrote: {what}."),
        they_wrote=("If I remember right, {when} {who} wrote: {what}.", "{when} {who} wrote: {what}."),
        about_you=("About you I remember this, {when}: {what}.", "I know this about you, from what you wrote {when}: {what}."),
        about_them=(
            "About {who} I remember this, {when}: {what}.",
            "Of {who} I know this, from what they wrote {when}: {what}.",
        ),
        claim_about_you=("According to {who}, {when}: {what}. But that is {who} talking, not you.",),
        claim=("According to {who}, {when}: {what}.", "I cannot vouch for it, but {who} said so, {when}: {what}."),
        happened=("If I remember right, {when} it went like this: {what}.", "{when} on stream: {what}."),
        i_said=("If I remember right, {when} I said: {what}.",),
        several_about_you=("About you I remember: {what}.", "This is what I know about you, {name}: {what}."),
        several_about_them=("About {who} I remember: {what}.", "This is what I know about {who}: {what}."),
        once_you=("It used to be different, {when}: {what}.",),
        once_them=("For {who} it used to be different, {when}: {what}.",),
        perhaps="I am not sure, but this may be it.",
        canon=("{text}",),
        record=("I have this written down: {what}.", "Among the things I keep: {what}."),
        just_now=("A little while ago {who} wrote: {what}.", "That came up a little while ago, {who} wrote: {what}."),
        above=("That came up here a moment ago, {name}, just scroll up a little.",),
        unknown=(
            "I don't remember that, {name}, and I would rather not make it up.",
            "I have nothing about that in memory, {name}.",
            "Nothing comes back to me on that, {name}: tell me and I will keep it in mind.",
        ),
        partly="Part of my memory cannot be read right now, though.",
        cannot=("I couldn't say, {name}: I only know what I read in this chat.",),
        noted=("All right, {name}, I will keep that in mind.", "Got it, {name}, I will remember."),
        heard=("I am listening, {name}!", "Here I am, {name}."),
        fine=("All good, {name}, thanks!", "Fine, {name}: I read along and keep it in mind."),
        greeting=("Hi {name}!", "Hey {name}, good to see you in chat!", "Hello {name}, nice to hear from you!"),
        welcome=("You're welcome, {name}!", "Any time, {name}!"),
        farewell=("See you soon, {name}!", "Lights low, {name}!"),
        somebody="somebody in chat",
        greetings=frozenset({"hi", "hello", "hey", "heya", "hiya", "yo", "morning", "evening", "greetings", "howdy", "sup"}),
        thanks=frozenset({"thanks", "thank", "ty", "thx", "tysm", "cheers"}),
        farewells=frozenset({"bye", "goodbye", "goodnight", "gn", "cya", "night"}),
        fillers=frozenset(
            """good all everyone there again bot you so much and a lot to too also very for everything tonight how are
            """.split()  # noqa: SIM905 - a word list
        ),
        there=(
            "are you there", "are you here", "are you around", "are you awake", "are you alive",
            "are you up", "you there", "you here",
        ),
        how_are_you=(
            "how are you", "how are things", "how is it going", "how s it going",
            "hows it going", "you ok", "are you ok",
        ),
        remember=("remember that", "remember this", "keep in mind", "don t forget", "dont forget", "please remember"),
        contradicting=("no", "you re wrong", "that s wrong", "thats wrong", "actually", "i don t", "i dont", "i no longer"),
        own=frozenset("i im me my mine".split()),  # noqa: SIM905 - a word list
        asking=frozenset("who what whats where when why how which whose do does did is are can".split()),  # noqa: SIM905 - a word list
        months=(
            "January", "February", "March", "April", "May", "June",
            "July", "August", "September", "October", "November", "December",
        ),
    ),
}  # fmt: skip


def memory_words(language: str) -> MemoryWords:
    """Return the words for `language`, the English ones where there are none."""
    return TEXTS.get(language, TEXTS["en"])


def day_of(at: datetime | None, today: date, language: str) -> str:
    """Return a day as people say it (`il 10 febbraio`, `on 10 February 2024`, `ieri`, `today`), in UTC."""
    if at is None:
        return "tempo fa" if language == "it" else "some time ago"
    day = at.date()
    near = {0: ("oggi", "today"), 1: ("ieri", "yesterday")}.get((today - day).days)
    if near is not None:
        return near[0] if language == "it" else near[1]
    year = "" if day.year == today.year else f" {day.year}"
    month = memory_words(language).months[day.month - 1]
    if language != "it":
        return f"on {day.day} {month}{year}"
    article = "l'" if day.day in {8, 11} else "il "
    return f"{article}{'1º' if day.day == 1 else day.day} {month}{year}"
