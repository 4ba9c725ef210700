"""What `ricordo doctor` says, in both languages: of each thing how it is, and what to do where something must be done."""

from bot.cli.login_texts import Language

Said = tuple[str, str]  # how it is; what to do, "" where that is nothing

THINGS: dict[str, dict[Language, str]] = {
    "configuration": {"en": "configuration", "it": "configurazione"},
    "disk": {"en": "disk space", "it": "spazio su disco"},
    "folder": {"en": "data directory", "it": "cartella dei dati"},
    "memory": {"en": "memory of {title}", "it": "memoria di {title}"},
    "index": {"en": "index", "it": "indice"},
    "compared": {"en": "last comparison", "it": "ultimo confronto"},
    "drift": {"en": "drift of {title}", "it": "scostamento di {title}"},
    "jobs": {"en": "jobs", "it": "lavori"},
    "embedder": {"en": "embedder", "it": "modello dei vettori"},
    "llm": {"en": "language model", "it": "modello linguistico"},
    "twitch": {"en": "Twitch", "it": "Twitch"},
    "permissions": {"en": "permissions", "it": "permessi"},
    "clock": {"en": "clock", "it": "orologio"},
    "channel": {"en": "channel", "it": "canale"},
    "moderator": {"en": "moderator", "it": "moderatore"},
    "subscriptions": {"en": "subscriptions", "it": "iscrizioni agli eventi"},
    "broadcaster": {"en": "broadcaster", "it": "streamer"},
}

TEXTS: dict[str, dict[Language, Said]] = {
    "configuration.fine": {"en": ("can be used", ""), "it": ("si può usare", "")},
    "configuration.wrong": {
        "en": ("{reason}", "then run `ricordo doctor` again"),
        "it": ("{reason}", "poi esegui di nuovo `ricordo doctor`"),
    },
    "disk.room": {"en": ("{free} free", ""), "it": ("{free} liberi", "")},
    "disk.full": {"en": ("only {free} free", "free some space"), "it": ("solo {free} liberi", "libera un po' di spazio")},
    "folder.fine": {"en": ("{folder} can be written", ""), "it": ("si può scrivere in {folder}", "")},
    "folder.new": {
        "en": ("{folder} will be made at the first start", ""),
        "it": ("{folder} nascerà al primo avvio", ""),
    },
    "folder.closed": {
        "en": ("{folder} cannot be written", "mend its owner and mode, or set storage.data_dir to another folder"),
        "it": (
            "non si può scrivere in {folder}",
            "correggi proprietario e permessi, o imposta storage.data_dir su un'altra cartella",
        ),
    },
    "memory.sound": {
        "en": ("sound; {messages:message|messages}, {viewers:viewer|viewers}, {size}", ""),
        "it": ("sana; {messages:messaggio|messaggi}, {viewers:spettatore|spettatori}, {size}", ""),
    },
    "memory.unread": {"en": ("{reason}", ""), "it": ("non si può leggere: {reason}", "")},
    "memory.damaged": {
        "en": ("the database is damaged: {reason}", "restore the newest backup, or move the file away to begin anew"),
        "it": (
            "la base di dati è danneggiata: {reason}",
            "ripristina il backup più recente, o sposta via il file per ricominciare da capo",
        ),
    },
    "index.other": {
        "en": ("built by {built}, the configuration names {model}", "stop the bot and run `ricordo reindex`"),
        "it": ("fatto con {built}, la configurazione indica {model}", "ferma il bot ed esegui `ricordo reindex`"),
    },
    "index.gone": {
        "en": ("{folder} is gone: nothing is found by its meaning", "stop the bot and run `ricordo reindex`"),
        "it": ("{folder} non c'è più: nulla si trova per significato", "ferma il bot ed esegui `ricordo reindex`"),
    },
    "index.behind": {
        "en": (
            "{missing:,} of {all:document|documents} without a vector yet: found by words alone",
            "the running bot catches up by itself; where it does not run: `ricordo reindex`",
        ),
        "it": (
            "senza vettore {missing:,} su {all:documento|documenti}, per ora: si trovano solo per parole",
            "il bot acceso recupera da solo; se è spento: `ricordo reindex`",
        ),
    },
    "index.whole": {
        "en": ("{all:document has its vector|documents, and all have their vector}", ""),
        "it": ("{all:documento, e ha il suo vettore|documenti, e tutti hanno il loro vettore}", ""),
    },
    "compared.lately": {
        "en": ("the index was compared with the database, and mended, on {day}", ""),
        "it": ("l'indice è stato confrontato con la base di dati, e corretto, il {day}", ""),
    },
    "compared.nothing": {"en": ("nothing to compare yet", ""), "it": ("ancora nulla da confrontare", "")},
    "compared.never": {
        "en": ("the index was not compared with the database these days", "the running bot does so once a day"),
        "it": (
            "in questi giorni l'indice non è stato confrontato con la base di dati",
            "il bot acceso lo fa una volta al giorno",
        ),
    },
    "drift.unread": {"en": ("{reason}", ""), "it": ("non si può misurare: {reason}", "")},
    "drift.none": {
        "en": ("none: vector index and full text hold what the database says{told}", ""),
        "it": ("nessuno: indice dei vettori e testo pieno hanno quel che dice la base di dati{told}", ""),
    },
    "drift.some": {
        "en": ("{told}", "`ricordo doctor --fix` mends it, also while the bot runs"),
        "it": ("{told}", "`ricordo doctor --fix` lo corregge, anche a bot acceso"),
    },
    "drift.mended": {"en": ("{told}", "mended"), "it": ("{told}", "corretto")},
    "jobs.dead": {
        "en": (
            "some gave up: {counted}; lag: {lag}",
            "`ricordo jobs --state dead` shows why; then `ricordo jobs retry ID` or `ricordo jobs bury ID`",
        ),
        "it": (
            "alcuni hanno rinunciato: {counted}; ritardo: {lag}",
            "`ricordo jobs --state dead` dice perché; poi `ricordo jobs retry ID` oppure `ricordo jobs bury ID`",
        ),
    },
    "jobs.outage": {
        "en": ("{told}", "the running bot tries again by itself, every five minutes at the latest"),
        "it": ("{told}", "il bot acceso riprova da sé, al più tardi ogni cinque minuti"),
    },
    "jobs.behind": {
        "en": (
            "the work is behind: {counted}; lag: {lag}",
            "start the bot; where it runs, look into its log for job_failed",
        ),
        "it": (
            "il lavoro è indietro: {counted}; ritardo: {lag}",
            "avvia il bot; se è già acceso, cerca job_failed nel suo registro",
        ),
    },
    "jobs.fine": {"en": ("{counted}; lag: {lag}", ""), "it": ("{counted}; ritardo: {lag}", "")},
    "embedder.fine": {"en": ("{model} works", ""), "it": ("{model} funziona", "")},
    "embedder.broken": {
        "en": ("{reason}", "see [embedding] in the configuration"),
        "it": ("non funziona: {reason}", "vedi [embedding] nella configurazione"),
    },
    "llm.none": {
        "en": (
            "none configured: replies are made from the memory alone",
            "set llm.base_url and llm.model for a better voice",
        ),
        "it": (
            "nessuno configurato: le risposte vengono dalla sola memoria",
            "imposta llm.base_url e llm.model per una voce migliore",
        ),
    },
    "llm.away": {
        "en": ("{url} does not answer ({reason})", "start the server, or mend llm.base_url"),
        "it": ("{url} non risponde ({reason})", "avvia il server, o correggi llm.base_url"),
    },
    "llm.refused": {
        "en": ("{url} refuses the key (HTTP {status})", "set RICORDO_LLM__API_KEY, or llm.api_key in ricordo.secrets.toml"),
        "it": (
            "{url} rifiuta la chiave (HTTP {status})",
            "imposta RICORDO_LLM__API_KEY, o llm.api_key in ricordo.secrets.toml",
        ),
    },
    "llm.fault": {
        "en": ("{url} answers with a fault of its own (HTTP {status})", "look into the server's log"),
        "it": ("{url} risponde con un suo errore (HTTP {status})", "guarda il registro del server"),
    },
    "llm.unlisted": {
        "en": (
            "{url} answers, but does not list the model {model}",
            "set llm.model to one that it has, such as {other}, or fetch the model there",
        ),
        "it": (
            "{url} risponde, ma non elenca il modello {model}",
            "imposta llm.model su uno che ha, per esempio {other}, o scarica lì il modello",
        ),
    },
    "llm.fine": {"en": ("{url} answers", ""), "it": ("{url} risponde", "")},
    "twitch.failed": {"en": ("{reason}", ""), "it": ("non si può controllare: {reason}", "")},
    "twitch.readable": {
        "en": ("others on this machine can read {file}", "chmod 600 {file}"),
        "it": ("altri su questa macchina possono leggere {file}", "chmod 600 {file}"),
    },
    "twitch.none": {
        "en": (
            "no account: {names} missing; `ricordo run` plays the bundled chat",
            "`ricordo setup` connects one, step by step",
        ),
        "it": (
            "nessun account: manca {names}; `ricordo run` recita la chat di esempio",
            "`ricordo setup` ne collega uno, un passo alla volta",
        ),
    },
    "twitch.unconnected": {
        "en": ("#{channel} is configured, but the bot's account is not connected", "run `ricordo login`"),
        "it": ("#{channel} è configurato, ma l'account del bot non è collegato", "esegui `ricordo login`"),
    },
    "twitch.run_out": {
        "en": (
            "the token has run out; the bot renews it when it starts",
            "where `ricordo run` says it cannot: run `ricordo login`",
        ),
        "it": (
            "il token è scaduto; il bot lo rinnova quando si avvia",
            "se `ricordo run` dice che non riesce: esegui `ricordo login`",
        ),
    },
    "twitch.ended": {
        "en": ("the token has ended", "run `ricordo login`"),
        "it": ("il token è finito", "esegui `ricordo login`"),
    },
    "twitch.another": {
        "en": ("the token belongs to {login}, the configuration names {bot} as the bot", "run `ricordo login` as {bot}"),
        "it": ("il token è di {login}, la configurazione indica {bot} come bot", "esegui `ricordo login` come {bot}"),
    },
    "twitch.application": {
        "en": (
            "the token was given to another application than the one in twitch.client_id",
            "mend twitch.client_id, or run `ricordo login`",
        ),
        "it": (
            "il token è stato dato a un'altra applicazione, non a quella di twitch.client_id",
            "correggi twitch.client_id, o esegui `ricordo login`",
        ),
    },
    "twitch.fine": {
        "en": ("{login} is connected; its token lives {hours:.1f} hours more and is then renewed", ""),
        "it": ("{login} è collegato; il suo token vale ancora {hours:.1f} ore e poi viene rinnovato", ""),
    },
    "permissions.missing": {
        "en": ("not granted: {names}", "run `ricordo login` again and allow them"),
        "it": ("non concessi: {names}", "esegui di nuovo `ricordo login` e concedili"),
    },
    "permissions.fine": {"en": ("{names}", ""), "it": ("{names}", "")},
    "clock.unknown": {
        "en": ("Twitch did not say what time it is", ""),
        "it": ("Twitch non ha detto che ora è", ""),
    },
    "clock.fine": {"en": ("agrees with Twitch's", ""), "it": ("va d'accordo con quello di Twitch", "")},
    "clock.ahead": {
        "en": (
            "this machine is {seconds:second|seconds} ahead of Twitch",
            "switch on the automatic setting of the clock (NTP)",
        ),
        "it": (
            "questa macchina è {seconds:secondo|secondi} avanti a Twitch",
            "attiva la regolazione automatica dell'orologio (NTP)",
        ),
    },
    "clock.behind": {
        "en": (
            "this machine is {seconds:second|seconds} behind Twitch",
            "switch on the automatic setting of the clock (NTP)",
        ),
        "it": (
            "questa macchina è {seconds:secondo|secondi} indietro rispetto a Twitch",
            "attiva la regolazione automatica dell'orologio (NTP)",
        ),
    },
    "channel.unknown": {
        "en": (
            "Twitch knows no channel called {channel}",
            "write the name as it stands in the channel's address, after twitch.tv/",
        ),
        "it": (
            "Twitch non conosce nessun canale {channel}",
            "scrivi il nome come sta nell'indirizzo del canale, dopo twitch.tv/",
        ),
    },
    "channel.fine": {"en": ("#{channel} exists", ""), "it": ("#{channel} esiste", "")},
    "moderator.broadcaster": {
        "en": ("the bot is the broadcaster; an account of its own tells its words from yours", ""),
        "it": ("il bot è lo streamer; un account tutto suo distingue le sue parole dalle tue", ""),
    },
    "moderator.unasked": {
        "en": ("not known: the bot may not ask", "`ricordo login` without --minimal asks for it"),
        "it": ("non si sa: il bot non può chiederlo", "`ricordo login` senza --minimal chiede il permesso"),
    },
    "moderator.refused": {"en": ("{reason}", ""), "it": ("non si sa: {reason}", "")},
    "moderator.fine": {"en": ("the bot is a moderator", ""), "it": ("il bot è moderatore", "")},
    "moderator.slow": {
        "en": ("the bot is a moderator; manners.messages_per_window may be 100", ""),
        "it": ("il bot è moderatore; manners.messages_per_window può essere 100", ""),
    },
    "moderator.none": {
        "en": (
            "the bot is none: 20 messages in 30 seconds, and slow mode or followers-only hold for it too",
            "where you want more: write /mod {login} in your chat",
        ),
        "it": (
            "il bot non lo è: 20 messaggi in 30 secondi, e la modalità lenta o solo follower vale anche per lui",
            "se vuoi di più: scrivi /mod {login} nella tua chat",
        ),
    },
    "subscriptions.none": {
        "en": ("none: the bot is not live now", "`ricordo run` starts it"),
        "it": ("nessuna: il bot ora non è in diretta", "`ricordo run` lo avvia"),
    },
    "subscriptions.deaf": {
        "en": (
            "the running bot does not hear: {names}",
            "its watchdog mends this within a minute; where it does not: start the bot anew",
        ),
        "it": (
            "il bot acceso non sente: {names}",
            "il suo controllo lo sistema entro un minuto; se no: riavvia il bot",
        ),
    },
    "subscriptions.partly": {
        "en": ("the bot is live; not heard: {names}", "its log says why (subscription_refused)"),
        "it": ("il bot è in diretta; non sente: {names}", "il suo registro dice perché (subscription_refused)"),
    },
    "subscriptions.fine": {
        "en": ("the bot is live and hears all {count} kinds of event", ""),
        "it": ("il bot è in diretta e sente tutti i {count} tipi di evento", ""),
    },
    "broadcaster.another": {
        "en": ("the broadcaster's token belongs to {login}, not to {channel}", "`ricordo login --broadcaster`"),
        "it": ("il token dello streamer è di {login}, non di {channel}", "`ricordo login --broadcaster`"),
    },
    "broadcaster.unused": {
        "en": (
            "{login} is connected, which is of use only with a client secret",
            "set twitch.client_secret in ricordo.secrets.toml, or leave it: nothing is missing",
        ),
        "it": (
            "{login} è collegato, ma serve solo con un segreto client",
            "imposta twitch.client_secret in ricordo.secrets.toml, o lascia stare: non manca nulla",
        ),
    },
    "broadcaster.half": {
        "en": ("{login} lets the bot write as a chat bot, but {bot} did not allow user:bot", "run `ricordo login` again"),
        "it": (
            "{login} fa scrivere il bot come chat bot, ma {bot} non ha concesso user:bot",
            "esegui di nuovo `ricordo login`",
        ),
    },
    "broadcaster.fine": {
        "en": ("{login} is connected: {names}", ""),
        "it": ("{login} è collegato: {names}", ""),
    },
}
