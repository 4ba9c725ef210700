"""What the bot answers to commands, by language: never a word of what was erased or is held."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWords:
    """One sentence each; braces are filled in by name."""

    about: str
    known: str  # what is held of the asker
    nothing_known: str
    memories: str  # what is held of somebody, for moderators
    newest: str
    confirm: str
    forgotten: str
    forgotten_of: str
    nothing: str
    corrected: str
    not_corrected: str
    opted_out: str
    opted_in: str
    unknown_name: str
    usage_forget: str
    usage_correct: str
    quiet: str
    back: str
    done: str
    reloaded: str
    not_reloaded: str
    wipe: str  # asks the broadcaster to confirm
    none_listed: str
    refused_out: str  # somebody opted out
    usage_state: str
    kinds: Mapping[str, str]  # domain -> what it is called


WORDS: Final = {
    "it": CommandWords(
        about=(
            "Sono {name}, un bot con memoria: ricordo quello che scrivete in questa chat per rispondere meglio, solo per "
            "questo canale. Un messaggio cancellato lo dimentico anch'io. {known}: quanto so di te. {forgetme}: dimentico "
            "tutto di te. {optout}: non ricordo più nulla di tuo."
        ),
        known="Di te conservo {messages:messaggio|messaggi}, {facts:fatto|fatti} e {records:annotazione|annotazioni}. "
        "{forgetme} per farmi dimenticare.",
        nothing_known="Di te non conservo nulla.",
        memories="Di {viewer}: {messages:messaggio|messaggi}, {facts:fatto|fatti}, {claims:cosa detta|cose dette} su altri, "
        "{records:annotazione|annotazioni}.",
        newest=" Le ultime: {ids}",
        confirm="Dimentico per sempre tutto quello che hai scritto? Se sì, scrivi {forgetme} sì entro {seconds} secondi.",
        forgotten="Fatto: {count:cosa dimenticata|cose dimenticate}.",
        forgotten_of="Fatto: ho dimenticato {count:cosa|cose} di {viewer}.",
        nothing="Non c'è nulla da dimenticare.",
        corrected="Corretto: {count:messaggio|messaggi}.",
        not_corrected="Non trovo nulla da correggere.",
        opted_out="Fatto: ho dimenticato tutto di te e non ricorderò più nulla, finché non scrivi {optin}.",
        opted_in="Bene: da ora ricordo di nuovo quello che scrivi.",
        unknown_name="Non so chi sia, o ce n'è più d'uno con quel nome: non ho cambiato nulla.",
        usage_forget="Si usa così: {forget} @nome [parole], {forget} #id, {forget} ultimo",
        usage_correct="Si usa così: {correct} @nome vecchio -> nuovo, {correct} #id testo",
        quiet="Va bene, taccio. {bot} acceso per farmi tornare.",
        back="Eccomi di nuovo.",
        done="Fatto.",
        reloaded="Riletto: {count:voce del canone è cambiata|voci del canone sono cambiate}.",
        not_reloaded="Nei file c'è un errore: non ho cambiato nulla, il perché è nel log.",
        wipe="Dimentico per sempre TUTTO ciò che so di questo canale, di chiunque? Se sì: {wipe} sì entro {seconds} secondi.",
        none_listed="Non c'è nulla di annotato.",
        refused_out="Qualcuno dei nominati non vuole che si conservi nulla: non ho annotato niente.",
        usage_state=(
            "Si usa così: {state} lista, {state} richiesta @nome testo, {state} fatto #id, {state} nota [@nome] testo, "
            "{state} togli #id, {state} imposta chiave = valore"
        ),
        kinds={"request": "richiesta", "note": "nota", "relation": "relazione", "joke": "tormentone", "channel": "canale"},
    ),
    "en": CommandWords(
        about=(
            "I am {name}, a bot with a memory: I remember what you write in this chat to answer better, for this channel only. "
            "A message that is deleted I forget as well. {known}: how much I know of you. {forgetme}: I forget all of you. "
            "{optout}: I remember nothing of you any more."
        ),
        known="Of you I keep {messages:message|messages}, {facts:fact|facts} and {records:record|records}. "
        "{forgetme} makes me forget them.",
        nothing_known="Of you I keep nothing.",
        memories="Of {viewer}: {messages:message|messages}, {facts:fact|facts}, {claims:thing|things} said about others, "
        "{records:record|records}.",
        newest=" The newest: {ids}",
        confirm="Forget everything you ever wrote, for good? If so, write {forgetme} yes within {seconds} seconds.",
        forgotten="Done: {count:thing|things} forgotten.",
        forgotten_of="Done: {count:thing|things} of {viewer} forgotten.",
        nothing="There is nothing to forget.",
        corrected="Corrected: {count:message|messages}.",
        not_corrected="I find nothing to correct.",
        opted_out="Done: I forgot all of you and will remember nothing more, until you write {optin}.",
        opted_in="Fine: from now on I remember again what you write.",
        unknown_name="I do not know who that is, or there is more than one of that name: nothing was changed.",
        usage_forget="Use: {forget} @name [words], {forget} #id, {forget} last",
        usage_correct="Use: {correct} @name old -> new, {correct} #id text",
        quiet="All right, I am silent. {bot} on brings me back.",
        back="Here I am again.",
        done="Done.",
        reloaded="Read again: {count:entry|entries} of the canon changed.",
        not_reloaded="The files hold a mistake: nothing was changed, the log says why.",
        wipe="Forget EVERYTHING I know of this channel, of everybody, for good? If so: {wipe} yes within {seconds} seconds.",
        none_listed="Nothing is noted.",
        refused_out="Somebody named wants nothing to be kept: nothing was noted.",
        usage_state=(
            "Use: {state} list, {state} request @name text, {state} done #id, {state} note [@name] text, "
            "{state} drop #id, {state} set key = value"
        ),
        kinds={"request": "request", "note": "note", "relation": "relation", "joke": "running joke", "channel": "channel"},
    ),
}


def command_words(language: str) -> CommandWords:
    """Return the words for `language`, the English ones where there are none."""
    return WORDS.get(language, WORDS["en"])
