"""What the set-up asks and explains, in both languages, for people who are no programmers."""

from bot.cli.login_texts import Language

TEXTS: dict[str, dict[Language, str]] = {
    "welcome": {
        "en": "Ricordo's set-up: about five minutes. Enter takes what stands in brackets. Ctrl+C ends; nothing is written "
        "before all questions are answered.",
        "it": "Preparazione di Ricordo: circa cinque minuti. Invio prende quel che sta tra parentesi. Ctrl+C interrompe; "
        "nulla viene scritto prima che tutte le domande abbiano risposta.",
    },
    "channel_why": {
        "en": "\n1. Your channel: the name after twitch.tv/ in its address.",
        "it": "\n1. Il tuo canale: il nome dopo twitch.tv/ nel suo indirizzo.",
    },
    "channel": {"en": "Channel", "it": "Canale"},
    "bot_why": {
        "en": "\n2. The bot's account: a Twitch account of its own, under whose name it writes. If there is none yet, make "
        "one at https://www.twitch.tv/signup (a second account may have the same e-mail address, if your settings allow it).",
        "it": "\n2. L'account del bot: un account Twitch tutto suo, col cui nome scrive. Se non c'è ancora, crealo su "
        "https://www.twitch.tv/signup (un secondo account può avere la stessa e-mail, se lo permetti nelle impostazioni).",
    },
    "bot": {"en": "Account of the bot", "it": "Account del bot"},
    "console": {
        "en": "\n3. Twitch wants to know every program that talks to it:\n"
        "   a. Open https://dev.twitch.tv/console/apps and sign in (Twitch asks for two-factor authentication to be on).\n"
        "   b. Press Register Your Application. Name: any that is free. Category: Chat Bot.\n"
        "   c. OAuth Redirect URLs: {redirect}\n"
        "   d. Client Type: Public. Press Create, then Manage beside its name.\n"
        "   e. Copy the Client ID: letters and digits. It is no secret.",
        "it": "\n3. Twitch vuole conoscere ogni programma che gli parla:\n"
        "   a. Apri https://dev.twitch.tv/console/apps ed entra (Twitch vuole che l'autenticazione a due fattori sia attiva).\n"
        "   b. Premi Registra la tua applicazione. Nome: uno libero qualsiasi. Categoria: Chat Bot.\n"
        "   c. URL di reindirizzamento OAuth: {redirect}\n"
        "   d. Tipo di client: Pubblico. Premi Crea, poi Gestisci accanto al nome.\n"
        "   e. Copia l'ID client: lettere e cifre. Non è un segreto.",
    },
    "client_id": {"en": "Client ID", "it": "ID client"},
    "confidential": {
        "en": "Is its Client Type Confidential? (only then a secret is needed) y/n",
        "it": "Il suo tipo di client è Riservato? (solo allora serve un segreto) s/n",
    },
    "client_secret": {
        "en": "Client Secret (press New Secret there; what you type is not shown)",
        "it": "Segreto client (premi Nuovo segreto; quel che scrivi non si vede)",
    },
    "llm_why": {
        "en": "\n4. Who writes the replies? Without a language model Ricordo answers from its memory alone. With one, chat "
        "lines and memories are sent to it: with Ollama and LM Studio they stay on this machine.\n"
        "   1  none   2  Ollama   3  LM Studio   4  OpenAI   5  OpenRouter   6  another one, OpenAI-compatible",
        "it": "\n4. Chi scrive le risposte? Senza un modello linguistico Ricordo risponde con la sola memoria. Con uno, righe "
        "di chat e ricordi gli vengono inviati: con Ollama e LM Studio restano su questa macchina.\n"
        "   1  nessuno   2  Ollama   3  LM Studio   4  OpenAI   5  OpenRouter   6  un altro, compatibile con OpenAI",
    },
    "llm": {"en": "Number", "it": "Numero"},
    "base_url": {"en": "Address of the endpoint", "it": "Indirizzo del servizio"},
    "model": {"en": "Model, as it is called there ({example})", "it": "Modello, col nome che ha lì ({example})"},
    "api_key": {
        "en": "Key (what you type is not shown; empty: none or the one that is set)",
        "it": "Chiave (quel che scrivi non si vede; vuota: nessuna, o quella già impostata)",
    },
    "wrote": {"en": "\nWrote {path}.", "it": "\nHo scritto {path}."},
    "kept": {
        "en": "\nChanged {path}: {names}. Everything else in it is as it was.",
        "it": "\nHo cambiato {path}: {names}. Tutto il resto è com'era.",
    },
    "old": {"en": "The former file is {path}.", "it": "Il file di prima è {path}."},
    "wrote_secrets": {
        "en": "Secrets are in {path}, which you alone can read.",
        "it": "I segreti sono in {path}, che solo tu puoi leggere.",
    },
    "login": {"en": "\n5. Connect the bot's account now? y/n", "it": "\n5. Collegare ora l'account del bot? s/n"},
    "login_failed": {
        "en": "The account is not connected: {reason}\nWhen it is mended: ricordo login",
        "it": "L'account non è collegato: {reason}\nQuando è sistemato: ricordo login",
    },
    "login_later": {"en": "Later: ricordo login", "it": "Più tardi: ricordo login"},
    "doctor": {"en": "\n6. A look at everything:", "it": "\n6. Uno sguardo a tutto:"},
    "end": {
        "en": "\nStart it with: ricordo run\nTo make the bot a moderator, write /mod {bot} in your chat.",
        "it": "\nPer avviarlo: ricordo run\nPer fare il bot moderatore, scrivi /mod {bot} nella tua chat.",
    },
    "end_wrong": {
        "en": "\nNearly there: put right what is marked WRONG above, then look again with: ricordo doctor\n"
        "When it has nothing to complain of, start the bot with: ricordo run",
        "it": "\nCi siamo quasi: sistema quel che sopra è segnato MALE, poi guarda di nuovo con: ricordo doctor\n"
        "Quando non ha più nulla da ridire, avvia il bot con: ricordo run",
    },
    "name_wrong": {
        "en": "A Twitch name has 3 to 25 letters (without accents), digits and _.",
        "it": "Un nome di Twitch ha da 3 a 25 lettere (senza accenti), cifre e _.",
    },
    "client_id_wrong": {
        "en": "A Client ID consists of small letters and digits.",
        "it": "Un ID client è fatto di lettere minuscole e cifre.",
    },
    "needed": {"en": "Something is needed here.", "it": "Qui serve qualcosa."},
    "url_wrong": {
        "en": "An address begins with http:// or https:// and mostly ends in /v1.",
        "it": "Un indirizzo comincia con http:// o https:// e di solito finisce con /v1.",
    },
    "number_wrong": {"en": "A number from 1 to 6.", "it": "Un numero da 1 a 6."},
    "language": {"en": "Language / lingua: en, it", "it": "Lingua / language: it, en"},
    "language_wrong": {"en": "en or it", "it": "it oppure en"},
    "yes_or_no": {"en": "y or n", "it": "s oppure n"},
    "ended": {
        "en": "the answers ended before the questions; nothing was written",
        "it": "le risposte sono finite prima delle domande; nulla è stato scritto",
    },
    "ended_written": {
        "en": "the answers ended before the questions; what was written stays, `ricordo login` connects the account",
        "it": "le risposte sono finite prima delle domande; quel che è scritto resta, `ricordo login` collega l'account",
    },
}
YES: dict[Language, tuple[str, str]] = {"en": ("y", "n"), "it": ("s", "n")}
