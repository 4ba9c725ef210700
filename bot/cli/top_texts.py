"""What `ricordo top` says, in both languages."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.cli.login_texts import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class TopWords:
    """Names of the rows, and what stands in them."""

    idle: str
    since: str
    chat: str
    pace: str
    unread: str
    memory: str
    sums: str
    jobs: str
    lag: str
    dead: str
    turns: str
    none_yet: str
    times: str
    slow: str
    steps: Mapping[str, str]  # of a turn, in their order
    no_turn_yet: str
    hearing: str
    dropped: str
    repaired: str
    unrepaired: str
    unsaid: str
    degraded: str
    degraded_turns: str
    missing: str
    no_turn: str
    tokens: str
    tokens_told: str
    failures: str
    failures_told: str
    no_reply_yet: str
    gone: str  # a reply that was said, and forgotten since
    said: Mapping[str, str]  # what became of replies
    said_once: Mapping[str, str]  # … and of one
    canon: str
    note: str
    without: str
    a_step: str


TOP: dict[Language, TopWords] = {
    "en": TopWords(
        idle="no bot is running here: what its database says",
        since="running since {day}, {time}",
        chat="chat",
        pace="{pace:.1f} messages/s in {span} s",
        unread="{count:,} not read yet",
        memory="memory",
        sums="{viewers:viewer|viewers} · {messages:message|messages} · {documents:document|documents}",
        jobs="jobs",
        lag="lag: {lag}",
        dead="{count:,} dead: see `ricordo jobs`",
        turns="turns",
        none_yet="none yet",
        times="times",
        slow="{name} {usual:,.0f} ms, slow {slow:,.0f}",
        steps={"recall": "memory", "reply": "words", "send": "posting", "total": "whole turn"},
        no_turn_yet="no turn yet",
        hearing="lost",
        dropped="{count:event|events}: the chat was faster than the bot",
        repaired="{count:subscription was gone, and is back|subscriptions were gone, and are back}",
        unrepaired="{count:look|looks} could not bring them back",
        unsaid="{count:reply|replies} did not go out ({reasons})",
        degraded="degraded",
        degraded_turns="{count:turn|turns}: the memory was late or broken",
        missing="{name} {count:time|times}",
        no_turn="no turn",
        tokens="tokens",
        tokens_told="{read:,} read · {written:,} written",
        failures="failures",
        failures_told="{count:,}: a bug, see the log",
        no_reply_yet="no reply yet",
        gone="sent, and forgotten since",
        said={},
        said_once={},
        canon="canon",
        note="note",
        without="degraded: without {names}",
        a_step="a step",
    ),
    "it": TopWords(
        idle="qui non gira nessun bot: quel che dice la sua base di dati",
        since="acceso dal {day}, {time}",
        chat="chat",
        pace="{pace:.1f} messaggi/s in {span} s",
        unread="{count:non ancora letto|non ancora letti}",
        memory="memoria",
        sums="{viewers:spettatore|spettatori} · {messages:messaggio|messaggi} · {documents:documento|documenti}",
        jobs="lavori",
        lag="ritardo: {lag}",
        dead="{count:morto|morti}: vedi `ricordo jobs`",
        turns="turni",
        none_yet="ancora nessuno",
        times="tempi",
        slow="{name} {usual:,.0f} ms, lento {slow:,.0f}",
        steps={"recall": "memoria", "reply": "parole", "send": "invio", "total": "turno intero"},
        no_turn_yet="ancora nessun turno",
        hearing="perso",
        dropped="{count:evento|eventi}: la chat era più veloce del bot",
        repaired="{count:iscrizione era caduta, ed è tornata|iscrizioni erano cadute, e sono tornate}",
        unrepaired="{count:controllo non le ha riportate|controlli non le hanno riportate}",
        unsaid="{count:risposta non è uscita|risposte non sono uscite} ({reasons})",
        degraded="ridotti",
        degraded_turns="{count:turno|turni}: la memoria era in ritardo o guasta",
        missing="{name} {count:volta|volte}",
        no_turn="nessun turno",
        tokens="token",
        tokens_told="{read:letto|letti} · {written:scritto|scritti}",
        failures="guasti",
        failures_told="{count:,}: un difetto, vedi il registro",
        no_reply_yet="ancora nessuna risposta",
        gone="inviata, e poi dimenticata",
        said={
            "sent": "inviate",
            "silent": "in silenzio",
            "withheld": "trattenute",
            "failed": "non riuscite",
            "ambiguous": "incerte",
        },
        said_once={
            "sent": "inviata",
            "silent": "in silenzio",
            "withheld": "trattenuta",
            "failed": "non riuscita",
            "ambiguous": "incerta",
        },
        canon="canone",
        note="nota",
        without="ridotto: senza {names}",
        a_step="un passo",
    ),
}
