"""The privacy notice: what is stored, where, how long, who else sees it, and how to be forgotten, as a configuration has it."""

from pathlib import Path
from typing import Any, Final

from config.chat_sections import Commands
from config.settings import Settings

PAGE: Final = Path(__file__).parent.parent / "docs" / "privacy.md"
_TEMPLATE: Final = Path(__file__).with_name("privacy_page.md")
_YEAR: Final = 365
_UNITS: Final = {"en": ("year", "years", "day", "days", "no limit"), "it": ("anno", "anni", "giorno", "giorni", "sempre")}
_SEEN: Final = {
    "en": {
        "local_vectors": "Vectors are computed on that machine.",
        "remote_vectors": "To compute vectors, messages and questions are sent to {place}.",
        "no_llm": "No language model is configured: replies are put together on that machine.",
        "llm": "To write a reply, the latest chat and what the memory found for it are sent to the language model at {place}.",
        "llm_reads": " To find what viewers say about themselves and others, messages are sent there in the background, too.",
        "llm_reads_panel": " What you write is also sent there to be understood, whether or not you talk to the bot.",
        "local_vectors_panel": "Nothing leaves it to be searched.",
        "remote_vectors_panel": "To be searched, what you write is sent to {place}.",
        "no_llm_panel": "No other company writes the replies.",
        "llm_panel": "To write a reply, the bot sends the latest chat, and what it remembers of it, to {place}.",
        "recording_panel": " The whole chat is recorded, and kept for {days}.",
    },
    "it": {
        "llm_reads_panel": " Anche ciò che scrivi senza rivolgerti al bot vi è inviato, per capirlo.",
        "local_vectors_panel": "Per le ricerche non ne esce nulla.",
        "remote_vectors_panel": "Per le ricerche, ciò che scrivi è inviato a {place}.",
        "no_llm_panel": "Nessun'altra azienda scrive le risposte.",
        "recording_panel": " Tutta la chat è registrata, e conservata per {days}.",
        "llm_panel": "Per rispondere, il bot invia gli ultimi messaggi, e ciò che ricorda in proposito, a {place}.",
    },
}


def lasting(days: float, language: str) -> str:
    """Return a number of days in words: years where they are whole ones; 0 is without limit."""
    year, years, day, many, unlimited = _UNITS[language]
    if days <= 0:
        return unlimited
    number, one, more = (days / _YEAR, year, years) if days % _YEAR == 0 else (days, day, many)
    told = f"{number:g}".replace(".", "," if language == "it" else ".")
    return f"{told} {one if number == 1 else more}"


def as_notice(settings: Settings) -> str:
    """Return the page, with the numbers, the words of the commands and the providers of this configuration."""
    kept = settings.retention.model_dump()
    values: dict[str, Any] = {
        f"{name}_{language}": lasting(days, language) for name, days in kept.items() for language in _UNITS
    }
    for verb in ("memory", "whatdoyouknow", "forgetme", "optout", "optin", "forget"):
        values |= {f"{verb}_{language}": _typed(settings.commands, verb, language) for language in _UNITS}
    values |= {"backups": settings.backup.keep, **_recording(settings), **_providers(settings)}
    return _TEMPLATE.read_text(encoding="utf-8").format(**values)


def _typed(commands: Commands, verb: str, language: str) -> str:
    """Return a command as the chat's answers name it: its first word that is none of the other language, else its first."""
    default, words = Commands.model_fields[verb].default, getattr(commands, verb)
    foreign = default[0] if language == "it" else default[-1]
    return f"{commands.prefix}{next((word for word in words if word.casefold() != foreign), words[0])}"


def _recording(settings: Settings) -> dict[str, str]:
    chosen = settings.recording
    told = {"recording_en": "on" if chosen.enabled else "off"}
    for language, words in _SEEN.items():
        days = lasting(chosen.days, language)
        panel = words["recording_panel"].format(days=days) if chosen.enabled else ""
        told |= {f"recording_days_{language}": days, f"recording_panel_{language}": panel}
    return told


def _providers(settings: Settings) -> dict[str, str]:
    vectors, llm = settings.embedding, settings.llm
    remote = vectors.kind == "openai"
    writes = bool(llm.base_url and llm.model)
    told = {}
    for language, words in _SEEN.items():
        panel = words["remote_vectors_panel" if remote else "local_vectors_panel"]
        told[f"embedding_panel_{language}"] = panel.format(place=vectors.base_url)
        told[f"llm_panel_{language}"] = words["llm_panel" if writes else "no_llm_panel"].format(place=llm.base_url)
    words = _SEEN["en"]
    told["embedding_en"] = words["remote_vectors" if remote else "local_vectors"].format(place=vectors.base_url)
    told["llm_en"] = words["llm" if writes else "no_llm"].format(place=llm.base_url)
    if writes and (settings.facts.llm or settings.facts.judge):
        told["llm_en"] += words["llm_reads"].format(place=llm.base_url)
        for language, more in _SEEN.items():
            told[f"llm_panel_{language}"] += more["llm_reads_panel"].format(place=llm.base_url)
    return told
