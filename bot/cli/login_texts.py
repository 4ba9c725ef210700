"""What a login says to a person, in both languages."""

import os
from collections.abc import Mapping
from typing import Literal

Language = Literal["it", "en"]

TEXTS: dict[str, dict[Language, str]] = {
    "device": {
        "en": "Connect {login} as the {role}, from any device:",
        "it": "Collega {login} come {role}, da qualunque dispositivo:",
    },
    "redirect": {
        "en": "Connect {login} as the {role}, in a browser of this machine:",
        "it": "Collega {login} come {role}, in un browser di questa macchina:",
    },
    "open": {"en": "1. Open  {address}", "it": "1. Apri  {address}"},
    "sign_in": {
        "en": "2. Sign in to Twitch as {login}. If another account is signed in there, use a private window.",
        "it": "2. Entra su Twitch come {login}. Se lì è già entrato un altro account, usa una finestra anonima.",
    },
    "code": {"en": "3. The code is  {code}", "it": "3. Il codice è  {code}"},
    "allow": {"en": "   Twitch then asks to allow:", "it": "   Twitch chiede poi di permettere di:"},
    "waiting": {
        "en": "Waiting for you: {minutes} minutes at most, Ctrl+C ends.",
        "it": "Ti aspetto: {minutes} minuti al massimo, Ctrl+C interrompe.",
    },
    "connected": {
        "en": "{login} is connected. Its tokens are in {file}, which you alone can read.",
        "it": "{login} è collegato. I suoi token sono in {file}, che solo tu puoi leggere.",
    },
    "bot": {"en": "bot", "it": "bot"},
    "broadcaster": {"en": "broadcaster", "it": "streamer"},
    "broadcaster_not_needed": {
        "en": "Nothing is missing: without a client secret the bot writes with its own account's permission alone, and has no "
        "use for yours. With one (docs/connecting.md) it writes as a chat bot",
        "it": "Non manca nulla: senza un segreto client il bot scrive col solo permesso del suo account, e il tuo non gli "
        "serve. Con uno (docs/connecting.md) scrive come chat bot",
    },
    "logged_out": {
        "en": "{role}: logged out, Twitch has withdrawn the permission",
        "it": "{role}: uscito, Twitch ha ritirato il permesso",
    },
    "had_ended": {
        "en": "{role}: logged out, the permission had ended before",
        "it": "{role}: uscito, il permesso era già finito",
    },
    "nobody": {"en": "nobody is logged in: {file} does not exist", "it": "nessuno è collegato: {file} non esiste"},
    "still_configured": {
        "en": "An access token stands in the environment or in ricordo.secrets.toml: remove it there too.",
        "it": "Un token sta nell'ambiente o in ricordo.secrets.toml: toglilo anche da lì.",
    },
}


def say(name: str, language: Language, **values: object) -> str:
    """Return a text."""
    return TEXTS[name][language].format(**values)


def language_of(environ: Mapping[str, str] | None = None) -> Language:
    """Return the language of this machine's user: Italian where the locale is, English otherwise."""
    environ = os.environ if environ is None else environ
    locale = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "")
    return "it" if locale.casefold().startswith("it") else "en"
